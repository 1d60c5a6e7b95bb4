//! TODO
use super::{Sandbox, SandboxError, Spec};
use crate::domain::{Epoch, SessionId};
/// Makes sandboxes.
#[derive(Clone, Debug)]
pub struct DockerProvider {}
#[allow(unused_variables, clippy::unused_async, missing_docs)]
impl DockerProvider {
    pub async fn start(&self, spec: &Spec) -> Result<Box<dyn Sandbox>, SandboxError> {
        todo!()
    }
    pub async fn sweep(&self, live: &[(SessionId, Epoch)]) -> Result<u32, SandboxError> {
        todo!()
    }
    pub async fn check(&self) -> Result<String, SandboxError> {
        todo!()
    }
}
/// How the engine is reached and what it runs by default.
#[derive(Clone, Debug)]
pub struct DockerSettings {
    /// `unix:///var/run/docker.sock`, `tcp://…`; `None`: the engine's own default.
    pub host: Option<String>,
    /// The image where a session names none.
    pub image: String,
    /// A runtime other than the engine's default, e.g. `runsc`.
    pub runtime: Option<String>,
}
#[allow(unused_variables, clippy::unused_async, missing_docs)]
impl DockerProvider {
    pub async fn connect(settings: DockerSettings) -> Result<Self, SandboxError> {
        todo!()
    }
}
