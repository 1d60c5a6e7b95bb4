//! Those who have shown no signature yet. Where there is no room for another, whoever of them came first gives way.
//!
//! GitHub sends a delivery in one go; who sends a byte now and then can hold thousands of connections for hours. Would a
//! newcomer wait for them, deliveries were lost; so they do not get to keep what is scarce, and whoever was once heard
//! with a right signature is not touched.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

/// How often the log says that it is full: a flood shall not become one of the disk.
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// The strangers, in the order they came.
#[derive(Clone, Debug, Default)]
pub(super) struct Crowd(Arc<Mutex<Strangers>>);

#[derive(Debug, Default)]
struct Strangers {
    next: u64,
    here: BTreeMap<u64, CancellationToken>,
    told: Option<Instant>,
}

/// One connection's place in it; given up with its last clone.
#[derive(Clone, Debug)]
pub(super) struct Seat(Arc<Held>);

#[derive(Debug)]
struct Held {
    crowd: Crowd,
    number: u64,
    gives_way: CancellationToken,
}

impl Crowd {
    /// A stranger comes.
    pub(super) fn enter(&self) -> Seat {
        let mut strangers = self.strangers();
        let (number, gives_way) = (strangers.next, CancellationToken::new());
        strangers.next += 1;
        strangers.here.insert(number, gives_way.clone());
        Seat(Arc::new(Held { crowd: self.clone(), number, gives_way }))
    }

    /// The stranger who came first goes.
    pub(super) fn give_way(&self) {
        let mut strangers = self.strangers();
        let Some((_, first)) = strangers.here.pop_first() else { return };
        first.cancel();
        if strangers.told.is_none_or(|told| told.elapsed() > TOLD_EVERY) {
            strangers.told = Some(Instant::now());
            tracing::warn!("there is no room for more senders: those who are slow and unsigned are let go");
        }
    }

    fn strangers(&self) -> MutexGuard<'_, Strangers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    /// A right signature was shown: no stranger any more.
    pub(super) fn proved(&self) {
        self.0.crowd.strangers().here.remove(&self.0.number);
    }

    /// Until this one has to go.
    pub(super) fn gives_way(&self) -> WaitForCancellationFuture<'_> {
        self.0.gives_way.cancelled()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.crowd.strangers().here.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t45_the_first_stranger_goes_and_nobody_who_was_heard() {
        let crowd = Crowd::default();
        let seats: Vec<_> = (0..4).map(|_| crowd.enter()).collect();
        let gone =
            |seats: &[Seat]| seats.iter().map(|seat| seat.0.gives_way.is_cancelled()).collect::<Vec<_>>();
        seats[0].proved();
        crowd.give_way();
        assert_eq!(gone(&seats), [false, true, false, false]);
        crowd.give_way();
        assert_eq!(gone(&seats), [false, true, true, false]);
        drop(seats);
        assert!(crowd.strangers().here.is_empty(), "nothing is remembered of who has gone");
        crowd.give_way();
    }
}
