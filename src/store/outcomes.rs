//! How checks failed and passed on one and the same commit: the evidence that a failure is flaky.

use super::{
    Lease, Store, StoreError, Wakes,
    db::{db, run},
    leases::{Fenced, number},
};
use crate::domain::{RepoId, Sha, Timestamp};
use std::time::Duration;

/// What failed and passed longer ago than this says little about the tests of today.
const REMEMBERED: Duration = Duration::from_secs(30 * 24 * 60 * 60);

const FAILED: &str = "INSERT INTO check_outcomes (repo, signature, head, check_name, failed_at) \
    VALUES ($1, $2, $3, $4, $5) ON CONFLICT (repo, signature, head) DO NOTHING";
const PASSED: &str = "UPDATE check_outcomes SET passed_at = $4 \
    WHERE repo = $1 AND head = $2 AND check_name = $3 AND passed_at IS NULL";
const FORGET: &str = "DELETE FROM check_outcomes WHERE failed_at < $1";
const OPEN: &str =
    "SELECT DISTINCT check_name FROM check_outcomes WHERE repo = $1 AND head = $2 AND passed_at IS NULL";
const FLAKY: &str = "SELECT head, failed_at FROM check_outcomes WHERE repo = $1 AND signature = $2 \
    AND passed_at IS NOT NULL AND failed_at >= $3 ORDER BY failed_at DESC LIMIT 1";

/// A failure that went away without a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flake {
    /// The commit it was seen on, as text.
    pub head: String,
    /// When it failed there.
    pub at: Timestamp,
}

impl Store {
    /// Remembers that checks failed on a commit (check name and signature each), and forgets what is older than 30 days;
    /// fenced.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] when another holder has the session.
    pub async fn checks_failed(
        &self,
        lease: &Lease,
        head: &Sha,
        failed: &[(&str, &str)],
    ) -> Result<(), StoreError> {
        let Fenced { mut tx, now, repo, .. } = self.fenced(lease).await?;
        run!(&mut tx, sqlx::query(FORGET).bind(oldest(now)))?;
        for (check, signature) in failed {
            run!(
                &mut tx,
                sqlx::query(FAILED).bind(repo).bind(*signature).bind(head.as_str()).bind(*check).bind(now.0)
            )?;
        }
        self.commit(tx, Wakes::No).await
    }

    /// Remembers that these checks passed on a commit. Only where one of them failed there before is anything written;
    /// fenced then.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] when another holder has the session.
    pub async fn checks_passed(
        &self,
        lease: &Lease,
        repo: RepoId,
        head: &Sha,
        passed: &[&str],
    ) -> Result<(), StoreError> {
        let rows: Vec<(String,)> = db!(self.reader().await, c => sqlx::query_as(OPEN).bind(number(repo.0))
            .bind(head.as_str()).fetch_all(c).await)?;
        let mended: Vec<&(String,)> = rows.iter().filter(|(name,)| passed.contains(&name.as_str())).collect();
        if mended.is_empty() {
            return Ok(());
        }
        let Fenced { mut tx, now, repo, .. } = self.fenced(lease).await?;
        for (name,) in mended {
            run!(&mut tx, sqlx::query(PASSED).bind(repo).bind(head.as_str()).bind(name).bind(now.0))?;
        }
        self.commit(tx, Wakes::No).await
    }

    /// The last time within 30 days that this failure went away without a change, if it ever did.
    ///
    /// # Errors
    /// [`StoreError::Database`] when it cannot be read.
    pub async fn flake(&self, repo: RepoId, signature: &str) -> Result<Option<Flake>, StoreError> {
        let db = self.reader().await;
        let since = oldest(db.now().await?);
        let row: Option<(String, i64)> = db!(db, c => sqlx::query_as(FLAKY).bind(number(repo.0))
            .bind(signature).bind(since).fetch_optional(c).await)?;
        Ok(row.map(|(head, at)| Flake { head, at: Timestamp(at) }))
    }
}

fn oldest(now: Timestamp) -> i64 {
    now.0.saturating_sub(i64::try_from(REMEMBERED.as_millis()).unwrap_or(i64::MAX))
}
