//! Turns inbox entries into effects; the only place that touches everything below it.
//!
//! A session has one writer at a time: whoever holds its lease. The holder reads the inbox, steps, writes, acts, shows
//! and looks, in that order, until nothing is left to do; then it gives the lease back with the moment it wants to be woken.

mod accept;
pub mod action;
mod describe;
mod drive;
mod effects;
mod heal;
mod hooks;
mod journal;
mod keep;
mod look;
mod observe;
mod own;
mod readback;
mod round;
mod rules;
mod seed;
mod show;
mod sweep;
mod task;
mod worker;

pub use crate::store::Running;
pub use hooks::{Hooks, run as read_hooks};
pub use observe::past;
pub use rules::House;
pub use seed::seed;
pub use worker::run;

use crate::{
    agent::Engine,
    domain::{Limits, Retention, Sha, State, egress::AllowList, policy::Rules, session::Guest},
    egress::Upstream,
    git::{GitError, Mirror, Mirrors, Remote},
    github::{App, GitHub, GitHubError, Repository, Scope},
    sandbox::{Kept, Provider, SandboxError},
    store::{self, DiskMark, Store, StoreError},
};
use std::{sync::Arc, time::Duration};
use tokio::sync::OnceCell;

/// Everything a worker works with.
#[derive(Clone)]
pub struct Parts {
    /// What must not be lost.
    pub store: Store,
    /// The forge.
    pub github: GitHub,
    /// The App, asked for once; a server must start while GitHub is down.
    pub app: Arc<OnceCell<App>>,
    /// Host-owned repositories.
    pub mirrors: Mirrors,
    /// Where rounds run.
    pub sandboxes: Provider,
    /// What repositories had installed, where it is kept.
    pub kept: Option<Kept>,
    /// How a sandbox's requests reach the world.
    pub upstream: Upstream,
    /// What thinks.
    pub engine: Arc<dyn Engine>,
    /// What the operator decided, narrowed by the repository that these parts are used for.
    pub settings: Arc<Settings>,
    /// What repositories say of themselves.
    pub house: House,
    /// With less room than this no round begins.
    pub disk: Option<DiskMark>,
}

/// What the operator decided.
#[derive(Clone, Debug)]
pub struct Settings {
    /// This process, new with every start: the owner of its leases.
    pub owner: String,
    /// What a session may use.
    pub limits: Limits,
    /// What may be published.
    pub rules: Rules,
    /// What CI runs besides what the repository's files say: the check of the terminal.
    pub check: Option<String>,
    /// A person sees every change before it is pushed.
    pub ask_first: bool,
    /// The command word without the slash.
    pub word: String,
    /// How a sandbox is made.
    pub sandbox: SandboxSize,
    /// How many sandboxes may run at once: on this node, of a repository, of an installation.
    pub running: Running,
    /// What may be spent in a day.
    pub daily: Daily,
    /// Images that a repository's configuration may name.
    pub images: Vec<String>,
    /// Images that a repository's configuration may run as services.
    pub services: Vec<String>,
    /// What a sandbox may reach.
    pub allow: AllowList,
    /// Engine and model, as the pull request names them.
    pub engine: String,
    /// The host that the model is asked at, where one may know.
    pub model_host: Option<String>,
    /// What is said of the sandbox in the pull request.
    pub sandbox_words: String,
    /// Where fixpoint's own pages can be reached, if they can.
    pub public_url: Option<String>,
    /// Our own secrets: never to be found in anything published.
    pub secrets: Vec<secrecy::SecretString>,
    /// How long a lease holds without a heartbeat.
    pub lease: Duration,
    /// How long what is kept is kept.
    pub retention: Retention,
    /// How long after it was last written what GitHub shows is read back.
    pub read_back: Duration,
    /// Where no database outlives the run: what is different then.
    pub action: Option<action::Settings>,
}

impl Settings {
    /// Our own secrets, to be looked for.
    pub(crate) fn own_secrets(&self) -> Vec<String> {
        self.secrets.iter().map(|secret| secrecy::ExposeSecret::expose_secret(secret).to_owned()).collect()
    }
}

/// How a sandbox is made.
#[derive(Clone, Debug)]
pub struct SandboxSize {
    /// The image, where not the provider's own.
    pub image: Option<String>,
    /// Processor cores.
    pub cpus: f64,
    /// Bytes of memory.
    pub memory: u64,
    /// Processes and threads.
    pub pids: u32,
    /// Bytes of the workspace, `/tmp` and home together.
    pub disk: u64,
    /// Bytes of memory of each service beside it.
    pub service_memory: u64,
}

/// What may be spent in a day (UTC), in millionths of a dollar.
#[derive(Clone, Copy, Debug)]
pub struct Daily {
    /// By one repository.
    pub repository: u64,
    /// By one installation.
    pub installation: u64,
}

impl Daily {
    /// The budget that is used up when (repository, installation) have spent this, in words.
    fn used_up(self, (repository, installation): (u64, u64)) -> Option<String> {
        let over = |spent: u64, cap: u64, whose: &str| {
            (spent >= cap).then(|| format!("{whose}'s budget of ${} a day", cap / 1_000_000))
        };
        over(repository, self.repository, "the repository")
            .or_else(|| over(installation, self.installation, "the installation"))
    }
}

/// Why a session's holder stops in the middle.
#[derive(Debug, thiserror::Error)]
enum Halt {
    /// The lease is lost: touch nothing more.
    #[error("the lease is lost")]
    LeaseLost,
    /// The process is being ended.
    #[error("the process is being ended")]
    Shutdown,
    /// There is no commit to be fetched.
    #[error("the repository is empty")]
    Empty,
    /// GitHub will not take it, however often it is asked; whether that has changed is looked at now and then.
    #[error("{0}")]
    Refused(String),
    /// Something outside is broken for now; look again after a while.
    #[error("{0}")]
    Later(String, Duration),
}

/// What GitHub refuses is looked at again after this.
const REFUSED_LOOK: Duration = Duration::from_secs(300);

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::LeaseLost => Self::LeaseLost,
            other => Self::Later(other.to_string(), Duration::from_secs(10)),
        }
    }
}

impl From<GitHubError> for Halt {
    fn from(error: GitHubError) -> Self {
        match error.retry_after() {
            Some(wait) => Self::Later(error.to_string(), wait),
            None => Self::Refused(error.to_string()),
        }
    }
}

impl From<GitError> for Halt {
    fn from(error: GitError) -> Self {
        match error {
            GitError::NotFound(_) => Self::Empty,
            other => Self::Later(other.to_string(), Duration::from_secs(30)),
        }
    }
}

impl From<SandboxError> for Halt {
    fn from(error: SandboxError) -> Self {
        Self::Later(error.to_string(), Duration::from_secs(30))
    }
}

/// On a full disk a round is looked at again after this.
const FULL_LOOK: Duration = Duration::from_secs(10);

impl Parts {
    /// Is there room for a round?
    fn has_room(&self) -> Result<(), Halt> {
        match self.disk.as_ref().and_then(DiskMark::problem) {
            None => Ok(()),
            Some(problem) => Err(Halt::Later(format!("no round begins: {problem}"), FULL_LOOK)),
        }
    }

    /// Calls the store again while it is busy, as long as a lease lasts.
    async fn patiently<T, F>(&self, call: impl FnMut() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        store::patiently(self.settings.lease, call).await
    }

    /// The App, asked for once.
    async fn app(&self) -> Result<&App, GitHubError> {
        self.app.get_or_try_init(|| self.github.app()).await
    }

    fn repository(&self, state: &State) -> Repository {
        self.github.repository(state.facts.installation, &state.facts.repo)
    }

    async fn mirror(&self, state: &State) -> Result<Mirror, GitError> {
        self.mirrors.open(&state.facts.repo.id.to_string()).await
    }

    async fn remote(&self, repository: &Repository, scope: Scope) -> Result<Remote, GitHubError> {
        let token = repository.credential(scope).await?.token;
        Ok(Remote { url: repository.git_url(), token: Some(token) })
    }

    /// Where the session's base and its own branch stand now, both brought into the mirror; `None` for one that is not there.
    async fn fetch_branches(
        &self,
        mirror: &Mirror,
        repository: &Repository,
        state: &State,
    ) -> Result<[Option<Sha>; 2], Halt> {
        let facts = &state.facts;
        let head = match (&facts.guest, &facts.pull) {
            // A fork's branch is not here, but what it points to is.
            (Some(Guest { fork: Some(_), .. }), Some(pull)) => format!("refs/pull/{}/head", pull.number),
            _ => format!("refs/heads/{}", facts.branch),
        };
        let refs = [format!("refs/heads/{}", facts.base.branch), head];
        let found = self.fetch(mirror, repository, &refs).await?;
        Ok(<[Option<Sha>; 2]>::try_from(found).unwrap_or_default())
    }

    /// Brings refs of the server into the mirror; a token that died in the meantime is minted again once.
    async fn fetch(
        &self,
        mirror: &Mirror,
        repository: &Repository,
        refs: &[String],
    ) -> Result<Vec<Option<Sha>>, Halt> {
        let remote = self.remote(repository, Scope::Read).await?;
        match mirror.fetch(&remote, refs).await {
            Err(GitError::Unauthorized(_)) => {
                repository.forget_token(Scope::Read).await;
                Ok(mirror.fetch(&self.remote(repository, Scope::Read).await?, refs).await?)
            }
            other => Ok(other?),
        }
    }
}
