//! Once-effects: the intent is a row before the act, the result stands in it after.
//!
//! They are done in order. One that has to wait makes those behind it wait too, so `next_at` never falls along a session's
//! intended rows and "the first is due" and "one is due" are the same question.

use super::{
    EffectRow, Lease, Store, StoreError, Wakes,
    audit::{self, Of},
    db::{Tx, db, run},
    inbox,
    leases::Fenced,
};
use crate::domain::{Audited, Effect, Entry, SessionId, Timestamp};

const INTEND: &str = "INSERT INTO effects (session, effect, next_at) VALUES ($1, $2, \
    (SELECT coalesce(max(next_at), $3) FROM effects WHERE session = $1 AND state = 'intended' AND next_at > $3))";
const INTENDED: &str = "SELECT id, effect, attempts, next_at FROM effects \
    WHERE session = $1 AND state = 'intended' ORDER BY id";
const END: &str = "UPDATE effects SET state = $3, result = $4, error = $5, attempts = attempts + 1 \
    WHERE id = $1 AND session = $2 AND state = 'intended' RETURNING effect";
const LATER: &str = "UPDATE effects SET error = $3, attempts = attempts + 1 \
    WHERE id = $1 AND session = $2 AND state = 'intended'";
const PUT_OFF: &str = "UPDATE effects SET next_at = $3 \
    WHERE session = $2 AND id >= $1 AND state = 'intended' AND next_at < $3";

impl Store {
    /// Effects still to be done, in order, whose time has come; and when the next one is due.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] when another holder has the session.
    pub async fn effects_due(
        &self,
        lease: &Lease,
    ) -> Result<(Vec<EffectRow>, Option<Timestamp>), StoreError> {
        let (db, id) = (self.reader().await, lease.session.to_string());
        let now = db.now().await?;
        let rows: Vec<(i64, String, i64, i64)> =
            db!(db, c => sqlx::query_as(INTENDED).bind(id).fetch_all(c).await)?;
        self.still_held(lease).await?;
        let (mut due, mut next) = (Vec::new(), None);
        for (id, effect, attempts, at) in rows {
            if at > now.0 {
                next = Some(Timestamp(at));
                break;
            }
            let attempts = u32::try_from(attempts).unwrap_or(u32::MAX);
            due.push(EffectRow { id, effect: serde_json::from_str(&effect)?, attempts });
        }
        Ok((due, next))
    }

    /// Records an effect's result, with the entries it gives and its line of the audit, in one transaction; fenced. Done
    /// once: a second call changes nothing.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] when another holder has the session.
    pub async fn effect_done(
        &self,
        lease: &Lease,
        effect: i64,
        result: &serde_json::Value,
        entries: &[Entry],
    ) -> Result<(), StoreError> {
        self.end(lease, effect, Ended::Done(result), entries).await
    }

    /// Records that an effect failed for now and is tried again at `next`; those behind it wait as well.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] when another holder has the session.
    pub async fn effect_later(
        &self,
        lease: &Lease,
        effect: i64,
        error: &str,
        next: Timestamp,
    ) -> Result<(), StoreError> {
        let Fenced { mut tx, .. } = self.fenced(lease).await?;
        let session = lease.session.to_string();
        let error = error.replace('\0', "\u{fffd}");
        run!(&mut tx, sqlx::query(LATER).bind(effect).bind(&session).bind(&error))?;
        run!(&mut tx, sqlx::query(PUT_OFF).bind(effect).bind(&session).bind(next.0))?;
        self.commit(tx, Wakes::No).await
    }

    /// Records that an effect was given up, with the reason, and the entries that follow from it; fenced.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] when another holder has the session.
    pub async fn effect_failed(
        &self,
        lease: &Lease,
        effect: i64,
        error: &str,
        entries: &[Entry],
    ) -> Result<(), StoreError> {
        self.end(lease, effect, Ended::Failed(error), entries).await
    }

    async fn end(
        &self,
        lease: &Lease,
        effect: i64,
        ended: Ended<'_>,
        entries: &[Entry],
    ) -> Result<(), StoreError> {
        let Fenced { mut tx, now, repo, .. } = self.fenced(lease).await?;
        let session = lease.session.to_string();
        let (state, result, error) = match ended {
            Ended::Done(result) => ("done", Some(serde_json::to_string(result)?), None),
            Ended::Failed(error) => ("failed", None, Some(error.replace('\0', "\u{fffd}"))),
        };
        let json: Option<String> = db!(&mut tx, c => sqlx::query_scalar(END).bind(effect).bind(session)
            .bind(state).bind(result).bind(error).fetch_optional(&mut **c).await)?;
        let Some(json) = json else {
            return tx.rollback().await;
        };
        if let Ended::Done(result) = ended
            && let Some(line) = Audited::of_effect(&serde_json::from_str(&json)?, result)
        {
            audit::insert(&mut tx, &Of { session: Some(lease.session), repo, thread: None }, &line, now)
                .await?;
        }
        for entry in entries {
            inbox::insert(&mut tx, lease.session, (entry, None), now).await?;
        }
        self.commit(tx, if entries.is_empty() { Wakes::No } else { Wakes::Yes }).await
    }
}

/// How an effect ended.
#[derive(Clone, Copy)]
enum Ended<'a> {
    Done(&'a serde_json::Value),
    Failed(&'a str),
}

/// Writes intents.
pub(super) async fn insert(
    tx: &mut Tx,
    session: SessionId,
    effects: &[Effect],
    now: Timestamp,
) -> Result<(), StoreError> {
    let id = session.to_string();
    for effect in effects {
        let json = serde_json::to_string(effect)?;
        run!(tx, sqlx::query(INTEND).bind(&id).bind(json).bind(now.0))?;
    }
    Ok(())
}
