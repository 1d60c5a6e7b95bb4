//! Places to run in: how many sandboxes at once, and who of those that wait comes first.
//!
//! A place is taken in one transaction with the count that allows it, so no race passes a cap. It is held from there until
//! the session leaves the work, and no longer than its holder's lease. Those that find none stand in line: installations
//! with fewer at work before those with more, then whoever waits longest. Who has not asked for a while (its repository is
//! out of reach, say) stands nobody in the way, and keeps its time.

use super::{
    Lease, Store, StoreError, Wakes,
    db::{Tx, db, run},
    leases::Fenced,
};
use crate::domain::{SessionId, Timestamp};
use std::time::Duration;

/// Whoever waits asks again every few seconds; after this long without it does not stand in the way of others.
const PRESENT: Duration = Duration::from_secs(15);
/// More in line than anybody would read a number of.
const LINE: i64 = 1000;

/// What is at work, or has a place for it; of the vanished whoever is due counts for everybody, since somebody takes it up.
const RUNNING: &str = "SELECT repo, installation, \
    CASE WHEN lease_owner = $1 AND lease_until > $2 THEN 1 \
      WHEN (lease_until IS NULL OR lease_until <= $2) AND (wake_at IS NULL OR wake_at <= $2) THEN 1 ELSE 0 END \
    FROM sessions WHERE id <> $3 AND (phase = 'working' OR (place IS NOT NULL AND lease_until > $2))";
const HERE: &str = "SELECT count(*) FROM sessions WHERE lease_owner = $1 AND lease_until > $2 \
    AND (phase = 'working' OR place IS NOT NULL)";
const WAITING: &str = "SELECT id, repo, installation, waits_since FROM sessions \
    WHERE waits_since IS NOT NULL AND waits_seen > $1 AND phase = 'queued' AND id <> $2 \
    ORDER BY waits_since, id LIMIT $3";
const SINCE: &str = "SELECT repo, installation, waits_since FROM sessions WHERE id = $1";
const PLACE: &str = "UPDATE sessions SET place = $3, waits_since = NULL, waits_seen = NULL \
    WHERE id = $1 AND epoch = $2";
const WAIT: &str = "UPDATE sessions SET place = NULL, waits_since = coalesce(waits_since, $3), waits_seen = $3 \
    WHERE id = $1 AND epoch = $2";
/// PostgreSQL's transactions run side by side: one at a time counts the places of a node, or of an installation.
const LOCK: &str = "SELECT pg_advisory_xact_lock($1, hashtext($2))";
const OF_NODE: i32 = 7201;
const OF_INSTALLATION: i32 = 7202;

/// How many sandboxes may run at once.
#[derive(Clone, Copy, Debug)]
pub struct Running {
    /// On this node.
    pub all: u32,
    /// Of one repository.
    pub repository: u32,
    /// Of one installation.
    pub installation: u32,
}

/// What came of asking for a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It is the session's.
    Taken,
    /// There is none for it now.
    Waits {
        /// So many are to come before it.
        before: u32,
    },
}

/// A session that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Waiting {
    id: String,
    repo: i64,
    installation: i64,
    since: i64,
}

/// A session that is at work.
#[derive(Clone, Copy, Debug)]
struct AtWork {
    repo: i64,
    installation: i64,
    here: bool,
}

impl Store {
    /// Takes a place for a session, or a place in the line.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] when another holder has the session.
    pub async fn take_place(&self, lease: &Lease, owner: &str, caps: &Running) -> Result<Place, StoreError> {
        let Fenced { mut tx, now, installation, repo } = self.fenced(lease).await?;
        lock(&mut tx, OF_NODE, owner).await?;
        lock(&mut tx, OF_INSTALLATION, &installation.to_string()).await?;
        let id = lease.session.to_string();
        let (_, _, since): (i64, i64, Option<i64>) =
            db!(&mut tx, c => sqlx::query_as(SINCE).bind(&id).fetch_one(&mut **c).await)?;
        let me = Waiting { id, repo, installation, since: since.unwrap_or(now.0) };
        let work = db!(&mut tx, c => sqlx::query_as(RUNNING)
            .bind(owner).bind(now.0).bind(&me.id).fetch_all(&mut **c).await)?;
        let line = db!(&mut tx, c => sqlx::query_as(WAITING)
            .bind(now.minus(PRESENT).0).bind(&me.id).bind(LINE).fetch_all(&mut **c).await)?;
        let place = decide(&me, waiting(line), at_work(work), caps);
        let sql = if place == Place::Taken { PLACE } else { WAIT };
        run!(&mut tx, sqlx::query(sql).bind(&me.id).bind(lease.epoch.0).bind(now.0))?;
        self.commit(tx, Wakes::No).await?;
        Ok(place)
    }

    /// How many come before a session that waits for a place; `None`: it does not wait.
    ///
    /// # Errors
    /// [`StoreError::Database`] when it cannot be read.
    pub async fn before(&self, session: SessionId) -> Result<Option<u32>, StoreError> {
        let (db, id) = (self.reader().await, session.to_string());
        let now = db.now().await?;
        let row: Option<(i64, i64, Option<i64>)> =
            db!(db, c => sqlx::query_as(SINCE).bind(&id).fetch_optional(c).await)?;
        let Some((repo, installation, Some(since))) = row else { return Ok(None) };
        let me = Waiting { id, repo, installation, since };
        let work = db!(db, c => sqlx::query_as(RUNNING)
            .bind("").bind(now.0).bind(&me.id).fetch_all(c).await)?;
        let line = db!(db, c => sqlx::query_as(WAITING)
            .bind(now.minus(PRESENT).0).bind(&me.id).bind(LINE).fetch_all(c).await)?;
        Ok(Some(ahead(&me, &waiting(line), &at_work(work))))
    }
}

/// Has this node a place for one more? Until the transaction ends it is nobody else's here.
pub(super) async fn room(tx: &mut Tx, owner: &str, all: u32, now: Timestamp) -> Result<bool, StoreError> {
    if all == u32::MAX {
        return Ok(true);
    }
    lock(tx, OF_NODE, owner).await?;
    let here: i64 =
        db!(&mut *tx, c => sqlx::query_scalar(HERE).bind(owner).bind(now.0).fetch_one(&mut **c).await)?;
    Ok(here < i64::from(all))
}

/// SQLite has one writer at a time anyway.
async fn lock(tx: &mut Tx, class: i32, key: &str) -> Result<(), StoreError> {
    if let Tx::Postgres(c) = tx {
        sqlx::query(LOCK).bind(class).bind(key).execute(&mut **c).await?;
    }
    Ok(())
}

fn waiting(rows: Vec<(String, i64, i64, i64)>) -> Vec<Waiting> {
    let read = |(id, repo, installation, since)| Waiting { id, repo, installation, since };
    rows.into_iter().map(read).collect()
}

fn at_work(rows: Vec<(i64, i64, i32)>) -> Vec<AtWork> {
    let read = |(repo, installation, here)| AtWork { repo, installation, here: here == 1 };
    rows.into_iter().map(read).collect()
}

/// The order of the line: the fewer of its installation are at work the sooner, then the longer it waits.
fn key<'a>(waiting: &'a Waiting, work: &[AtWork]) -> (usize, i64, &'a str) {
    let of_installation = work.iter().filter(|w| w.installation == waiting.installation).count();
    (of_installation, waiting.since, &waiting.id)
}

fn ahead(me: &Waiting, line: &[Waiting], work: &[AtWork]) -> u32 {
    let mine = key(me, work);
    u32::try_from(line.iter().filter(|other| key(other, work) < mine).count()).unwrap_or(u32::MAX)
}

/// Gives the free places away in the line's order and sees whether one comes to `me`. Whom a cap of its own holds back does
/// not hold back the others.
fn decide(me: &Waiting, mut line: Vec<Waiting>, mut work: Vec<AtWork>, caps: &Running) -> Place {
    let waits = Place::Waits { before: ahead(me, &line, &work) };
    line.push(me.clone());
    let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let mut free = caps.all.saturating_sub(small(work.iter().filter(|w| w.here).count()));
    while free > 0 {
        let fits = |waiting: &&Waiting| {
            small(work.iter().filter(|w| w.repo == waiting.repo).count()) < caps.repository
                && small(work.iter().filter(|w| w.installation == waiting.installation).count())
                    < caps.installation
        };
        let Some(next) = line.iter().filter(fits).min_by_key(|waiting| key(waiting, &work)).cloned() else {
            return waits;
        };
        if next == *me {
            return Place::Taken;
        }
        work.push(AtWork { repo: next.repo, installation: next.installation, here: true });
        line.retain(|waiting| *waiting != next);
        free -= 1;
    }
    waits
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPS: Running = Running { all: 2, repository: 2, installation: 2 };

    fn waiting(id: &str, installation: i64, since: i64) -> Waiting {
        Waiting { id: id.into(), repo: installation * 10, installation, since }
    }

    fn work(installation: i64, here: bool) -> AtWork {
        AtWork { repo: installation * 10, installation, here }
    }

    #[test]
    fn the_oldest_comes_first_and_one_an_installation_before_a_second() {
        let (old, young) = (waiting("old", 1, 1), waiting("young", 1, 2));
        let other = waiting("other", 2, 3);
        let line = |of: &[&Waiting]| of.iter().map(|w| (*w).clone()).collect::<Vec<_>>();
        assert_eq!(decide(&old, line(&[&young, &other]), vec![], &CAPS), Place::Taken);
        assert_eq!(decide(&other, line(&[&old, &young]), vec![], &CAPS), Place::Taken);
        // Two places: one for each installation, and the second of the first has to wait.
        assert_eq!(decide(&young, line(&[&old, &other]), vec![], &CAPS), Place::Waits { before: 1 });
        // The first has one at work already.
        let busy = vec![work(1, true)];
        assert_eq!(decide(&old, line(&[&young, &other]), busy.clone(), &CAPS), Place::Waits { before: 1 });
        assert_eq!(decide(&other, line(&[&old, &young]), busy, &CAPS), Place::Taken);
    }

    #[test]
    fn whom_its_own_cap_holds_back_holds_back_nobody() {
        let (full, me) = (waiting("full", 1, 1), waiting("me", 2, 2));
        let elsewhere = vec![work(1, false), work(1, false)];
        assert_eq!(decide(&me, vec![full.clone()], elsewhere.clone(), &CAPS), Place::Taken);
        assert!(matches!(decide(&full, vec![me.clone()], elsewhere, &CAPS), Place::Waits { .. }));
        let here = vec![work(3, true), work(4, true)];
        assert_eq!(decide(&me, vec![full], here, &CAPS), Place::Waits { before: 1 });
    }
}
