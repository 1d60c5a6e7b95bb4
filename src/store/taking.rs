//! Taking deliveries up: several at once, each by one node, in order within a thread.
//!
//! A claim is short and measured by the database's clock; it needs no renewal, for whoever is at a delivery for longer has
//! let go of it. What a late one still writes finds the delivery settled.

use super::{
    Delivery, Store, StoreError, Wakes,
    db::{db, run},
    deliveries::delivery,
};
use crate::domain::Timestamp;
use std::time::Duration;

/// Past this many tries a delivery does not hold back the later ones of its thread any more: some minutes of order are
/// worth having, an hour of silence is not.
const ORDERED_TRIES: i64 = 8;

const DUE: &str =
    "SELECT count(*) FROM (SELECT 1 FROM deliveries WHERE fate IS NULL AND not_before <= $1 LIMIT 1) due";
const TAKE: &str = "UPDATE deliveries SET not_before = $2, taken_by = $3, tries = tries + 1 WHERE seq IN ( \
      SELECT d.seq FROM deliveries d WHERE d.fate IS NULL AND d.not_before <= $1 AND NOT EXISTS ( \
        SELECT 1 FROM deliveries e \
        WHERE e.fate IS NULL AND e.thread = d.thread AND e.seq < d.seq AND e.tries < $5) \
      ORDER BY d.seq LIMIT $4) \
    RETURNING seq, guid, event, body, at, tries";
/// One that another node is just taking is passed over instead of waited for.
const TAKE_PG: &str = "WITH picked AS ( \
      SELECT d.seq FROM deliveries d WHERE d.fate IS NULL AND d.not_before <= $1 AND NOT EXISTS ( \
        SELECT 1 FROM deliveries e \
        WHERE e.fate IS NULL AND e.thread = d.thread AND e.seq < d.seq AND e.tries < $5) \
      ORDER BY d.seq LIMIT $4 FOR NO KEY UPDATE OF d SKIP LOCKED) \
    UPDATE deliveries SET not_before = $2, taken_by = $3, tries = tries + 1 FROM picked \
    WHERE deliveries.seq = picked.seq AND deliveries.fate IS NULL \
    RETURNING deliveries.seq, guid, event, body, at, tries";
const PUT_BACK: &str = "UPDATE deliveries SET not_before = $3, taken_by = NULL, tries = tries - $4 \
    WHERE guid = $1 AND taken_by = $2 AND fate IS NULL";
/// Deliveries that could not be read, newest first.
pub(super) const QUARANTINED: &str = "SELECT guid, event, reason, at FROM deliveries WHERE fate = 'quarantined' \
    ORDER BY seq DESC LIMIT $1";
/// How many those are.
pub(super) const QUARANTINE: &str = "SELECT count(*) FROM deliveries WHERE fate = 'quarantined'";
const KNOWN: &str = "SELECT count(*) FROM deliveries WHERE guid = $1";

/// Deliveries that a process which ends had taken are free again.
pub(super) const LET_GO: &str = "UPDATE deliveries SET not_before = 0, taken_by = NULL, tries = tries - 1 \
    WHERE taken_by = $1 AND fate IS NULL";
/// The same, whoever had taken them.
pub(super) const LET_ALL_GO: &str = "UPDATE deliveries SET not_before = 0, taken_by = NULL, tries = tries - 1 \
    WHERE taken_by IS NOT NULL AND fate IS NULL";

/// A row of that list.
pub(super) type Row = (String, String, Option<String>, i64);

/// A delivery that this node has taken up.
#[derive(Clone, Debug)]
pub struct Taken {
    /// What it is.
    pub delivery: Delivery,
    /// Times it was tried, this one included.
    pub tries: u32,
}

/// A delivery that could not be read, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// `X-GitHub-Delivery`.
    pub guid: String,
    /// `X-GitHub-Event`.
    pub event: String,
    /// Why, in words people can read.
    pub reason: String,
    /// When it was stored.
    pub at: Timestamp,
}

impl Store {
    /// Takes up to so many open deliveries for `span`, oldest first. Of a thread only the oldest is given: the next one
    /// when that is settled.
    ///
    /// # Errors
    /// [`StoreError::Database`] when the database cannot be used.
    pub async fn take_deliveries(
        &self,
        owner: &str,
        limit: usize,
        span: Duration,
    ) -> Result<Vec<Taken>, StoreError> {
        let reader = self.reader().await;
        let now = reader.now().await?;
        // Most looks find nothing, and a look takes no lock.
        let due: i64 = db!(reader, c => sqlx::query_scalar(DUE).bind(now.0).fetch_one(c).await)?;
        if due == 0 {
            return Ok(Vec::new());
        }
        let mut tx = self.begin().await?;
        let now = tx.now().await?;
        let sql = tx.pick(TAKE, TAKE_PG);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut rows: Vec<(i64, String, String, Vec<u8>, i64, i64)> = db!(&mut tx, c => sqlx::query_as(sql)
            .bind(now.0).bind(now.plus(span).0).bind(owner).bind(limit).bind(ORDERED_TRIES)
            .fetch_all(&mut **c).await)?;
        self.commit(tx, Wakes::No).await?;
        rows.sort_unstable_by_key(|row| row.0);
        let taken = |(_, guid, event, body, at, tries): (i64, String, String, Vec<u8>, i64, i64)| Taken {
            delivery: delivery((guid, event, body, at)),
            tries: u32::try_from(tries).unwrap_or(u32::MAX),
        };
        Ok(rows.into_iter().map(taken).collect())
    }

    /// Gives a delivery back that could not be settled; it is due again after `pause`. One that was only early is not
    /// counted as tried.
    ///
    /// # Errors
    /// [`StoreError::Database`] when the database cannot be used.
    pub async fn put_back(
        &self,
        guid: &str,
        owner: &str,
        pause: Duration,
        counted: bool,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        let due = tx.now().await?.plus(pause);
        let uncounted = i64::from(!counted);
        run!(&mut tx, sqlx::query(PUT_BACK).bind(guid).bind(owner).bind(due.0).bind(uncounted))?;
        self.commit(tx, Wakes::No).await
    }

    /// Was this delivery kept, whatever became of it?
    ///
    /// # Errors
    /// [`StoreError::Database`] when it cannot be read.
    pub async fn knows_delivery(&self, guid: &str) -> Result<bool, StoreError> {
        let known: i64 =
            db!(self.reader().await, c => sqlx::query_scalar(KNOWN).bind(guid).fetch_one(c).await)?;
        Ok(known > 0)
    }
}

impl From<Row> for Unreadable {
    fn from((guid, event, reason, at): Row) -> Self {
        Self { guid, event, reason: reason.unwrap_or_default(), at: Timestamp(at) }
    }
}
