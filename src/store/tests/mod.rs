//! The store on both databases: every test here runs on SQLite and on PostgreSQL.

mod audit;
mod crash;
mod deliveries;
mod forget;
mod leases;
mod migrations;
mod opening;
mod places;
mod postgres;
mod records;
mod retention;
mod steps;
mod taking;

use super::{Acceptance, Claimed, Fate, NewSession, Store};
use crate::domain::{
    Actor, CommentId, Entry, InstallationId, Number, Repo, RepoId, SessionId, Sha, Timestamp, UserId,
    session::{Request, Start, Subject, Thread, start},
};
use std::time::Duration;

/// A database of its own, to be opened as often as a test wants nodes.
pub(super) struct Place {
    url: String,
    _folder: Option<tempfile::TempDir>,
}

impl Place {
    fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { url: format!("sqlite:{}/fixpoint.db", folder.path().display()), _folder: Some(folder) }
    }

    async fn open(&self) -> Store {
        Store::open(&self.url).await.unwrap()
    }
}

/// Makes each named test two: one a database. PostgreSQL's is skipped, with a word, where it is not installed.
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod sqlite { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() { super::$name($crate::store::tests::Place::sqlite()).await }
        )* }
        mod postgres { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                if let Some(place) = $crate::store::tests::postgres::place().await { super::$name(place).await }
            }
        )* }
    };
}
use on_both;

const LEASE: Duration = Duration::from_secs(60);

fn repo() -> Repo {
    Repo { id: RepoId(7), owner: "acme".into(), name: "demo".into() }
}

fn sha(digit: char) -> Sha {
    Sha::parse(&digit.to_string().repeat(40)).unwrap()
}

/// A session asked for on an issue.
fn on_issue(issue: u64) -> NewSession {
    let asker = Actor { id: UserId(3), login: "alice".into() };
    let from = Start {
        installation: InstallationId(5),
        repo: repo(),
        public: true,
        thread: Thread {
            number: Number(issue),
            title: "Empty input \0 panics".into(),
            body: "It does.".into(),
            trusted: true,
        },
        request: Request::run(asker, "fix it".into(), Subject::Comment(CommentId(issue))),
        base: "main".into(),
        branch: format!("fixpoint/{issue}-empty-input"),
        on: None,
    };
    let (state, effects) = start(from, Timestamp(0));
    NewSession { id: SessionId(uuid::Uuid::now_v7()), state, effects, takes_over: None }
}

/// Something that happened to a session, told apart by its text.
fn noted(text: &str) -> Entry {
    Entry::Noted {
        by: Actor { id: UserId(3), login: "alice".into() },
        text: text.into(),
        comment: CommentId(1),
    }
}

/// Keeps a delivery and accepts it with what is given.
async fn accept(store: &Store, guid: &str, acceptance: Acceptance) -> Result<(), super::StoreError> {
    store.keep_delivery(guid, "issue_comment", guid.as_bytes()).await.unwrap();
    store.accept(guid, &Fate::Taken("a request"), &acceptance).await
}

/// Makes a session and gives its id.
async fn made(store: &Store, issue: u64) -> SessionId {
    let new = on_issue(issue);
    let id = new.id;
    let acceptance = Acceptance { session: Some(new), ..Acceptance::default() };
    accept(store, &format!("made-{issue}-{id}"), acceptance).await.unwrap();
    id
}

/// Claims the one due session.
async fn claimed(store: &Store) -> Claimed {
    store.claim("node", LEASE).await.unwrap().expect("a session is due")
}

/// Takes the deliveries' table away, as a stand-in for a disk that fails.
pub(crate) async fn break_deliveries(store: &Store) {
    let mut tx = store.begin().await.unwrap();
    super::db::run!(&mut tx, sqlx::query("DROP TABLE deliveries")).unwrap();
    store.commit(tx, super::Wakes::No).await.unwrap();
}

/// Moves a row's times back, as if it had been written that many days earlier.
async fn days_ago(store: &Store, statement: &'static str, id: &str, days: i64) {
    let mut tx = store.begin().await.unwrap();
    let then = tx.now().await.unwrap().0 - days * 24 * 60 * 60 * 1000;
    let rows = super::db::run!(&mut tx, sqlx::query(statement).bind(id).bind(then)).unwrap();
    assert!(rows > 0, "{statement} finds nothing for {id}");
    store.commit(tx, super::Wakes::No).await.unwrap();
}

/// A session is over since that many days.
async fn over_since_days(store: &Store, id: SessionId, days: i64) {
    let over =
        "UPDATE sessions SET done = TRUE, phase = 'done', updated = $2, lease_owner = NULL WHERE id = $1";
    days_ago(store, over, &id.to_string(), days).await;
}

/// How many rows a table has.
async fn rows(store: &Store, count: &'static str) -> i64 {
    super::db::db!(store.reader().await, c => sqlx::query_scalar(count).fetch_one(c).await).unwrap()
}
