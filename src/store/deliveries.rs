//! Webhooks: kept before they are answered, settled together with what they imply.

use super::{
    Acceptance, Delivery, Fate, Kept, NewSession, Settled, Store, StoreError, Wakes,
    audit::{self, Of},
    batch::Arrived,
    db::{Tx, db, run},
    effects, inbox,
    leases::{self, number},
};
use crate::domain::{Audit, Audited, Fault, Timestamp, delivery::thread, seeded};
use sha2::{Digest, Sha256};

const OPEN: &str = "SELECT guid, event, body, at FROM deliveries WHERE fate IS NULL ORDER BY seq LIMIT $1";
const ONE: &str = "SELECT guid, event, body, at, fate, reason FROM deliveries WHERE guid = $1";
const SETTLE: &str = "UPDATE deliveries SET fate = $2, reason = $3 WHERE guid = $1 AND fate IS NULL";
const KNOWN: &str = "SELECT count(*) FROM deliveries WHERE guid = $1";
/// The comment has one session at a time, and so has the label that tells people to look at it.
const TAKE_OVER: &str =
    "UPDATE shown SET session = $1 WHERE session = $2 AND thing IN ('status', 'status-url', 'needs-human')";
const SUBJECT: &str = "INSERT INTO subjects (key, at, guid) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
/// Open again: the delivery of an entry, by the entry's id.
const REOPEN: &str = "UPDATE deliveries SET fate = NULL, reason = NULL, tries = 0, not_before = 0, taken_by = NULL \
    WHERE guid = (SELECT guid FROM inbox WHERE id = $1)";
const UNCOUNT: &str = "DELETE FROM subjects WHERE guid = (SELECT guid FROM inbox WHERE id = $1)";

/// The words of [`Fate::Ignored`] for a subject that came before.
const SEEN_BEFORE: &str = "the same was here under another delivery";

type Row = (String, String, Vec<u8>, i64);

/// How many subjects begin like that, since then.
const COUNT: &str = "SELECT COUNT(*) FROM subjects WHERE substr(key, 1, length($1)) = $1 AND at >= $2";

/// A day, in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1000;

impl Store {
    /// Stores a delivery; on return it is durable.
    ///
    /// # Errors
    /// [`StoreError::Database`] when it is not stored: answer 503.
    pub async fn keep_delivery(&self, guid: &str, event: &str, body: &[u8]) -> Result<Kept, StoreError> {
        let hash = hex::encode(Sha256::digest(body));
        let thread = thread(body);
        let key = seeded(Fault::GuidIgnored).then(|| uuid::Uuid::new_v4().to_string());
        let (guid, hash) = key.map_or((guid.to_owned(), hash), |key| (key.clone(), key));
        let (event, body) = (event.to_owned(), body.to_vec());
        self.deliveries.keep(Arrived { guid, event, body, hash, thread }).await
    }

    /// Deliveries whose fate is open, oldest first.
    ///
    /// # Errors
    /// [`StoreError::Database`] when they cannot be read.
    pub async fn open_deliveries(&self, limit: u32) -> Result<Vec<Delivery>, StoreError> {
        let limit = i64::from(limit);
        let rows: Vec<Row> =
            db!(self.reader().await, c => sqlx::query_as(OPEN).bind(limit).fetch_all(c).await)?;
        Ok(rows.into_iter().map(delivery).collect())
    }

    /// One delivery, with what became of it once that is settled.
    ///
    /// # Errors
    /// [`StoreError::Database`] when it cannot be read.
    pub async fn delivery(&self, guid: &str) -> Result<Option<(Delivery, Option<Settled>)>, StoreError> {
        type Settling = (String, String, Vec<u8>, i64, Option<String>, Option<String>);
        let row: Option<Settling> =
            db!(self.reader().await, c => sqlx::query_as(ONE).bind(guid).fetch_optional(c).await)?;
        Ok(row.map(|(guid, event, body, at, fate, reason)| {
            let settled = fate.map(|fate| Settled { fate, reason: reason.unwrap_or_default() });
            (delivery((guid, event, body, at)), settled)
        }))
    }

    /// How many subjects whose keys begin like this were taken within a day.
    ///
    /// # Errors
    /// [`StoreError::Database`] when they cannot be read.
    pub async fn subjects_today(&self, prefix: &str) -> Result<u64, StoreError> {
        let db = self.reader().await;
        let since = db.now().await?.0 - DAY;
        let count: i64 = db!(db, c => sqlx::query_scalar(COUNT).bind(prefix).bind(since).fetch_one(c).await)?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// Settles a delivery and writes what it implies, in one transaction. A delivery that is settled already stays as
    /// it is, and nothing is written: two nodes may take up the same one.
    ///
    /// # Errors
    /// [`StoreError::Owned`] when the new session's issue has a live one: nothing is written, the delivery stays open.
    pub async fn accept(&self, guid: &str, fate: &Fate, acceptance: &Acceptance) -> Result<(), StoreError> {
        if acceptance.is_nothing() {
            return self.deliveries.settle(guid, fate).await;
        }
        let mut tx = self.begin().await?;
        if !settle(&mut tx, guid, fate).await? {
            return tx.rollback().await;
        }
        let now = tx.now().await?;
        if !subjects_are_new(&mut tx, guid, &acceptance.subjects, now).await? {
            tx.rollback().await?;
            return Box::pin(self.accept(guid, &Fate::Ignored(SEEN_BEFORE), &Acceptance::default())).await;
        }
        if let Some(new) = &acceptance.session {
            create(&mut tx, new, now).await?;
        }
        for (session, entry) in &acceptance.entries {
            inbox::insert(&mut tx, *session, (entry, Some(guid)), now).await?;
        }
        if let Some((repo, line)) = &acceptance.refused {
            let thread = match line.what {
                Audit::Refused { thread, .. } => Some(thread),
                _ => None,
            };
            audit::insert(&mut tx, &Of { session: None, repo: number(repo.0), thread }, line, now).await?;
        }
        let wakes = if acceptance.session.is_some() || !acceptance.entries.is_empty() {
            Wakes::Yes
        } else {
            Wakes::No
        };
        self.commit(tx, wakes).await
    }
}

pub(super) fn delivery((guid, event, body, at): Row) -> Delivery {
    Delivery { guid, event, body, at: Timestamp(at) }
}

/// False: it was settled before.
pub(super) async fn settle(tx: &mut Tx, guid: &str, fate: &Fate) -> Result<bool, StoreError> {
    let (word, reason) = match fate {
        Fate::Taken(reason) => ("taken", (*reason).to_owned()),
        Fate::Ignored(reason) => ("ignored", (*reason).to_owned()),
        Fate::Quarantined(reason) => ("quarantined", reason.replace('\0', "\u{fffd}")),
    };
    let settled = run!(tx, sqlx::query(SETTLE).bind(guid).bind(word).bind(reason))?;
    if settled == 1 {
        return Ok(true);
    }
    let known: i64 = db!(tx, c => sqlx::query_scalar(KNOWN).bind(guid).fetch_one(&mut **c).await)?;
    if known == 1 { Ok(false) } else { Err(StoreError::Database(format!("no delivery {guid} is stored"))) }
}

/// The delivery that an entry came from is to be settled anew, as if it had not been; false: there is none any more.
pub(super) async fn reopen(tx: &mut Tx, entry: i64) -> Result<bool, StoreError> {
    let opened = run!(tx, sqlx::query(REOPEN).bind(entry))?;
    run!(tx, sqlx::query(UNCOUNT).bind(entry))?;
    Ok(opened == 1)
}

/// In one order for everybody, so that two nodes with the same subjects cannot wait for each other.
async fn subjects_are_new(
    tx: &mut Tx,
    guid: &str,
    subjects: &[String],
    now: Timestamp,
) -> Result<bool, StoreError> {
    let mut keys: Vec<&str> = subjects.iter().map(String::as_str).collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        let rows = run!(tx, sqlx::query(SUBJECT).bind(key).bind(now.0).bind(guid))?;
        if rows == 0 && !seeded(Fault::SubjectIgnored) {
            return Ok(false);
        }
    }
    Ok(true)
}

async fn create(tx: &mut Tx, new: &NewSession, now: Timestamp) -> Result<(), StoreError> {
    leases::insert(tx, new.id, &new.state, now).await?;
    effects::insert(tx, new.id, &new.effects, now).await?;
    if let Some(before) = new.takes_over {
        run!(tx, sqlx::query(TAKE_OVER).bind(new.id.to_string()).bind(before.to_string()))?;
    }
    let of = Of {
        session: Some(new.id),
        repo: number(new.state.facts.repo.id.0),
        thread: Some(new.state.facts.thread.number),
    };
    audit::insert(tx, &of, &Audited::of_start(&new.state), now).await
}
