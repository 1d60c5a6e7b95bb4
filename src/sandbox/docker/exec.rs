//! Commands in a container that runs.

use super::{DockerProvider, container::PROGRAM, container::WORKSPACE, engine, status};
use crate::sandbox::{Command, Process, Program, SandboxError, pump};
use bollard::{
    container::LogOutput,
    errors::Error,
    exec::{StartExecOptions, StartExecResults},
    models::ExecConfig,
};
use futures::{Stream, StreamExt};
use std::{pin::Pin, time::Duration};
use tokio::{
    io::{AsyncWriteExt, DuplexStream, duplex},
    sync::oneshot,
};
use tokio_util::sync::CancellationToken;

/// Between looks at a command whose streams are still open: one that left a child behind has ended all the
/// same.
const LOOK: Duration = Duration::from_secs(1);

/// Between looks at a command whose streams have ended: the engine notes the end a moment later.
const SOON: Duration = Duration::from_millis(5);

/// What the engine sends of a command or a container.
pub(super) type Output = Pin<Box<dyn Stream<Item = Result<LogOutput, Error>> + Send>>;

impl DockerProvider {
    /// Starts a command; its streams end at the latest with the container, which `over` tells.
    pub(super) async fn exec(
        &self,
        container: &str,
        command: Command,
        over: &CancellationToken,
    ) -> Result<Process, SandboxError> {
        let mut argv = match command.program {
            Program::Toolbox => vec![PROGRAM.to_owned(), "toolbox".to_owned()],
            Program::Named(name) => vec![name],
        };
        let name = argv[0].clone();
        argv.extend(command.arguments);
        let config = ExecConfig {
            cmd: Some(argv),
            env: Some(command.environment.iter().map(|(key, value)| format!("{key}={value}")).collect()),
            working_dir: Some(format!("{WORKSPACE}/{}", command.directory).trim_end_matches('/').to_owned()),
            attach_stdin: Some(true),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            ..Default::default()
        };
        self.attach(container, config, name, over).await
    }

    /// Starts what a configuration says; `name` is told where the container lacks it.
    pub(super) async fn attach(
        &self,
        container: &str,
        config: ExecConfig,
        name: String,
        over: &CancellationToken,
    ) -> Result<Process, SandboxError> {
        let made = self.docker.create_exec(container, config).await.map_err(gone)?;
        let options = StartExecOptions { output_capacity: Some(64 << 10), ..Default::default() };
        match self.docker.start_exec(&made.id, Some(options)).await.map_err(gone)? {
            StartExecResults::Attached { output, input } => {
                let (stdout, stderr, ended) = split(output, over.clone());
                let over = over.clone();
                let provider = self.clone();
                Ok(Process {
                    stdin: Box::new(pump::closing(input)),
                    stdout: Box::new(stdout),
                    stderr: Box::new(stderr),
                    wait: Box::pin(async move { provider.status(&made.id, name, ended, &over).await }),
                })
            }
            StartExecResults::Detached => {
                Err(SandboxError::Engine("it did not attach to the command".into()))
            }
        }
    }

    async fn status(
        &self,
        id: &str,
        name: String,
        mut ended: oneshot::Receiver<String>,
        over: &CancellationToken,
    ) -> Result<i64, SandboxError> {
        let mut last = None;
        loop {
            if last.is_none() {
                last = tokio::time::timeout(LOOK, &mut ended).await.ok().map(Result::unwrap_or_default);
            }
            let seen = self.docker.inspect_exec(id).await.map_err(gone)?;
            match (seen.running, seen.exit_code) {
                (Some(false), Some(code)) => return told(code, &last.unwrap_or_default(), name),
                _ if over.is_cancelled() => return Err(SandboxError::Gone),
                _ if last.is_some() => tokio::time::sleep(SOON).await,
                _ => {}
            }
        }
    }
}

/// How the engine's own word begins, written in place of a command's output, where it could not start it.
const REFUSAL: &[u8] = b"OCI runtime exec failed";

/// The status of a command that ran; with one that could not be started comes the engine's word.
fn told(code: i64, word: &str, name: String) -> Result<i64, SandboxError> {
    match (code, word) {
        (126 | 127, word) if word.contains("not found") || word.contains("no such file") => {
            Err(SandboxError::NoProgram(name))
        }
        (126 | 127, word) if !word.is_empty() => Err(SandboxError::Engine(word.to_owned())),
        _ => Ok(code),
    }
}

/// Takes the two streams apart. Standard output waits for its reader, standard error never does; either may
/// be dropped. At the end comes what looks like the engine's own word.
fn split(output: Output, over: CancellationToken) -> (DuplexStream, DuplexStream, oneshot::Receiver<String>) {
    let (mut out, stdout) = duplex(256 << 10);
    let (mut err, stderr) = pump::lossy();
    let (end, ended) = oneshot::channel();
    tokio::spawn(async move {
        let mut word = String::new();
        // Some engines never end the streams of commands whose container has died.
        let mut output = std::pin::pin!(output.take_until(over.cancelled_owned()));
        while let Some(Ok(piece)) = output.next().await {
            if let LogOutput::StdErr { message } = piece {
                err.push(&message);
                continue;
            }
            let bytes = piece.into_bytes();
            if bytes.starts_with(REFUSAL) {
                word = String::from_utf8_lossy(&bytes).trim().to_owned();
            }
            // Where nobody reads any more the command goes on all the same.
            let _ = out.write_all(&bytes).await;
        }
        let _ = end.send(word);
    });
    (stdout, stderr, ended)
}

/// A container that is not there, or not running, is a sandbox that is gone.
fn gone(error: Error) -> SandboxError {
    match status(&error) {
        Some(404 | 409) => SandboxError::Gone,
        _ => engine(error),
    }
}
