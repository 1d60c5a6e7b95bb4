//! Removes what no live lease owns: at the start and every minute.

use super::Parts;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const EVERY: Duration = Duration::from_secs(60);

/// Sweeps until `shutdown`.
pub(super) async fn run(parts: Parts, shutdown: CancellationToken) {
    loop {
        if let Err(error) = once(&parts).await {
            tracing::warn!(%error, "the sweep failed; it is tried again in a minute");
        }
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = shutdown.cancelled() => return,
        }
    }
}

async fn once(parts: &Parts) -> anyhow::Result<()> {
    let live = parts.store.live_leases().await?;
    let removed = parts.sandboxes.sweep(&live).await?;
    if removed > 0 {
        tracing::info!(removed, "sandboxes without a live session were removed");
    }
    Ok(())
}
