//! One event, one run, no server: the same settling and the same driver, with a database that ends with the run.
//!
//! What must outlive it goes along in a hidden block of the status comment (`block`). At the start of a run the sessions
//! that the event is about are taken up from there (`restore`), or from the branch where the block is gone or older than
//! what was pushed (`rebuild`). The run ends when nothing is left that the next event would not tell of.

mod block;
mod parked;
mod rebuild;
mod restore;

use super::{Parts, accept, drive, worker::idle};
use crate::{
    domain::{Entry, InstallationId, Number, Phase, Repo, SessionId, Sha, State, Timestamp, say},
    github::GitHubError,
    store::{Acceptance, Settled, StoreError, Summary},
};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio_util::sync::CancellationToken;

pub(super) use block::written;

/// What is different where no database outlives the run.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The workflow that this is a run of (`.github/workflows/x.yml`): its runs are not CI.
    pub workflow: Option<String>,
}

/// What a run is for.
#[derive(Debug)]
pub struct Errand {
    /// Through what the repository is reached.
    pub installation: InstallationId,
    /// The repository.
    pub repo: Repo,
    /// Which sessions may be concerned.
    pub about: About,
    /// What happened, in the words of a webhook; `None`: only the clock.
    pub event: Option<Event>,
}

/// Which sessions a run may be about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// Those of an issue or pull request.
    Thread(Number),
    /// The one that pushes to this branch.
    Branch(String),
    /// Every one that is not over.
    Everything,
}

/// An event as a webhook tells it.
#[derive(Clone, Debug)]
pub struct Event {
    /// Its name: `issue_comment` …
    pub name: String,
    /// What tells it from every other.
    pub id: String,
    /// Its payload.
    pub payload: Value,
}

/// How a session stands when the run ends.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The session as people see it.
    pub session: String,
    /// Its thread.
    pub thread: Number,
    /// Its pull request.
    pub pull: Option<Number>,
    /// Its branch, once something was pushed.
    pub branch: Option<String>,
    /// `watching`, `waiting`, or the outcome: `green`, `not_green` …
    pub outcome: String,
    /// The status comment's text.
    pub status: String,
}

/// What a run came to.
#[derive(Debug)]
pub struct Ran {
    /// What became of the event.
    pub settled: Option<Settled>,
    /// The sessions it was about.
    pub sessions: Vec<Ended>,
}

/// Why a run could not do what it is for.
#[derive(Debug, thiserror::Error)]
pub enum Undone {
    /// GitHub did not do its part.
    #[error("{0}")]
    GitHub(#[from] GitHubError),
    /// The run's own database failed.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// The event could not be settled.
    #[error("the event could not be settled: {0}")]
    Unsettled(String),
    /// What was restored could not be used.
    #[error("{0}")]
    Restore(String),
    /// What must outlive the run could not be kept.
    #[error(
        "the state of session {0} could not be kept in its status comment: may the token write issues and pull requests?"
    )]
    NotKept(String),
}

/// An event is tried this often while GitHub does not answer.
const TRIES: u32 = 5;

/// How often a status comment is written again that does not hold the state yet.
const KEEPS: u32 = 3;

/// Effects that GitHub keeps from happening are waited for this long; the state says what is left of them.
const EFFECTS: Duration = Duration::from_secs(600);

/// Settles the event, drives its sessions until the next event tells more, and makes sure that their state is kept.
///
/// # Errors
/// [`Undone`], a sentence for whoever reads the run's log.
pub async fn once(parts: Parts, errand: Errand, shutdown: CancellationToken) -> Result<Ran, Undone> {
    let began = parts.store.now().await?;
    let waited = Box::pin(restore::all(&parts, &errand)).await?;
    let restored = parts.store.sessions(u32::MAX >> 1).await?;
    let known = restored.into_iter().filter_map(|session| session.state.facts.head).collect();
    let run = Run { parts, errand, began, shutdown, known, looked: Mutex::default() };
    Box::pin(run.settle()).await?;
    Box::pin(run.drive()).await?;
    let settled = run.settled().await?;
    Box::pin(run.keep()).await?;
    Box::pin(run.park(&waited)).await?;
    let mut sessions = Vec::new();
    let mut all = run.parts.store.sessions(u32::MAX >> 1).await?;
    // What goes on is what the run was about; what is over was taken up for its memory.
    all.sort_by_key(|session| session.state.is_done());
    for session in &all {
        sessions.push(run.ended(session).await?);
    }
    Ok(Ran { settled, sessions })
}

/// In a run of its own a session is announced at once: its state must be kept before the first money is spent.
pub(super) fn announce(acceptance: &mut Acceptance) {
    let Some(new) = acceptance.session.as_mut().filter(|new| !new.state.is_done()) else { return };
    if !std::mem::replace(&mut new.state.facts.told, true) {
        new.effects.push(crate::domain::Effect::PostStatus);
    }
}

struct Run {
    parts: Parts,
    errand: Errand,
    began: Timestamp,
    shutdown: CancellationToken,
    /// Heads that were there before the run.
    known: BTreeSet<Sha>,
    /// Sessions that were looked at when their grace was over.
    looked: Mutex<BTreeSet<SessionId>>,
}

impl Run {
    async fn settle(&self) -> Result<(), Undone> {
        let Some(event) = &self.errand.event else { return Ok(()) };
        let store = &self.parts.store;
        let mut payload = event.payload.clone();
        // A workflow's event names no installation; what stands for it is known here.
        payload["installation"] = serde_json::json!({ "id": self.errand.installation });
        store.keep_delivery(&event.id, &event.name, payload.to_string().as_bytes()).await?;
        self.settle_open().await
    }

    async fn settle_open(&self) -> Result<(), Undone> {
        for delivery in self.parts.store.open_deliveries(1).await? {
            let mut tries = 1;
            while let Err(error) = Box::pin(accept::settle(&self.parts, &delivery)).await {
                if tries == TRIES || self.shutdown.is_cancelled() {
                    return Err(Undone::Unsettled(error.to_string()));
                }
                tracing::warn!(%error, tries, "not settled yet");
                tokio::time::sleep(Duration::from_secs(2) * 2u32.pow(tries)).await;
                tries += 1;
            }
        }
        Ok(())
    }

    /// What became of the event.
    async fn settled(&self) -> Result<Option<Settled>, Undone> {
        let Some(event) = &self.errand.event else { return Ok(None) };
        Ok(self.parts.store.delivery(&event.id).await?.and_then(|(_, settled)| settled))
    }

    async fn drive(&self) -> Result<(), Undone> {
        let (store, settings) = (&self.parts.store, &self.parts.settings);
        loop {
            let changed = store.changed();
            // Read before the claim: what comes due after it shall not count as rest.
            let now = store.now().await?;
            if let Some(claimed) = store.claim(&settings.owner, settings.lease).await? {
                drive::drive(self.parts.clone(), claimed, self.shutdown.clone()).await;
                // Asked of a session that ended before it read it, the event is to begin another.
                self.settle_open().await?;
            } else if self.shutdown.is_cancelled() || self.is_quiet(now).await? {
                return Ok(());
            } else {
                idle(changed, &self.shutdown).await;
            }
        }
    }

    /// Nothing was left to do at that moment that the next event would not tell of.
    async fn is_quiet(&self, now: Timestamp) -> Result<bool, StoreError> {
        let (store, repo) = (&self.parts.store, self.errand.repo.id);
        if now.since(self.began) < EFFECTS && store.pending_effects().await? > 0 {
            return Ok(false);
        }
        let live = store.live_sessions(None, Some(repo)).await?;
        for session in live.iter().filter(|session| self.grace_is_over(&session.state, now)) {
            if self.looked.lock().unwrap_or_else(PoisonError::into_inner).insert(session.id) {
                store.append(session.id, &nudge(&session.state)).await?;
                return Ok(false);
            }
        }
        Ok(!live.iter().any(|session| match session.state.phase {
            Phase::Queued | Phase::Working | Phase::Publishing { .. } => true,
            Phase::Watching { since } => self.lingers(&session.state, since, now),
            Phase::Waiting { .. } | Phase::Resting { .. } | Phase::Done { .. } => false,
        }))
    }

    /// Is the head a commit that this run pushed?
    fn pushed_here(&self, state: &State, since: Timestamp) -> bool {
        let facts = &state.facts;
        since >= self.began
            && facts.head.as_ref().is_some_and(|head| !self.known.contains(head))
            && facts.rounds.iter().any(|round| round.commit.is_some() && round.commit == facts.head)
    }

    /// CI had its time to start, where no event will ever tell that it did not: then the next look is due now.
    fn grace_is_over(&self, state: &State, now: Timestamp) -> bool {
        let limits = &self.parts.settings.limits;
        let Phase::Watching { since } = state.phase else { return false };
        self.pushed_here(state, since)
            && !self.parts.github.identity().starts_workflows()
            && now.since(since) >= limits.ci_start + limits.settle
    }

    /// Is a verdict so near that it is worth a runner's time?
    fn lingers(&self, state: &State, since: Timestamp, now: Timestamp) -> bool {
        /// Long enough for what the event told of to settle, and for a log that is on its way.
        const SETTLES: u32 = 4;
        let limits = &self.parts.settings.limits;
        match (self.pushed_here(state, since), self.parts.github.identity().starts_workflows()) {
            (true, true) => false,
            // No workflow will tell that none has started.
            (true, false) => now.since(since) < limits.ci_start + limits.settle * SETTLES,
            (false, _) => now.since(self.began) < limits.settle * SETTLES,
        }
    }

    /// Reads every live session's block back; one that is not there is written again.
    async fn keep(&self) -> Result<(), Undone> {
        for tries in 0..=KEEPS {
            let mut missing = Vec::new();
            for session in self.parts.store.live_sessions(None, Some(self.errand.repo.id)).await? {
                if !block::is_kept(&self.parts, &session).await? {
                    missing.push(session);
                }
            }
            match missing.first() {
                None => return Ok(()),
                Some(session) if tries == KEEPS || self.shutdown.is_cancelled() => {
                    return Err(Undone::NotKept(session.id.short()));
                }
                Some(_) => {}
            }
            for session in missing {
                self.parts.store.append(session.id, &nudge(&session.state)).await?;
            }
            self.drive().await?;
        }
        Ok(())
    }

    /// What waits for a yes is left where the next run finds it; what waited before and does no more is cleared.
    async fn park(&self, waited: &[SessionId]) -> Result<(), Undone> {
        for session in self.parts.store.sessions(u32::MAX >> 1).await? {
            if !parked::leave(&self.parts, &session).await? && waited.contains(&session.id) {
                parked::clear(&self.parts, &session).await;
            }
        }
        Ok(())
    }

    async fn ended(&self, session: &Summary) -> Result<Ended, Undone> {
        let Summary { id, state, .. } = session;
        let facts = &state.facts;
        let patch = self.parts.store.patch(*id).await?;
        let (app, short) = (self.parts.app().await?, id.short());
        let context = super::show::context(&self.parts, app, state, &short, patch.as_deref());
        Ok(Ended {
            session: short.clone(),
            thread: facts.thread.number,
            pull: facts.pull.as_ref().map(|pull| pull.number),
            branch: facts.head.as_ref().map(|_| facts.branch.clone()),
            outcome: outcome(state),
            status: say::status(state, &context),
        })
    }
}

/// An entry that changes nothing, but has its session taken up.
fn nudge(state: &State) -> Entry {
    let facts = &state.facts;
    let known = facts.head.clone().or_else(|| facts.base.sha.clone());
    let none = || Sha::parse(&"0".repeat(40)).ok();
    match known.or_else(none) {
        Some(head) => Entry::Hint { head },
        None => Entry::MergeQueue { inside: facts.in_merge_queue },
    }
}

/// A session's standing in one word.
fn outcome(state: &State) -> String {
    let outcome = match &state.phase {
        Phase::Resting { outcome } | Phase::Done { outcome } => serde_json::to_value(outcome).ok(),
        _ => None,
    };
    let word = outcome.as_ref().and_then(|o| o.get("outcome")).and_then(Value::as_str);
    word.unwrap_or_else(|| state.phase_word()).to_owned()
}

/// A session to be known by the marker of its status comment.
fn session_of(body: &str) -> Option<SessionId> {
    let rest = &body[body.rfind("<!-- fixpoint:")? + "<!-- fixpoint:".len()..];
    let (id, thing) = rest.split_once(':')?;
    let id = uuid::Uuid::try_parse(id).ok()?;
    thing.starts_with("status -->").then_some(SessionId(id))
}
