//! The Rust API again, as JSON under `/_emulator/`, for a process that drives a separate emulator.
//!
//! `POST /_emulator/<verb>` with the arguments as a JSON object; the answer is what the method gives back, or
//! 422 with a message. There is no secret to keep here: the emulator listens where its user tells it to.

use super::faults::{Astray, Fault};
use super::model::Play;
use super::people::LineComment;
use super::reply::{Call, Reply};
use super::setup::{AppCredentials, Running};
use super::{Ci, CiPlay, Emulator, Error, How, Hub, JobPlay, NewRepository, On, Permission, Script};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Everything that can be asked for; the tag is the verb in the path.
#[derive(Debug, Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case")]
enum Verb {
    App,
    DeliverTo {
        url: String,
    },
    CreateRepository(RepositoryWish),
    Collaborator {
        repo: String,
        login: String,
        permission: Permission,
        #[serde(default)]
        hidden: bool,
    },
    Watch {
        repo: String,
        login: String,
    },
    UserToken {
        login: String,
    },
    OpenIssue {
        repo: String,
        login: String,
        title: String,
        body: String,
        #[serde(default)]
        labels: Vec<String>,
    },
    Comment {
        repo: String,
        number: u64,
        login: String,
        body: String,
    },
    EditComment {
        repo: String,
        id: u64,
        login: String,
        body: String,
    },
    Label {
        repo: String,
        number: u64,
        login: String,
        label: String,
    },
    Close {
        repo: String,
        number: u64,
        login: String,
    },
    Reopen {
        repo: String,
        number: u64,
        login: String,
    },
    Merge {
        repo: String,
        number: u64,
        login: String,
    },
    OpenPull {
        repo: String,
        login: String,
        head: String,
        title: String,
        #[serde(default)]
        body: String,
    },
    Review {
        repo: String,
        number: u64,
        login: String,
        state: String,
        #[serde(default)]
        body: String,
        #[serde(default)]
        lines: Vec<LineComment>,
    },
    Reply {
        repo: String,
        number: u64,
        login: String,
        to: u64,
        body: String,
    },
    Push {
        repo: String,
        login: String,
        branch: String,
        files: BTreeMap<String, String>,
    },
    DeleteBranch {
        repo: String,
        login: String,
        branch: String,
    },
    Fork {
        repo: String,
        login: String,
    },
    Status {
        repo: String,
        sha: String,
        context: String,
        state: String,
    },
    CiPlays {
        repo: String,
        play: CiPlay,
    },
    CiEnds {
        repo: String,
        check: String,
        play: JobPlay,
    },
    ApproveRuns {
        repo: String,
    },
    ModelPlays {
        plays: Vec<Play>,
        #[serde(default)]
        key: String,
    },
    ModelShown,
    Fault(Fault),
    Astray {
        event: Option<String>,
        times: u32,
        astray: Astray,
    },
    ClearFaults,
    Grant {
        permission: String,
        level: Option<String>,
    },
    Suspend {
        suspended: bool,
    },
    Install {
        repo: String,
        installed: bool,
    },
    ExpireTokens,
    ListLag {
        reads: u32,
    },
    RateRemaining {
        remaining: u32,
    },
    ManifestCode {
        manifest: Value,
    },
    Settled,
    Pull {
        repo: String,
        number: u64,
    },
    Pulls {
        repo: String,
    },
    Issue {
        repo: String,
        number: u64,
    },
    Comments {
        repo: String,
        number: u64,
    },
    Branches {
        repo: String,
    },
    File {
        repo: String,
        reference: String,
        path: String,
    },
    Notifications,
    Requests,
    Deliveries,
    LeakedAuthorizations,
}

#[derive(Debug, Deserialize)]
struct RepositoryWish {
    name: String,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    private: bool,
    #[serde(default = "yes")]
    drafts: bool,
    #[serde(default)]
    protected: Vec<String>,
    #[serde(default)]
    required_checks: Vec<String>,
    /// Jobs and their commands; with none of the three there is no CI.
    #[serde(default)]
    commands: BTreeMap<String, String>,
    /// Names of scripted checks.
    #[serde(default)]
    checks: Vec<String>,
    /// CI is what the workflow files say.
    #[serde(default)]
    workflow: bool,
    on: Option<On>,
}

fn yes() -> bool {
    true
}

impl RepositoryWish {
    fn into_new(self) -> NewRepository {
        let how = match () {
            () if !self.commands.is_empty() => How::Commands(self.commands.into_iter().collect()),
            () if !self.checks.is_empty() => {
                How::Scripted(Script { checks: self.checks, ..Script::default() })
            }
            () if self.workflow => How::Workflow,
            () => How::None,
        };
        let ci = Ci { how, on: self.on.unwrap_or(On::Push), ..Ci::default() };
        NewRepository {
            private: self.private,
            drafts: self.drafts,
            protected: self.protected,
            required_checks: self.required_checks,
            files: self.files.into_iter().map(|(path, text)| (path, text.into_bytes())).collect(),
            ..NewRepository::new(&self.name, &[]).ci(ci)
        }
    }
}

pub(crate) async fn answer(hub: &Arc<Hub>, call: &Call) -> Reply {
    let Some(verb) = call.segments.get(1) else {
        return Reply::text(
            StatusCode::OK,
            "fixpoint's emulator of GitHub. POST /_emulator/<verb> drives it.\n",
        );
    };
    let mut arguments = match call.json() {
        Ok(Value::Null) => json!({}),
        Ok(arguments) => arguments,
        Err(refusal) => return refusal.into(),
    };
    arguments["verb"] = verb.clone().into();
    let verb: Verb = match serde_json::from_value(arguments) {
        Ok(verb) => verb,
        Err(error) => return Reply::json(StatusCode::BAD_REQUEST, json!({ "message": error.to_string() })),
    };
    let emulator = Emulator { hub: hub.clone(), running: Arc::new(Running::borrowed(hub)) };
    match perform(&emulator, verb).await {
        Ok(value) => Reply::ok(value),
        Err(error) => Reply::json(StatusCode::UNPROCESSABLE_ENTITY, json!({ "message": error.to_string() })),
    }
}

async fn perform(emulator: &Emulator, verb: Verb) -> Result<Value, Error> {
    match verb {
        Verb::Settled => {
            emulator.settled().await;
            Ok(Value::Null)
        }
        Verb::App
        | Verb::DeliverTo { .. }
        | Verb::CreateRepository(_)
        | Verb::Grant { .. }
        | Verb::Suspend { .. }
        | Verb::Install { .. }
        | Verb::UserToken { .. }
        | Verb::ManifestCode { .. } => arrange(emulator, verb),
        Verb::ModelPlays { .. }
        | Verb::ModelShown
        | Verb::Fault(_)
        | Verb::Astray { .. }
        | Verb::ClearFaults
        | Verb::ExpireTokens
        | Verb::ListLag { .. }
        | Verb::RateRemaining { .. }
        | Verb::CiPlays { .. }
        | Verb::CiEnds { .. }
        | Verb::ApproveRuns { .. }
        | Verb::Status { .. } => direct(emulator, verb),
        Verb::Pull { .. }
        | Verb::Pulls { .. }
        | Verb::Issue { .. }
        | Verb::Comments { .. }
        | Verb::Branches { .. }
        | Verb::File { .. }
        | Verb::Notifications
        | Verb::Requests
        | Verb::Deliveries
        | Verb::LeakedAuthorizations => look(emulator, verb),
        doing => act(emulator, doing),
    }
}

fn arrange(emulator: &Emulator, verb: Verb) -> Result<Value, Error> {
    Ok(match verb {
        Verb::App => show_app(&emulator.app()),
        Verb::DeliverTo { url } => json!(emulator.deliver_to(&url)),
        Verb::CreateRepository(wish) => json!(emulator.create_repository(wish.into_new())?),
        Verb::Grant { permission, level } => json!(emulator.grant(&permission, level.as_deref())),
        Verb::Suspend { suspended } => json!(emulator.suspend(suspended)),
        Verb::Install { repo, installed } => json!(emulator.install(&repo, installed)?),
        Verb::UserToken { login } => json!(emulator.user_token(&login)),
        Verb::ManifestCode { manifest } => json!(emulator.manifest_code(manifest)),
        _ => Value::Null,
    })
}

fn direct(emulator: &Emulator, verb: Verb) -> Result<Value, Error> {
    Ok(match verb {
        Verb::ModelPlays { plays, key } => json!(emulator.model().plays_where(&key, plays)),
        Verb::ModelShown => json!(emulator.model().shown()),
        Verb::Fault(fault) => json!(emulator.faults().add(fault)),
        Verb::Astray { event, times, astray } => {
            json!(emulator.faults().astray(event.as_deref(), times, astray))
        }
        Verb::ClearFaults => json!(emulator.faults().clear()),
        Verb::ExpireTokens => json!(emulator.expire_tokens()),
        Verb::ListLag { reads } => json!(emulator.set_list_lag(reads)),
        Verb::RateRemaining { remaining } => json!(emulator.set_rate_remaining(remaining)),
        Verb::CiPlays { repo, play } => json!(emulator.ci_plays(&repo, play)?),
        Verb::CiEnds { repo, check, play } => json!(emulator.ci_ends(&repo, &check, &play)?),
        Verb::ApproveRuns { repo } => json!(emulator.approve_runs(&repo)?),
        Verb::Status { repo, sha, context, state } => json!(emulator.status(&repo, &sha, &context, &state)?),
        _ => Value::Null,
    })
}

fn act(emulator: &Emulator, verb: Verb) -> Result<Value, Error> {
    Ok(match verb {
        Verb::Collaborator { repo, login, permission, hidden: false } => {
            json!(emulator.collaborator(&repo, &login, permission)?)
        }
        Verb::Collaborator { repo, login, permission, hidden: true } => {
            json!(emulator.hidden_member(&repo, &login, permission)?)
        }
        Verb::Watch { repo, login } => json!(emulator.watch(&repo, &login)?),
        Verb::OpenIssue { repo, login, title, body, labels } => {
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            json!(emulator.open_issue_with(&repo, &login, &title, &body, &labels)?)
        }
        Verb::Comment { repo, number, login, body } => json!(emulator.comment(&repo, number, &login, &body)?),
        Verb::EditComment { repo, id, login, body } => {
            json!(emulator.edit_comment(&repo, id, &login, &body)?)
        }
        Verb::Label { repo, number, login, label } => json!(emulator.label(&repo, number, &login, &label)?),
        Verb::Close { repo, number, login } => json!(emulator.close(&repo, number, &login)?),
        Verb::Reopen { repo, number, login } => json!(emulator.reopen(&repo, number, &login)?),
        Verb::Merge { repo, number, login } => json!(emulator.merge(&repo, number, &login)?),
        Verb::OpenPull { repo, login, head, title, body } => {
            json!(emulator.open_pull(&repo, &login, &head, &title, &body)?)
        }
        Verb::Review { repo, number, login, state, body, lines } => {
            json!(emulator.review(&repo, number, &login, &state, &body, &lines)?)
        }
        Verb::Reply { repo, number, login, to, body } => {
            json!(emulator.reply(&repo, number, &login, to, &body)?)
        }
        Verb::Push { repo, login, branch, files } => {
            let files: Vec<(&str, &str)> =
                files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
            json!(emulator.push_as(&repo, &login, &branch, &files)?)
        }
        Verb::DeleteBranch { repo, login, branch } => json!(emulator.delete_branch(&repo, &login, &branch)?),
        Verb::Fork { repo, login } => json!(emulator.fork(&repo, &login)?),
        _ => Value::Null,
    })
}

fn look(emulator: &Emulator, verb: Verb) -> Result<Value, Error> {
    Ok(match verb {
        Verb::Pull { repo, number } => json!(emulator.pull(&repo, number)?),
        Verb::Pulls { repo } => json!(emulator.pulls(&repo)?),
        Verb::Issue { repo, number } => json!(emulator.issue(&repo, number)?),
        Verb::Comments { repo, number } => json!(emulator.comments(&repo, number)?),
        Verb::Branches { repo } => json!(emulator.branches(&repo)?),
        Verb::File { repo, reference, path } => {
            let bytes = emulator.file(&repo, &reference, &path)?;
            json!(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
        }
        Verb::Notifications => json!(emulator.notifications()),
        Verb::Requests => json!(emulator.requests()),
        Verb::Deliveries => json!(emulator.deliveries()),
        Verb::LeakedAuthorizations => json!(emulator.leaked_authorizations()),
        _ => Value::Null,
    })
}

fn show_app(app: &AppCredentials) -> Value {
    json!({
        "app_id": app.app_id,
        "client_id": app.client_id,
        "slug": app.slug,
        "private_key_pem": app.private_key_pem,
        "webhook_secret": app.webhook_secret,
        "installation_id": app.installation_id,
    })
}
