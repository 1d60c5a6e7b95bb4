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

/// Between looks at a command whose streams are still open: one that left a child behind has ended all the same.
const LOOK: Duration = Duration::from_secs(1);

/// Between looks at a command whose streams have ended: the engine notes the end a moment later.
const SOON: Duration = Duration::from_millis(5);

/// What the engine sends of a command or a container.
pub(super) type Output = Pin<Box<dyn Stream<Item = Result<LogOutput, Error>> + Send>>;

impl DockerProvider {
    pub(super) async fn exec(&self, container: &str, command: Command) -> Result<Process, SandboxError> {
        let mut argv = match command.program {
            Program::Toolbox => vec![PROGRAM.to_owned(), "toolbox".to_owned()],
            Program::Named(name) => vec![name],
        };
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
        let made = self.docker.create_exec(container, config).await.map_err(gone)?;
        let options = StartExecOptions { output_capacity: Some(64 << 10), ..Default::default() };
        match self.docker.start_exec(&made.id, Some(options)).await.map_err(gone)? {
            StartExecResults::Attached { output, input } => Ok(self.attach(made.id, output, input)),
            StartExecResults::Detached => {
                Err(SandboxError::Engine("it did not attach to the command".into()))
            }
        }
    }

    fn attach(
        &self,
        id: String,
        output: Output,
        input: impl tokio::io::AsyncWrite + Send + Unpin + 'static,
    ) -> Process {
        let (stdout, stderr, ended) = split(output);
        let provider = self.clone();
        Process {
            stdin: Box::new(pump::closing(input)),
            stdout: Box::new(stdout),
            stderr: Box::new(stderr),
            wait: Box::pin(async move { provider.status(&id, ended).await }),
        }
    }

    async fn status(&self, id: &str, mut ended: oneshot::Receiver<()>) -> Result<i64, SandboxError> {
        loop {
            let pause = match tokio::time::timeout(LOOK, &mut ended).await {
                Ok(_) => SOON,
                Err(_) => Duration::ZERO,
            };
            let seen = self.docker.inspect_exec(id).await.map_err(gone)?;
            match (seen.running, seen.exit_code) {
                (Some(false), Some(code)) => return Ok(code),
                _ => tokio::time::sleep(pause).await,
            }
        }
    }
}

/// Takes the two streams apart. Standard output waits for its reader, standard error never does; either may be dropped.
fn split(mut output: Output) -> (DuplexStream, DuplexStream, oneshot::Receiver<()>) {
    let (mut out, stdout) = duplex(256 << 10);
    let (mut err, stderr) = pump::lossy();
    let (end, ended) = oneshot::channel();
    tokio::spawn(async move {
        while let Some(Ok(piece)) = output.next().await {
            match piece {
                LogOutput::StdErr { message } => err.push(&message),
                other => {
                    // Nobody reads any more: the command goes on all the same.
                    let _ = out.write_all(&other.into_bytes()).await;
                }
            }
        }
        let _ = end.send(());
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
