//! Sandboxes as containers of Docker, or of Podman by the same interface.

mod beside;
mod check;
mod compare;
mod container;
mod exec;
mod program;
mod service;
mod start;
#[cfg(test)]
mod tests;

use super::{Command, Process, Sandbox, SandboxError, orphan};
use crate::domain::{Epoch, SessionId};
use backon::{ExponentialBuilder, Retryable};
use bollard::{
    Docker,
    errors::Error,
    query_parameters::{ListContainersOptionsBuilder, RemoveContainerOptionsBuilder},
};
use container::{EPOCH, INSTANCE, SESSION, UID, WORKSPACE};
use std::{
    collections::HashMap,
    path::PathBuf,
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};
use tokio::{io::AsyncWrite, sync::Mutex};
use tokio_util::sync::CancellationToken;

/// How long a container may take until its first process answers: a loaded machine, a slow disk.
const START: Duration = Duration::from_secs(60);

/// How long a removed container may take to be gone.
const REMOVAL: Duration = Duration::from_secs(20);

/// Between one try to remove it and the next.
const AGAIN: ExponentialBuilder = ExponentialBuilder::new()
    .with_min_delay(Duration::from_millis(20))
    .with_max_delay(Duration::from_millis(200))
    .without_max_times();

/// What the first process may say before it is taken for something else.
const GREETING: usize = 8 << 10;

/// How the engine is reached and what it runs by default.
#[derive(Clone, Debug)]
pub struct DockerSettings {
    /// `unix:///var/run/docker.sock`, `tcp://…`; `None`: the engine's own default.
    pub host: Option<String>,
    /// The image where a session names none.
    pub image: String,
    /// A runtime other than the engine's default, e.g. `runsc`.
    pub runtime: Option<String>,
    /// Whose containers they are: only those of the same instance are swept. The same after a restart,
    /// different for every other server on the engine.
    pub instance: String,
    /// The program that holds the toolbox; `None`: the one that runs.
    pub program: Option<PathBuf>,
}

impl Default for DockerSettings {
    fn default() -> Self {
        Self {
            host: None,
            image: "fixpoint-sandbox:latest".into(),
            runtime: None,
            instance: "default".into(),
            program: None,
        }
    }
}

/// Makes sandboxes.
#[derive(Clone, Debug)]
pub struct DockerProvider {
    docker: Docker,
    settings: Arc<DockerSettings>,
    arch: String,
    podman: bool,
    /// The volume with the program, once it is known to be filled.
    volume: Arc<Mutex<Option<String>>>,
}

impl DockerProvider {
    /// Reaches the engine and agrees on a version of its interface.
    ///
    /// # Errors
    /// [`SandboxError::Engine`] where none answers, where it runs another architecture than the program was
    /// built for, or where it cannot keep a limit by its own word.
    pub async fn connect(settings: DockerSettings) -> Result<Self, SandboxError> {
        let docker = match &settings.host {
            Some(host) => Docker::connect_with_host(host),
            None => Docker::connect_with_defaults(),
        };
        let docker = docker.map_err(engine)?.negotiate_version().await.map_err(engine)?;
        let version = docker.version().await.map_err(engine)?;
        let arch = version.arch.unwrap_or_default();
        fits(version.os.as_deref().unwrap_or("linux"), &arch, settings.program.is_some())?;
        compare::able(&docker.info().await.map_err(engine)?, settings.runtime.as_deref())?;
        let parts = version.components.iter().flatten();
        let podman = parts.into_iter().any(|part| part.name.starts_with("Podman"));
        Ok(Self { docker, settings: Arc::new(settings), arch, podman, volume: Arc::default() })
    }

    pub(super) async fn sweep(&self, live: &[(SessionId, Epoch)]) -> Result<u32, SandboxError> {
        let ours = format!("{INSTANCE}={}", self.settings.instance);
        let filters = HashMap::from([("label", vec![ours, SESSION.to_owned()])]);
        let options = ListContainersOptionsBuilder::default().all(true).filters(&filters).build();
        let mut removed = 0;
        let mut all = self.docker.list_containers(Some(options)).await.map_err(engine)?;
        let is_service = |labels: &Option<HashMap<String, String>>| {
            labels.as_ref().is_some_and(|labels| labels.contains_key(service::SERVICE))
        };
        // Podman removes no container that another shares a namespace of: services go first.
        all.sort_by_key(|found| !is_service(&found.labels));
        for found in all {
            let (Some(id), Some((session, epoch))) = (found.id, found.labels.as_ref().and_then(owner)) else {
                continue;
            };
            if orphan(session, epoch, age(found.created), live) {
                if let Err(error) = self.remove(&id).await {
                    // The others are not kept for it.
                    tracing::warn!(%error, id, "a container that nobody owns cannot be removed; it is tried again");
                    continue;
                }
                // A service is part of its sandbox.
                removed += u32::from(!is_service(&found.labels));
            }
        }
        Ok(removed)
    }

    /// Removes a container with all that runs in it; one that is gone is no error. Returns once its name is
    /// free.
    async fn remove(&self, id: &str) -> Result<(), SandboxError> {
        let until = Instant::now() + REMOVAL;
        let removed = (|| {
            let options = RemoveContainerOptionsBuilder::default().force(true).v(true).build();
            self.docker.remove_container(id, Some(options))
        })
        .retry(AGAIN)
        .when(|error: &Error| is_going(error) && Instant::now() < until)
        .await;
        match removed {
            Err(error) if status(&error) != Some(404) => Err(engine(error)),
            _ => Ok(()),
        }
    }
}

/// May a container that was not removed be gone in a moment? It is being removed already, having ended by itself, or it was
/// killed and the engine, which waits for its end for a few seconds only, has not seen it end.
fn is_going(error: &Error) -> bool {
    matches!(status(error), Some(409 | 500))
}

/// A container that is removed when nobody holds it any more, also where a start is cancelled half-way.
struct Held {
    provider: DockerProvider,
    id: String,
    /// It has ended, by itself or by us.
    over: CancellationToken,
}

impl Drop for Held {
    fn drop(&mut self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.over.is_cancelled() {
            return;
        }
        let (provider, id) = (self.provider.clone(), std::mem::take(&mut self.id));
        runtime.spawn(async move { provider.remove(&id).await });
    }
}

/// A running container.
struct DockerSandbox {
    held: Held,
    services: Vec<Held>,
    /// Its image's id, a hash of its content.
    image: Option<String>,
    /// The first process's standard input: when this process is gone it closes, and the container ends.
    _lifeline: std::sync::Mutex<Pin<Box<dyn AsyncWrite + Send>>>,
}

#[async_trait::async_trait]
impl Sandbox for DockerSandbox {
    async fn exec(&self, command: Command) -> Result<Process, SandboxError> {
        self.held.provider.exec(&self.held.id, command, &self.held.over).await
    }

    async fn stop(&self) -> Result<(), SandboxError> {
        // Podman removes no container that another shares a namespace of.
        for held in self.services.iter().chain([&self.held]) {
            held.provider.remove(&held.id).await?;
            held.over.cancel();
        }
        Ok(())
    }

    fn workspace(&self) -> &str {
        WORKSPACE
    }

    fn describe(&self) -> String {
        let runtime = self.held.provider.settings.runtime.as_ref();
        let runtime = runtime.map(|name| format!(" on {name}")).unwrap_or_default();
        format!("docker{runtime}, no network, uid {UID}")
    }

    fn image(&self) -> Option<&str> {
        self.image.as_deref()
    }
}

/// The engine's names for what the program was built for.
fn fits(os: &str, arch: &str, other_program: bool) -> Result<(), SandboxError> {
    let ours = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    if other_program || (os == std::env::consts::OS && arch == ours) {
        return Ok(());
    }
    let here = std::env::consts::OS;
    Err(SandboxError::Engine(format!(
        "it runs {os}/{arch} and this program is built for {here}/{ours}: \
         name a {os}/{arch} build of fixpoint with `sandbox.program`"
    )))
}

fn owner(labels: &HashMap<String, String>) -> Option<(SessionId, Epoch)> {
    let session = uuid::Uuid::try_parse(labels.get(SESSION)?).ok()?;
    Some((SessionId(session), Epoch(labels.get(EPOCH)?.parse().ok()?)))
}

fn age(created: Option<i64>) -> Duration {
    let since = created.and_then(|s| u64::try_from(s).ok()).map(Duration::from_secs).unwrap_or_default();
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH + since).unwrap_or_default()
}

fn status(error: &Error) -> Option<u16> {
    match error {
        Error::DockerResponseServerError { status_code, .. } => Some(*status_code),
        _ => None,
    }
}

fn engine(error: Error) -> SandboxError {
    match error {
        Error::DockerResponseServerError { message, .. } => SandboxError::Engine(message),
        other => SandboxError::Engine(other.to_string()),
    }
}

fn missing(error: Error, image: &str) -> SandboxError {
    match status(&error) {
        Some(404) => SandboxError::NoImage(image.to_owned()),
        _ => engine(error),
    }
}
