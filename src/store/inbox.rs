//! A session's inbox: anybody appends, only the holder reads and steps.

use super::{
    Advance, Lease, Stepped, Store, StoreError, Unread, Wakes,
    audit::{self, Of},
    db::{Tx, db, run},
    deliveries, effects,
    leases::{self, Fenced},
};
use crate::domain::{Audited, Entry, SessionId, State, Timestamp};

const APPEND: &str = "INSERT INTO inbox (session, entry, at, guid) VALUES ($1, $2, $3, $4)";
/// Once one of a delivery's entries was read, none of those beside it brings it back.
const READ: &str =
    "UPDATE inbox SET guid = NULL WHERE session = $2 AND guid = (SELECT guid FROM inbox WHERE id = $1)";
const UNREAD: &str = "SELECT id, entry, at FROM inbox WHERE session = $1 AND stepped_no IS NULL ORDER BY id";
const STEPPED: &str = "UPDATE inbox SET stepped_at = $3, limits = $4, ignored = $5, stepped_no = \
    (SELECT coalesce(max(stepped_no), 0) + 1 FROM inbox WHERE session = $2) \
    WHERE id = $1 AND session = $2 AND stepped_no IS NULL";
const HISTORY: &str = "SELECT entry, stepped_at, limits, ignored FROM inbox \
    WHERE session = $1 AND stepped_no IS NOT NULL ORDER BY stepped_no";
const FIRST: &str = "SELECT first FROM sessions WHERE id = $1";

impl Store {
    /// Appends an entry to a session's inbox and makes it due.
    ///
    /// # Errors
    /// [`StoreError::Database`] when there is no such session.
    pub async fn append(&self, session: SessionId, entry: &Entry) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        let now = tx.now().await?;
        insert(&mut tx, session, (entry, None), now).await?;
        self.commit(tx, Wakes::Yes).await
    }

    /// Entries not stepped yet, in the order they came.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] when another holder has the session.
    pub async fn unread(&self, lease: &Lease) -> Result<Vec<Unread>, StoreError> {
        let id = lease.session.to_string();
        let rows: Vec<(i64, String, i64)> =
            db!(self.reader().await, c => sqlx::query_as(UNREAD).bind(id).fetch_all(c).await)?;
        self.still_held(lease).await?;
        let read = |(id, entry, at): (i64, String, i64)| {
            Ok(Unread { id, entry: serde_json::from_str(&entry)?, at: Timestamp(at) })
        };
        rows.into_iter().map(read).collect()
    }

    /// Writes one step: state, entry read, intents; fenced. One that came too late has its delivery settled anew.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] when another holder has the session; [`StoreError::Owned`] when its branch is another
    /// live session's.
    pub async fn advance(&self, lease: &Lease, advance: &Advance<'_>) -> Result<(), StoreError> {
        let Fenced { mut tx, now, repo, .. } = self.fenced(lease).await?;
        mark(&mut tx, lease, advance).await?;
        let anew = advance.is_too_late() && deliveries::reopen(&mut tx, advance.entry.id).await?;
        run!(&mut tx, sqlx::query(READ).bind(advance.entry.id).bind(lease.session.to_string()))?;
        leases::update(&mut tx, lease, advance.state, now).await?;
        effects::insert(&mut tx, lease.session, advance.effects, now).await?;
        // What is settled anew is told of then.
        let lines = if anew { Vec::new() } else { Audited::of_step(&advance.entry.entry, advance.ignored) };
        for line in lines {
            let thread = Some(advance.state.facts.thread.number);
            audit::insert(&mut tx, &Of { session: Some(lease.session), repo, thread }, &line, now).await?;
        }
        self.commit(tx, if anew { Wakes::Yes } else { Wakes::No }).await
    }

    /// A session's stepped entries, oldest first.
    ///
    /// # Errors
    /// [`StoreError::Value`] when one cannot be read.
    pub async fn history(&self, session: SessionId) -> Result<Vec<Stepped>, StoreError> {
        let id = session.to_string();
        let rows: Vec<(String, i64, String, Option<String>)> =
            db!(self.reader().await, c => sqlx::query_as(HISTORY).bind(id).fetch_all(c).await)?;
        let read = |(entry, now, limits, ignored): (String, i64, String, Option<String>)| {
            let (entry, limits) = (serde_json::from_str(&entry)?, serde_json::from_str(&limits)?);
            Ok(Stepped { entry, now: Timestamp(now), limits, ignored })
        };
        rows.into_iter().map(read).collect()
    }

    /// The state a session began with: folding its [`Store::history`] from here gives its state.
    ///
    /// # Errors
    /// [`StoreError::Value`] when it cannot be read.
    pub async fn first_state(&self, session: SessionId) -> Result<Option<State>, StoreError> {
        let id = session.to_string();
        let json: Option<String> =
            db!(self.reader().await, c => sqlx::query_scalar(FIRST).bind(id).fetch_optional(c).await)?;
        Ok(json.map(|json| serde_json::from_str(&json)).transpose()?)
    }
}

/// Appends an entry, with the delivery it comes from.
pub(super) async fn insert(
    tx: &mut Tx,
    session: SessionId,
    (entry, guid): (&Entry, Option<&str>),
    now: Timestamp,
) -> Result<(), StoreError> {
    let (id, json) = (session.to_string(), serde_json::to_string(entry)?);
    run!(tx, sqlx::query(APPEND).bind(id).bind(json).bind(now.0).bind(guid))?;
    Ok(())
}

/// Marks the entry as stepped, with what it was stepped with.
async fn mark(tx: &mut Tx, lease: &Lease, advance: &Advance<'_>) -> Result<(), StoreError> {
    let (id, session) = (advance.entry.id, lease.session.to_string());
    let limits = serde_json::to_string(advance.limits)?;
    let rows = run!(
        tx,
        sqlx::query(STEPPED).bind(id).bind(session).bind(advance.now.0).bind(limits).bind(advance.ignored)
    )?;
    if rows == 1 {
        Ok(())
    } else {
        Err(StoreError::Database(format!("entry {id} is not there to be stepped")))
    }
}
