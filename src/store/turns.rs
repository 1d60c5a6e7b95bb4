//! What one node at a time does: a turn with an end, and how far it has come. And the deliveries that were missed.

use super::{
    Store, StoreError, Wakes,
    db::{db, run},
};
use crate::domain::Timestamp;
use std::time::Duration;

const TAKE: &str = "INSERT INTO turns (name, owner, until) VALUES ($1, $2, $3) \
    ON CONFLICT (name) DO UPDATE SET owner = $2, until = $3 \
    WHERE turns.owner IS NULL OR turns.owner = $2 OR turns.until <= $4 RETURNING reached";
const REACH: &str = "UPDATE turns SET reached = $3 WHERE name = $1 AND owner = $2";
const END: &str = "UPDATE turns SET owner = NULL WHERE name = $1 AND owner = $2";

/// The turns of a process that ends are free.
pub(super) const LET_GO: &str = "UPDATE turns SET owner = NULL WHERE owner = $1";
/// The same, whoever had them.
pub(super) const LET_ALL_GO: &str = "UPDATE turns SET owner = NULL WHERE owner IS NOT NULL";

const NOTE: &str = "INSERT INTO missed (guid, hook, at) \
    SELECT $1, $2, $3 WHERE NOT EXISTS (SELECT 1 FROM deliveries WHERE guid = $1) \
    ON CONFLICT (guid) DO UPDATE SET hook = excluded.hook";
/// PostgreSQL wants to know what is selected.
const NOTE_PG: &str = "INSERT INTO missed (guid, hook, at) \
    SELECT $1::text, $2::bigint, $3::bigint WHERE NOT EXISTS (SELECT 1 FROM deliveries WHERE guid = $1::text) \
    ON CONFLICT (guid) DO UPDATE SET hook = excluded.hook";
const CAME: &str = "DELETE FROM missed WHERE guid = $1";
const FORGET: &str = "DELETE FROM missed WHERE at < $1 \
    OR EXISTS (SELECT 1 FROM deliveries WHERE deliveries.guid = missed.guid)";
const DUE: &str = "SELECT guid, hook, at FROM missed WHERE times = 0 OR (times = 1 AND asked <= $1) \
    OR (times = 2 AND asked <= $2) OR (times = 3 AND asked <= $3) ORDER BY at, hook LIMIT $4";
const ASK: &str = "UPDATE missed SET times = times + 1, asked = $2 WHERE guid = $1 \
    AND (times = 0 OR (times = 1 AND asked <= $3) OR (times = 2 AND asked <= $4) OR (times = 3 AND asked <= $5)) \
    AND NOT EXISTS (SELECT 1 FROM deliveries WHERE guid = $1)";

/// A delivery that GitHub could not hand over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missed {
    /// `X-GitHub-Delivery`.
    pub guid: String,
    /// GitHub's id of the attempt.
    pub hook: u64,
    /// When it failed, by GitHub's clock.
    pub at: Timestamp,
}

/// How long after each asking for a delivery it is asked for again; after the last of them never.
pub type Pauses = [Duration; 3];

impl Store {
    /// Takes (or prolongs) a turn; gives how far it has come, `Some(None)` where nothing was reached yet. `None`: it is
    /// another's.
    ///
    /// # Errors
    /// [`StoreError::Database`] when the database cannot be used.
    pub async fn take_turn(
        &self,
        name: &str,
        owner: &str,
        span: Duration,
    ) -> Result<Option<Option<Timestamp>>, StoreError> {
        let mut tx = self.begin().await?;
        let now = tx.now().await?;
        let row: Option<Option<i64>> = db!(&mut tx, c => sqlx::query_scalar(TAKE)
            .bind(name).bind(owner).bind(now.plus(span).0).bind(now.0).fetch_optional(&mut **c).await)?;
        self.commit(tx, Wakes::No).await?;
        Ok(row.map(|reached| reached.map(Timestamp)))
    }

    /// Notes how far a turn has come. Of a turn that is another's by now nothing is noted.
    ///
    /// # Errors
    /// [`StoreError::Database`] when the database cannot be used.
    pub async fn reach(&self, name: &str, owner: &str, reached: Timestamp) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        run!(&mut tx, sqlx::query(REACH).bind(name).bind(owner).bind(reached.0))?;
        self.commit(tx, Wakes::No).await
    }

    /// Ends a turn before its time.
    ///
    /// # Errors
    /// [`StoreError::Database`] when the database cannot be used.
    pub async fn end_turn(&self, name: &str, owner: &str) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        run!(&mut tx, sqlx::query(END).bind(name).bind(owner))?;
        self.commit(tx, Wakes::No).await
    }

    /// Notes what was missed, together with how far the turn has come. What `came` after all, what is in the inbox and what
    /// is older than `oldest` is forgotten.
    ///
    /// # Errors
    /// [`StoreError::Database`] when the database cannot be used.
    pub async fn note_missed(
        &self,
        (name, owner): (&str, &str),
        missed: &[Missed],
        came: &[&str],
        reached: Option<Timestamp>,
        oldest: Timestamp,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        let sql = tx.pick(NOTE, NOTE_PG);
        for Missed { guid, hook, at } in missed {
            let hook = super::leases::number(*hook);
            run!(&mut tx, sqlx::query(sql).bind(guid).bind(hook).bind(at.0))?;
        }
        // Under this id it may not be in the inbox: the same came under another one.
        for guid in came {
            run!(&mut tx, sqlx::query(CAME).bind(*guid))?;
        }
        run!(&mut tx, sqlx::query(FORGET).bind(oldest.0))?;
        if let Some(reached) = reached {
            run!(&mut tx, sqlx::query(REACH).bind(name).bind(owner).bind(reached.0))?;
        }
        self.commit(tx, Wakes::No).await
    }

    /// What was missed and may be asked for again now, oldest first.
    ///
    /// # Errors
    /// [`StoreError::Database`] when it cannot be read.
    pub async fn missed(&self, pauses: &Pauses, limit: u32) -> Result<Vec<Missed>, StoreError> {
        let (db, limit) = (self.reader().await, i64::from(limit));
        let now = db.now().await?;
        let [first, second, third] = pauses.map(|pause| now.minus(pause).0);
        let rows: Vec<(String, i64, i64)> = db!(db, c => sqlx::query_as(DUE)
            .bind(first).bind(second).bind(third).bind(limit).fetch_all(c).await)?;
        let read = |(guid, hook, at): (String, i64, i64)| Missed {
            guid,
            hook: u64::try_from(hook).unwrap_or_default(),
            at: Timestamp(at),
        };
        Ok(rows.into_iter().map(read).collect())
    }

    /// Counts one time of asking for it, before it is asked. False: it is here by now, or was asked for often or lately
    /// enough.
    ///
    /// # Errors
    /// [`StoreError::Database`] when the database cannot be used.
    pub async fn ask_again(&self, guid: &str, pauses: &Pauses) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        let now = tx.now().await?;
        let [first, second, third] = pauses.map(|pause| now.minus(pause).0);
        let asked =
            run!(&mut tx, sqlx::query(ASK).bind(guid).bind(now.0).bind(first).bind(second).bind(third))?;
        self.commit(tx, Wakes::No).await?;
        Ok(asked == 1)
    }
}
