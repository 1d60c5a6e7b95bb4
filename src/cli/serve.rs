//! `fixpoint serve`: takes webhooks and works until it is told to end.

use super::logging;
use crate::{
    app,
    config::{Config, Flags},
};
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};

/// Arguments of `fixpoint serve`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    flags: Flags,
}

/// Serves until SIGTERM or SIGINT, then comes to rest within ten seconds.
///
/// # Errors
/// What keeps it from starting, as a sentence for the operator.
pub(super) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let config = Config::load(&args.flags)?;
    logging::start(&config.log)?;
    let http = app::http_client()?;
    let running = app::start(app::settings(&config, &http).await?, http).await?;
    tracing::info!(address = %running.address, "fixpoint is listening");
    let (mut term, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        _ = term.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("coming to rest");
    running.stop().await;
    Ok(ExitCode::SUCCESS)
}
