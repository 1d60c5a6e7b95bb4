//! The host's end of an engine's journal: checkpoint and entry are committed before anything follows from them, budgets
//! are charged, notes handed over.

use super::Parts;
use crate::{
    agent::{Journal, Message, Note, Part, Record, Stop},
    domain::{Fault, Limits, Sha, policy::Secrets, seeded, session::Spent},
    git::{GitError, Mirror},
    sandbox::{Command, Sandbox},
    store::{JournalLine, Lease, StoreError},
    toolbox::wire,
};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// A snapshot of a large workspace takes a second; one that takes longer than this hangs.
const SNAPSHOT: Duration = Duration::from_secs(120);

/// What came in while the agent works, and how much of it the agent was told.
#[derive(Debug, Default)]
pub(super) struct Notes {
    waiting: VecDeque<String>,
    offered: (usize, usize),
    told: (usize, usize),
}

impl Notes {
    /// Offers what the state holds beyond what was offered before: kept requests, then notes.
    pub(super) fn offer(&mut self, requests: &[String], notes: &[String]) {
        let (from_requests, from_notes) = self.offered;
        self.waiting.extend(requests.iter().skip(from_requests).cloned());
        self.waiting.extend(notes.iter().skip(from_notes).cloned());
        self.offered = (requests.len(), notes.len());
    }

    /// Counts these as told already: they stood in the task, or an interrupted run of the round had them.
    pub(super) fn skip(&mut self, requests: usize, notes: usize) {
        self.offered = (requests, notes);
        self.told = self.offered;
    }

    fn take(&mut self) -> Vec<Note> {
        self.told = self.offered;
        self.waiting.drain(..).map(|text| Note { text }).collect()
    }

    /// (requests, notes) that the agent was told of.
    pub(super) fn told(&self) -> (usize, usize) {
        self.told
    }
}

/// The host's end of one round's journal.
pub(super) struct Host {
    pub(super) parts: Parts,
    pub(super) lease: Lease,
    pub(super) sandbox: Arc<dyn Sandbox>,
    pub(super) mirror: Mirror,
    /// The tree the workspace was seeded with: what snapshots are relative to.
    pub(super) seeded: Sha,
    pub(super) request_no: u32,
    pub(super) round: u32,
    pub(super) notes: Arc<Mutex<Notes>>,
    /// Spent by the request before this run.
    pub(super) before: Spent,
    pub(super) used: Mutex<Used>,
    pub(super) began: Instant,
}

/// What this round has used so far, earlier runs of it included.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used {
    pub(super) spent: Spent,
    pub(super) steps: u32,
    /// What the repository and the installation had spent that day after the last charge.
    pub(super) today: (u64, u64),
}

#[async_trait::async_trait]
impl Journal for Host {
    async fn save(&self, record: Record) -> Result<Vec<Note>, Stop> {
        let touched = matches!(record, Record::Done { touched: true, .. });
        let tree = if touched { Some(self.checkpoint().await?) } else { None };
        let entry = serde_json::to_value(&record).map_err(|e| Stop::Broken(e.to_string()))?;
        let line = JournalLine {
            request: self.request_no,
            round: self.round,
            entry,
            tree: tree.map(|t| t.as_str().to_owned()),
        };
        if !seeded(Fault::ReplyForgotten) {
            let append = || self.parts.store.journal_append(&self.lease, &line);
            self.parts.patiently(append).await.map_err(stop)?;
        }
        if matches!(record, Record::Kept { .. }) {
            // For the next run. Nothing follows from it in this one, so no note goes out that nobody would hear.
            return Ok(Vec::new());
        }
        self.charge(&record).await?;
        if !only_finishes(&record) {
            self.within_limits()?;
        }
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(notes.take())
    }
}

fn stop(error: StoreError) -> Stop {
    match error {
        StoreError::LeaseLost => Stop::LeaseLost,
        other => Stop::Broken(other.to_string()),
    }
}

/// A checkpoint may hold more than may be published, so that what the policy will refuse is not lost, and the agent can
/// still clear it away.
pub(super) fn loose(limits: &Limits) -> Limits {
    const MORE: usize = 4;
    Limits {
        files: limits.files.saturating_mul(10 * MORE),
        file_bytes: limits.file_bytes.saturating_mul(MORE),
        total_bytes: limits.total_bytes.saturating_mul(MORE),
        ..limits.clone()
    }
}

/// Why the workspace could not be read: too much in it is the agent's doing, anything else may pass.
fn unreadable(error: &anyhow::Error, secrets: &[String]) -> Stop {
    if let Some(GitError::BadPath { path, why }) = error.downcast_ref() {
        // A path is the agent's own word, and this is read in public.
        let path = match Secrets::new(secrets).are_in(path.as_bytes()) {
            true => "(a secret of fixpoint's own)",
            false => path,
        };
        // Said where it is asked: nothing else tells why such a change never comes.
        return Stop::Limit(format!("what a tree may hold: the path \"{path}\" is refused, {why}"));
    }
    match error.downcast_ref() {
        // In our words: what the toolbox says may be the agent's.
        Some(wire::WireError::TooMuch(_) | wire::WireError::Failed(_)) => Stop::Limit(
            "what can be taken out of the workspace (does a .gitignore miss something?)".to_owned(),
        ),
        _ => Stop::Broken(format!("the workspace could not be read: {error}")),
    }
}

/// A reply that only says it is done needs no more budget: finished work is not thrown away for it.
fn only_finishes(record: &Record) -> bool {
    let Record::Replied { message: Message::Assistant { parts }, .. } = record else { return false };
    let mut calls = parts.iter().filter_map(|part| match part {
        Part::Call { tool, .. } => Some(tool == "finish"),
        _ => None,
    });
    calls.next() == Some(true) && calls.all(|finish| finish)
}

impl Host {
    /// The workspace's tree as it is now, built on the host from the changed files.
    pub(super) async fn checkpoint(&self) -> Result<Sha, Stop> {
        let tree = match tokio::time::timeout(SNAPSHOT, self.snapshot()).await {
            Ok(result) => result.map_err(|e| unreadable(&e, &self.parts.settings.own_secrets()))?,
            Err(_) => return Err(Stop::Broken("the workspace could not be read in time".to_owned())),
        };
        let name = format!("session/{}", self.lease.session);
        self.mirror.hold(&name, &tree).await.map_err(|e| Stop::Broken(e.to_string()))?;
        Ok(tree)
    }

    async fn snapshot(&self) -> anyhow::Result<Sha> {
        let limits = &loose(&self.parts.settings.limits);
        let caps = wire::Caps::from(limits);
        let mut process = self.sandbox.exec(Command::toolbox(caps.arguments())).await?;
        let snapshot = wire::read_snapshot(&mut process.stdout, &caps).await?;
        Ok(self.mirror.apply(&self.seeded, &snapshot.changes, limits).await?)
    }

    async fn charge(&self, record: &Record) -> Result<(), Stop> {
        let Record::Replied { usage, micros, .. } = record else { return Ok(()) };
        let tokens = usage.input + usage.output + usage.cache_read + usage.cache_write;
        {
            let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
            used.steps += 1;
            used.spent.tokens += tokens;
            used.spent.micros += micros;
        }
        let charge = || self.parts.store.charge(&self.lease, *micros, tokens);
        let today = self.parts.patiently(charge).await.map_err(stop)?;
        self.used.lock().unwrap_or_else(PoisonError::into_inner).today = today;
        Ok(())
    }

    /// The day's money, the request's money and tokens, the round's steps and wall clock: asked after each record, and so
    /// before each call of the model.
    fn within_limits(&self) -> Result<(), Stop> {
        if seeded(Fault::Unbounded) {
            return Ok(());
        }
        let limits = &self.parts.settings.limits;
        let used = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(which) = self.parts.settings.daily.used_up(used.today) {
            return Err(Stop::Budget(which));
        }
        let micros = self.before.micros + used.spent.micros;
        let tokens = self.before.tokens + used.spent.tokens;
        if micros >= limits.request_micros {
            let dollars = limits.request_micros / 1_000_000;
            return Err(Stop::Budget(format!("the request's budget of ${dollars}")));
        }
        if tokens >= limits.request_tokens {
            return Err(Stop::Budget(format!("the request's budget of {} tokens", limits.request_tokens)));
        }
        if used.steps >= limits.steps {
            return Err(Stop::Limit(format!("{} steps in a round", limits.steps)));
        }
        if self.began.elapsed() >= limits.round {
            return Err(Stop::Limit(format!("{} minutes for a round", limits.round.as_secs() / 60)));
        }
        Ok(())
    }
}
