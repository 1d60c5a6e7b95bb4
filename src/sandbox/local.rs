//! TODO
use super::{Sandbox, SandboxError, Spec};
use crate::domain::{Epoch, SessionId};
/// Makes sandboxes.
#[derive(Clone, Debug)]
pub struct LocalProvider {}
#[allow(unused_variables, clippy::unused_async, missing_docs)]
impl LocalProvider {
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
#[allow(unused_variables, clippy::unused_async, missing_docs)]
impl LocalProvider {
    /// Sandboxes are folders under `root`.
    pub fn new(root: std::path::PathBuf) -> Self {
        todo!()
    }
}
