//! What repositories and installations spend a day, by the database's clock.

use super::{Lease, Store, StoreError, Wakes, db::db, leases::Fenced, leases::number};
use crate::domain::{InstallationId, RepoId};

const ADD: &str = "INSERT INTO spent (day, scope, id, micros, tokens) VALUES ($1, $2, $3, $4, $5) \
    ON CONFLICT (day, scope, id) DO UPDATE SET micros = spent.micros + excluded.micros, \
    tokens = spent.tokens + excluded.tokens RETURNING micros";
const SPENT: &str = "SELECT scope, micros FROM spent WHERE day = $1 \
    AND ((scope = 'repo' AND id = $2) OR (scope = 'installation' AND id = $3))";

impl Store {
    /// Adds to what a repository and installation have spent on the database's present day, and gives what that comes to:
    /// (repository, installation), in millionths of a dollar; fenced.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] when another holder has the session.
    pub async fn charge(&self, lease: &Lease, micros: u64, tokens: u64) -> Result<(u64, u64), StoreError> {
        let Fenced { mut tx, now, installation, repo } = self.fenced(lease).await?;
        let (day, micros, tokens) = (now.day(), number(micros), number(tokens));
        let mut sums = [0; 2];
        for (sum, (scope, id)) in sums.iter_mut().zip([("repo", repo), ("installation", installation)]) {
            let spent: i64 = db!(&mut tx, c => sqlx::query_scalar(ADD).bind(&day).bind(scope).bind(id)
                .bind(micros).bind(tokens).fetch_one(&mut **c).await)?;
            *sum = u64::try_from(spent).unwrap_or(0);
        }
        self.commit(tx, Wakes::No).await?;
        Ok((sums[0], sums[1]))
    }

    /// Millionths of a dollar spent today: (repository, installation).
    ///
    /// # Errors
    /// [`StoreError::Database`] when it cannot be read.
    pub async fn spent_today(
        &self,
        installation: InstallationId,
        repo: RepoId,
    ) -> Result<(u64, u64), StoreError> {
        let db = self.reader().await;
        let (day, repo, installation) = (db.now().await?.day(), number(repo.0), number(installation.0));
        let rows: Vec<(String, i64)> = db!(db, c => sqlx::query_as(SPENT).bind(day).bind(repo)
            .bind(installation).fetch_all(c).await)?;
        let of = |scope: &str| {
            let micros = rows.iter().find(|(s, _)| s == scope).map_or(0, |(_, micros)| *micros);
            u64::try_from(micros).unwrap_or(0)
        };
        Ok((of("repo"), of("installation")))
    }
}
