//! Settles deliveries: what each implies is asked of GitHub first, then written with its fate in one transaction.

mod automatic;
mod begin;
mod fact;
mod second;
mod trigger;

use super::{Parts, action, worker::idle};
use crate::{
    domain::{
        Entry, Number, RepoId, SessionId,
        delivery::{self, Delivery as Sorted, Us},
    },
    git::GitError,
    github::GitHubError,
    store::{Acceptance, Delivery, Fate, NewSession, StoreError, Summary, Taken},
};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Deliveries settled at once: each may wait for GitHub, and a slow answer for one thread must not delay the others.
const AT_ONCE: usize = 16;

/// A delivery that GitHub keeps us from settling is tried this often, then set aside where people see it.
const TRIES: u32 = 20;

/// Waits between tries double up to this.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// Why a delivery could not be settled.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unsettled {
    #[error("{0}")]
    GitHub(#[from] GitHubError),
    #[error("{0}")]
    Git(#[from] GitError),
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("{0}")]
    Halt(#[from] super::Halt),
    #[error("it is looked at again in a moment")]
    Early(Duration),
    #[error("nothing came of it in time")]
    Slow,
}

/// A delivery's fate and what it writes.
type Settled = (Fate, Acceptance);

/// Settles deliveries until `shutdown`; what is not settled by then is given back with the leases. A delivery is this node's
/// for the span of a lease and not longer: then it is tried again, here or elsewhere.
pub(super) async fn run(parts: Parts, shutdown: CancellationToken) {
    let mut settling = JoinSet::new();
    while !shutdown.is_cancelled() {
        while settling.try_join_next().is_some() {}
        let changed = parts.store.changed();
        let room = AT_ONCE - settling.len();
        let taken = match room {
            0 => Ok(Vec::new()),
            _ => parts.store.take_deliveries(&parts.settings.owner, room, parts.settings.lease).await,
        };
        let taken = taken.unwrap_or_else(|error| {
            tracing::error!(%error, "deliveries cannot be taken up");
            Vec::new()
        });
        let none = taken.is_empty();
        for one in taken {
            settling.spawn(take(parts.clone(), one));
        }
        if none {
            // With one settled the next of its thread can be taken.
            tokio::select! {
                () = idle(changed, &shutdown) => {}
                Some(_) = settling.join_next(), if !settling.is_empty() => {}
            }
        }
    }
}

/// Settles a delivery, or gives it back for another try.
async fn take(parts: Parts, Taken { delivery, tries }: Taken) {
    let settled = tokio::time::timeout(parts.settings.lease, Box::pin(settle(&parts, &delivery))).await;
    let error = match settled.unwrap_or(Err(Unsettled::Slow)) {
        Ok(()) => return,
        Err(error) => error,
    };
    let early = match &error {
        Unsettled::Early(wait) => Some(*wait),
        _ => None,
    };
    if early.is_none() {
        tracing::warn!(guid = delivery.guid, event = delivery.event, %error, tries, "not settled yet");
        if is_hopeless(tries, &error) {
            return set_aside(&parts, &delivery, &error).await;
        }
    }
    let wait = Duration::from_millis(500) * 2u32.saturating_pow(tries.min(12));
    let (pause, counted) = (early.unwrap_or(wait.min(LONGEST_WAIT)), early.is_none());
    if let Err(error) = parts.store.put_back(&delivery.guid, &parts.settings.owner, pause, counted).await {
        tracing::warn!(guid = delivery.guid, %error, "the delivery cannot be given back; its claim runs out");
    }
}

/// Was it tried often enough? What GitHub refuses for good needs no twenty tries.
fn is_hopeless(tries: u32, error: &Unsettled) -> bool {
    let refused = matches!(error, Unsettled::GitHub(e) if e.retry_after().is_none());
    tries >= TRIES || (refused && tries >= 2)
}

/// Keeps a delivery where people see it; looking covers for what it would have said.
async fn set_aside(parts: &Parts, delivery: &Delivery, error: &Unsettled) {
    let fate = Fate::Quarantined(error.to_string());
    if let Err(error) = parts.store.accept(&delivery.guid, &fate, &Acceptance::default()).await {
        tracing::error!(guid = delivery.guid, %error, "the delivery could not be set aside");
    }
}

/// Settles one delivery.
pub(super) async fn settle(parts: &Parts, delivery: &Delivery) -> Result<(), Unsettled> {
    let (fate, mut acceptance) = sort(parts, delivery).await?;
    if parts.settings.action.is_some() {
        action::announce(&mut acceptance);
    }
    tracing::debug!(guid = delivery.guid, event = delivery.event, ?fate, "settled");
    match parts.store.accept(&delivery.guid, &fate, &acceptance).await {
        // Another delivery made the session in the meantime: settled anew, this one joins it.
        Err(StoreError::Owned(_)) => {
            let (fate, acceptance) = sort(parts, delivery).await?;
            Ok(parts.store.accept(&delivery.guid, &fate, &acceptance).await?)
        }
        other => Ok(other?),
    }
}

async fn sort(parts: &Parts, delivery: &Delivery) -> Result<Settled, Unsettled> {
    let payload: serde_json::Value = match serde_json::from_slice(&delivery.body) {
        Ok(payload) => payload,
        Err(error) => return Ok((Fate::Quarantined(format!("not JSON: {error}")), Acceptance::default())),
    };
    let app = parts.app().await?;
    // Which label starts work the repository says, once it is known which: every label is one until then.
    let label = payload.pointer("/label/name").and_then(serde_json::Value::as_str).unwrap_or_default();
    let us = Us { app: app.id, slug: &app.slug, word: &parts.settings.word, label, bots: &[] };
    match delivery::sort(&delivery.event, &payload, &us) {
        Sorted::Ignore(reason) => Ok(ignored(reason)),
        Sorted::Fact(fact) => fact::settle(parts, fact).await,
        Sorted::Trigger(trigger) => Box::pin(trigger::settle(parts, app, *trigger, delivery.at)).await,
    }
}

/// Given to sessions that exist, if there are any.
fn entries(all: impl IntoIterator<Item = (SessionId, Entry)>) -> Settled {
    let entries: Vec<_> = all.into_iter().collect();
    match entries.is_empty() {
        true => ignored("no session is about it"),
        false => (Fate::Taken("given to its session"), Acceptance { entries, ..Acceptance::default() }),
    }
}

/// Is this label among them? GitHub knows labels by their names in any case.
fn holds_label(labels: &[String], name: &str) -> bool {
    labels.iter().any(|label| label.eq_ignore_ascii_case(name))
}

/// A new session.
fn made(session: NewSession) -> Settled {
    (Fate::Taken("a session was made"), Acceptance { session: Some(session), ..Acceptance::default() })
}

fn ignored(reason: &'static str) -> Settled {
    (Fate::Ignored(reason), Acceptance::default())
}

/// The live session of a thread, whether the number is its issue's or its pull request's.
async fn of_thread(parts: &Parts, repo: RepoId, number: Number) -> Result<Option<Summary>, Unsettled> {
    Ok(match parts.store.session_of_issue(repo, number).await? {
        None => parts.store.session_of_pull(repo, number).await?,
        found => found,
    })
}
