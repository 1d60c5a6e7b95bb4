//! Sessions looked up: by what they own, by what people call them, in lists.

use super::{
    Store, StoreError, Summary,
    db::db,
    leases::{number, session_id},
};
use crate::domain::{InstallationId, Number, RepoId, Timestamp};

/// A query for summaries: always the same columns.
macro_rules! summaries {
    ($rest:literal) => {
        concat!("SELECT id, state, updated FROM sessions ", $rest)
    };
}

const OF_ISSUE: &str = summaries!("WHERE repo = $1 AND issue = $2 AND NOT done");
const OF_PULL: &str = summaries!("WHERE repo = $1 AND pull = $2 AND NOT done");
const OF_BRANCH: &str = summaries!("WHERE repo = $1 AND branch = $2 AND NOT done");
const AT_HEAD: &str = summaries!("WHERE repo = $1 AND head = $2 AND NOT done ORDER BY created, id");
const OF_THREAD: &str =
    summaries!("WHERE repo = $1 AND (issue = $2 OR pull = $2) ORDER BY created DESC, id DESC LIMIT 50");
const LIVE: &str = summaries!(
    "WHERE NOT done AND ($1 IS NULL OR installation = $1) AND ($2 IS NULL OR repo = $2) ORDER BY created, id"
);
/// PostgreSQL wants to know what a null could have been.
const LIVE_PG: &str = summaries!(
    "WHERE NOT done AND ($1::bigint IS NULL OR installation = $1) AND ($2::bigint IS NULL OR repo = $2) \
     ORDER BY created, id"
);
const NEWEST: &str = summaries!("ORDER BY created DESC, id DESC LIMIT $1");
const NAMED: &str = summaries!("WHERE id = $1 OR short = $1 ORDER BY id LIMIT 2");

type Row = (String, String, i64);

impl Store {
    /// The live session of an issue.
    ///
    /// # Errors
    /// [`StoreError::Database`] when it cannot be read.
    pub async fn session_of_issue(&self, repo: RepoId, issue: Number) -> Result<Option<Summary>, StoreError> {
        self.one(OF_ISSUE, repo, Key::Number(issue)).await
    }

    /// The live session of a pull request.
    ///
    /// # Errors
    /// [`StoreError::Database`] when it cannot be read.
    pub async fn session_of_pull(&self, repo: RepoId, pull: Number) -> Result<Option<Summary>, StoreError> {
        self.one(OF_PULL, repo, Key::Number(pull)).await
    }

    /// The live session of a head branch, from its first push on.
    ///
    /// # Errors
    /// [`StoreError::Database`] when it cannot be read.
    pub async fn session_of_branch(&self, repo: RepoId, branch: &str) -> Result<Option<Summary>, StoreError> {
        self.one(OF_BRANCH, repo, Key::Text(branch)).await
    }

    /// Live sessions whose head is this commit.
    ///
    /// # Errors
    /// [`StoreError::Database`] when they cannot be read.
    pub async fn sessions_at(&self, repo: RepoId, head: &str) -> Result<Vec<Summary>, StoreError> {
        self.some(AT_HEAD, repo, Key::Text(head)).await
    }

    /// The last session (live or done) of an issue or of its pull request, those aside that only answered a comment.
    ///
    /// # Errors
    /// [`StoreError::Database`] when it cannot be read.
    pub async fn latest_of_thread(
        &self,
        repo: RepoId,
        number: Number,
    ) -> Result<Option<Summary>, StoreError> {
        let newest = self.some(OF_THREAD, repo, Key::Number(number)).await?;
        Ok(newest.into_iter().find(|session| !session.state.only_answered()))
    }

    /// All sessions of an installation (or of one repository of it) that are not done.
    ///
    /// # Errors
    /// [`StoreError::Database`] when they cannot be read.
    pub async fn live_sessions(
        &self,
        installation: Option<InstallationId>,
        repo: Option<RepoId>,
    ) -> Result<Vec<Summary>, StoreError> {
        let db = self.reader().await;
        let sql = db.pick(LIVE, LIVE_PG);
        let (installation, repo) = (installation.map(|i| number(i.0)), repo.map(|r| number(r.0)));
        let rows: Vec<Row> =
            db!(db, c => sqlx::query_as(sql).bind(installation).bind(repo).fetch_all(c).await)?;
        rows.into_iter().map(summary).collect()
    }

    /// Sessions, newest first.
    ///
    /// # Errors
    /// [`StoreError::Database`] when they cannot be read.
    pub async fn sessions(&self, limit: u32) -> Result<Vec<Summary>, StoreError> {
        let limit = i64::from(limit);
        let rows: Vec<Row> =
            db!(self.reader().await, c => sqlx::query_as(NEWEST).bind(limit).fetch_all(c).await)?;
        rows.into_iter().map(summary).collect()
    }

    /// One session by its id (with or without dashes), or by the short form people see. A short form that two sessions
    /// share names none.
    ///
    /// # Errors
    /// [`StoreError::Database`] when it cannot be read.
    pub async fn session(&self, id: &str) -> Result<Option<Summary>, StoreError> {
        let id = id.replace('-', "").to_ascii_lowercase();
        let mut rows: Vec<Row> =
            db!(self.reader().await, c => sqlx::query_as(NAMED).bind(id).fetch_all(c).await)?;
        let row = rows.pop().filter(|_| rows.is_empty());
        row.map(summary).transpose()
    }

    async fn one(
        &self,
        sql: &'static str,
        repo: RepoId,
        key: Key<'_>,
    ) -> Result<Option<Summary>, StoreError> {
        Ok(self.some(sql, repo, key).await?.into_iter().next())
    }

    async fn some(&self, sql: &'static str, repo: RepoId, key: Key<'_>) -> Result<Vec<Summary>, StoreError> {
        let (db, repo) = (self.reader().await, number(repo.0));
        let rows: Vec<Row> = db!(db, c => match key {
            Key::Number(n) => sqlx::query_as(sql).bind(repo).bind(number(n.0)).fetch_all(c).await,
            Key::Text(text) => sqlx::query_as(sql).bind(repo).bind(text).fetch_all(c).await,
        })?;
        rows.into_iter().map(summary).collect()
    }
}

/// What a session is looked up by within its repository.
enum Key<'a> {
    Number(Number),
    Text(&'a str),
}

fn summary((id, state, updated): Row) -> Result<Summary, StoreError> {
    Ok(Summary { id: session_id(&id)?, state: serde_json::from_str(&state)?, updated: Timestamp(updated) })
}
