//! Smart HTTP: the git program's stateless services behind GitHub's authentication.

use super::push::{Pusher, references};
use super::report;
use super::store;
use crate::emulator::Hub;
use crate::emulator::auth::{Caller, Need, read, write};
use crate::emulator::events::What;
use crate::emulator::reply::{Call, Refusal, Reply};
use crate::emulator::state::{Id, Permission, World};
use bytes::Bytes;
use http::{Method, StatusCode};
use std::io::Read as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use tokio::io::AsyncWriteExt as _;

const READ: Need = read(&["contents"]);
const WRITE: Need = write(&["contents"]);
/// A client that sends more than this after unpacking is not a test any more.
const LONGEST_BODY: u64 = 512 * 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    Upload,
    Receive,
}

/// A git request, recognised by its path.
#[derive(Debug)]
pub(crate) struct GitCall {
    owner: String,
    name: String,
    service: Service,
    advertise: bool,
}

impl GitCall {
    pub(crate) fn recognise(call: &Call) -> Option<GitCall> {
        let segments: Vec<&str> = call.segments.iter().map(String::as_str).collect();
        let (owner, name, service, advertise) = match (&call.method, segments.as_slice()) {
            (&Method::GET, [owner, name, "info", "refs"]) => (owner, name, call.asks("service")?, true),
            (&Method::POST, [owner, name, service]) => (owner, name, *service, false),
            _ => return None,
        };
        let service = match service {
            "git-upload-pack" => Service::Upload,
            "git-receive-pack" => Service::Receive,
            _ => return None,
        };
        let name = name.strip_suffix(".git").unwrap_or(name);
        Some(GitCall { owner: (*owner).into(), name: name.into(), service, advertise })
    }
}

/// A repository that the caller may use this way.
struct Open {
    repo: Id,
    path: PathBuf,
    who: Pusher,
    login: String,
    workflows: bool,
    protected: String,
    /// The only references that may be pushed; empty: all.
    only: String,
}

pub(crate) async fn answer(hub: &Arc<Hub>, call: &Call, git: &GitCall) -> Reply {
    let open = match hub.with(|world| open(world, &call.caller, git)) {
        Ok(open) => open,
        Err(refused) => return refused,
    };
    let served = match (git.advertise, git.service) {
        (true, _) => advertise(call, git, &open).await,
        (false, Service::Upload) => upload(call, &open).await,
        (false, Service::Receive) => receive(hub, call, &open).await,
    };
    served.unwrap_or_else(|error| Refusal::broken(error).into())
}

fn open(world: &World, caller: &Caller, git: &GitCall) -> Result<Open, Reply> {
    let need = if git.service == Service::Receive { WRITE } else { READ };
    let anonymous = matches!(caller, Caller::Nobody);
    let found = world.find_repository(&git.owner, &git.name);
    let Some(repo) = found.filter(|id| !anonymous || !world.repositories[id].private && !need.write) else {
        return Err(if anonymous {
            ask_who()
        } else {
            Reply::text(StatusCode::NOT_FOUND, "Repository not found.")
        });
    };
    let (actor, app, workflows) = match caller {
        Caller::Token(token) => {
            let allowed = !token.is_installation() || token.grants(write(&["workflows"]));
            (token.actor, token.app, allowed)
        }
        Caller::App => return Err(ask_who()),
        Caller::Nobody => (0, 0, false),
    };
    let login = world.login(actor).to_owned();
    let mut only = String::new();
    let may = world.may(caller, repo, need).or_else(|refusal| match need.write {
        true => {
            only = world.lent_branches(caller, repo).join(" ");
            if only.is_empty() { Err(refusal) } else { Ok(()) }
        }
        // Every token reads what is public; elsewhere the emulator is stricter, see `World::reach`.
        false if world.is_public_fork(repo) && !anonymous => Ok(()),
        false => Err(refusal),
    });
    may.map_err(|refusal| {
        let full = world.full_name(&world.repositories[&repo]);
        match refusal.status {
            StatusCode::NOT_FOUND => Reply::text(StatusCode::NOT_FOUND, "Repository not found."),
            _ if need.write => {
                Reply::text(StatusCode::FORBIDDEN, format!("Permission to {full}.git denied to {login}."))
            }
            _ => Reply::text(StatusCode::FORBIDDEN, "Write access to repository not granted."),
        }
    })?;
    let here = &world.repositories[&repo];
    let admin = app == 0 && world.permission(here, actor) == Permission::Admin;
    let protected: Vec<String> =
        here.protected.iter().filter(|_| !admin).map(|branch| format!("refs/heads/{branch}")).collect();
    Ok(Open {
        repo,
        path: here.git.clone(),
        who: Pusher { actor, app },
        login,
        workflows,
        protected: protected.join(" "),
        only,
    })
}

impl World {
    fn is_public_fork(&self, repo: Id) -> bool {
        let here = &self.repositories[&repo];
        here.fork_of.is_some() && !here.private
    }

    /// The branches of a fork that its owner lets the maintainers of the original push to, where the caller is one of
    /// them: open pull requests come from them.
    fn lent_branches(&self, caller: &Caller, fork: Id) -> Vec<String> {
        let Caller::Token(token) = caller else { return Vec::new() };
        let Some(original) = self.repositories[&fork].fork_of else { return Vec::new() };
        let reaches = !token.is_installation() || self.reaches_forks;
        if !reaches || self.may(caller, original, WRITE).is_err() {
            return Vec::new();
        }
        let open = self.repositories[&original].issues.values().filter(|issue| issue.open);
        open.filter_map(|issue| issue.pull.as_ref())
            .filter(|pull| pull.head.repository == fork && pull.maintainer_can_modify)
            .map(|pull| format!("refs/heads/{}", pull.head.branch))
            .collect()
    }
}

pub(crate) fn ask_who() -> Reply {
    Reply::text(
        StatusCode::UNAUTHORIZED,
        "Invalid username or token. Password authentication is not supported for Git operations.",
    )
    .with("www-authenticate", "Basic realm=\"GitHub\"")
}

fn service(call: &Call, open: &Open, arguments: &[&str]) -> tokio::process::Command {
    let mut git = store::program(&open.path);
    git.args(arguments).arg(&open.path).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(protocol) = call.header("git-protocol") {
        git.env("GIT_PROTOCOL", protocol);
    }
    tokio::process::Command::from(git)
}

async fn feed(mut git: tokio::process::Command, body: Bytes) -> std::io::Result<Vec<u8>> {
    let mut child = git.kill_on_drop(true).spawn()?;
    let stdin = child.stdin.take();
    let write = async move {
        if let Some(mut stdin) = stdin {
            // git may answer and end before it has read everything; what it says is what counts.
            let _ = stdin.write_all(&body).await;
        }
    };
    let (output, ()) = tokio::join!(child.wait_with_output(), write);
    Ok(output?.stdout)
}

async fn advertise(call: &Call, git: &GitCall, open: &Open) -> std::io::Result<Reply> {
    let name = if git.service == Service::Receive { "receive-pack" } else { "upload-pack" };
    let command = service(call, open, &[name, "--stateless-rpc", "--http-backend-info-refs"]);
    let advertised = feed(command, Bytes::new()).await?;
    let mut body = Vec::new();
    let version_two = call.header("git-protocol").is_some_and(|protocol| protocol.contains("version=2"));
    if git.service == Service::Receive || !version_two {
        report::write_packet(&mut body, format!("# service=git-{name}\n").as_bytes());
        report::write_packet(&mut body, b"");
    }
    body.extend_from_slice(&advertised);
    let kind = format!("application/x-git-{name}-advertisement");
    Ok(Reply::bytes(StatusCode::OK, &kind, body.into()).with("cache-control", "no-cache"))
}

async fn upload(call: &Call, open: &Open) -> std::io::Result<Reply> {
    let answer = feed(service(call, open, &["upload-pack", "--stateless-rpc"]), plain_body(call)?).await?;
    Ok(Reply::bytes(StatusCode::OK, "application/x-git-upload-pack-result", answer.into()))
}

async fn receive(hub: &Arc<Hub>, call: &Call, open: &Open) -> std::io::Result<Reply> {
    // One push at a time and nothing in between: what a push changed is told by comparing before and after.
    let _alone = hub.pushing.lock().await;
    let before = git2::Repository::open_bare(&open.path).map(|git| references(&git)).unwrap_or_default();
    let notes = tempfile::NamedTempFile::new()?;
    let mut git = service(call, open, &["receive-pack", "--stateless-rpc"]);
    git.env("EMULATOR_REFUSALS", notes.path())
        .env("EMULATOR_PROTECTED", &open.protected)
        .env("EMULATOR_ONLY", &open.only)
        .env("EMULATOR_WORKFLOWS", if open.workflows { "allowed" } else { "refused" });
    let answer = feed(git, plain_body(call)?).await?;
    let refusals = report::refusals(notes.path());
    hub.with(|world| {
        for (reference, why) in &refusals {
            let branch = reference.trim_start_matches("refs/heads/").to_owned();
            world.happened(
                open.repo,
                What::PushRefused { login: open.login.clone(), branch, why: why.clone() },
            );
        }
        world.pushed(open.repo, open.who, &before)
    })
    .map_err(std::io::Error::other)?;
    let answer = report::with_reasons(&answer, &refusals);
    Ok(Reply::bytes(StatusCode::OK, "application/x-git-receive-pack-result", answer.into()))
}

/// git compresses larger requests.
fn plain_body(call: &Call) -> std::io::Result<Bytes> {
    if call.header("content-encoding") != Some("gzip") {
        return Ok(call.body.clone());
    }
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(call.body.as_ref()).take(LONGEST_BODY).read_to_end(&mut plain)?;
    Ok(plain.into())
}
