//! Where untrusted code runs. A sandbox can only `exec` and `stop`; the only place that speaks to a container
//! engine.

mod docker;
mod kept;
mod local;
mod pump;

pub use docker::{DockerProvider, DockerSettings};
pub use kept::{Kept, Writing};
pub use local::LocalProvider;

use crate::domain::{Epoch, SessionId, repo_config::Service};
use std::{collections::BTreeMap, time::Duration};
use tokio::io::{AsyncRead, AsyncWrite};

/// A running sandbox.
#[async_trait::async_trait]
pub trait Sandbox: Send + Sync {
    /// Starts a command in it.
    ///
    /// # Errors
    /// [`SandboxError::Gone`] after its end; [`SandboxError::NoProgram`], which an engine may tell only when it
    /// is waited for.
    async fn exec(&self, command: Command) -> Result<Process, SandboxError>;
    /// Ends it with everything in it; what has ended already is no error.
    ///
    /// # Errors
    /// Where the engine cannot be reached or refuses: it may still be there, for the sweep.
    async fn stop(&self) -> Result<(), SandboxError>;
    /// The absolute path of the workspace inside it.
    fn workspace(&self) -> &str;
    /// One short phrase for people: `docker, no network, uid 10001`.
    fn describe(&self) -> String;
    /// The image it was made of, by its content; `None` where it is made of the machine itself.
    fn image(&self) -> Option<&str> {
        None
    }
}

/// What is run.
#[derive(Clone, Debug)]
pub struct Command {
    /// Our own program's toolbox, or any other.
    pub program: Program,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Added to the sandbox's environment. Never a secret.
    pub environment: BTreeMap<String, String>,
    /// Relative to the workspace; empty: the workspace itself.
    pub directory: String,
}

/// Which program.
#[derive(Clone, Debug)]
pub enum Program {
    /// `fixpoint toolbox …`, wherever the sandbox has it.
    Toolbox,
    /// A program of the image, by name or path.
    Named(String),
}

impl Command {
    /// A command of our toolbox.
    pub fn toolbox(arguments: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::new(Program::Toolbox, arguments)
    }

    /// A program of the image.
    pub fn named(program: &str, arguments: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::new(Program::Named(program.to_owned()), arguments)
    }

    fn new(program: Program, arguments: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let arguments = arguments.into_iter().map(Into::into).collect();
        Self { program, arguments, environment: BTreeMap::new(), directory: String::new() }
    }
}

/// A command that runs. Dropping it does not end it; stopping the sandbox does.
pub struct Process {
    /// To it; dropping it closes it.
    pub stdin: Box<dyn AsyncWrite + Send + Unpin>,
    /// From it. While nobody reads it waits; once the reader is dropped its output is lost.
    pub stdout: Box<dyn AsyncRead + Send + Unpin>,
    /// From it. It never waits for a reader: past a megabyte unread the newest is lost.
    pub stderr: Box<dyn AsyncRead + Send + Unpin>,
    /// Its exit status (128 + n after signal n), once it has ended.
    pub wait: std::pin::Pin<Box<dyn Future<Output = Result<i64, SandboxError>> + Send>>,
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Process")
    }
}

/// What a sandbox can fail with.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The engine is not there or refuses.
    #[error("the container engine cannot be used: {0}")]
    Engine(String),
    /// The image is not there.
    #[error("the image {0} is not there: build it, or name another with `sandbox.image`")]
    NoImage(String),
    /// The image cannot run our program.
    #[error("the image {image} cannot run the toolbox: {why}")]
    BadImage {
        /// Its name.
        image: String,
        /// What was seen.
        why: String,
    },
    /// The sandbox is gone.
    #[error("the sandbox is gone")]
    Gone,
    /// The program is not in the image.
    #[error("{0} is not in the sandbox")]
    NoProgram(String),
    /// A service beside it did not get ready.
    #[error("the service `{name}` {why}")]
    Service {
        /// What it is called.
        name: String,
        /// What was seen of it.
        why: String,
        /// The end of what it printed: text of others, as it came.
        log: String,
    },
    /// Services where there can be none.
    #[error("services (here: {names}) {why}")]
    NoServices {
        /// What was asked for.
        names: String,
        /// What is in the way.
        why: &'static str,
    },
    /// Anything else.
    #[error("sandbox: {0}")]
    Other(String),
}

impl From<std::io::Error> for SandboxError {
    fn from(error: std::io::Error) -> Self {
        Self::Other(error.to_string())
    }
}

impl From<tokio::task::JoinError> for SandboxError {
    fn from(error: tokio::task::JoinError) -> Self {
        Self::Other(error.to_string())
    }
}

/// What a sandbox is made with. One explicit value: what it does not say, the sandbox does not have.
#[derive(Clone, Debug)]
pub struct Spec {
    /// For its name and labels.
    pub session: SessionId,
    /// For its name and labels: it dies with this epoch.
    pub epoch: Epoch,
    /// The image, where there is one.
    pub image: Option<String>,
    /// Processor cores.
    pub cpus: f64,
    /// Bytes of memory.
    pub memory: u64,
    /// Processes and threads.
    pub pids: u32,
    /// Bytes of the workspace, `/tmp` and home together.
    pub disk: u64,
    /// After this it ends by itself.
    pub wall_clock: Duration,
    /// What runs beside it, reached on its loopback, and ends with it.
    pub services: Vec<Service>,
    /// Bytes of memory of each service, its files included.
    pub service_memory: u64,
    /// Its programs are told of a way out, by variables: whoever starts it opens one.
    pub way_out: bool,
}

impl Spec {
    /// Services where there can be none: what to say.
    fn no_services(&self, why: &'static str) -> SandboxError {
        let names: Vec<&str> = self.services.iter().map(|service| service.name.as_str()).collect();
        SandboxError::NoServices { names: names.join(", "), why }
    }
}

/// Where sandboxes come from.
#[derive(Clone, Debug)]
pub enum Provider {
    /// Containers of Docker or Podman.
    Docker(DockerProvider),
    /// A process of this machine: no boundary.
    Local(LocalProvider),
}

impl Provider {
    /// Starts a sandbox; at return it takes `exec`, and its services are ready. What an interrupted start of the same session and epoch
    /// left is removed before.
    ///
    /// # Errors
    /// Whatever keeps it from being what the specification says: nothing weaker is ever started.
    pub async fn start(&self, spec: &Spec) -> Result<Box<dyn Sandbox>, SandboxError> {
        match self {
            Self::Docker(p) => p.start(spec).await,
            Self::Local(p) => p.start(spec).await,
        }
    }

    /// Removes every sandbox whose session and epoch are not among the live ones; gives how many.
    ///
    /// One of a session that is not among them at all is left for [`YOUNG`]: it may have begun after the live
    /// ones were read.
    ///
    /// # Errors
    /// Where the sandboxes cannot be listed or removed.
    pub async fn sweep(&self, live: &[(SessionId, Epoch)]) -> Result<u32, SandboxError> {
        match self {
            Self::Docker(p) => p.sweep(live).await,
            Self::Local(p) => p.sweep(live).await,
        }
    }

    /// Proves that it can be used: engine, image, toolbox, no network. One line for people.
    ///
    /// # Errors
    /// The first thing that is not so.
    pub async fn check(&self) -> Result<String, SandboxError> {
        match self {
            Self::Docker(p) => p.check().await,
            Self::Local(p) => p.check().await,
        }
    }
}

impl Provider {
    /// Runs a program of the image in a sandbox of its own; gives the first line it prints.
    ///
    /// # Errors
    /// [`SandboxError::NoProgram`] where the image lacks it, and whatever keeps a sandbox from being one.
    pub async fn try_program(&self, program: &str, argument: &str) -> Result<String, SandboxError> {
        match self {
            Self::Docker(p) => p.try_program(program, argument).await,
            Self::Local(_) => Err(SandboxError::Other("it needs a container".to_owned())),
        }
    }

    /// Whether what runs there has no network but what it is given.
    pub fn is_boundary(&self) -> bool {
        matches!(self, Self::Docker(_))
    }
}

/// What every command finds in its environment, besides `PATH` and `HOME`.
const ENVIRONMENT: [(&str, &str); 3] = [
    ("USER", "agent"),
    ("LANG", "C.UTF-8"),
    // Python takes a stale cache for fresh when a file is edited to the same size within a second, which
    // people seldom do and agents often; and a repository that does not ignore the caches would get them as
    // changes.
    ("PYTHONDONTWRITEBYTECODE", "1"),
];

/// How long a sandbox of an unknown session is left alone.
pub const YOUNG: Duration = Duration::from_secs(60);

/// Whether nobody can own it any more.
fn orphan(session: SessionId, epoch: Epoch, age: Duration, live: &[(SessionId, Epoch)]) -> bool {
    match live.iter().find(|(other, _)| *other == session) {
        // Epochs only rise: a later one than the list's began after it was read.
        Some((_, now)) => epoch < *now,
        None => age >= YOUNG,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_can_own_is_an_orphan() {
        let (a, b) = (SessionId(uuid::Uuid::from_u128(1)), SessionId(uuid::Uuid::from_u128(2)));
        let live = [(a, Epoch(5))];
        let old = YOUNG * 2;
        for (session, epoch, age, expected) in [
            (a, 5, old, false),
            (a, 4, Duration::ZERO, true),
            (a, 6, old, false),
            (b, 1, old, true),
            (b, 1, Duration::ZERO, false),
        ] {
            assert_eq!(orphan(session, Epoch(epoch), age, &live), expected, "{session} {epoch} {age:?}");
        }
    }
}
