//! Sessions that come from elsewhere: where no database outlives a run, what must not be lost was kept on GitHub.

use super::{
    NewSession, Shown, Store, StoreError, Wakes,
    db::{db, run},
    effects, leases,
};
use crate::domain::{Effect, SessionId};

const SUBJECT: &str = "INSERT INTO subjects (key, at) VALUES ($1, $2) ON CONFLICT DO NOTHING";
const SUBJECTS: &str = "SELECT key FROM subjects ORDER BY at DESC, key DESC LIMIT $1";
const SHOW: &str = "INSERT INTO shown (session, thing, remote, hash) VALUES ($1, $2, $3, $4)";
const PENDING: &str = "SELECT count(*) FROM effects WHERE state = 'intended'";
const INTENDED: &str = "SELECT effect FROM effects WHERE session = $1 AND state = 'intended' ORDER BY id";

/// What is known of a session besides its state.
#[derive(Clone, Debug, Default)]
pub struct Carried {
    /// What GitHub shows of it.
    pub shown: Vec<Shown>,
    /// Subjects that were settled before.
    pub subjects: Vec<String>,
}

impl Store {
    /// Takes a session over that was kept elsewhere; due at once.
    ///
    /// # Errors
    /// [`StoreError::Owned`] when a live session has its issue or branch: nothing is written.
    pub async fn adopt(&self, session: &NewSession, carried: &Carried) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        let now = tx.now().await?;
        leases::insert(&mut tx, session.id, &session.state, now).await?;
        effects::insert(&mut tx, session.id, &session.effects, now).await?;
        let id = session.id.to_string();
        for shown in &carried.shown {
            run!(
                &mut tx,
                sqlx::query(SHOW).bind(&id).bind(&shown.thing).bind(&shown.remote).bind(&shown.hash)
            )?;
        }
        for key in &carried.subjects {
            run!(&mut tx, sqlx::query(SUBJECT).bind(key).bind(now.0))?;
        }
        self.commit(tx, Wakes::Yes).await
    }

    /// Subjects that were settled, newest first.
    ///
    /// # Errors
    /// [`StoreError::Database`] when they cannot be read.
    pub async fn subjects(&self, limit: u32) -> Result<Vec<String>, StoreError> {
        let limit = i64::from(limit);
        let rows: Vec<(String,)> =
            db!(self.reader().await, c => sqlx::query_as(SUBJECTS).bind(limit).fetch_all(c).await)?;
        Ok(rows.into_iter().map(|(key,)| key).collect())
    }

    /// How many effects of all sessions are still to be done.
    ///
    /// # Errors
    /// [`StoreError::Database`] when they cannot be read.
    pub async fn pending_effects(&self) -> Result<u64, StoreError> {
        let count: i64 = db!(self.reader().await, c => sqlx::query_scalar(PENDING).fetch_one(c).await)?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// A session's effects that are still to be done, in order.
    ///
    /// # Errors
    /// [`StoreError::Value`] when one cannot be read.
    pub async fn intended(&self, session: SessionId) -> Result<Vec<Effect>, StoreError> {
        let id = session.to_string();
        let rows: Vec<(String,)> =
            db!(self.reader().await, c => sqlx::query_as(INTENDED).bind(id).fetch_all(c).await)?;
        rows.into_iter().map(|(effect,)| Ok(serde_json::from_str(&effect)?)).collect()
    }
}
