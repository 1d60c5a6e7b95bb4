//! The way out of real sandboxes: what package managers need passes, everything else does not.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod credentials;
mod managers;
mod matrix;
mod stories;

use crate::sandbox::{Ran, docker, docker_with, runtimes, settings, sh, spec};
use fixpoint::{
    domain::egress::AllowList,
    egress::{Attached, Resolver, Upstream, Way, system},
    sandbox::{Command, DockerSettings, Provider, Sandbox, Spec},
};
use std::time::Duration;
use tokio::io::AsyncWriteExt;

/// A sandbox whose way out is open, and what belongs to it.
pub(crate) struct Room {
    pub(crate) sandbox: Box<dyn Sandbox>,
    pub(crate) way: Way,
    attached: Attached,
}

impl Room {
    async fn open(provider: &Provider, allow: &[impl AsRef<str>]) -> Self {
        Self::resolved(provider, allow, system()).await
    }

    /// Where names lead to what the resolver says.
    pub(crate) async fn resolved(provider: &Provider, allow: &[impl AsRef<str>], resolver: Resolver) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self::open_over(provider, allow, Upstream::new(resolver).unwrap()).await
    }

    async fn open_over(provider: &Provider, allow: &[impl AsRef<str>], upstream: Upstream) -> Self {
        let roomy = Spec { way_out: true, memory: 1 << 30, disk: 2 << 30, pids: 256, ..spec() };
        let sandbox = provider.start(&roomy).await.unwrap();
        let way =
            Way::new(AllowList::parse(allow).unwrap(), upstream, None, Duration::from_secs(3600)).unwrap();
        let carrier = sandbox.exec(Command::toolbox(way.arguments())).await.unwrap();
        let attached = way.attach(carrier.stdin, carrier.stdout).await.unwrap();
        Self { sandbox, way, attached }
    }

    pub(crate) async fn sh(&self, script: &str) -> Ran {
        sh(self.sandbox.as_ref(), script).await
    }

    /// Writes a file of the sandbox.
    async fn write(&self, path: &str, text: &str) {
        let script = format!("mkdir -p \"$(dirname {path})\" && cat > {path}");
        let mut process = self.sandbox.exec(Command::named("sh", ["-c", &script])).await.unwrap();
        process.stdin.write_all(text.as_bytes()).await.unwrap();
        process.stdin.shutdown().await.unwrap();
        assert_eq!(process.wait.await.unwrap(), 0);
    }

    fn refused(&self) -> Vec<String> {
        self.way.refusals().all.into_iter().map(|refused| refused.to).collect()
    }
}
