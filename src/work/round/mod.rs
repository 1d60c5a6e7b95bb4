//! One round: a place is found, the repository seeded, the engine run, the change taken out and checked.

mod around;
mod change;
mod dependencies;
mod handed;
mod open;
mod ready;
mod start;
mod way;
mod words;

use super::{
    Halt, Settings,
    drive::{After, Driver},
    journal::Notes,
    rules, task,
};
use crate::domain::{
    Audit, Entry, Fault, Phase, State,
    egress::Refusals,
    repo_config::PATH,
    seeded,
    session::{Ending, Job, Outcome, RoundEnd, Spent},
};
use crate::store::Place;
pub(super) use change::{Change, Merge, Ruled, ruled};
use futures::future::{MaybeDone, maybe_done};
use open::{Opening, Round};
use start::{Start, daily_budget, start_point};
use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// Past its own limit a round gets this long to come to an end by itself before everything is killed.
const GRACE: Duration = Duration::from_secs(60);

/// How often the inbox is read while an engine runs: a stop takes effect within a second.
const INBOX: Duration = Duration::from_millis(500);

/// A queued session looks for a place; with one, its round begins from the branch's live head.
pub(super) async fn begin(driver: &mut Driver) -> Result<After, Halt> {
    rules::take_up(&mut driver.parts, &driver.state).await?;
    if !driver.parts.house.holds.enabled {
        let why = format!("fixpoint is switched off in this repository: `enabled: false` in `{PATH}`.");
        driver.record(Entry::CannotBegin { outcome: Outcome::CannotBegin { why } }).await?;
        return Ok(After::Again);
    }
    if let Some(which) = daily_budget(driver).await? {
        driver.record(Entry::CannotBegin { outcome: Outcome::Budget { which } }).await?;
        return Ok(After::Again);
    }
    driver.parts.has_room()?;
    let Settings { owner, running, .. } = &*driver.parts.settings;
    if let Place::Waits { before } = driver.parts.store.take_place(&driver.lease, owner, running).await? {
        tracing::debug!(before, "no place is free");
        return Ok(After::queue(driver.now));
    }
    match start_point(driver).await? {
        Start::At { base, start } => driver.record(Entry::RoundBegan { base, start }).await?,
        Start::Entry(entry) => driver.record(*entry).await?,
    }
    Ok(After::Again)
}

/// Runs (or resumes) the round of a working session to its end, or until something outside ends it.
pub(super) async fn run(driver: &mut Driver) -> Result<(), Halt> {
    driver.parts.has_room()?;
    rules::take_up(&mut driver.parts, &driver.state).await?;
    let change = Change::of(driver).await?;
    if let Some(ending) = change.by_itself().await? {
        return driver.record(ended(driver, ending)).await;
    }
    let notes = Arc::new(Mutex::new(Notes::default()));
    let mut round = match Round::open(driver, change, notes.clone()).await {
        Ok(round) => round,
        Err(Opening::Halt(halt)) => return Err(halt),
        Err(Opening::Failed(why)) => {
            return driver.record(ended(driver, Ending::Failed { why, passing: false })).await;
        }
        Err(Opening::Unready(why)) => return driver.record(ended(driver, Ending::Unready { why })).await,
    };
    let limit = driver.parts.settings.limits.round + GRACE;
    let finished = {
        let mut work = std::pin::pin!(maybe_done(tokio::time::timeout(limit, round.work())));
        loop {
            let _ = tokio::time::timeout(INBOX, work.as_mut()).await;
            beside(driver.absorb(), work.as_mut()).await?;
            if driver.state.phase != Phase::Working {
                break None;
            }
            if let Some(end) = work.as_mut().take_output() {
                break Some(end);
            }
            offer(&notes, &driver.state);
        }
    };
    if !matches!(finished, Some(Ok(_))) {
        round.keep_cut_off().await;
    }
    let refused = driver.close_sandbox().await;
    let mut end = match finished {
        None => return Ok(()),
        Some(Ok(Finish::Ended(end))) => *end,
        Some(Ok(Finish::Halted(halt))) => return Err(halt),
        Some(Err(_)) => {
            let which = format!("{} minutes for a round", limit.as_secs() / 60);
            Ending::Limit { which }.into()
        }
    };
    end.told = notes.lock().unwrap_or_else(PoisonError::into_inner).told();
    (end.spent, end.tainted, end.refused) = (round.spent(), round.tainted, refused);
    driver.record(Entry::RoundEnded { end: end.of(driver) }).await
}

/// Completes `main` while `work` goes on: left alone in the middle of a transaction it would hold the one connection that
/// `main` waits for.
async fn beside<M: Future, W: Future>(main: M, mut work: Pin<&mut MaybeDone<W>>) -> M::Output {
    let mut main = std::pin::pin!(main);
    std::future::poll_fn(|context| {
        let done = main.as_mut().poll(context);
        if done.is_pending() {
            let _ = work.as_mut().poll(context);
        }
        done
    })
    .await
}

/// How a round's work came out.
enum Finish {
    Ended(Box<End>),
    Halted(Halt),
}

impl From<Ending> for Finish {
    fn from(ending: Ending) -> Self {
        End::from(ending).into()
    }
}

impl From<End> for Finish {
    fn from(end: End) -> Self {
        Self::Ended(Box::new(end))
    }
}

/// A round's end, before it is said of which round.
struct End {
    ending: Ending,
    replies: Vec<(u64, String)>,
    outside_request: Option<String>,
    spent: Spent,
    /// Kept requests and notes that the agent was told of.
    told: (usize, usize),
    tainted: bool,
    refused: Refusals,
}

impl From<Ending> for End {
    fn from(ending: Ending) -> Self {
        let (replies, outside_request, spent) = (Vec::new(), None, Spent::default());
        let refused = Refusals::default();
        Self { ending, replies, outside_request, spent, told: (0, 0), tainted: false, refused }
    }
}

impl End {
    fn of(self, driver: &Driver) -> RoundEnd {
        let Self { ending, replies, outside_request, spent, told, tainted, refused } = self;
        let (requests_taken, notes_taken) = told;
        let facts = &driver.state.facts;
        let (request_no, round) = (facts.request_no, facts.round);
        RoundEnd {
            request_no,
            round,
            ending,
            requests_taken,
            notes_taken,
            spent,
            tainted,
            replies,
            outside_request,
            refused,
        }
    }
}

/// A round that ended before the engine had begun.
fn ended(driver: &Driver, ending: Ending) -> Entry {
    Entry::RoundEnded { end: End::from(ending).of(driver) }
}

fn offer(notes: &Mutex<Notes>, state: &State) {
    // What is another kind of work waits for its own rounds, and so does all behind it.
    let plain = state.facts.kept.iter().take_while(|r| r.job == Job::Run);
    let requests: Vec<String> = plain.map(|r| r.instruction.clone()).collect();
    notes.lock().unwrap_or_else(PoisonError::into_inner).offer(&requests, &state.facts.notes);
}

impl Driver {
    /// Stops the sandbox, if one runs.
    pub(super) async fn close_sandbox(&mut self) -> Refusals {
        if seeded(Fault::SandboxKept) {
            std::mem::forget(self.sandbox.take());
            return Refusals::default();
        }
        if let Some(sandbox) = self.sandbox.take()
            && let Err(error) = sandbox.stop().await
        {
            tracing::warn!(%error, "the sandbox could not be stopped; the sweep removes it");
        }
        self.account().await
    }

    /// Tells the audit what the sandbox reached and was refused, whatever ended its round; gives the refusals.
    async fn account(&mut self) -> Refusals {
        let Some(way) = self.way.take() else { return Refusals::default() };
        let refusals = way.refusals();
        let lines = Audit::of_way_out(&way.reached(), &refusals);
        let told = self.parts.patiently(|| self.parts.store.audit(&self.lease, &lines)).await;
        if let Err(error) = told {
            tracing::error!(%error, ?lines, "the audit could not be told what the sandbox reached");
        }
        refusals
    }
}
