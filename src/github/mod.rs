//! The only place that speaks GitHub's API (through octocrab on a service of our own).
//!
//! Tokens: three a repository (read, talk, push), cached in memory until ten minutes before their end, minted once however
//! many ask, minted again once on 401; never stored. Only reads are repeated by themselves: a write that may have taken
//! effect is looked for by whoever wanted it.

use crate::domain::{
    Actor, CommentId, InstallationId, Number, Repo, RepoId, Sha, Timestamp, session::Subject,
    trust::Permission, verdict::Checks,
};
use secrecy::SecretString;
use std::time::Duration;

/// Where and as whom.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `https://api.github.com`, or `https://HOST/api/v3` of GitHub Enterprise.
    pub api_url: url::Url,
    /// Where people read and git fetches: `https://github.com`.
    pub web_url: url::Url,
    /// The App's id or client id: the JWT's issuer.
    pub app_id: String,
    /// The App's private key, PEM.
    pub private_key: SecretString,
}

/// A GitHub, as one App sees it.
#[derive(Clone, Debug)]
pub struct GitHub {}

/// One repository through one installation.
#[derive(Clone, Debug)]
pub struct Repository {}

/// What a call can fail with, sorted by what can be done.
#[derive(Debug, thiserror::Error)]
pub enum GitHubError {
    /// A limit of GitHub's; nothing is sent until then.
    #[error("GitHub asks to wait {} s", .0.as_secs())]
    Limited(Duration),
    /// GitHub, or the way to it, is broken for now.
    #[error("GitHub cannot be reached for now: {0}")]
    Unavailable(String),
    /// The thing is not there, or hidden from us.
    #[error("not found: {0}")]
    NotFound(String),
    /// A permission is missing.
    #[error("GitHub refuses: {0}")]
    Forbidden(String),
    /// GitHub will never take this.
    #[error("GitHub does not accept it: {0}")]
    Invalid(String),
    /// The App's credentials are refused.
    #[error("the App's credentials are refused: {0}")]
    Unauthorized(String),
    /// The answer cannot be read.
    #[error("GitHub's answer cannot be read: {0}")]
    Unreadable(String),
}

/// Whether trying again later can help.
impl GitHubError {
    /// When a further try makes sense; `None`: never.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Limited(wait) => Some(*wait),
            Self::Unavailable(_) | Self::Unreadable(_) => Some(Duration::from_secs(5)),
            _ => None,
        }
    }
}

/// A token with what git needs to use it.
#[derive(Clone, Debug)]
pub struct Credential {
    /// The token.
    pub token: SecretString,
}

/// What a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Read everything the App may read.
    Read,
    /// Issues, pull requests, checks: write; actions: write where granted.
    Talk,
    /// Contents: write.
    Push,
}

/// The App itself.
#[derive(Clone, Debug)]
pub struct App {
    /// Its id; checks made by it are ours.
    pub id: u64,
    /// Its slug; its bot's login is `slug[bot]`.
    pub slug: String,
}

/// A repository's facts.
#[derive(Clone, Debug)]
pub struct RepositoryInfo {
    /// Id and present names.
    pub repo: Repo,
    /// Not everybody may read it.
    pub private: bool,
    /// Where pull requests go by default.
    pub default_branch: String,
    /// Nothing may be written.
    pub archived: bool,
}

/// An issue, or a pull request seen as one.
#[derive(Clone, Debug)]
pub struct Issue {
    /// Its number.
    pub number: Number,
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: String,
    /// Who wrote it.
    pub author: Actor,
    /// Whether it is open.
    pub open: bool,
    /// Whether it is a pull request.
    pub is_pull: bool,
    /// When its text was last changed.
    pub updated_at: Option<String>,
    /// Its labels.
    pub labels: Vec<String>,
}

/// A comment.
#[derive(Clone, Debug)]
pub struct Comment {
    /// Its id.
    pub id: CommentId,
    /// Who wrote it.
    pub author: Actor,
    /// Written by a bot or through an App.
    pub by_bot: bool,
    /// The App it was written through.
    pub app: Option<u64>,
    /// Its text.
    pub body: String,
    /// Where people read it.
    pub url: String,
    /// When it was written, RFC 3339.
    pub created_at: String,
}

/// A pull request.
#[derive(Clone, Debug)]
pub struct PullRequest {
    /// Its number.
    pub number: Number,
    /// Its GraphQL id.
    pub node_id: String,
    /// `open` or `closed`.
    pub open: bool,
    /// Closed by a merge.
    pub merged: bool,
    /// A draft.
    pub draft: bool,
    /// Its head commit.
    pub head: Sha,
    /// Its head branch.
    pub head_branch: String,
    /// The repository of its head; `None` when it was deleted.
    pub head_repo: Option<RepoId>,
    /// Its base branch.
    pub base_branch: String,
    /// Whether it merges cleanly, once GitHub knows.
    pub mergeable: Option<bool>,
    /// Where people read it.
    pub url: String,
    /// Who opened it.
    pub author: Actor,
}

/// A check run of ours, as it is to be shown.
#[derive(Clone, Debug)]
pub struct CheckShow {
    /// The commit it stands on.
    pub head: Sha,
    /// Its name.
    pub name: String,
    /// Known again by this.
    pub external_id: String,
    /// `Some` when it is completed: `success` or `neutral`, never one that blocks.
    pub conclusion: Option<&'static str>,
    /// Its title.
    pub title: String,
    /// Its summary, Markdown.
    pub summary: String,
}

/// A log, cut to a cap while it was read.
#[derive(Clone, Debug)]
pub enum JobLog {
    /// The log's bytes (its end, when it was longer than the cap).
    Text(Vec<u8>),
    /// Not there yet (404 while the job is young).
    NotYet,
    /// Gone (410), or never written.
    Gone,
}

/// A failed delivery of a webhook, or any delivery in the App's list.
#[derive(Clone, Debug)]
pub struct HookDelivery {
    /// GitHub's id of this attempt.
    pub id: u64,
    /// `X-GitHub-Delivery`.
    pub guid: String,
    /// The event.
    pub event: String,
    /// When, RFC 3339.
    pub delivered_at: String,
    /// Whether the answer was a success.
    pub ok: bool,
}

#[allow(unused_variables, clippy::unused_async, missing_docs)]
impl GitHub {
    pub fn new(settings: Settings, http: reqwest::Client) -> Result<Self, GitHubError> {
        todo!()
    }
    /// The App the key belongs to.
    pub async fn app(&self) -> Result<App, GitHubError> {
        todo!()
    }
    /// One repository through an installation. Names may be old: calls go by them and follow GitHub's redirects.
    pub fn repository(&self, installation: InstallationId, repo: &Repo) -> Repository {
        todo!()
    }
    /// Where people read.
    pub fn web_url(&self) -> &url::Url {
        todo!()
    }
    /// Deliveries of the App's webhook, newest first, as far back as `since` (RFC 3339) reaches.
    pub async fn deliveries(&self, since: Timestamp) -> Result<Vec<HookDelivery>, GitHubError> {
        todo!()
    }
    /// Has a delivery sent again.
    pub async fn redeliver(&self, id: u64) -> Result<(), GitHubError> {
        todo!()
    }
}

#[allow(unused_variables, clippy::unused_async, missing_docs)]
impl Repository {
    pub async fn info(&self) -> Result<RepositoryInfo, GitHubError> {
        todo!()
    }
    /// What an account may do; refused (`None`) when the answer is about another id than `actor.id`. Cached for a minute.
    pub async fn permission(&self, actor: &Actor) -> Result<Permission, GitHubError> {
        todo!()
    }
    pub async fn issue(&self, number: Number) -> Result<Issue, GitHubError> {
        todo!()
    }
    /// The comments of a thread, oldest first, at most 300.
    pub async fn comments(&self, number: Number) -> Result<Vec<Comment>, GitHubError> {
        todo!()
    }
    /// 👀; GitHub gives the same reaction twice only once.
    pub async fn react(&self, number: Number, on: Subject) -> Result<(), GitHubError> {
        todo!()
    }
    /// Finds our comment by its hidden marker (oldest first), or writes it, then looks again, keeps the oldest and
    /// deletes our own extras. Gives id and address.
    pub async fn comment_once(
        &self,
        number: Number,
        marker: &str,
        body: &str,
    ) -> Result<(CommentId, String), GitHubError> {
        todo!()
    }
    pub async fn edit_comment(&self, comment: CommentId, body: &str) -> Result<(), GitHubError> {
        todo!()
    }
    /// The commit a branch points to; `None`: no such branch.
    pub async fn branch(&self, branch: &str) -> Result<Option<Sha>, GitHubError> {
        todo!()
    }
    /// Names of checks the branch requires, from the branch itself and its rules: no administration permission needed.
    pub async fn required_checks(&self, branch: &str) -> Result<Vec<String>, GitHubError> {
        todo!()
    }
    pub async fn delete_branch(&self, branch: &str) -> Result<(), GitHubError> {
        todo!()
    }
    pub async fn pull(&self, number: Number) -> Result<PullRequest, GitHubError> {
        todo!()
    }
    /// Pull requests of one of this repository's own branches, every state, newest first.
    pub async fn pulls_of(&self, branch: &str) -> Result<Vec<PullRequest>, GitHubError> {
        todo!()
    }
    /// The open pull request of the branch: found, else opened as a draft (an ordinary one where drafts are refused).
    /// A closed one that was not merged is given back too: a person closed it.
    pub async fn pull_once(
        &self,
        branch: &str,
        base: &str,
        title: &str,
        body: &str,
    ) -> Result<PullRequest, GitHubError> {
        todo!()
    }
    pub async fn edit_pull(&self, number: Number, title: &str, body: &str) -> Result<(), GitHubError> {
        todo!()
    }
    /// Draft or ready, by GraphQL.
    pub async fn set_draft(&self, pull: &PullRequest, draft: bool) -> Result<(), GitHubError> {
        todo!()
    }
    pub async fn request_review(&self, number: Number, login: &str) -> Result<(), GitHubError> {
        todo!()
    }
    /// Finds our check run on the commit by its external id, or makes it; gives its id.
    pub async fn check_once(&self, show: &CheckShow) -> Result<u64, GitHubError> {
        todo!()
    }
    pub async fn update_check(&self, id: u64, show: &CheckShow) -> Result<(), GitHubError> {
        todo!()
    }
    /// All checks of a commit: suites, runs, statuses, workflow runs (the `required` list is left empty).
    pub async fn checks(&self, commit: &Sha) -> Result<Checks, GitHubError> {
        todo!()
    }
    /// A job's log; the redirect is followed without the token; at most `cap` bytes are kept, the end of it.
    pub async fn job_log(&self, job: u64, cap: usize) -> Result<JobLog, GitHubError> {
        todo!()
    }
    /// A check run's annotations, `path:line: message` each.
    pub async fn annotations(&self, check_run: u64) -> Result<Vec<String>, GitHubError> {
        todo!()
    }
    pub async fn rerun_failed(&self, workflow_run: u64) -> Result<(), GitHubError> {
        todo!()
    }
    /// A file of a commit or branch; `None`: not there.
    pub async fn file(&self, path: &str, at: &str) -> Result<Option<Vec<u8>>, GitHubError> {
        todo!()
    }
    /// A token for git.
    pub async fn credential(&self, scope: Scope) -> Result<Credential, GitHubError> {
        todo!()
    }
    /// Throws the cached token away (git was refused with 401).
    pub async fn forget_token(&self, scope: Scope) {
        todo!()
    }
    /// Where git fetches and pushes.
    pub fn git_url(&self) -> url::Url {
        todo!()
    }
}
