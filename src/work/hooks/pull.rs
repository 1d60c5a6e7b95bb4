//! Every delivery, read from the list instead of being sent here.

use super::{OVERLAP, Unread, newest};
use crate::{
    github::{GitHubError, HookDelivery},
    store::Kept,
    work::Parts,
};
use std::time::Duration;

/// Whose turn it is to read.
const TURN: &str = "pull";
/// Without a past the list is read back so far: what was asked while the server was being set up is heard, what stood there
/// before is not dug out again.
const FIRST: Duration = Duration::from_secs(600);
/// A delivery whose payload GitHub does not give in so many tries is passed over: it must not stop all that follow.
const TRIES: u32 = 20;
/// A node that is gone is replaced after so many asks that did not come.
const TURN_ASKS: u32 = 4;
/// A turn lasts as long as a slow answer at the least.
const SHORTEST_TURN: Duration = Duration::from_secs(20);

/// Reads the list; remembers what it could not read.
#[derive(Debug, Default)]
pub(super) struct Puller {
    /// GitHub's id of the delivery that is in the way, and how often it was asked for.
    stuck: Option<(u64, u32)>,
}

impl Puller {
    /// Brings what is new into the inbox, oldest first. How far it came is noted when all of it is there: a process that
    /// ends before reads the same again, and the inbox knows what it has.
    pub(super) async fn once(&mut self, parts: &Parts, every: Duration) -> Result<(), Unread> {
        let (store, owner) = (&parts.store, &parts.settings.owner);
        let span = (every * TURN_ASKS).max(SHORTEST_TURN);
        let Some(reached) = store.take_turn(TURN, owner, span).await? else { return Ok(()) };
        let since = match reached {
            Some(reached) => reached.minus(OVERLAP),
            None => store.now().await?.minus(FIRST),
        };
        let list = parts.github.deliveries(since).await?;
        for delivery in list.iter().rev() {
            // GitHub says so when the webhook is set; it asks for nothing.
            if delivery.event == "ping" || store.knows_delivery(&delivery.guid).await? {
                continue;
            }
            if let Err(error) = self.keep(parts, delivery).await {
                if !self.passes_over(delivery.id, &error) {
                    return Err(error);
                }
                tracing::error!(%error, guid = delivery.guid, "a delivery cannot be read and is passed over");
            }
        }
        self.stuck = None;
        match newest(&list) {
            Some(newest) if Some(newest) > reached => Ok(store.reach(TURN, owner, newest).await?),
            _ => Ok(()),
        }
    }

    async fn keep(&self, parts: &Parts, delivery: &HookDelivery) -> Result<(), Unread> {
        // What is in the list is asked for only while there is room for what follows from it.
        if let Some(problem) = parts.disk.as_ref().and_then(crate::store::DiskMark::problem) {
            return Err(GitHubError::Unavailable(format!("no delivery is taken: {problem}")).into());
        }
        let body = parts.github.delivered(delivery.id).await?;
        let kept = parts.store.keep_delivery(&delivery.guid, &delivery.event, &body).await?;
        tracing::debug!(guid = delivery.guid, event = delivery.event, new = kept == Kept::New, "pulled");
        Ok(())
    }

    /// Is it hopeless to ask for this one again? What is gone is; what GitHub cannot give now may come.
    fn passes_over(&mut self, id: u64, error: &Unread) -> bool {
        match error {
            Unread::GitHub(GitHubError::NotFound(_) | GitHubError::Unreadable(_)) => true,
            Unread::GitHub(GitHubError::Unavailable(_)) => {
                let tries = self.stuck.filter(|(stuck, _)| *stuck == id).map_or(1, |(_, tries)| tries + 1);
                self.stuck = Some((id, tries));
                tries > TRIES
            }
            _ => false,
        }
    }
}
