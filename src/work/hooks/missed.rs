//! Deliveries that GitHub could not hand over: noted from its list, and asked for again.

use super::{OVERLAP, Unread, newest};
use crate::{
    domain::retention::REDELIVERED,
    github::{GitHubError, HookDelivery},
    store::{DiskMark, Missed, Pauses},
    work::Parts,
};
use std::time::Duration;

/// Whose turn it is to look.
const TURN: &str = "missed";
/// A look takes no longer; of a node that is gone the turn ends then.
const SPAN: Duration = Duration::from_secs(60);
/// Each pause is so many times the one before: asked for at once and after five minutes, half an hour and three hours, a
/// delivery outlasts most of what could keep it away. What fails four times fails because of what it is.
const LONGER: u32 = 6;
/// Asked for in one look, so that a long outage does not come back as a flood.
const AT_ONCE: u32 = 100;

/// Notes what failed since the last look, then asks for what is due.
pub(super) async fn once(parts: &Parts, every: Duration) -> Result<(), Unread> {
    let (store, owner) = (&parts.store, &parts.settings.owner);
    let Some(reached) = store.take_turn(TURN, owner, SPAN).await? else { return Ok(()) };
    let oldest = store.now().await?.minus(REDELIVERED);
    let since = reached.map_or(oldest, |reached| reached.minus(OVERLAP).max(oldest));
    let list = parts.github.deliveries(since).await?;
    let failed: Vec<Missed> = HookDelivery::lost(&list).into_iter().rev().filter_map(missed).collect();
    let newest = newest(&list).filter(|newest| Some(*newest) > reached);
    let came: Vec<&str> =
        list.iter().filter(|sent| sent.ok && sent.again).map(|sent| sent.guid.as_str()).collect();
    store.note_missed((TURN, owner), &failed, &came, newest, oldest).await?;
    if let Some(problem) = parts.disk.as_ref().and_then(DiskMark::problem) {
        tracing::warn!(problem, "nothing is asked for that would be refused");
        return Ok(store.end_turn(TURN, owner).await?);
    }
    // Two looks are that far apart, give or take what a look takes.
    let first = every * 9 / 10;
    let pauses: Pauses = [first, first * LONGER, first * LONGER * LONGER];
    for Missed { guid, hook, .. } in store.missed(&pauses, AT_ONCE).await? {
        // Counted before it is asked, so that neither a crash nor another node makes more of it.
        if !store.ask_again(&guid, &pauses).await? {
            continue;
        }
        match parts.github.redeliver(hook).await {
            Ok(()) => tracing::info!(guid, "a delivery that failed is sent again"),
            Err(error @ (GitHubError::NotFound(_) | GitHubError::Invalid(_))) => {
                tracing::warn!(guid, %error, "a delivery that failed cannot be sent again");
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(store.end_turn(TURN, owner).await?)
}

fn missed(failed: &HookDelivery) -> Option<Missed> {
    Some(Missed { guid: failed.guid.clone(), hook: failed.id, at: failed.at()? })
}
