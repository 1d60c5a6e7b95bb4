//! The only place that speaks SQL: deliveries, sessions, inbox, effects, journal, outcomes of checks.
//!
//! One store, two databases. The SQL is written once, with `$1` and plain types (times as milliseconds); what differs is
//! a named constant. Every write of a session's holder is fenced by its epoch: it begins with `Store::fenced`, and
//! gives [`StoreError::LeaseLost`] once somebody else has claimed the session.
//!
//! A session is due when an entry is unread, an effect's time has come, its `wake_at` is reached, or its holder vanished
//! (a lease that ran out instead of being given back). There is no other queue.

mod audit;
mod backup;
mod batch;
mod carried;
mod commits;
mod db;
mod deliveries;
mod disk;
mod effects;
mod error;
mod examine;
mod forget;
mod inbox;
mod journal;
mod leases;
mod lists;
mod outcomes;
mod patience;
mod places;
mod retention;
mod spending;
mod taking;
#[cfg(test)]
pub(crate) mod tests;
mod turns;
mod types;

pub use audit::AuditLine;
pub use backup::backup;
pub use carried::Carried;
pub use disk::DiskMark;
pub use error::StoreError;
pub use examine::{Examined, examine, examine_quarantine, writable};
pub use forget::{Forgettable, Kept as KeptOf};
pub use outcomes::Flake;
pub use patience::patiently;
pub use places::{Place, Running};
pub use retention::Retired;
pub use taking::{Taken, Unreadable};
pub use turns::{Missed, Pauses};
pub use types::{
    Acceptance, Advance, Claimed, Delivery, EffectRow, Fate, JournalLine, Kept, Lease, NewSession, Settled,
    Shown, Stepped, Summary, Unread,
};

use crate::domain::Timestamp;
use commits::{CHANNEL, Commits, Wakes};
use db::{Db, Tx};
use sqlx::postgres::PgListener;
use std::{path::Path, sync::Arc, time::Duration};
use tokio::sync::watch;

/// A database that holds everything fixpoint must not lose. Clones share it.
#[derive(Clone, Debug)]
pub struct Store {
    core: Arc<Core>,
    deliveries: batch::Batcher,
}

/// What the store and its background tasks share.
#[derive(Debug)]
struct Core {
    write: Db,
    read: Db,
    commits: Commits,
}

/// How long to wait before the way to PostgreSQL's notifications is tried again.
const LISTEN_AGAIN: Duration = Duration::from_secs(1);

impl Store {
    /// Opens (and migrates) the database: `sqlite:PATH`, or `postgres://…`.
    ///
    /// # Errors
    /// [`StoreError::Newer`] for a database that a newer version made; [`StoreError::Database`] when it cannot be used.
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        if let Some(path) = url.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            let (write, read) = db::open_sqlite(Path::new(path)).await?;
            return Ok(Self::over(write, read));
        }
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            let db = db::open_postgres(url).await?;
            let store = Self::over(db.clone(), db);
            tokio::spawn(listen(Arc::downgrade(&store.core)));
            return Ok(store);
        }
        Err(StoreError::Database("the address must begin with `sqlite:` or `postgres://`".to_owned()))
    }

    fn over(write: Db, read: Db) -> Self {
        let core = Arc::new(Core { write, read, commits: Commits::new() });
        let deliveries = batch::Batcher::start(Arc::clone(&core));
        Self { core, deliveries }
    }

    /// The database's clock.
    ///
    /// # Errors
    /// [`StoreError::Database`] when it cannot be used.
    pub async fn now(&self) -> Result<Timestamp, StoreError> {
        self.reader().await.now().await
    }

    /// Completes when something is committed after this call that may make a session or a delivery due: in this process
    /// at once, by another node of the same PostgreSQL within moments.
    ///
    /// Waiting starts with the call, not with the first poll, so nothing is missed by
    /// `let changed = store.changed(); look(); changed.await`.
    pub fn changed(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut changes = self.core.commits.changes();
        async move {
            // An error says that the store is gone; whoever waits finds that out by looking.
            let _ = changes.changed().await;
        }
    }

    /// Is the database usable (for `/readyz`)? On SQLite that it can be written is asked too.
    ///
    /// # Errors
    /// [`StoreError::Database`] when it is not.
    pub async fn ready(&self) -> Result<(), StoreError> {
        let mut tx = self.core.write.begin().await?;
        tx.now().await?;
        tx.rollback().await
    }

    /// For tests of recovery: how many transactions this store has committed.
    pub fn commits(&self) -> u64 {
        self.core.commits.made()
    }

    /// For tests of recovery, as near to `kill -9` as one process can come: after `more` commits from now no call of this
    /// store returns any more, neither the committing one nor any other, so nothing can follow from what it wrote.
    /// The receiver turns true at that moment; open the database again and drop what waits here.
    pub fn stop_after(&self, more: u64) -> watch::Receiver<bool> {
        self.core.commits.stop_after(more)
    }

    /// For tests of recovery: after [`Store::stop_after`] the process was not dead, it had only stood still, for longer
    /// than any lease lasts.
    pub fn go_on(&self) {
        self.core.commits.go_on();
    }

    /// The database for reading.
    async fn reader(&self) -> &Db {
        self.core.commits.gate().await;
        &self.core.read
    }

    /// A transaction that is nobody's: deliveries and entries come from outside.
    async fn begin(&self) -> Result<Tx, StoreError> {
        self.core.commits.gate().await;
        self.core.write.begin().await
    }

    async fn commit(&self, tx: Tx, wakes: Wakes) -> Result<(), StoreError> {
        self.core.commits.commit(tx, wakes).await
    }
}

/// Wakes this process's waiters by what other nodes commit. Ends with the store.
async fn listen(core: std::sync::Weak<Core>) {
    while let Some(strong) = core.upgrade() {
        let Db::Postgres(pool) = &strong.write else { return };
        let listener = PgListener::connect_with(pool).await;
        drop(strong);
        if let Ok(mut listener) = listener
            && listener.listen(CHANNEL).await.is_ok()
        {
            hear(&mut listener, &core).await;
        }
        // Whatever was said while nobody listened: look once.
        if let Some(strong) = core.upgrade() {
            strong.commits.wake();
        }
        tokio::time::sleep(LISTEN_AGAIN).await;
    }
}

async fn hear(listener: &mut PgListener, core: &std::sync::Weak<Core>) {
    // `try_recv` says so when the connection was lost, `recv` would hide it.
    while let Ok(Some(_)) = listener.try_recv().await {
        let Some(strong) = core.upgrade() else { return };
        strong.commits.wake();
    }
}
