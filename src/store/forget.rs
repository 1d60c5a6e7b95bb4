//! Removing what is kept of one repository or of one person.
//!
//! A session goes as a whole: a transcript with holes would still tell. A delivery loses its body and keeps its id and
//! the hash, which tell nothing and keep it from being taken twice. The audit stays, for it holds no content; whose doing
//! a line was is forgotten with the person.

use super::{
    Store, StoreError, Wakes,
    db::{db, run},
    leases::{number, session_id},
};
use crate::domain::{RepoId, SessionId, State};
use serde_json::Value;
use std::collections::BTreeSet;

/// Rows read at once while all of them are looked through.
const PAGE: i64 = 100;

const SESSIONS: &str = "SELECT id, first, state FROM sessions WHERE id > $1 ORDER BY id LIMIT $2";
const ENTRIES: &str = "SELECT entry FROM inbox WHERE session = $1";
const DELIVERIES: &str = "SELECT seq, body FROM deliveries WHERE seq > $1 AND fate IS NOT NULL \
    AND length(body) > 0 ORDER BY seq LIMIT $2";
const LINES: &str = "SELECT count(*) FROM audit WHERE lower(login) = lower($1)";
/// Only what rests or is over: who began to work again in the meantime is not cut off.
const SESSION: &str = "DELETE FROM sessions WHERE id = $1 AND phase IN ('resting', 'done')";
const STILL: &str = "SELECT count(*) FROM sessions WHERE id = $1";
const BODY: &str = "UPDATE deliveries SET body = $2, reason = $3 WHERE seq = $1 AND fate IS NOT NULL";
const OUTCOMES: &str = "DELETE FROM check_outcomes WHERE repo = $1";
const NAMES: &str = "UPDATE audit SET account = 0, login = '(forgotten)' WHERE lower(login) = lower($1)";

/// Whom or what to forget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Forgettable {
    /// A repository by the name it has now, or had when something was asked there.
    Repository {
        /// Its owner.
        owner: String,
        /// Its name.
        name: String,
    },
    /// An account by its login.
    User {
        /// The login.
        login: String,
    },
}

/// What is kept of it.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// Sessions that rest or are over: they are removed.
    pub sessions: Vec<(SessionId, RepoId)>,
    /// Sessions at work: nothing is removed while there is one.
    pub live: Vec<SessionId>,
    /// The repositories themselves.
    pub repositories: BTreeSet<RepoId>,
    /// Deliveries that lose their body.
    pub deliveries: Vec<i64>,
    /// Lines of the audit that lose a name.
    pub names: u64,
}

impl Store {
    /// Looks through everything for what is kept of a repository or person; changes nothing.
    ///
    /// # Errors
    /// [`StoreError::Value`] when something stored cannot be read.
    pub async fn kept_of(&self, whom: &Forgettable) -> Result<Kept, StoreError> {
        let mut kept = Kept::default();
        self.find_sessions(whom, &mut kept).await?;
        self.find_deliveries(whom, &mut kept).await?;
        if let Forgettable::User { login } = whom {
            let lines: i64 =
                db!(self.reader().await, c => sqlx::query_scalar(LINES).bind(login).fetch_one(c).await)?;
            kept.names = u64::try_from(lines).unwrap_or(0);
        }
        Ok(kept)
    }

    /// Removes it, in one transaction.
    ///
    /// # Errors
    /// [`StoreError::Owned`] when one of the sessions is at work: nothing is removed.
    pub async fn forget(&self, whom: &Forgettable, kept: &Kept) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        for (id, _) in &kept.sessions {
            run!(&mut tx, sqlx::query(SESSION).bind(id.to_string()))?;
            let still: i64 = db!(&mut tx, c => sqlx::query_scalar(STILL).bind(id.to_string())
                .fetch_one(&mut **c).await)?;
            if still > 0 {
                tx.rollback().await?;
                return Err(StoreError::Owned(format!("this: {} began to work", id.short())));
            }
        }
        for seq in &kept.deliveries {
            let (empty, why): (&[u8], _) = (&[], "its content was forgotten on request");
            run!(&mut tx, sqlx::query(BODY).bind(seq).bind(empty).bind(why))?;
        }
        match whom {
            Forgettable::Repository { .. } => {
                for repo in &kept.repositories {
                    run!(&mut tx, sqlx::query(OUTCOMES).bind(number(repo.0)))?;
                }
            }
            Forgettable::User { login } => {
                run!(&mut tx, sqlx::query(NAMES).bind(login))?;
            }
        }
        self.commit(tx, Wakes::Yes).await
    }

    async fn find_sessions(&self, whom: &Forgettable, kept: &mut Kept) -> Result<(), StoreError> {
        let mut after = String::new();
        loop {
            let rows: Vec<(String, String, String)> = db!(self.reader().await, c => sqlx::query_as(SESSIONS)
                .bind(&after).bind(PAGE).fetch_all(c).await)?;
            let Some((last, _, _)) = rows.last() else { return Ok(()) };
            after.clone_from(last);
            for (id, first, state) in rows {
                let read: State = serde_json::from_str(&state)?;
                let repo = &read.facts.repo;
                let found = match whom {
                    Forgettable::Repository { owner, name } => {
                        let named = same(&repo.owner, owner) && same(&repo.name, name);
                        let found = named || kept.repositories.contains(&repo.id);
                        found && {
                            kept.repositories.insert(repo.id);
                            true
                        }
                    }
                    Forgettable::User { .. } => {
                        whom.stands_in(&first) || whom.stands_in(&state) || self.in_entries(whom, &id).await?
                    }
                };
                match (found, read.is_live()) {
                    (false, _) => {}
                    (true, true) => kept.live.push(session_id(&id)?),
                    (true, false) => kept.sessions.push((session_id(&id)?, repo.id)),
                }
            }
        }
    }

    async fn in_entries(&self, whom: &Forgettable, session: &str) -> Result<bool, StoreError> {
        let rows: Vec<(String,)> =
            db!(self.reader().await, c => sqlx::query_as(ENTRIES).bind(session).fetch_all(c).await)?;
        Ok(rows.iter().any(|(entry,)| whom.stands_in(entry)))
    }

    async fn find_deliveries(&self, whom: &Forgettable, kept: &mut Kept) -> Result<(), StoreError> {
        let mut after = 0;
        loop {
            let rows: Vec<(i64, Vec<u8>)> = db!(self.reader().await, c => sqlx::query_as(DELIVERIES)
                .bind(after).bind(PAGE).fetch_all(c).await)?;
            let Some((last, _)) = rows.last() else { return Ok(()) };
            after = *last;
            let found = rows.iter().filter(|(_, body)| whom.stands_in(&String::from_utf8_lossy(body)));
            kept.deliveries.extend(found.map(|(seq, _)| *seq));
        }
    }
}

impl Forgettable {
    /// Is it named anywhere in this JSON? What is no JSON names it where its letters stand.
    fn stands_in(&self, json: &str) -> bool {
        let name = match self {
            Self::Repository { owner, name } => format!("{owner}/{name}"),
            Self::User { login } => login.clone(),
        };
        if !json.to_ascii_lowercase().contains(&name.to_ascii_lowercase()) {
            return false;
        }
        serde_json::from_str(json).map_or(true, |value: Value| self.names(&value, &name))
    }

    fn names(&self, value: &Value, name: &str) -> bool {
        let keys: &[&str] = match self {
            Self::Repository { .. } => &["full_name"],
            // An account's own object, and the plain logins in what we store.
            Self::User { .. } => &["login", "by", "to"],
        };
        match value {
            Value::Object(fields) => fields.iter().any(|(key, value)| {
                let named =
                    keys.contains(&key.as_str()) && value.as_str().is_some_and(|text| same(text, name));
                named || self.names(value, name)
            }),
            Value::Array(items) => items.iter().any(|item| self.names(item, name)),
            _ => false,
        }
    }
}

/// GitHub's names are the same in any case.
fn same(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_counts_where_it_names_somebody() {
        let main = Forgettable::User { login: "main".into() };
        assert!(main.stands_in(r#"{"a":[{"by":{"id":1,"login":"Main"}}]}"#));
        assert!(!main.stands_in(r#"{"branch":"main","text":"ask main"}"#));
        let repo = Forgettable::Repository { owner: "acme".into(), name: "demo".into() };
        assert!(repo.stands_in(r#"{"repository":{"full_name":"Acme/Demo"}}"#));
        assert!(!repo.stands_in(r#"{"repository":{"full_name":"acme/demo-two"}}"#));
        assert!(repo.stands_in("acme/demo in something torn {"));
    }
}
