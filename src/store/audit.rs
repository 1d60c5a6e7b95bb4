//! The audit: lines written in the transaction of the fact they tell, never changed, removed only when they are old.

use super::{
    Lease, Store, StoreError, Wakes,
    db::{Tx, db, run},
    leases::{number, session_id},
};
use crate::domain::{Actor, Audit, Audited, Number, RepoId, SessionId, Timestamp, UserId};

const INSERT: &str = "INSERT INTO audit (at, session, repo, thread, account, login, kind, fact) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
const REPO: &str = "SELECT repo FROM sessions WHERE id = $1";
/// A session's own lines, and what was refused on its thread before it reached any session.
const OF_SESSION: &str = "SELECT at, session, account, login, fact FROM audit WHERE session = $1 \
    OR (session IS NULL AND repo = $2 AND (thread = $3 OR thread = $4)) ORDER BY id";

/// A line of the audit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditLine {
    /// When, by the database's clock.
    pub at: Timestamp,
    /// The session; `None`: it was refused before it reached one.
    pub session: Option<SessionId>,
    /// Whose doing; `None`: fixpoint's own.
    pub by: Option<Actor>,
    /// What.
    pub what: Audit,
}

/// Where a line belongs.
pub(super) struct Of {
    pub(super) session: Option<SessionId>,
    pub(super) repo: i64,
    pub(super) thread: Option<Number>,
}

impl Store {
    /// Adds lines about a session that no entry or effect of it tells: what its sandbox did. Not fenced, for it was done
    /// whoever holds the session by now, and only who held it then knows. Of a session that was forgotten nothing is kept.
    ///
    /// # Errors
    /// [`StoreError::Database`] when the database cannot be used.
    pub async fn audit(&self, lease: &Lease, lines: &[Audit]) -> Result<(), StoreError> {
        if lines.is_empty() {
            return Ok(());
        }
        let mut tx = self.begin().await?;
        let id = lease.session.to_string();
        let row: Option<(i64,)> =
            db!(&mut tx, c => sqlx::query_as(REPO).bind(id).fetch_optional(&mut **c).await)?;
        let Some((repo,)) = row else { return tx.rollback().await };
        let now = tx.now().await?;
        for what in lines {
            let line = Audited { by: None, what: what.clone() };
            insert(&mut tx, &Of { session: Some(lease.session), repo, thread: None }, &line, now).await?;
        }
        self.commit(tx, Wakes::No).await
    }

    /// The lines of a session, oldest first, and what was refused on its issue or pull request.
    ///
    /// # Errors
    /// [`StoreError::Value`] when one cannot be read.
    pub async fn audit_of(
        &self,
        session: SessionId,
        repo: RepoId,
        (issue, pull): (Number, Option<Number>),
    ) -> Result<Vec<AuditLine>, StoreError> {
        type Row = (i64, Option<String>, Option<i64>, Option<String>, String);
        let (issue, pull) = (number(issue.0), number(pull.unwrap_or(issue).0));
        let rows: Vec<Row> = db!(self.reader().await, c => sqlx::query_as(OF_SESSION)
            .bind(session.to_string()).bind(number(repo.0)).bind(issue).bind(pull).fetch_all(c).await)?;
        let read = |(at, session, account, login, fact): Row| {
            let id = account.map(|id| UserId(u64::try_from(id).unwrap_or(0)));
            Ok(AuditLine {
                at: Timestamp(at),
                session: session.map(|id| session_id(&id)).transpose()?,
                by: id.zip(login).map(|(id, login)| Actor { id, login }),
                what: serde_json::from_str(&fact)?,
            })
        };
        rows.into_iter().map(read).collect()
    }
}

/// Adds a line.
pub(super) async fn insert(
    tx: &mut Tx,
    of: &Of,
    Audited { by, what }: &Audited,
    now: Timestamp,
) -> Result<(), StoreError> {
    let fact = serde_json::to_string(what)?;
    run!(
        tx,
        sqlx::query(INSERT)
            .bind(now.0)
            .bind(of.session.map(|id| id.to_string()))
            .bind(of.repo)
            .bind(of.thread.map(|thread| number(thread.0)))
            .bind(by.as_ref().map(|by| number(by.id.0)))
            .bind(by.as_ref().map(|by| &by.login))
            .bind(what.kind())
            .bind(&fact)
    )?;
    Ok(())
}
