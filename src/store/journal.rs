//! What a round leaves behind: the engine's journal, what GitHub shows, the patch that was not pushed.

use super::{
    JournalLine, Lease, Shown, Store, StoreError, Wakes,
    db::{db, run},
    leases::Fenced,
};
use crate::domain::SessionId;

const APPEND: &str =
    "INSERT INTO journal (session, request, round, entry, tree, at) VALUES ($1, $2, $3, $4, $5, $6)";
const JOURNAL: &str = "SELECT request, round, entry, tree FROM journal WHERE session = $1 ORDER BY id";
const JOURNAL_FROM: &str =
    "SELECT request, round, entry, tree FROM journal WHERE session = $1 ORDER BY id LIMIT $2 OFFSET $3";
const SHOWN: &str = "SELECT thing, remote, hash FROM shown WHERE session = $1 ORDER BY thing";
const SHOW: &str = "INSERT INTO shown (session, thing, remote, hash) VALUES ($1, $2, $3, $4) \
    ON CONFLICT (session, thing) DO UPDATE SET remote = excluded.remote, hash = excluded.hash";
const KEEP_PATCH: &str = "INSERT INTO patches (session, patch, at) VALUES ($1, $2, $3) \
    ON CONFLICT (session) DO UPDATE SET patch = excluded.patch, at = excluded.at";
const PATCH: &str = "SELECT patch FROM patches WHERE session = $1";

type JournalRow = (i64, i64, String, Option<String>);

impl Store {
    /// Appends to the journal; fenced.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] when another holder has the session.
    pub async fn journal_append(&self, lease: &Lease, line: &JournalLine) -> Result<(), StoreError> {
        let entry = serde_json::to_string(&line.entry)?;
        let Fenced { mut tx, now, .. } = self.fenced(lease).await?;
        let (id, request, round) =
            (lease.session.to_string(), i64::from(line.request), i64::from(line.round));
        run!(
            &mut tx,
            sqlx::query(APPEND).bind(id).bind(request).bind(round).bind(entry).bind(&line.tree).bind(now.0)
        )?;
        self.commit(tx, Wakes::No).await
    }

    /// The whole journal of a session, oldest first.
    ///
    /// # Errors
    /// [`StoreError::Value`] when a line cannot be read.
    pub async fn journal(&self, session: SessionId) -> Result<Vec<JournalLine>, StoreError> {
        let id = session.to_string();
        let rows: Vec<JournalRow> =
            db!(self.reader().await, c => sqlx::query_as(JOURNAL).bind(id).fetch_all(c).await)?;
        rows.into_iter().map(line).collect()
    }

    /// The next lines of a session's journal after the first `skip`, oldest first, at most `limit`.
    ///
    /// # Errors
    /// [`StoreError::Value`] when a line cannot be read.
    pub async fn journal_after(
        &self,
        session: SessionId,
        skip: usize,
        limit: u32,
    ) -> Result<Vec<JournalLine>, StoreError> {
        let (id, skip) = (session.to_string(), i64::try_from(skip).unwrap_or(i64::MAX));
        let rows: Vec<JournalRow> = db!(self.reader().await, c => sqlx::query_as(JOURNAL_FROM).bind(id)
            .bind(i64::from(limit)).bind(skip).fetch_all(c).await)?;
        rows.into_iter().map(line).collect()
    }

    /// What GitHub shows of a session.
    ///
    /// # Errors
    /// [`StoreError::Database`] when it cannot be read.
    pub async fn shown(&self, session: SessionId) -> Result<Vec<Shown>, StoreError> {
        let id = session.to_string();
        let rows: Vec<(String, String, String)> =
            db!(self.reader().await, c => sqlx::query_as(SHOWN).bind(id).fetch_all(c).await)?;
        Ok(rows.into_iter().map(|(thing, remote, hash)| Shown { thing, remote, hash }).collect())
    }

    /// Records what GitHub shows now; fenced.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] when another holder has the session.
    pub async fn show(&self, lease: &Lease, shown: &Shown) -> Result<(), StoreError> {
        let Fenced { mut tx, .. } = self.fenced(lease).await?;
        let id = lease.session.to_string();
        run!(&mut tx, sqlx::query(SHOW).bind(id).bind(&shown.thing).bind(&shown.remote).bind(&shown.hash))?;
        self.commit(tx, Wakes::No).await
    }

    /// Keeps a patch (unified difference) that was not pushed; replaces an older one of the session.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] when another holder has the session.
    pub async fn keep_patch(&self, lease: &Lease, patch: &str) -> Result<(), StoreError> {
        let Fenced { mut tx, now, .. } = self.fenced(lease).await?;
        let id = lease.session.to_string();
        run!(&mut tx, sqlx::query(KEEP_PATCH).bind(id).bind(patch.as_bytes()).bind(now.0))?;
        self.commit(tx, Wakes::No).await
    }

    /// The kept patch.
    ///
    /// # Errors
    /// [`StoreError::Database`] when it cannot be read.
    pub async fn patch(&self, session: SessionId) -> Result<Option<String>, StoreError> {
        let id = session.to_string();
        let bytes: Option<Vec<u8>> =
            db!(self.reader().await, c => sqlx::query_scalar(PATCH).bind(id).fetch_optional(c).await)?;
        // An empty one took an older one's place.
        let bytes = bytes.filter(|bytes| !bytes.is_empty());
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }
}

fn line((request, round, entry, tree): JournalRow) -> Result<JournalLine, StoreError> {
    let small = |n: i64| u32::try_from(n).unwrap_or(u32::MAX);
    Ok(JournalLine {
        request: small(request),
        round: small(round),
        entry: serde_json::from_str(&entry)?,
        tree,
    })
}
