//! The proof, before anything untrusted runs, that engine, image and toolbox give what a sandbox must have.

use super::{DockerProvider, GREETING, START, container::UID, engine};
use crate::{
    domain::{Epoch, SessionId},
    sandbox::{Command, Sandbox, SandboxError, Spec},
    toolbox::wire::Findings,
};
use tokio::io::AsyncReadExt;

impl DockerProvider {
    pub(in crate::sandbox) async fn check(&self) -> Result<String, SandboxError> {
        let spec = Spec {
            session: SessionId(uuid::Uuid::now_v7()),
            epoch: Epoch(0),
            image: None,
            cpus: 1.0,
            memory: 256 << 20,
            pids: 64,
            disk: 64 << 20,
            wall_clock: START,
            way_out: false,
        };
        let sandbox = self.start(&spec).await?;
        let found = findings(sandbox.as_ref()).await;
        sandbox.stop().await?;
        judge(&found?)?;
        let runtime = self.settings.runtime.as_deref().unwrap_or("the default runtime");
        let version = self.docker.version().await.map_err(engine)?.version.unwrap_or_default();
        Ok(format!(
            "docker {version} ({}), {runtime}, image {}: no network, nothing to gain",
            self.arch, self.settings.image
        ))
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
