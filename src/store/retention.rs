//! Removing what is old: one small batch at a time, each in its own transaction, so that nobody waits for it.
//!
//! Nothing of a session that is not over is touched. Deliveries whose fate is open stay, and so do the keys that guard
//! against doing the same thing twice, for longer than anything could be sent again.

use super::{
    Store, StoreError, Wakes,
    db::{Tx, db, run},
};
use crate::domain::{
    SessionId, Timestamp,
    retention::{Retention, SUBJECTS},
};
use std::{collections::BTreeSet, time::Duration};

/// Rows of a batch: on a slow disk still less than the blink that a webhook may wait for the database.
const BATCH: i64 = 200;

const DELIVERIES: &str = "DELETE FROM deliveries WHERE seq IN \
    (SELECT seq FROM deliveries WHERE fate IS NOT NULL AND at < $1 ORDER BY at LIMIT $2)";
const SUBJECT_KEYS: &str = "DELETE FROM subjects WHERE key IN \
    (SELECT key FROM subjects WHERE at < $1 ORDER BY at LIMIT $2)";
const TRANSCRIPTS: &str = "DELETE FROM journal WHERE id IN (SELECT journal.id FROM journal \
    JOIN sessions ON sessions.id = journal.session WHERE sessions.done AND sessions.updated < $1 LIMIT $2)";
const PATCHES: &str = "DELETE FROM patches WHERE session IN (SELECT patches.session FROM patches \
    JOIN sessions ON sessions.id = patches.session WHERE sessions.done AND sessions.updated < $1 LIMIT $2)";
const SESSIONS: &str = "DELETE FROM sessions WHERE id IN (SELECT id FROM sessions \
    WHERE done AND updated < $1 AND lease_owner IS NULL ORDER BY updated LIMIT $2)";
const AUDIT: &str = "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE at < $1 ORDER BY at LIMIT $2)";
const SPENT: &str = "DELETE FROM spent WHERE day < $1";
const KEPT: &str = "SELECT done, updated FROM sessions WHERE id = $1";

/// How many rows a batch removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retired {
    /// Settled deliveries.
    pub deliveries: u64,
    /// Lines of the agent's journal.
    pub transcripts: u64,
    /// Patches that were not pushed.
    pub patches: u64,
    /// Whole sessions.
    pub sessions: u64,
    /// Lines of the audit.
    pub audit: u64,
    /// Keys of what was asked, and days of spending.
    pub keys: u64,
}

impl Retired {
    /// Everything together.
    pub fn rows(&self) -> u64 {
        self.deliveries + self.transcripts + self.patches + self.sessions + self.audit + self.keys
    }
}

impl Store {
    /// Removes one batch of everything that is older than it is to be kept. Nothing was left to do when it removed nothing.
    ///
    /// # Errors
    /// [`StoreError::Database`] when the database cannot be used.
    pub async fn retire(&self, retention: &Retention) -> Result<Retired, StoreError> {
        let now = self.now().await?;
        let (audit, sessions) = (before(now, retention.audit), before(now, retention.sessions));
        let mut retired = Retired {
            deliveries: self.remove(DELIVERIES, before(now, retention.deliveries)).await?,
            transcripts: self.remove(TRANSCRIPTS, before(now, retention.transcripts)).await?,
            patches: self.remove(PATCHES, before(now, retention.patches)).await?,
            sessions: self.remove(SESSIONS, sessions).await?,
            audit: self.remove(AUDIT, audit).await?,
            keys: self.remove(SUBJECT_KEYS, before(now, SUBJECTS)).await?,
        };
        let mut tx = self.begin().await?;
        let days = run!(&mut tx, sqlx::query(SPENT).bind(Timestamp(sessions).day()))?;
        self.done(tx, days).await?;
        retired.keys += days;
        Ok(retired)
    }

    /// Those of these sessions that were over before that time, or are not kept any more.
    ///
    /// # Errors
    /// [`StoreError::Database`] when it cannot be read.
    pub async fn over_since(
        &self,
        sessions: &BTreeSet<SessionId>,
        span: Duration,
    ) -> Result<Vec<SessionId>, StoreError> {
        let db = self.reader().await;
        let before = before(db.now().await?, span);
        let mut over = Vec::new();
        for id in sessions {
            let row: Option<(bool, i64)> = db!(db, c => sqlx::query_as(KEPT).bind(id.to_string())
                .fetch_optional(c).await)?;
            if row.is_none_or(|(done, updated)| done && updated < before) {
                over.push(*id);
            }
        }
        Ok(over)
    }

    async fn remove(&self, sql: &'static str, before: i64) -> Result<u64, StoreError> {
        let mut tx = self.begin().await?;
        let rows = run!(&mut tx, sqlx::query(sql).bind(before).bind(BATCH))?;
        self.done(tx, rows).await?;
        Ok(rows)
    }

    /// Where nothing was removed there is nothing to be written.
    async fn done(&self, tx: Tx, rows: u64) -> Result<(), StoreError> {
        if rows == 0 { tx.rollback().await } else { self.commit(tx, Wakes::No).await }
    }
}

fn before(now: Timestamp, span: Duration) -> i64 {
    now.0.saturating_sub(i64::try_from(span.as_millis()).unwrap_or(i64::MAX))
}
