//! Sandboxes as containers of Docker, or of Podman by the same interface.

mod container;
mod exec;
mod program;

use super::{Command, Process, Sandbox, SandboxError, Spec, orphan};
use crate::domain::{Epoch, SessionId};
use crate::toolbox::wire::{Findings, READY};
use bollard::{
    Docker,
    container::{AttachContainerResults, LogOutput},
    errors::Error,
    query_parameters::{
        AttachContainerOptionsBuilder, CreateContainerOptionsBuilder, InspectContainerOptions,
        ListContainersOptionsBuilder, RemoveContainerOptionsBuilder, StartContainerOptions,
    },
};
use container::{Asked, EPOCH, INSTANCE, PROGRAM, SESSION, UID, WORKSPACE};
use futures::StreamExt;
use std::{
    collections::HashMap,
    path::PathBuf,
    pin::Pin,
    sync::Arc,
    time::{Duration, SystemTime},
};
use tokio::{io::AsyncReadExt, io::AsyncWrite, sync::Mutex};
use tokio_util::sync::CancellationToken;

/// How long a container may take until its first process answers: a loaded machine, a slow disk.
const START: Duration = Duration::from_secs(60);

/// How long a removed container may take to be gone.
const REMOVAL: Duration = Duration::from_secs(20);

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
    /// Whose containers they are: only those of the same instance are swept. The same after a restart, different for
    /// every other server on the engine.
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
    /// The volume with the program, once it is known to be filled.
    volume: Arc<Mutex<Option<String>>>,
}

impl DockerProvider {
    /// Reaches the engine and agrees on a version of its interface.
    ///
    /// # Errors
    /// [`SandboxError::Engine`] where none answers, or where it runs another architecture than the program was built for.
    pub async fn connect(settings: DockerSettings) -> Result<Self, SandboxError> {
        let docker = match &settings.host {
            Some(host) => Docker::connect_with_host(host),
            None => Docker::connect_with_defaults(),
        };
        let docker = docker.map_err(engine)?.negotiate_version().await.map_err(engine)?;
        let version = docker.version().await.map_err(engine)?;
        let arch = version.arch.unwrap_or_default();
        fits(version.os.as_deref().unwrap_or("linux"), &arch, settings.program.is_some())?;
        Ok(Self { docker, settings: Arc::new(settings), arch, volume: Arc::default() })
    }

    pub(super) async fn start(&self, spec: &Spec) -> Result<Box<dyn Sandbox>, SandboxError> {
        match self.begin(spec).await {
            // The volume was there when this process looked, and has been removed since.
            Err(Failed::Program) => {
                self.forget_volume().await;
                self.begin(spec).await
            }
            done => done,
        }
        .map(|sandbox| Box::new(sandbox) as Box<dyn Sandbox>)
        .map_err(|failed| failed.tell(self.image(spec)))
    }

    async fn begin(&self, spec: &Spec) -> Result<DockerSandbox, Failed> {
        let image = self.image(spec);
        let volume = self.volume(image).await?;
        let asked = Asked {
            spec,
            image,
            image_volumes: self.image_volumes(image).await?,
            volume: &volume,
            runtime: self.settings.runtime.as_deref(),
            instance: &self.settings.instance,
        };
        let held = self.create(&asked).await?;
        let attached = self.attach_to(&held.id).await?;
        let started = self.docker.start_container(&held.id, None::<StartContainerOptions>).await;
        started.map_err(Failed::at_start)?;
        let mut output = attached.output;
        greet(&mut output).await?;
        let made =
            self.docker.inspect_container(&held.id, None::<InspectContainerOptions>).await.map_err(engine)?;
        asked.compare(&made)?;
        let over = held.over.clone();
        tokio::spawn(async move {
            // The first process says no more; what ends is the container.
            while let Some(Ok(_)) = output.next().await {}
            over.cancel();
        });
        Ok(DockerSandbox { held, _lifeline: std::sync::Mutex::new(attached.input) })
    }

    async fn create(&self, asked: &Asked<'_>) -> Result<Held, SandboxError> {
        let name = container::name(asked.spec);
        let create = || {
            let options = CreateContainerOptionsBuilder::default().name(&name).build();
            self.docker.create_container(Some(options), asked.body())
        };
        let made = match create().await {
            // Left by a start of this very epoch that was interrupted.
            Err(error) if status(&error) == Some(409) => {
                self.remove(&name).await?;
                create().await
            }
            made => made,
        };
        let id = made.map_err(|error| missing(error, asked.image))?.id;
        Ok(Held { provider: self.clone(), id, over: CancellationToken::new() })
    }

    async fn image_volumes(&self, image: &str) -> Result<Vec<String>, SandboxError> {
        let seen = self.docker.inspect_image(image).await.map_err(|error| missing(error, image))?;
        Ok(seen.config.and_then(|config| config.volumes).unwrap_or_default())
    }

    async fn attach_to(&self, id: &str) -> Result<AttachContainerResults, SandboxError> {
        let options =
            AttachContainerOptionsBuilder::default().stream(true).stdin(true).stdout(true).stderr(true);
        self.docker.attach_container(id, Some(options.build())).await.map_err(engine)
    }

    pub(super) async fn sweep(&self, live: &[(SessionId, Epoch)]) -> Result<u32, SandboxError> {
        let ours = format!("{INSTANCE}={}", self.settings.instance);
        let filters = HashMap::from([("label", vec![ours, SESSION.to_owned()])]);
        let options = ListContainersOptionsBuilder::default().all(true).filters(&filters).build();
        let mut removed = 0;
        for found in self.docker.list_containers(Some(options)).await.map_err(engine)? {
            let (Some(id), Some((session, epoch))) = (found.id, found.labels.as_ref().and_then(owner)) else {
                continue;
            };
            if orphan(session, epoch, age(found.created), live) {
                self.remove(&id).await?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    pub(super) async fn check(&self) -> Result<String, SandboxError> {
        let spec = Spec {
            session: SessionId(uuid::Uuid::now_v7()),
            epoch: Epoch(0),
            image: None,
            cpus: 1.0,
            memory: 256 << 20,
            pids: 64,
            disk: 64 << 20,
            wall_clock: START,
        };
        let sandbox = self.start(&spec).await?;
        let found = findings(sandbox.as_ref()).await;
        sandbox.stop().await?;
        judge(&found?)?;
        let runtime = self.settings.runtime.as_deref().unwrap_or("the default runtime");
        Ok(format!(
            "docker ({}), {runtime}, image {}: no network, nothing to gain",
            self.arch, self.settings.image
        ))
    }

    /// Removes a container with all that runs in it; one that is gone is no error. Returns once its name is free.
    async fn remove(&self, id: &str) -> Result<(), SandboxError> {
        let options = RemoveContainerOptionsBuilder::default().force(true).v(true).build();
        match self.docker.remove_container(id, Some(options)).await {
            Ok(()) => Ok(()),
            Err(error) if status(&error) == Some(404) => Ok(()),
            // It is being removed already, having ended by itself.
            Err(error) if status(&error) == Some(409) => self.vanished(id).await,
            Err(error) => Err(engine(error)),
        }
    }

    async fn vanished(&self, id: &str) -> Result<(), SandboxError> {
        let gone = async {
            while self.docker.inspect_container(id, None::<InspectContainerOptions>).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let late = |_| SandboxError::Engine(format!("container {id} is being removed and does not go"));
        tokio::time::timeout(REMOVAL, gone).await.map_err(late)
    }

    fn image<'a>(&'a self, spec: &'a Spec) -> &'a str {
        spec.image.as_deref().unwrap_or(&self.settings.image)
    }
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
    /// The first process's standard input: when this process is gone it closes, and the container ends.
    _lifeline: std::sync::Mutex<Pin<Box<dyn AsyncWrite + Send>>>,
}

#[async_trait::async_trait]
impl Sandbox for DockerSandbox {
    async fn exec(&self, command: Command) -> Result<Process, SandboxError> {
        self.held.provider.exec(&self.held.id, command, &self.held.over).await
    }

    async fn stop(&self) -> Result<(), SandboxError> {
        self.held.provider.remove(&self.held.id).await?;
        self.held.over.cancel();
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
}

/// Why a start failed, as far as it decides what happens next.
enum Failed {
    /// The image or the volume has no program that can be run.
    Program,
    /// The image cannot run it; what it said.
    Image(String),
    Other(SandboxError),
}

impl From<SandboxError> for Failed {
    fn from(error: SandboxError) -> Self {
        Self::Other(error)
    }
}

impl Failed {
    fn at_start(error: Error) -> Self {
        let text = error.to_string();
        match ["no such file or directory", "exec format error", "permission denied"]
            .iter()
            .any(|t| text.contains(t))
        {
            true => Self::Program,
            false => Self::Other(engine(error)),
        }
    }

    fn tell(self, image: &str) -> SandboxError {
        let bad = |why: String| SandboxError::BadImage { image: image.to_owned(), why };
        match self {
            Self::Program => bad(
                "it lacks the C library that this build of fixpoint needs; a static build runs in any image"
                    .into(),
            ),
            Self::Image(said) => bad(said),
            Self::Other(error) => error,
        }
    }
}

/// Waits for the first process's word. A loader that misses a library speaks too, on standard error, and ends.
async fn greet(output: &mut exec::Output) -> Result<(), Failed> {
    let mut said = String::new();
    let listen = async {
        while let Some(Ok(piece)) = output.next().await {
            let out = matches!(piece, LogOutput::StdOut { .. });
            said.push_str(&String::from_utf8_lossy(&piece.into_bytes()));
            if (out && said.ends_with(READY)) || said.len() > GREETING {
                break;
            }
        }
    };
    let late = tokio::time::timeout(START, listen).await.is_err();
    match said.trim() {
        said if said.ends_with(READY.trim()) => Ok(()),
        _ if late => Err(SandboxError::Engine("a started container did not answer in time".into()).into()),
        "" => Err(Failed::Program),
        said if said.contains(PROGRAM) && said.contains("no such file") => Err(Failed::Program),
        said => Err(Failed::Image(said.to_owned())),
    }
}

async fn findings(sandbox: &dyn Sandbox) -> Result<Findings, SandboxError> {
    let process = sandbox.exec(Command::toolbox(["probe"])).await?;
    let mut said = String::new();
    let read = process.stdout.take(GREETING as u64).read_to_string(&mut said).await;
    let told =
        read.map_err(|e| e.to_string()).and_then(|_| serde_json::from_str(&said).map_err(|e| e.to_string()));
    told.map_err(|why| SandboxError::Other(format!("the toolbox's probe gave no answer: {why}")))
}

fn judge(found: &Findings) -> Result<(), SandboxError> {
    let bad = |what: String| Err(SandboxError::Engine(format!("seen from inside a sandbox: {what}")));
    if found.interfaces != ["lo"] || !found.reached.is_empty() {
        return bad(format!("network interfaces {:?}, reached {:?}", found.interfaces, found.reached));
    }
    if found.uid != UID
        || found.capabilities.bytes().any(|digit| digit != b'0')
        || found.no_new_privileges == Some(false)
    {
        return bad(format!("uid {}, capabilities {}, or privileges to gain", found.uid, found.capabilities));
    }
    if !found.read_only_root {
        return bad("the root file system can be written".into());
    }
    Ok(())
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
        "it runs {os}/{arch} and this program is built for {here}/{ours}: name a {os}/{arch} build of fixpoint with `sandbox.program`"
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
