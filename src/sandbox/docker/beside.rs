//! Services: started beside a sandbox, waited for, and ended with it.

use super::{
    DockerProvider, Held,
    container::Asked,
    engine, exec,
    service::{self, Beside},
};
use crate::{
    domain::{
        repo_config::{Health, Service},
        text,
    },
    sandbox::SandboxError,
};
use bollard::{
    models::ExecConfig,
    query_parameters::{InspectContainerOptions, StartContainerOptions},
};
use futures::{StreamExt, future};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// A service must be ready after this: a database fills its folder in seconds, and a round that somebody stops waits for it.
const READY: Duration = Duration::from_secs(120);

/// One try of a health command.
const TRY: Duration = Duration::from_secs(10);

/// A service without a health command must still run after this.
const STAYS: Duration = Duration::from_secs(1);

/// After a service has ended its last words may still be on their way.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// Bytes of a service's output that are kept: its last words.
const TAIL: usize = 4 << 10;

/// The end of what a service prints. The rest is nowhere: it cannot fill a disk.
#[derive(Clone, Debug, Default)]
struct Tail(Arc<Mutex<VecDeque<u8>>>);

impl Tail {
    fn push(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(&bytes[bytes.len().saturating_sub(TAIL)..]);
        let over = kept.len().saturating_sub(TAIL);
        kept.drain(..over);
    }

    fn text(&self) -> String {
        let kept: Vec<u8> = self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
        text::terminal(String::from_utf8_lossy(&kept).trim())
    }
}

/// A service that was started.
struct Started<'a> {
    service: &'a Service,
    held: Held,
    tail: Tail,
}

impl Started<'_> {
    fn failed(&self, why: String) -> SandboxError {
        SandboxError::Service { name: self.service.name.clone(), why, log: self.tail.text() }
    }
}

impl DockerProvider {
    /// Starts all services of a sandbox; at return they are ready.
    pub(super) async fn beside(&self, asked: &Asked<'_>, sandbox: &str) -> Result<Vec<Held>, SandboxError> {
        let services = &asked.spec.services;
        if services.is_empty() {
            return Ok(Vec::new());
        }
        if asked.own_kernel() > 0 {
            let why = "cannot run on runsc, where every container has a loopback of its own: \
                       they need another `sandbox.runtime`";
            return Err(asked.spec.no_services(why));
        }
        let mut started = Vec::new();
        for service in services {
            started.push(self.start_beside(asked, sandbox, service).await?);
        }
        let ready = future::try_join_all(started.iter().map(|started| self.ready(started)));
        ready.await?;
        Ok(started.into_iter().map(|started| started.held).collect())
    }

    async fn start_beside<'a>(
        &self,
        asked: &Asked<'_>,
        sandbox: &str,
        service: &'a Service,
    ) -> Result<Started<'a>, SandboxError> {
        let image_volumes = self.image_volumes(&service.image).await?;
        let beside = Beside { service, image_volumes, asked, sandbox };
        let held = self.create(&service::name(asked, service), beside.body(), &service.image).await?;
        let started = Started { service, held, tail: Tail::default() };
        // Before it starts: its first words may be its last.
        let output = self.attach_to(&started.held.id, false).await?.output;
        started.listen(output);
        let begun = self.docker.start_container(&started.held.id, None::<StartContainerOptions>).await;
        begun.map_err(|error| started.failed(format!("cannot be started: {error}")))?;
        match self.docker.inspect_container(&started.held.id, None::<InspectContainerOptions>).await {
            Ok(made) => beside.compare(&made)?,
            // It has ended and was removed already.
            Err(error) if super::status(&error) == Some(404) => {}
            Err(error) => return Err(engine(error)),
        }
        Ok(started)
    }

    async fn ready(&self, started: &Started<'_>) -> Result<(), SandboxError> {
        let over = &started.held.over;
        let waited = match &started.service.health {
            Some(health) => over.run_until_cancelled(self.healthy(started, health)).await,
            None => over.run_until_cancelled(tokio::time::sleep(STAYS)).await.map(|()| None),
        };
        match waited {
            Some(None) => Ok(()),
            Some(Some(why)) => Err(started.failed(why)),
            None => {
                tokio::time::sleep(LAST_WORDS).await;
                Err(started.failed("ended before it was ready".to_owned()))
            }
        }
    }

    /// Asks until the answer is good; else what was last seen.
    async fn healthy(&self, started: &Started<'_>, health: &Health) -> Option<String> {
        let begun = tokio::time::Instant::now();
        let mut seen = String::new();
        for _ in 0..health.retries {
            seen = match tokio::time::timeout(TRY, self.ask(&started.held, &health.command)).await {
                Ok(Ok(0)) => return None,
                Ok(Ok(code)) => format!("ended with {code}"),
                Ok(Err(error)) => format!("could not be run ({error})"),
                Err(_) => format!("took longer than {} seconds", TRY.as_secs()),
            };
            if begun.elapsed() > READY {
                break;
            }
            tokio::time::sleep(health.interval).await;
        }
        let command = text::line(&health.command).replace('`', "'");
        let seconds = begun.elapsed().as_secs();
        Some(format!("did not get ready in {seconds} s: `{command}` {seen}"))
    }

    async fn ask(&self, service: &Held, command: &str) -> Result<i64, SandboxError> {
        let config = ExecConfig {
            cmd: Some(["sh", "-c", command].map(str::to_owned).to_vec()),
            attach_stdin: Some(true),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            ..Default::default()
        };
        self.attach(&service.id, config, "sh".to_owned(), &service.over).await?.wait.await
    }
}

impl Started<'_> {
    /// Keeps the end of what it prints; its end is told to whoever waits.
    fn listen(&self, mut output: exec::Output) {
        let (tail, over) = (self.tail.clone(), self.held.over.clone());
        tokio::spawn(async move {
            while let Some(Ok(piece)) = output.next().await {
                tail.push(&piece.into_bytes());
            }
            over.cancel();
        });
    }
}
