//! From a specification to a container that takes commands, or to nothing at all.

use super::{
    DockerProvider, DockerSandbox, GREETING, Held, START,
    container::{self, Asked, PROGRAM},
    engine, exec, missing, status,
};
use crate::{
    sandbox::{Sandbox, SandboxError, Spec},
    toolbox::wire::READY,
};
use bollard::{
    container::{AttachContainerResults, LogOutput},
    errors::Error,
    models::ContainerCreateBody,
    query_parameters::{
        AttachContainerOptionsBuilder, CreateContainerOptionsBuilder, InspectContainerOptions,
        StartContainerOptions,
    },
};
use futures::StreamExt;
use tokio_util::sync::CancellationToken;

impl DockerProvider {
    /// In a task of its own: a start that nobody waits for any more goes on to its end, and what it made is removed
    /// then. Dropped half-way, a request would still be carried out by the engine, and nobody would know.
    pub(in crate::sandbox) async fn start(&self, spec: &Spec) -> Result<Box<dyn Sandbox>, SandboxError> {
        let (provider, spec) = (self.clone(), spec.clone());
        let sandbox = tokio::spawn(async move { provider.try_twice(&spec).await }).await??;
        Ok(Box::new(sandbox))
    }

    async fn try_twice(&self, spec: &Spec) -> Result<DockerSandbox, SandboxError> {
        let made = match self.begin(spec).await {
            // The volume was there when this process looked, and has been removed since.
            Err(Failed::Program) => {
                self.forget_volume().await;
                self.begin(spec).await
            }
            made => made,
        };
        made.map_err(|failed| failed.tell(self.image(spec)))
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
            podman: self.podman,
        };
        let held = self.create(&container::name(spec), asked.body(), image).await?;
        let attached = self.attach_to(&held.id, true).await?;
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
        let services = self.beside(&asked, &held.id).await?;
        Ok(DockerSandbox {
            held,
            services,
            image: made.image,
            _lifeline: std::sync::Mutex::new(attached.input),
        })
    }

    pub(super) async fn create(
        &self,
        name: &str,
        body: ContainerCreateBody,
        image: &str,
    ) -> Result<Held, SandboxError> {
        let create = || {
            let options = CreateContainerOptionsBuilder::default().name(name).build();
            self.docker.create_container(Some(options), body.clone())
        };
        let made = match create().await {
            // Left by a start of this very epoch that was interrupted.
            Err(error) if is_taken(&error) => {
                self.remove(name).await?;
                create().await
            }
            made => made,
        };
        let id = made.map_err(|error| missing(error, image))?.id;
        Ok(Held { provider: self.clone(), id, over: CancellationToken::new() })
    }

    pub(super) async fn image_volumes(&self, image: &str) -> Result<Vec<String>, SandboxError> {
        let seen = self.docker.inspect_image(image).await.map_err(|error| missing(error, image))?;
        Ok(seen.config.and_then(|config| config.volumes).unwrap_or_default())
    }

    fn image<'a>(&'a self, spec: &'a Spec) -> &'a str {
        spec.image.as_deref().unwrap_or(&self.settings.image)
    }

    pub(super) async fn attach_to(
        &self,
        id: &str,
        stdin: bool,
    ) -> Result<AttachContainerResults, SandboxError> {
        let options =
            AttachContainerOptionsBuilder::default().stream(true).stdin(stdin).stdout(true).stderr(true);
        self.docker.attach_container(id, Some(options.build())).await.map_err(engine)
    }
}

/// Is the name in use? Podman says so with the status of any other trouble.
fn is_taken(error: &Error) -> bool {
    match error {
        Error::DockerResponseServerError { status_code: 500, message } => {
            message.contains("name") && message.contains("is already in use")
        }
        error => status(error) == Some(409),
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

/// Waits for the first process's word. A loader that misses a library speaks too, on standard error, and
/// ends.
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
