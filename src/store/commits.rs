//! What follows a commit: waiters wake, and a test may say that the process ends here.

use super::{StoreError, db::Tx};
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{Mutex, watch};

/// The channel that the nodes of one PostgreSQL wake each other by.
pub(super) const CHANNEL: &str = "fixpoint_changed";

/// May a commit make a session or a delivery due?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wakes {
    Yes,
    No,
}

/// Every write's commit goes through here.
#[derive(Debug)]
pub(super) struct Commits {
    made: AtomicU64,
    last: AtomicU64,
    /// One commit at a time while a last one is set, so that none slips in behind it.
    turn: Mutex<()>,
    stopped: watch::Sender<bool>,
    /// How often the process stood still, each time for longer than any lease lasts.
    slept: AtomicU64,
    changes: watch::Sender<u64>,
}

impl Commits {
    pub(super) fn new() -> Self {
        Self {
            made: AtomicU64::new(0),
            last: AtomicU64::new(u64::MAX),
            turn: Mutex::new(()),
            stopped: watch::Sender::new(false),
            slept: AtomicU64::new(0),
            changes: watch::Sender::new(0),
        }
    }

    /// Commits, counts and wakes. Does not return from the commit that was set as the last one, nor after it.
    pub(super) async fn commit(&self, mut tx: Tx, wakes: Wakes) -> Result<(), StoreError> {
        if let (Tx::Postgres(c), Wakes::Yes) = (&mut tx, wakes) {
            sqlx::query("SELECT pg_notify($1, '')").bind(CHANNEL).execute(&mut **c).await?;
        }
        let last = self.last.load(Ordering::Acquire);
        let turn = if last == u64::MAX { None } else { Some(self.turn.lock().await) };
        if self.made.load(Ordering::Acquire) >= last {
            drop(turn);
            // Whoever opens the database next must not find it locked by the dead.
            tx.rollback().await?;
            self.gate().await;
            return Err(StoreError::Database("the process stood still while it wrote".to_owned()));
        }
        tx.commit().await?;
        if self.made.fetch_add(1, Ordering::AcqRel) + 1 >= last {
            self.stopped.send_replace(true);
            drop(turn);
            self.gate().await;
        }
        if wakes == Wakes::Yes {
            self.wake();
        }
        Ok(())
    }

    /// Does not return once the last commit was made, unless it goes on: a dead process reads nothing either.
    pub(super) async fn gate(&self) {
        if self.made.load(Ordering::Acquire) >= self.last.load(Ordering::Acquire) {
            // The sender lives in self, so waiting cannot fail.
            let _ = self.stopped.subscribe().wait_for(|stopped| !stopped).await;
        }
    }

    /// There is no last commit any more: whatever waits here goes on.
    pub(super) fn go_on(&self) {
        self.last.store(u64::MAX, Ordering::Release);
        self.slept.fetch_add(1, Ordering::AcqRel);
        self.stopped.send_replace(false);
    }

    pub(super) fn slept(&self) -> u64 {
        self.slept.load(Ordering::Acquire)
    }

    pub(super) fn wake(&self) {
        self.changes.send_modify(|version| *version = version.wrapping_add(1));
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(super) fn made(&self) -> u64 {
        self.made.load(Ordering::Acquire)
    }

    /// Sets the last commit, counted from now; completes when it is made.
    pub(super) fn stop_after(&self, more: u64) -> watch::Receiver<bool> {
        self.last.store(self.made().saturating_add(more), Ordering::Release);
        self.stopped.send_replace(more == 0);
        self.stopped.subscribe()
    }
}
