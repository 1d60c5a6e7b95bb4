//! Who may write a session: claim, heartbeat, release.
//!
//! The lease stands on the session's row, measured by the database's clock. A claim raises the epoch, and so does giving
//! the lease back: what an earlier holder still writes finds no row.

use super::{
    Claimed, Lease, Store, StoreError, Wakes,
    db::{Tx, db, run},
    places, taking, turns,
};
use crate::domain::{Epoch, Fault, SessionId, Sha, State, Timestamp, seeded};
use std::time::{Duration, Instant};

const INSERT: &str = "INSERT INTO sessions (id, short, installation, repo, owner, name, issue, branch, pull, head, \
    phase, done, wake_at, served, created, updated, first, state) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13, $13, $13, $14, $14)";
/// Due and free, longest unserved first. The sets are small and each has its index. A node without a free place takes up
/// nothing that is at work, and what waits for a place only when no other node has come to it for a while.
const CLAIM: &str = "UPDATE sessions SET epoch = epoch + 1, lease_owner = $1, lease_until = $2, served = $3, \
    wake_at = NULL, place = NULL WHERE id = (SELECT id FROM sessions WHERE id IN ( \
      SELECT session FROM inbox WHERE stepped_no IS NULL \
      UNION ALL SELECT session FROM effects WHERE state = 'intended' AND next_at <= $3 \
      UNION ALL SELECT id FROM sessions WHERE wake_at <= $3 \
        AND (waits_since IS NULL OR $4 OR wake_at <= $3 - $5) \
      UNION ALL SELECT id FROM sessions WHERE lease_until <= $3) \
    AND (lease_until IS NULL OR lease_until <= $3) AND (phase <> 'working' OR $4) ORDER BY served, id LIMIT 1) \
    RETURNING id, epoch, state";
/// A session that another node is just claiming is passed over instead of waited for.
const CLAIM_PG: &str = "UPDATE sessions SET epoch = epoch + 1, lease_owner = $1, lease_until = $2, served = $3, \
    wake_at = NULL, place = NULL WHERE id = (SELECT id FROM sessions WHERE id IN ( \
      SELECT session FROM inbox WHERE stepped_no IS NULL \
      UNION ALL SELECT session FROM effects WHERE state = 'intended' AND next_at <= $3 \
      UNION ALL SELECT id FROM sessions WHERE wake_at <= $3 \
        AND (waits_since IS NULL OR $4 OR wake_at <= $3 - $5) \
      UNION ALL SELECT id FROM sessions WHERE lease_until <= $3) \
    AND (lease_until IS NULL OR lease_until <= $3) AND (phase <> 'working' OR $4) ORDER BY served, id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED) \
    RETURNING id, epoch, state";
/// Milliseconds that nodes with a free place have to come to a session that waits for one.
const OTHERS_FIRST: i64 = 15_000;
const HEARTBEAT: &str = "UPDATE sessions SET lease_until = $3 WHERE id = $1 AND epoch = $2";
const RELEASE: &str = "UPDATE sessions SET epoch = epoch + 1, lease_owner = NULL, lease_until = NULL, wake_at = $3 \
    WHERE id = $1 AND epoch = $2";
const RELEASE_ALL: &str = "UPDATE sessions SET epoch = epoch + 1, lease_owner = NULL, lease_until = NULL, \
    wake_at = $2 WHERE lease_owner = $1";
const TAKE_OVER: &str = "UPDATE sessions SET epoch = epoch + 1, lease_owner = NULL, lease_until = NULL, \
    wake_at = $1 WHERE lease_owner IS NOT NULL";
const LIVE: &str = "SELECT id, epoch FROM sessions WHERE lease_until > $1";
const FENCE: &str = "SELECT installation, repo FROM sessions WHERE id = $1 AND epoch = $2";
/// The row stays ours until the transaction ends; entries may still be added to its inbox.
const FENCE_PG: &str =
    "SELECT installation, repo FROM sessions WHERE id = $1 AND epoch = $2 FOR NO KEY UPDATE";
const ADVANCE: &str = "UPDATE sessions SET owner = $3, name = $4, branch = $5, pull = $6, head = $7, phase = $8, \
    done = $9, updated = $10, state = $11, \
    place = CASE WHEN $8 IN ('queued', 'working') THEN place END, \
    waits_since = CASE WHEN $8 = 'queued' THEN waits_since END WHERE id = $1 AND epoch = $2";

/// A fenced transaction, with what holds for its session.
pub(super) struct Fenced {
    pub(super) tx: Tx,
    pub(super) now: Timestamp,
    pub(super) installation: i64,
    pub(super) repo: i64,
}

impl Store {
    /// Claims a due session: unread entries, an effect to do, its `wake_at` reached, or a holder that vanished; nobody
    /// holds a live lease on it. The one that waited longest comes first.
    ///
    /// A session that is done is due like any other, but nothing wakes it by itself: its `wake_at` is forgotten with the
    /// claim, so it comes back for an entry, an effect, or when its holder asked for it.
    ///
    /// # Errors
    /// [`StoreError::Database`] when the database cannot be used.
    pub async fn claim(&self, owner: &str, lease: Duration) -> Result<Option<Claimed>, StoreError> {
        self.claim_within(owner, lease, u32::MAX).await
    }

    /// The same on a node with so many places to run in: one that is at work is claimed only with a place for it.
    ///
    /// # Errors
    /// [`StoreError::Database`] when the database cannot be used.
    pub async fn claim_within(
        &self,
        owner: &str,
        lease: Duration,
        places: u32,
    ) -> Result<Option<Claimed>, StoreError> {
        let mut tx = self.begin().await?;
        let now = tx.now().await?;
        let room = places::room(&mut tx, owner, places, now).await?;
        let sql = tx.pick(CLAIM, CLAIM_PG);
        let until = now.plus(lease).0;
        let row: Option<(String, i64, String)> = db!(&mut tx, c => sqlx::query_as(sql)
            .bind(owner).bind(until).bind(now.0).bind(room).bind(OTHERS_FIRST)
            .fetch_optional(&mut **c).await)?;
        let Some((id, epoch, state)) = row else {
            tx.rollback().await?;
            return Ok(None);
        };
        let claimed = Claimed {
            lease: Lease { session: session_id(&id)?, epoch: Epoch(epoch) },
            state: serde_json::from_str(&state)?,
            now,
        };
        self.commit(tx, Wakes::No).await?;
        Ok(Some(claimed))
    }

    /// Prolongs the lease; gives the database's clock.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] when another holder has the session, or may have it by now: whoever stood still for as long as
    /// the lease lasts, and only then hears that it has it, has it no more.
    pub async fn heartbeat(&self, lease: &Lease, span: Duration) -> Result<Timestamp, StoreError> {
        let (asked, slept) = (Instant::now(), self.core.commits.slept());
        let Fenced { mut tx, now, .. } = self.fenced(lease).await?;
        let (id, until) = (lease.session.to_string(), now.plus(span).0);
        run!(&mut tx, sqlx::query(HEARTBEAT).bind(id).bind(lease.epoch.0).bind(until))?;
        self.commit(tx, Wakes::No).await?;
        let late = asked.elapsed() >= span || self.core.commits.slept() != slept;
        if late && !seeded(Fault::Unfenced) {
            // Nobody needs to wait until it runs out; where another has it already this changes nothing.
            let _ = self.release(lease, Some(now)).await;
            return Err(StoreError::LeaseLost);
        }
        Ok(now)
    }

    /// Gives the lease back; the session is due again at `wake_at` (or as soon as something comes in).
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] when another holder has the session.
    pub async fn release(&self, lease: &Lease, wake_at: Option<Timestamp>) -> Result<(), StoreError> {
        let Fenced { mut tx, .. } = self.fenced(lease).await?;
        let (id, wake_at) = (lease.session.to_string(), wake_at.map(|t| t.0));
        run!(&mut tx, sqlx::query(RELEASE).bind(id).bind(lease.epoch.0).bind(wake_at))?;
        // Something may have come in since the holder last looked.
        self.commit(tx, Wakes::Yes).await
    }

    /// Gives back every lease, delivery and turn of an owner (at the end of the process): they are due at once.
    ///
    /// # Errors
    /// [`StoreError::Database`] when the database cannot be used.
    pub async fn release_all(&self, owner: &str) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        let now = tx.now().await?;
        run!(&mut tx, sqlx::query(RELEASE_ALL).bind(owner).bind(now.0))?;
        run!(&mut tx, sqlx::query(taking::LET_GO).bind(owner))?;
        run!(&mut tx, sqlx::query(turns::LET_GO).bind(owner))?;
        self.commit(tx, Wakes::Yes).await
    }

    /// Takes every lease, delivery and turn from whoever holds it; gives how many leases there were. Only for a caller that knows all holders to be
    /// dead: those sessions are due at once, and what a holder that lives after all still writes finds no row.
    ///
    /// # Errors
    /// [`StoreError::Database`] when the database cannot be used.
    pub async fn take_over(&self) -> Result<u64, StoreError> {
        let mut tx = self.begin().await?;
        let now = tx.now().await?;
        let taken = run!(&mut tx, sqlx::query(TAKE_OVER).bind(now.0))?;
        run!(&mut tx, sqlx::query(taking::LET_ALL_GO))?;
        run!(&mut tx, sqlx::query(turns::LET_ALL_GO))?;
        self.commit(tx, Wakes::Yes).await?;
        Ok(taken)
    }

    /// Sessions and epochs with a live lease: what the sweep must leave alone.
    ///
    /// # Errors
    /// [`StoreError::Database`] when the database cannot be used.
    pub async fn live_leases(&self) -> Result<Vec<(SessionId, Epoch)>, StoreError> {
        let db = self.reader().await;
        let now = db.now().await?.0;
        let rows: Vec<(String, i64)> = db!(db, c => sqlx::query_as(LIVE).bind(now).fetch_all(c).await)?;
        rows.into_iter().map(|(id, epoch)| Ok((session_id(&id)?, Epoch(epoch)))).collect()
    }

    /// Is the lease still ours? For reads: asked after them, it says that what was read while it was is right.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] when another holder has the session.
    pub(super) async fn still_held(&self, lease: &Lease) -> Result<(), StoreError> {
        let (db, id) = (self.reader().await, lease.session.to_string());
        let row: Option<(i64, i64)> =
            db!(db, c => sqlx::query_as(FENCE).bind(id).bind(lease.epoch.0).fetch_optional(c).await)?;
        let row = row.or(seeded(Fault::Unfenced).then_some((0, 0)));
        row.map(drop).ok_or(StoreError::LeaseLost)
    }

    /// Begins a write of a session's holder. Until it ends nobody can claim the session.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] when another holder has the session.
    pub(super) async fn fenced(&self, lease: &Lease) -> Result<Fenced, StoreError> {
        let mut tx = self.begin().await?;
        let sql = tx.pick(FENCE, FENCE_PG);
        let id = lease.session.to_string();
        let row: Option<(i64, i64)> = db!(&mut tx, c => sqlx::query_as(sql).bind(id).bind(lease.epoch.0)
            .fetch_optional(&mut **c).await)?;
        let row = row.or(seeded(Fault::Unfenced).then_some((0, 0)));
        let Some((installation, repo)) = row else {
            tx.rollback().await?;
            return Err(StoreError::LeaseLost);
        };
        let now = tx.now().await?;
        Ok(Fenced { tx, now, installation, repo })
    }
}

/// The columns that mirror a state: what is looked up by, and what must be unique.
struct Mirror<'a> {
    owner: &'a str,
    name: &'a str,
    branch: Option<String>,
    pull: Option<i64>,
    head: Option<&'a str>,
}

impl<'a> Mirror<'a> {
    fn of(state: &'a State) -> Self {
        let facts = &state.facts;
        // The branch is owned from its first push on.
        let branch = facts.head.as_ref().map(|_| facts.branch.as_str()).filter(|b| !b.is_empty());
        // A fork's branches have names of their own; a colon stands in no name of a branch.
        let fork = facts.guest.as_ref().and_then(|guest| guest.fork.as_ref());
        let branch = branch.map(|branch| match fork {
            Some(fork) => format!("{}:{branch}", fork.owner),
            None => branch.to_owned(),
        });
        Self {
            owner: &facts.repo.owner,
            name: &facts.repo.name,
            branch,
            pull: facts.pull.as_ref().map(|p| number(p.number.0)),
            head: facts.head.as_ref().map(Sha::as_str),
        }
    }
}

/// Makes a session's row, due at once.
pub(super) async fn insert(
    tx: &mut Tx,
    id: SessionId,
    state: &State,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (m, facts) = (Mirror::of(state), &state.facts);
    let json = serde_json::to_string(state)?;
    run!(
        tx,
        sqlx::query(INSERT)
            .bind(id.to_string())
            .bind(id.short())
            .bind(number(facts.installation.0))
            .bind(number(facts.repo.id.0))
            .bind(m.owner)
            .bind(m.name)
            .bind(number(facts.thread.number.0))
            .bind(m.branch)
            .bind(m.pull)
            .bind(m.head)
            .bind(state.phase_word())
            .bind(state.is_done())
            .bind(now.0)
            .bind(json)
    )
    .map_err(|e| StoreError::owned(e, || format!("{}#{}", facts.repo, facts.thread.number)))?;
    Ok(())
}

/// Writes a session's state.
pub(super) async fn update(
    tx: &mut Tx,
    lease: &Lease,
    state: &State,
    now: Timestamp,
) -> Result<(), StoreError> {
    let m = Mirror::of(state);
    let json = serde_json::to_string(state)?;
    run!(
        tx,
        sqlx::query(ADVANCE)
            .bind(lease.session.to_string())
            .bind(lease.epoch.0)
            .bind(m.owner)
            .bind(m.name)
            .bind(m.branch)
            .bind(m.pull)
            .bind(m.head)
            .bind(state.phase_word())
            .bind(state.is_done())
            .bind(now.0)
            .bind(json)
    )
    .map_err(|e| StoreError::owned(e, || format!("the issue or the branch {:?}", state.facts.branch)))?;
    Ok(())
}

/// GitHub's numbers fit; SQL knows no unsigned ones.
pub(super) fn number(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Reads a session's id.
pub(super) fn session_id(text: &str) -> Result<SessionId, StoreError> {
    let uuid = text.parse().map_err(|e| StoreError::Database(format!("{text:?} is no session's id: {e}")))?;
    Ok(SessionId(uuid))
}
