//! What goes into the store and comes out of it.

use crate::domain::{
    Audited, Effect, Entry, Epoch, Limits, RepoId, SessionId, State, Timestamp, session::Ask,
};
use serde::{Deserialize, Serialize};

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

/// What became of a delivery, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// `taken`, `ignored` or `quarantined`.
    pub fate: String,
    /// Why, in words people can read.
    pub reason: String,
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
    /// Somebody asked and was refused: for the audit, with the repository it was asked in.
    pub refused: Option<(RepoId, Audited)>,
}

impl Acceptance {
    /// Does nothing follow but the delivery's fate?
    pub fn is_nothing(&self) -> bool {
        let Self { subjects, entries, session, refused } = self;
        subjects.is_empty() && entries.is_empty() && session.is_none() && refused.is_none()
    }
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
    /// A session that is over and whose status comment this one goes on with.
    pub takes_over: Option<SessionId>,
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

impl Advance<'_> {
    /// Does somebody ask for something that the session, which has ended in the meantime, cannot hear any more? A stop and a
    /// yes are meant for this one, and never for another that may have begun there since.
    pub(super) fn is_too_late(&self) -> bool {
        let Entry::Asked { ask } = &self.entry.entry else { return false };
        let meant_for_it = matches!(ask, Ask::Stop { .. } | Ask::Approve { .. });
        !meant_for_it && self.ignored.is_some() && self.state.is_done()
    }
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
