//! The only place that speaks GitHub's API (through octocrab on a service of our own).
//!
//! An App's tokens: one a repository and scope, cached in memory until ten minutes before their end, minted once however many
//! ask, minted again once on 401; never stored. Only reads are repeated by themselves: a write that may have taken
//! effect is looked for by whoever wanted it. Answers are read into types of our own that hold no more than is used,
//! because GitHub's answers vary more than octocrab's models allow.

mod app;
mod auth;
mod checks;
mod client;
mod errors;
mod files;
mod graphql;
mod history;
mod issues;
mod labels;
mod limits;
mod logs;
pub mod manifest;
mod once;
mod own;
pub mod payload;
mod pulls;
mod registration;
mod repository;
mod reviews;
mod service;
mod template;
mod tokens;
mod wire;
mod withheld;

pub use app::{App, HookDelivery};
pub use auth::{ACTIONS, Identity};
pub use checks::{CheckAction, CheckShow};
pub use errors::GitHubError;
pub use files::{PullFile, placeable};
pub use history::{Job, Run};
pub use issues::{Comment, Issue};
pub use limits::Rate;
pub use logs::JobLog;
pub use pulls::PullRequest;
pub use registration::{Grants, Hook, Installation, Registration};
pub use repository::RepositoryInfo;
pub use reviews::{LineComment, Review, ReviewComment, Side};
pub use tokens::Scope;

use crate::domain::{Actor, InstallationId, Repo, RepoId, UserId};
use crate::domain::{policy::Secrets, trust::Permission};
use auth::Auth;
use client::Client;
use secrecy::{ExposeSecret, SecretString};
use service::{Caller, Service};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokens::Key;
use url::Url;

/// Where and as whom.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `https://api.github.com`, or `https://HOST/api/v3` of GitHub Enterprise.
    pub api_url: Url,
    /// Where people read and git fetches: `https://github.com`.
    pub web_url: Url,
    /// As whom.
    pub identity: Identity,
}

/// A token with what git needs to use it.
#[derive(Clone, Debug)]
pub struct Credential {
    /// The token.
    pub token: SecretString,
}

/// A GitHub, as one identity sees it. Clones share tokens, limits and kept answers.
#[derive(Clone)]
pub struct GitHub {
    as_app: Client,
    web: Url,
    identity: Arc<Identity>,
    own: Arc<tokio::sync::OnceCell<App>>,
    bot: Arc<tokio::sync::OnceCell<Actor>>,
    permissions: moka::future::Cache<(RepoId, UserId), Permission>,
}

/// One repository through one installation.
#[derive(Clone)]
pub struct Repository {
    github: GitHub,
    client: Client,
    installation: InstallationId,
    repo: Repo,
}

/// A permission that was taken away may be used this much longer.
const PERMISSION_KEPT: Duration = Duration::from_secs(60);

impl GitHub {
    /// Must be called within a Tokio runtime. `http` should not follow redirects itself: then the way they are
    /// followed, and that no token goes along to another host, is decided here.
    ///
    /// # Errors
    /// [`GitHubError::Unauthorized`] when the private key cannot be read.
    pub fn new(settings: Settings, http: reqwest::Client) -> Result<Self, GitHubError> {
        let auth = Arc::new(Auth::new(&settings.identity)?);
        let mut api = settings.api_url;
        if !api.path().ends_with('/') {
            api.set_path(&format!("{}/", api.path()));
        }
        let wire = Arc::new(wire::Wire { api, http, limits: limits::Limits::default() });
        let service = Service {
            wire,
            auth,
            answers: service::answers(),
            caller: Caller::App,
            by_clock: false,
            secrets: Arc::default(),
        };
        let permissions =
            moka::future::Cache::builder().max_capacity(10_000).time_to_live(PERMISSION_KEPT).build();
        Ok(Self {
            as_app: Client::new(service),
            web: settings.web_url,
            identity: Arc::new(settings.identity),
            own: Arc::default(),
            bot: Arc::default(),
            permissions,
        })
    }

    /// One repository through an installation. Names may be old: calls go by them and follow GitHub's redirects.
    pub fn repository(&self, installation: InstallationId, repo: &Repo) -> Repository {
        let caller = Caller::Repository(installation, repo.id);
        let client = Client::new(Service { caller, ..self.as_app.service.clone() });
        Repository { github: self.clone(), client, installation, repo: repo.clone() }
    }

    /// What is written through this value from now on (and through repositories of it) holds none of these, in no usual
    /// encoding.
    pub fn withhold(&mut self, secrets: &[SecretString]) {
        let secrets: Vec<String> = secrets.iter().map(|secret| secret.expose_secret().to_owned()).collect();
        self.as_app.service.secrets = Arc::new(Secrets::new(&secrets));
    }

    /// From now on what is read through this value (and repositories of it) is looked for by the clock, or is not: looks
    /// may use a fifth of an installation's hourly requests, then they wait. What did not change costs nothing.
    pub fn looks_by_the_clock(&mut self, by_clock: bool) {
        self.as_app.service.by_clock = by_clock;
    }

    /// As whom it is spoken to.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Where people read.
    pub fn web_url(&self) -> &Url {
        &self.web
    }
}

impl Repository {
    /// A token for git.
    ///
    /// # Errors
    /// [`GitHubError::Forbidden`] names a permission that the installation does not grant.
    pub async fn credential(&self, scope: Scope) -> Result<Credential, GitHubError> {
        let service = &self.client.service;
        service.wire.limits.pass(Some(self.installation), false)?;
        let token = service.auth.get(&service.wire, self.key(scope)).await?;
        Ok(Credential { token })
    }

    /// A text as it will stand where it is written: not as it is, where it holds what is withheld.
    pub fn as_written(&self, text: &str) -> String {
        withheld::instead(&self.client.service.secrets, text).unwrap_or_else(|| text.to_owned())
    }

    /// Throws the cached token away (git was refused with 401).
    pub async fn forget_token(&self, scope: Scope) {
        self.client.service.auth.forget(self.key(scope), None).await;
    }

    /// What is left of the installation's hourly requests; `None` before the first answer.
    pub fn rate(&self) -> Option<Rate> {
        self.client.service.wire.limits.rate(Some(self.installation))
    }

    /// Where git fetches and pushes.
    pub fn git_url(&self) -> Url {
        self.git_url_of(&self.repo)
    }

    /// Where git reaches another repository of the same GitHub: the fork that a pull request comes from. No token is
    /// made for it, for the App is not installed there; whether this repository's own ([`Scope::Push`]) reaches a fork
    /// whose owner lets maintainers push is found out by trying.
    pub fn git_url_of(&self, repo: &Repo) -> Url {
        let mut url = self.github.web.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend([&repo.owner, &format!("{}.git", repo.name)]);
        }
        url
    }

    fn key(&self, scope: Scope) -> Key {
        Key { installation: self.installation, repo: self.repo.id, scope }
    }

    /// An address below the repository's own.
    fn url<'a>(&'a self, below: impl IntoIterator<Item = &'a str>) -> Url {
        let own = ["repos", &self.repo.owner, &self.repo.name];
        self.client.url(own.into_iter().chain(below))
    }
}

impl fmt::Debug for GitHub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GitHub").field("api", &self.as_app.service.wire.api.as_str()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Repository({} through {})", self.repo, self.installation)
    }
}

#[cfg(test)]
mod tests;
