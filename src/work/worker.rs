//! The loops of a node: deliveries are accepted, due sessions claimed, leftovers swept.

use super::{Parts, Settings, accept, drive, keep, sweep};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Sessions driven at once. Most only look at CI; sandboxes have caps of their own.
const DRIVEN: usize = 64;

/// How long a node that has heard nothing waits before it looks: covers what another process committed.
const IDLE: Duration = Duration::from_millis(500);

/// Works until `shutdown`, then hands back what it holds.
pub async fn run(parts: Parts, shutdown: CancellationToken) {
    let mut tasks = JoinSet::new();
    tasks.spawn(accept::run(parts.clone(), shutdown.clone()));
    tasks.spawn(sweep::run(parts.clone(), shutdown.clone()));
    tasks.spawn(keep::run(parts.clone(), shutdown.clone()));
    claims(&parts, &shutdown).await;
    while tasks.join_next().await.is_some() {}
    if let Err(error) = parts.store.release_all(&parts.settings.owner).await {
        tracing::warn!(%error, "leases could not be given back; they run out by themselves");
    }
}

async fn claims(parts: &Parts, shutdown: &CancellationToken) {
    let mut driven = JoinSet::new();
    while !shutdown.is_cancelled() {
        while driven.try_join_next().is_some() {}
        // Waiting begins before the look, so that nothing is missed in between.
        let changed = parts.store.changed();
        let claimed = match driven.len() {
            0..DRIVEN => {
                let Settings { owner, lease, running, .. } = &*parts.settings;
                parts.store.claim_within(owner, *lease, running.all).await
            }
            _ => Ok(None),
        };
        match claimed {
            Ok(Some(claimed)) => {
                driven.spawn(drive::drive(parts.clone(), claimed, shutdown.clone()));
            }
            Ok(None) => idle(changed, shutdown).await,
            Err(error) => {
                tracing::error!(%error, "sessions cannot be claimed");
                idle(changed, shutdown).await;
            }
        }
    }
    while driven.join_next().await.is_some() {}
}

/// Waits until something may be due.
pub(super) async fn idle(changed: impl Future<Output = ()>, shutdown: &CancellationToken) {
    tokio::select! {
        () = changed => {}
        () = tokio::time::sleep(IDLE) => {}
        () = shutdown.cancelled() => {}
    }
}
