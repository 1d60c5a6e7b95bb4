//! The only place that speaks SQL: deliveries, sessions, inbox, effects, journal.
//!
//! One store, two databases. The SQL is written once, with `$1` and plain types (times as milliseconds); what differs is
//! a named constant. Every write of a session's holder is fenced by its epoch.

use crate::domain::{
    Effect, Entry, Epoch, InstallationId, Limits, Number, Repo, RepoId, SessionId, State, Timestamp,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A database that holds everything fixpoint must not lose.
#[derive(Clone, Debug)]
pub struct Store {}

/// What the store can fail with.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another holder has the session now: stop, and kill the sandbox.
    #[error("the lease on the session was lost to another holder")]
    LeaseLost,
    /// A session for this issue or branch lives already.
    #[error("a live session owns {0} already")]
    Owned(String),
    /// The database was made by a newer version.
    #[error("the database has schema {found}, this version knows {known}: use a newer version of fixpoint")]
    Newer {
        /// The database's.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// The database cannot be used.
    #[error("database: {0}")]
    Database(String),
    /// A stored value cannot be read.
    #[error("a stored value cannot be read: {0}")]
    Value(#[from] serde_json::Error),
}

/// A webhook as it arrived.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// `X-GitHub-Delivery`.
    pub guid: String,
    /// `X-GitHub-Event`.
    pub event: String,
    /// The raw body.
    pub body: Vec<u8>,
    /// When it was stored, by the database's clock.
    pub at: Timestamp,
}

/// Whether a delivery was new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Stored.
    New,
    /// The same id, or the same body under another id, was here before.
    Duplicate,
}

/// What became of a delivery, in words people can read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It changed or started something.
    Taken(&'static str),
    /// It starts nothing, with the reason.
    Ignored(&'static str),
    /// It cannot be read; kept and shown.
    Quarantined(String),
}

/// What accepting a delivery writes, all in one transaction with the delivery's fate.
#[derive(Debug, Default)]
pub struct Acceptance {
    /// Keys by which the same subject is known again under another delivery (`comment:123`). If one is taken already
    /// nothing else is written.
    pub subjects: Vec<String>,
    /// Entries for sessions that exist.
    pub entries: Vec<(SessionId, Entry)>,
    /// A new session, with its first effects.
    pub session: Option<NewSession>,
}

/// A session to be made.
#[derive(Debug)]
pub struct NewSession {
    /// Made by the caller, so that the caller can name it.
    pub id: SessionId,
    /// Its first state.
    pub state: State,
    /// Its first effects.
    pub effects: Vec<Effect>,
}

/// The right to read and write one session.
#[derive(Clone, Debug)]
pub struct Lease {
    /// Which session.
    pub session: SessionId,
    /// Fencing number.
    pub epoch: Epoch,
}

/// A claimed session.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// The right to write it.
    pub lease: Lease,
    /// Its state.
    pub state: State,
    /// The database's clock at the claim.
    pub now: Timestamp,
}

/// An inbox entry that was not stepped yet.
#[derive(Clone, Debug)]
pub struct Unread {
    /// Its row.
    pub id: i64,
    /// What happened.
    pub entry: Entry,
    /// When it was stored.
    pub at: Timestamp,
}

/// A once-effect's row.
#[derive(Clone, Debug)]
pub struct EffectRow {
    /// Its row; effects of a session are done in the order of these.
    pub id: i64,
    /// What is to be done.
    pub effect: Effect,
    /// Times it was tried.
    pub attempts: u32,
}

/// One step's outcome, to be written in one transaction.
#[derive(Debug)]
pub struct Advance<'a> {
    /// The entry that was stepped, and the reason if it was ignored.
    pub entry: &'a Unread,
    /// Why it changed nothing, if so.
    pub ignored: Option<&'static str>,
    /// The time it was stepped with.
    pub now: Timestamp,
    /// The limits it was stepped with.
    pub limits: &'a Limits,
    /// The state after it.
    pub state: &'a State,
    /// Intents.
    pub effects: &'a [Effect],
}

/// A stepped entry, as folding a session again needs it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stepped {
    /// What happened.
    pub entry: Entry,
    /// The time it was stepped with.
    pub now: Timestamp,
    /// The limits it was stepped with.
    pub limits: Limits,
    /// Why it changed nothing, if so.
    pub ignored: Option<String>,
}

/// A journal line: what the engine saved, with the checkpoint taken beside it.
#[derive(Clone, Debug)]
pub struct JournalLine {
    /// Request and round it belongs to.
    pub request: u32,
    /// Round within the request.
    pub round: u32,
    /// The engine's entry, opaque here.
    pub entry: serde_json::Value,
    /// The workspace's tree after it, where it may have changed.
    pub tree: Option<String>,
}

/// What GitHub shows of a session, kept up to date: its id there and the hash last written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// `status`, `check`, `pull`, `draft` …
    pub thing: String,
    /// Its id at GitHub.
    pub remote: String,
    /// Hash of what was last written.
    pub hash: String,
}

/// A session in a list.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Which.
    pub id: SessionId,
    /// Its state.
    pub state: State,
    /// When it last changed.
    pub updated: Timestamp,
}

#[allow(unused_variables, clippy::unused_async, missing_docs)]
impl Store {
    /// Opens (and migrates) the database: `sqlite:PATH`, or `postgres://…`.
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        todo!()
    }
    /// The database's clock.
    pub async fn now(&self) -> Result<Timestamp, StoreError> {
        todo!()
    }
    /// Stores a delivery; on return it is durable.
    pub async fn keep_delivery(&self, guid: &str, event: &str, body: &[u8]) -> Result<Kept, StoreError> {
        todo!()
    }
    /// Deliveries whose fate is open, oldest first.
    pub async fn open_deliveries(&self, limit: u32) -> Result<Vec<Delivery>, StoreError> {
        todo!()
    }
    /// Settles a delivery and writes what it implies, in one transaction.
    pub async fn accept(&self, guid: &str, fate: &Fate, acceptance: &Acceptance) -> Result<(), StoreError> {
        todo!()
    }
    /// Appends an entry to a session's inbox and makes it due.
    pub async fn append(&self, session: SessionId, entry: &Entry) -> Result<(), StoreError> {
        todo!()
    }
    /// The live session of an issue.
    pub async fn session_of_issue(&self, repo: RepoId, issue: Number) -> Result<Option<Summary>, StoreError> {
        todo!()
    }
    /// The live session of a pull request.
    pub async fn session_of_pull(&self, repo: RepoId, pull: Number) -> Result<Option<Summary>, StoreError> {
        todo!()
    }
    /// The live session of a head branch.
    pub async fn session_of_branch(&self, repo: RepoId, branch: &str) -> Result<Option<Summary>, StoreError> {
        todo!()
    }
    /// Live sessions whose head is this commit.
    pub async fn sessions_at(&self, repo: RepoId, head: &str) -> Result<Vec<Summary>, StoreError> {
        todo!()
    }
    /// The last session (live or done) of an issue or of its pull request.
    pub async fn latest_of_thread(
        &self,
        repo: RepoId,
        number: Number,
    ) -> Result<Option<Summary>, StoreError> {
        todo!()
    }
    /// All sessions of an installation (or of one repository of it) that are not done.
    pub async fn live_sessions(
        &self,
        installation: Option<InstallationId>,
        repo: Option<RepoId>,
    ) -> Result<Vec<Summary>, StoreError> {
        todo!()
    }
    /// Sessions, newest first.
    pub async fn sessions(&self, limit: u32) -> Result<Vec<Summary>, StoreError> {
        todo!()
    }
    /// One session by its id, or by the short form people see (unambiguous).
    pub async fn session(&self, id: &str) -> Result<Option<Summary>, StoreError> {
        todo!()
    }
    /// Claims a due session: unread entries, an effect to do, or its `wake_at` reached; nobody holds a live lease on it.
    pub async fn claim(&self, owner: &str, lease: Duration) -> Result<Option<Claimed>, StoreError> {
        todo!()
    }
    /// Prolongs the lease; gives the database's clock.
    pub async fn heartbeat(&self, lease: &Lease, span: Duration) -> Result<Timestamp, StoreError> {
        todo!()
    }
    /// Gives the lease back; the session is due again at `wake_at` (or as soon as something comes in).
    pub async fn release(&self, lease: &Lease, wake_at: Option<Timestamp>) -> Result<(), StoreError> {
        todo!()
    }
    /// Gives back every lease of an owner (at the end of the process).
    pub async fn release_all(&self, owner: &str) -> Result<(), StoreError> {
        todo!()
    }
    /// Entries not stepped yet, in the order they came.
    pub async fn unread(&self, lease: &Lease) -> Result<Vec<Unread>, StoreError> {
        todo!()
    }
    /// Writes one step: state, entry read, intents; fenced.
    pub async fn advance(&self, lease: &Lease, advance: &Advance<'_>) -> Result<(), StoreError> {
        todo!()
    }
    /// Effects still to be done, in order, whose time has come; and when the next one is due.
    pub async fn effects_due(
        &self,
        lease: &Lease,
    ) -> Result<(Vec<EffectRow>, Option<Timestamp>), StoreError> {
        todo!()
    }
    /// Records an effect's result, with the entries it gives, in one transaction; fenced.
    pub async fn effect_done(
        &self,
        lease: &Lease,
        effect: i64,
        result: &serde_json::Value,
        entries: &[Entry],
    ) -> Result<(), StoreError> {
        todo!()
    }
    /// Records that an effect failed for now and is tried again at `next`.
    pub async fn effect_later(
        &self,
        lease: &Lease,
        effect: i64,
        error: &str,
        next: Timestamp,
    ) -> Result<(), StoreError> {
        todo!()
    }
    /// Records that an effect was given up, with the reason.
    pub async fn effect_failed(
        &self,
        lease: &Lease,
        effect: i64,
        error: &str,
        entries: &[Entry],
    ) -> Result<(), StoreError> {
        todo!()
    }
    /// Appends to the journal; fenced.
    pub async fn journal_append(&self, lease: &Lease, line: &JournalLine) -> Result<(), StoreError> {
        todo!()
    }
    /// The whole journal of a session, oldest first.
    pub async fn journal(&self, session: SessionId) -> Result<Vec<JournalLine>, StoreError> {
        todo!()
    }
    /// What GitHub shows of a session.
    pub async fn shown(&self, session: SessionId) -> Result<Vec<Shown>, StoreError> {
        todo!()
    }
    /// Records what GitHub shows now; fenced.
    pub async fn show(&self, lease: &Lease, shown: &Shown) -> Result<(), StoreError> {
        todo!()
    }
    /// A session's stepped entries, oldest first.
    pub async fn history(&self, session: SessionId) -> Result<Vec<Stepped>, StoreError> {
        todo!()
    }
    /// Keeps a patch (unified difference) that was not pushed; replaces an older one of the session.
    pub async fn keep_patch(&self, lease: &Lease, patch: &str) -> Result<(), StoreError> {
        todo!()
    }
    /// The kept patch.
    pub async fn patch(&self, session: SessionId) -> Result<Option<String>, StoreError> {
        todo!()
    }
    /// Adds to what a repository and installation have spent on the database's present day; fenced.
    pub async fn charge(&self, lease: &Lease, micros: u64, tokens: u64) -> Result<(), StoreError> {
        todo!()
    }
    /// Millionths of a dollar spent today: (repository, installation).
    pub async fn spent_today(
        &self,
        installation: InstallationId,
        repo: RepoId,
    ) -> Result<(u64, u64), StoreError> {
        todo!()
    }
    /// How many sessions hold a sandbox now: (all, of the repository, of the installation).
    pub async fn working(
        &self,
        installation: InstallationId,
        repo: &Repo,
    ) -> Result<(u32, u32, u32), StoreError> {
        todo!()
    }
    /// Sessions and epochs with a live lease: what the sweep must leave alone.
    pub async fn live_leases(&self) -> Result<Vec<(SessionId, Epoch)>, StoreError> {
        todo!()
    }
    /// Completes when something was committed that may make a session or delivery due. In this process at once.
    pub async fn changed(&self) {
        todo!()
    }
    /// Is the database usable (for `/readyz`)?
    pub async fn ready(&self) -> Result<(), StoreError> {
        todo!()
    }
}
