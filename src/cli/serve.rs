//! `fixpoint serve`: takes webhooks, or reads them from GitHub's list, and works (under the profile that only observes, reads)
//! until it is told to end.

use super::logging;
use crate::{
    app,
    config::{Config, Flags},
    domain::access::Profile,
};
use anyhow::Context as _;
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};

/// Arguments of `fixpoint serve`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    flags: Flags,
    /// Read deliveries from GitHub's own list instead of taking webhooks: where no port may be opened
    #[arg(long)]
    pull: bool,
}

/// Serves until SIGTERM or SIGINT, then comes to rest within ten seconds.
///
/// # Errors
/// What keeps it from starting, as a sentence for the operator.
pub(super) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut config = Config::load(&args.flags)?;
    config.server.pull |= args.pull;
    logging::start(&config.log)?;
    let http = app::http_client(config.proxy()?)?;
    if config.profile == Profile::Observe {
        let observing = app::observing(&config, http).await?;
        tracing::info!("fixpoint observes; its report is at http://{}/", observing.address);
        told_to_end().await?;
        observing.stop().await;
        return Ok(ExitCode::SUCCESS);
    }
    app::priced(&config, &http)?;
    let settings = app::settings(&config, &http).await?;
    // Before a port is opened: what cannot hold an agent shall not be given one.
    let proof = settings.sandboxes.check().await;
    let proof = proof.context("a sandbox was tried and is not one; `fixpoint doctor` looks at all of it")?;
    tracing::info!("sandbox: {proof}");
    if let Some(said) = app::program(settings.engine.as_ref(), &settings.sandboxes).await? {
        tracing::info!("engine: {said}");
    }
    let running = app::start(settings, http).await?;
    let does = if config.server.pull { "fixpoint asks for deliveries" } else { "fixpoint is listening" };
    tracing::info!(address = %running.address, "{does}");
    told_to_end().await?;
    running.stop().await;
    Ok(ExitCode::SUCCESS)
}

async fn told_to_end() -> anyhow::Result<()> {
    let (mut term, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        _ = term.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("coming to rest");
    Ok(())
}
