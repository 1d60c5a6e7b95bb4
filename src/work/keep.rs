//! Removes what has been kept for long enough: rows by one node at a time, checkpoints by each node in its own mirrors.

use super::Parts;
use std::{collections::BTreeSet, time::Duration};
use tokio_util::sync::CancellationToken;

/// How often. What is to go after days may as well go an hour later.
const EVERY: Duration = Duration::from_secs(60 * 60);

/// Batches at a time: a database that was never tidied before is tidied over some hours, not in one.
const BATCHES: usize = 200;

/// Between two batches others write.
const PAUSE: Duration = Duration::from_millis(100);

/// Tidies until `shutdown`: at the start, and every hour.
pub(super) async fn run(parts: Parts, shutdown: CancellationToken) {
    loop {
        let tidied = async {
            rows(&parts).await?;
            checkpoints(&parts).await?;
            installed(&parts).await
        };
        match shutdown.run_until_cancelled(tidied).await {
            Some(Err(error)) => {
                tracing::warn!(%error, "what is old was not removed; it is tried again in an hour");
            }
            Some(Ok(())) => {}
            None => return,
        }
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = shutdown.cancelled() => return,
        }
    }
}

async fn rows(parts: &Parts) -> anyhow::Result<()> {
    let (store, settings) = (&parts.store, &parts.settings);
    // Less than the pause, so that whoever had it last is in time for it again.
    if store.take_turn("retention", &settings.owner, EVERY / 2).await?.is_none() {
        return Ok(());
    }
    for _ in 0..BATCHES {
        let retired = store.retire(&settings.retention).await?;
        if retired.rows() == 0 {
            break;
        }
        tracing::info!(?retired, "what was kept for long enough was removed");
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}

/// Checkpoints of sessions that are over for long enough, or not kept any more. What only they held is collected where no
/// session of the repository goes on.
async fn checkpoints(parts: &Parts) -> anyhow::Result<()> {
    for key in parts.mirrors.all().await {
        let mirror = parts.mirrors.open(&key).await?;
        let held = mirror.held().await?;
        if held.is_empty() {
            continue;
        }
        let sessions: BTreeSet<_> = held.iter().copied().collect();
        let over = parts.store.over_since(&sessions, parts.settings.retention.patches).await?;
        if over.is_empty() {
            continue;
        }
        mirror.let_go(&over).await?;
        tracing::info!(mirror = key, sessions = over.len(), "old checkpoints were let go");
        if over.len() == sessions.len() {
            mirror.collect().await?;
        }
    }
    Ok(())
}

/// What repositories had installed and nobody has used for long.
async fn installed(parts: &Parts) -> anyhow::Result<()> {
    let Some(kept) = &parts.kept else { return Ok(()) };
    let removed = kept.tidy().await?;
    if removed > 0 {
        tracing::info!(removed, "what was installed and is not used any more was removed");
    }
    Ok(())
}
