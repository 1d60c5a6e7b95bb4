//! Deliveries that GitHub's own list of them tells of: all of them where no port may be opened, else those that failed.
//!
//! Either way they end in the one inbox, which knows each by its id. How far the list was read stands in the database, and
//! one node at a time reads it.

mod missed;
mod pull;

use super::Parts;
use crate::{
    github::{GitHubError, HookDelivery},
    store::StoreError,
};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// An attempt stands in the list when it has ended, under the moment it began: GitHub gives a receiver ten seconds, so the
/// last part of what was read is read again.
const OVERLAP: Duration = Duration::from_secs(30);

/// How GitHub's list of deliveries is used.
#[derive(Clone, Copy, Debug)]
pub struct Hooks {
    /// Everything is read from there: no webhook reaches this server.
    pub pull: bool,
    /// How often the list is asked then.
    pub every: Duration,
    /// How often it is asked for failed ones otherwise.
    pub failed_every: Duration,
}

impl Default for Hooks {
    fn default() -> Self {
        // Conditional while nothing is new, so that 720 an hour cost next to nothing of GitHub's 5,000.
        Self { pull: false, every: Duration::from_secs(5), failed_every: Duration::from_secs(300) }
    }
}

/// Why the list was not read to its end.
#[derive(Debug, thiserror::Error)]
enum Unread {
    #[error("{0}")]
    GitHub(#[from] GitHubError),
    #[error("{0}")]
    Store(#[from] StoreError),
}

impl Unread {
    /// When to ask again, where GitHub says so.
    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::GitHub(error) => error.retry_after(),
            Self::Store(_) => None,
        }
    }
}

/// Reads the list at the start and then every so often, until `shutdown`.
pub async fn run(parts: Parts, hooks: Hooks, shutdown: CancellationToken) {
    let every = if hooks.pull { hooks.every } else { hooks.failed_every };
    let mut puller = pull::Puller::default();
    loop {
        let look = async {
            match hooks.pull {
                true => puller.once(&parts, every).await,
                false => missed::once(&parts, every).await,
            }
        };
        let looked = tokio::select! {
            looked = look => looked,
            () = shutdown.cancelled() => return,
        };
        let wait = match looked {
            Ok(()) => every,
            Err(error) => {
                tracing::warn!(%error, "GitHub's list of deliveries cannot be read now; it is read again later");
                error.retry_after().unwrap_or(every).max(every)
            }
        };
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = shutdown.cancelled() => return,
        }
    }
}

/// The newest moment of a list.
fn newest(list: &[HookDelivery]) -> Option<crate::domain::Timestamp> {
    list.iter().filter_map(HookDelivery::at).max()
}
