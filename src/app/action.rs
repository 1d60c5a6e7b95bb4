//! From a workflow's event to what its run is for.

use super::configured;
use crate::{
    config::{Config, Engine, Inputs, Runner},
    domain::{Number, Repo, egress::AllowList, text},
    git::{self, Mirrors},
    github::{self, ACTIONS, GitHub, GitHubError, Identity, Repository},
    store::Store,
    work::{
        self,
        action::{About, Errand, Event, Ran},
    },
};
use anyhow::{Context, bail};
use secrecy::SecretString;
use serde_json::{Value, json};
use std::{path::Path, sync::Arc};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

/// GitHub caps what it delivers at this; a file that is larger is none of its events.
/// Source: GitHub, "Webhook events and payloads".
const LARGEST_EVENT: u64 = 25 << 20;

/// Longest title of an issue that is opened for a run by hand.
const TITLE: usize = 80;

/// What a run of the Action came to.
#[derive(Debug)]
pub struct Action {
    /// What became of the event, and its sessions.
    pub ran: Ran,
    /// What is worth a warning, a sentence each.
    pub warnings: Vec<String>,
}

/// Does what one event asks for.
///
/// # Errors
/// A sentence for whoever set the workflow up.
pub async fn action(
    config: &Config,
    (runner, inputs): (&Runner, &Inputs),
    http: reqwest::Client,
    shutdown: CancellationToken,
) -> anyhow::Result<Action> {
    let mut warnings = Vec::new();
    if let Some(workspace) = &runner.workspace
        && git::forget_credentials(workspace)? > 0
    {
        tracing::info!("the checkout's token was removed from its configuration");
    }
    if config.sandbox.kind == Engine::Local {
        warnings.push(
            "`sandbox: runner` is no boundary: what the agent runs can read and do what this job can, its secrets included"
                .to_owned(),
        );
    }
    let identity = identity(config, inputs)?;
    let tells_ci = identity.starts_workflows();
    let github = GitHub::new(
        github::Settings {
            api_url: config.github.api_url.clone(),
            web_url: config.github.web_url.clone(),
            identity,
        },
        http.clone(),
    )?;
    let (owner, name) = runner.repository.split_once('/').context("GITHUB_REPOSITORY is not OWNER/NAME")?;
    let installed = github.installed(owner, name).await;
    let (installation, repo) =
        installed.map_err(|error| not_let_in(error, &runner.repository, github.identity()))?;
    let repository = github.repository(installation, &repo);
    own_token(&github, &repository).await?;
    let payload = payload(&runner.event_file)?;
    let Some((about, event)) =
        sorted((runner, inputs), &config.command, &repository, (&repo, payload)).await?
    else {
        let ran = Ran { settled: None, sessions: Vec::new() };
        return Ok(Action { ran, warnings });
    };
    let folder = tempfile::Builder::new().prefix("fixpoint-").tempdir_in(&runner.temp)?;
    let parts = parts(config, (runner, inputs), (github, http), folder.path()).await?;
    let sandboxes = parts.sandboxes.clone();
    let errand = Errand { installation, repo, about, event };
    let ran = Box::pin(work::action::once(parts, errand, shutdown)).await;
    // Whatever happened: nothing of ours is left on the runner.
    if let Err(error) = sandboxes.sweep(&[]).await {
        tracing::warn!(%error, "sandboxes could not be removed");
    }
    let ran = ran?;
    if !tells_ci && ran.sessions.iter().any(|session| session.branch.is_some()) {
        warnings.push(
            "CI does not start by itself on what is pushed here: a workflow's own GITHUB_TOKEN starts no workflow. \
             Give the Action an App's `app-id` and `private-key`; see docs/action/README.md"
                .to_owned(),
        );
    }
    Ok(Action { ran, warnings })
}

/// As whom: an App whose key is given, the App that minted the given token, or GitHub Actions itself.
fn identity(config: &Config, inputs: &Inputs) -> anyhow::Result<Identity> {
    match (&config.github.app_id, &config.github.private_key, &inputs.token) {
        (Some(id), Some(key), _) => Ok(Identity::App { id: id.clone(), private_key: key.clone() }),
        (Some(_), None, _) | (None, Some(_), _) => bail!("inputs app-id and private-key belong together"),
        (None, None, Some(token)) => {
            let slug = inputs.app_slug.clone().unwrap_or_else(|| ACTIONS.to_owned());
            Ok(Identity::Token { token: token.clone(), slug })
        }
        (None, None, None) => bail!("neither input token nor app-id and private-key are set"),
    }
}

/// Why the repository is closed to us, and who can open it.
fn not_let_in(error: GitHubError, repository: &str, identity: &Identity) -> anyhow::Error {
    let told = match (&error, identity) {
        (GitHubError::Unauthorized(_), Identity::Token { .. }) => {
            "GitHub does not know the input `token`, or it has run out: give the workflow's `github.token`, or an App's \
             `app-id` and `private-key`"
                .to_owned()
        }
        (GitHubError::Unauthorized(_), Identity::App { .. }) => {
            "GitHub refuses the App: do the inputs `app-id` and `private-key` belong together?".to_owned()
        }
        (GitHubError::NotFound(_) | GitHubError::Forbidden(_), Identity::Token { .. }) => {
            format!("the input `token` does not open {repository}: a token of that repository is wanted")
        }
        (GitHubError::NotFound(_) | GitHubError::Forbidden(_), Identity::App { .. }) => {
            format!("the App is not installed on {repository}")
        }
        _ => format!("{repository} cannot be asked for"),
    };
    anyhow::Error::new(error).context(told)
}

/// A person's token would make the person the author of all that is written, and what a person writes starts work.
async fn own_token(github: &GitHub, repository: &Repository) -> anyhow::Result<()> {
    if matches!(github.identity(), Identity::App { .. }) {
        return Ok(());
    }
    if let Some(person) = repository.token_owner().await? {
        bail!(
            "the token is {}'s own: give the workflow's `github.token`, or an App's `app-id` and `private-key`",
            text::line(&person.login)
        );
    }
    Ok(())
}

fn payload(file: &Path) -> anyhow::Result<Value> {
    let shown = file.display();
    let size =
        std::fs::metadata(file).with_context(|| format!("the event's file {shown} cannot be read"))?.len();
    if size > LARGEST_EVENT {
        bail!("the event's file {shown} has {size} bytes, more than any event of GitHub's");
    }
    let bytes = std::fs::read(file).with_context(|| format!("the event's file {shown} cannot be read"))?;
    serde_json::from_slice(&bytes).with_context(|| format!("the event's file {shown} is not JSON"))
}

/// What the event is about and how it is told on; `None`: it concerns nothing of ours.
async fn sorted(
    (runner, inputs): (&Runner, &Inputs),
    word: &str,
    repository: &Repository,
    (repo, payload): (&Repo, Value),
) -> anyhow::Result<Option<(About, Option<Event>)>> {
    let number = |part: &str| payload[part]["number"].as_u64().map(Number);
    let about = match runner.event.as_str() {
        "schedule" => return Ok(Some((About::Everything, None))),
        "workflow_dispatch" => return by_hand((runner, inputs), word, repository, &payload).await.map(Some),
        "issue_comment" | "issues" => number("issue").map(About::Thread),
        "pull_request" | "pull_request_target" | "pull_request_review" => {
            number("pull_request").map(About::Thread)
        }
        "workflow_run" => {
            let run = &payload["workflow_run"];
            let here = run["head_repository"]["id"].as_u64() == Some(repo.id.0);
            run["head_branch"].as_str().filter(|_| here).map(|branch| About::Branch(branch.to_owned()))
        }
        other => bail!(
            "the event `{other}` is not one that fixpoint works on; use issue_comment, issues, pull_request, \
             pull_request_review, workflow_run, workflow_dispatch or schedule"
        ),
    };
    // Another name for the same event; what it carries is the same.
    let name = runner.event.strip_suffix("_target").unwrap_or(&runner.event).to_owned();
    Ok(about.map(|about| (about, Some(Event { name, id: runner.run.clone(), payload }))))
}

/// A run by hand becomes a comment that says who asked for what, and is followed like one of theirs.
async fn by_hand(
    (runner, inputs): (&Runner, &Inputs),
    word: &str,
    repository: &Repository,
    payload: &Value,
) -> anyhow::Result<(About, Option<Event>)> {
    let given = |input: &Option<String>, name: &str| {
        let own = payload["inputs"][name].as_str().filter(|text| !text.trim().is_empty());
        input.clone().or_else(|| own.map(str::to_owned))
    };
    let (issue, instruction) = (given(&inputs.issue, "issue"), given(&inputs.instruction, "instruction"));
    let login = payload["sender"]["login"].as_str().unwrap_or("somebody");
    let number = match (&issue, &instruction) {
        // Nothing asked: a look after everything, as by the clock.
        (None, None) => return Ok((About::Everything, None)),
        (Some(issue), _) => {
            let number = issue.trim().trim_start_matches('#').parse();
            Number(number.with_context(|| format!("input issue: {issue:?} is no issue's number"))?)
        }
        (None, Some(instruction)) => {
            let title = text::shorten(instruction.lines().next().unwrap_or_default(), TITLE);
            let body = format!(
                "{}\n\nAsked by `{}` from the Actions page.",
                text::harmless(instruction),
                text::line(login)
            );
            repository.open_issue(&title, &body).await?
        }
    };
    let instruction = instruction.unwrap_or_default();
    let said = text::line(&text::shorten(&instruction.replace('`', "'"), 1_000));
    let marker = format!("<!-- fixpoint-run:{} -->", runner.run);
    let body = format!(
        "`{}` asked from the Actions page: `{}`\n\n{marker}",
        text::line(login),
        if said.is_empty() { "what this issue says" } else { &said }
    );
    // Once a run: a run that is run again asks for nothing new.
    let (comment, _) = repository.comment_once(number, &marker, &body).await?;
    let mut subject = json!({ "number": number });
    if repository.issue(number).await?.is_pull {
        subject["pull_request"] = json!({});
    }
    let told = json!({
        "action": "created",
        "issue": subject,
        "comment": { "id": comment, "body": format!("/{word} {instruction}"), "user": payload["sender"] },
        "repository": payload["repository"],
        "sender": payload["sender"],
    });
    let event = Event { name: "issue_comment".to_owned(), id: runner.run.clone(), payload: told };
    Ok((About::Thread(number), Some(event)))
}

/// The run's own parts: everything it writes goes with it.
async fn parts(
    config: &Config,
    (runner, inputs): (&Runner, &Inputs),
    (mut github, http): (GitHub, reqwest::Client),
    folder: &Path,
) -> anyhow::Result<work::Parts> {
    let config = &Config { data_dir: folder.to_owned(), ..config.clone() };
    configured::priced(config, &http)?;
    let engine = configured::engine(config, &http)?;
    let sandboxes = configured::sandboxes(config, "").await?;
    sandboxes.check().await?;
    configured::program(engine.as_ref(), &sandboxes).await?;
    let words = match config.sandbox.kind {
        Engine::Docker => AllowList::parse(&config.egress.allow)?.words(),
        Engine::Local => "the workflow's runner itself, which is no boundary".to_owned(),
    };
    let mut secrets: Vec<SecretString> = inputs.secrets();
    secrets.extend(config.secrets());
    let mut settings = configured::work(config, &engine.describe(), words, secrets)?;
    settings.action = Some(work::action::Settings { workflow: runner.workflow.clone() });
    let database = format!("sqlite:{}", folder.join("fixpoint.db").display());
    github.withhold(&settings.secrets);
    let operator = Arc::new(settings);
    let house = work::House::new(operator.clone(), engine.models());
    Ok(work::Parts {
        store: Store::open(&database).await?,
        github,
        app: Arc::new(OnceCell::new()),
        mirrors: Mirrors::new(folder.join("mirrors")).through(config.proxy()?),
        sandboxes,
        // No folder outlives the run.
        kept: None,
        upstream: configured::upstream(config)?,
        engine,
        settings: operator,
        house,
        disk: None,
    })
}
