//! `fixpoint action`: one event of a workflow run, worked on to the point where the next event tells more.
//!
//! Configured by GitHub's variables and the Action's inputs, so it has no flags. It ends with success whatever CI said:
//! a pull request that is not green is an outcome and no failure of the job.

mod runner;

use super::logging;
use crate::{
    app,
    config::{Config, Inputs, Runner},
};
use runner::{Commands, Outputs};
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Arguments of `fixpoint action`: none.
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

/// Does what the event asks for, and says what came of it where a workflow looks.
///
/// # Errors
/// A sentence for whoever set the workflow up.
pub(super) async fn run(_: Args) -> anyhow::Result<ExitCode> {
    let (runner, inputs) = (Runner::load()?, Inputs::load());
    let commands = Commands::new(runner.listens);
    commands.mask(&inputs.secrets());
    // What is logged may quote anybody: from here on the runner follows nothing that is printed.
    let deaf = commands.stop();
    let done = worked(&runner, &inputs).await;
    commands.resume(&deaf);
    let app::Action { ran, warnings } = match done {
        Ok(action) => action,
        Err(error) => {
            commands.error(&format!("{error:#}"));
            return Ok(ExitCode::FAILURE);
        }
    };
    for warning in &warnings {
        commands.warning(warning);
    }
    let outputs = Outputs::of(&ran);
    outputs.write(runner.output.as_deref())?;
    outputs.summarise(runner.summary.as_deref(), &warnings)?;
    commands.say(&outputs.line());
    Ok(ExitCode::SUCCESS)
}

async fn worked(runner: &Runner, inputs: &Inputs) -> anyhow::Result<app::Action> {
    let config = Config::load_action(inputs)?;
    logging::start(&config.log)?;
    let shutdown = CancellationToken::new();
    tokio::spawn(cancelled(shutdown.clone()));
    Box::pin(app::action(&config, (runner, inputs), app::http_client(config.proxy()?)?, shutdown)).await
}

/// A cancelled job is interrupted, and killed ten seconds later: its sandbox must not outlive it.
async fn cancelled(shutdown: CancellationToken) {
    let (Ok(mut term), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::warn!("the job is being cancelled");
    shutdown.cancel();
}
