//! One round: a place is found, the repository seeded, the engine run, the change taken out and checked.

use super::{
    Halt, Parts,
    drive::{After, Driver},
    journal::{Host, Notes, Used, loose},
    look, task,
};
use crate::{
    agent::{self, End, Message, Record, Stop, Task, Turn, Workspace},
    domain::{
        Entry, Phase, Sha, State,
        policy::{Flag, Ruling, Survey, rule, survey},
        say,
        session::{Ending, Outcome, RoundEnd, Spent},
        text::Clean,
    },
    git::{Mirror, Signature},
    sandbox::{Command, Sandbox, Spec},
    store::JournalLine,
    toolbox::wire,
};
use futures::future::{MaybeDone, maybe_done};
use secrecy::ExposeSecret;
use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Past its own limit a round gets this long to come to an end by itself before everything is killed.
const GRACE: Duration = Duration::from_secs(60);

/// How often the inbox is read while an engine runs: a stop takes effect within a second.
const INBOX: Duration = Duration::from_millis(500);

/// Instruction files are cut to this: more would crowd out the task.
const INSTRUCTIONS: usize = 64 << 10;

/// A queued session looks for a place; with one, its round begins from the branch's live head.
pub(super) async fn begin(driver: &mut Driver) -> Result<After, Halt> {
    let facts = &driver.state.facts;
    let (all, of_repo, of_installation) = driver.parts.store.working(facts.installation, &facts.repo).await?;
    let running = driver.parts.settings.running;
    if all >= running.all || of_repo >= running.repository || of_installation >= running.installation {
        return Ok(After::queue(driver.now));
    }
    if let Some(which) = daily_budget(driver).await? {
        driver.record(Entry::CannotBegin { outcome: Outcome::Budget { which } }).await?;
        return Ok(After::Again);
    }
    match start_point(driver).await? {
        Start::At { base, start } => driver.record(Entry::RoundBegan { base, start }).await?,
        Start::Entry(entry) => driver.record(entry).await?,
    }
    Ok(After::Again)
}

/// The day's budget that is used up, if one is: nothing more begins until the next day, by UTC.
async fn daily_budget(driver: &Driver) -> Result<Option<String>, Halt> {
    let facts = &driver.state.facts;
    let (of_repo, of_installation) =
        driver.parts.store.spent_today(facts.installation, facts.repo.id).await?;
    let daily = driver.parts.settings.daily;
    let used_up = |spent: u64, cap: u64, whose: &str| {
        (spent >= cap).then(|| format!("{whose}'s budget of ${} a day", cap / 1_000_000))
    };
    Ok(used_up(of_repo, daily.repository, "the repository")
        .or_else(|| used_up(of_installation, daily.installation, "the installation")))
}

/// Where a round starts, or what was found instead.
enum Start {
    At { base: Sha, start: Sha },
    Entry(Entry),
}

async fn start_point(driver: &mut Driver) -> Result<Start, Halt> {
    let (parts, state) = (driver.parts.clone(), driver.state.clone());
    let (repository, mirror) = (parts.repository(&state), parts.mirror(&state).await?);
    let [base, live] = match parts.fetch_branches(&mirror, &repository, &state).await {
        // An empty repository has nothing that could be fetched.
        Err(Halt::Empty) => [None, None],
        found => found?,
    };
    let Some(base) = base else {
        let why = format!(
            "The branch `{}` has no commit. Push a first commit, then `/{} retry`.",
            state.facts.base.branch, parts.settings.word
        );
        return Ok(Start::Entry(Entry::CannotBegin { outcome: Outcome::CannotBegin { why } }));
    };
    Ok(match (state.facts.head.clone(), live) {
        (None, _) => Start::At { start: base.clone(), base },
        (Some(_), None) => Start::Entry(Entry::BranchDeleted),
        (Some(head), Some(live)) if head == live => Start::At { base, start: live },
        (Some(head), Some(live)) => {
            let whose = look::whose(&mirror, &live, &head, &base).await?;
            Start::Entry(Entry::HeadMoved { head: live, whose })
        }
    })
}

/// Runs (or resumes) the round of a working session to its end, or until something outside ends it.
pub(super) async fn run(driver: &mut Driver) -> Result<(), Halt> {
    let notes = Arc::new(Mutex::new(Notes::default()));
    let mut round = match Round::open(driver, notes.clone()).await {
        Ok(round) => round,
        Err(Opening::Halt(halt)) => return Err(halt),
        Err(Opening::Failed(why)) => {
            let end = ended(driver, Ending::Failed { why }, Spent::default(), (0, 0), false);
            return driver.record(Entry::RoundEnded { end }).await;
        }
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
    if finished.is_none() {
        round.keep_patch().await;
    }
    driver.close_sandbox().await;
    let (ending, spent) = match finished {
        None => return Ok(()),
        Some(Ok(Finish::Ended(ending))) => (ending, round.spent()),
        Some(Ok(Finish::Halted(halt))) => return Err(halt),
        Some(Err(_)) => {
            let which = format!("{} minutes for a round", limit.as_secs() / 60);
            (Ending::Limit { which }, round.spent())
        }
    };
    let told = notes.lock().unwrap_or_else(PoisonError::into_inner).told();
    let end = ended(driver, ending, spent, told, round.tainted);
    driver.record(Entry::RoundEnded { end }).await
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

fn ended(driver: &Driver, ending: Ending, spent: Spent, told: (usize, usize), tainted: bool) -> RoundEnd {
    let facts = &driver.state.facts;
    let (requests_taken, notes_taken) = told;
    let (request_no, round) = (facts.request_no, facts.round);
    RoundEnd { request_no, round, ending, requests_taken, notes_taken, spent, tainted }
}

fn offer(notes: &Mutex<Notes>, state: &State) {
    let requests: Vec<String> = state.facts.kept.iter().map(|r| r.instruction.clone()).collect();
    notes.lock().unwrap_or_else(PoisonError::into_inner).offer(&requests, &state.facts.notes);
}

impl Driver {
    /// Stops the sandbox, if one runs.
    pub(super) async fn close_sandbox(&mut self) {
        if let Some(sandbox) = self.sandbox.take()
            && let Err(error) = sandbox.stop().await
        {
            tracing::warn!(%error, "the sandbox could not be stopped; the sweep removes it");
        }
    }
}

/// Why a round could not be opened.
enum Opening {
    Halt(Halt),
    Failed(String),
}

impl<E: Into<Halt>> From<E> for Opening {
    fn from(error: E) -> Self {
        Self::Halt(error.into())
    }
}

/// How a round's work came out.
enum Finish {
    Ended(Ending),
    Halted(Halt),
}

/// An open round: everything its work needs.
struct Round {
    parts: Parts,
    state: State,
    mirror: Mirror,
    sandbox: Arc<dyn Sandbox>,
    host: Host,
    turn: Turn,
    start: Sha,
    start_tree: Sha,
    tainted: bool,
}

impl Round {
    async fn open(driver: &mut Driver, notes: Arc<Mutex<Notes>>) -> Result<Self, Opening> {
        let (parts, state, lease) = (driver.parts.clone(), driver.state.clone(), driver.lease.clone());
        let start =
            state.facts.start.clone().ok_or_else(|| Opening::Failed("no starting commit".to_owned()))?;
        let mirror = parts.mirror(&state).await?;
        let start_tree = mirror.tree_of(&start).await?;
        let lines = parts.store.journal(lease.session).await?;
        let here = (state.facts.request_no, state.facts.round);
        let checkpoint = checkpoint(&lines, here);
        let sandbox = open_sandbox(driver, &mirror, &start, checkpoint.as_ref()).await?;
        let (turn, tainted) = turn(&parts, &state, &mirror, &lines, &start).await?;
        let mut counted = Used::default();
        count(&lines, here, &mut counted);
        {
            let (requests, plain) = told_before(&state, &lines, here);
            notes.lock().unwrap_or_else(PoisonError::into_inner).skip(requests, plain);
        }
        offer(&notes, &state);
        let host = Host {
            parts: parts.clone(),
            lease,
            sandbox: sandbox.clone(),
            mirror: mirror.clone(),
            // Snapshots tell what differs from what was seeded, which is the checkpoint where there is one.
            seeded: checkpoint.unwrap_or_else(|| start_tree.clone()),
            request_no: here.0,
            round: here.1,
            notes,
            before: state.facts.spent,
            used: Mutex::new(counted),
            began: Instant::now(),
        };
        Ok(Self { parts, state, mirror, sandbox, host, turn, start, start_tree, tainted })
    }

    fn spent(&self) -> Spent {
        self.host.used.lock().unwrap_or_else(PoisonError::into_inner).spent
    }

    /// The engine runs; a change that the policy refuses goes back to it once.
    async fn work(&mut self) -> Finish {
        let mut refused = false;
        loop {
            let outcome = self.engine().await;
            let (summary, outside_request) = match outcome.end {
                End::Finished { summary, outside_request } => (summary, outside_request),
                End::Question { text } => return Finish::Ended(Ending::Question { text }),
                End::Failed(why) => return self.without_push(Ending::Failed { why }).await,
                End::Stopped(stop) => return self.stopped(stop).await,
            };
            let tree = match self.host.checkpoint().await {
                Ok(tree) => tree,
                Err(stop) => return self.stopped(stop).await,
            };
            if tree == self.start_tree {
                return Finish::Ended(Ending::Nothing { summary, outside_request });
            }
            match self.ruling(&tree).await {
                Err(halt) => return Finish::Halted(halt),
                Ok((Ruling::Pass { flags }, survey)) => {
                    return self.commit(tree, summary, flags, survey).await;
                }
                Ok((Ruling::Refuse { reasons }, _)) if refused => {
                    return self.without_push(Ending::Refused { why: reasons.join(" ") }).await;
                }
                Ok((Ruling::Refuse { reasons }, _)) => {
                    refused = true;
                    if let Err(halt) = self.send_back(reasons).await {
                        return Finish::Halted(halt);
                    }
                }
            }
        }
    }

    async fn engine(&self) -> agent::Outcome {
        let workspace = Workspace { sandbox: self.sandbox.as_ref() };
        self.parts.engine.run(&self.turn, &workspace, &self.host).await
    }

    async fn stopped(&mut self, stop: Stop) -> Finish {
        let ending = match stop {
            Stop::LeaseLost => return Finish::Halted(Halt::LeaseLost),
            // The driver sees the cancelled phase by itself.
            Stop::Cancelled => return Finish::Halted(Halt::Later("cancelled".to_owned(), Duration::ZERO)),
            Stop::Budget(which) => Ending::Budget { which },
            Stop::Limit(which) => Ending::Limit { which },
            Stop::Broken(why) => Ending::Failed { why },
        };
        self.without_push(ending).await
    }

    async fn without_push(&mut self, ending: Ending) -> Finish {
        self.keep_patch().await;
        Finish::Ended(ending)
    }

    /// The last checkpoint as a patch: work that is not pushed is not lost.
    async fn keep_patch(&self) {
        let kept = async {
            let lines = self.parts.store.journal(self.host.lease.session).await?;
            let Some(tree) = checkpoint(&lines, (self.host.request_no, self.host.round)) else {
                return Ok(());
            };
            let patch = self.mirror.patch(&self.start_tree, &tree).await?;
            if !patch.is_empty() {
                self.parts.store.keep_patch(&self.host.lease, &patch).await?;
            }
            Ok::<(), Halt>(())
        };
        if let Err(error) = kept.await {
            tracing::warn!(%error, "the patch could not be kept");
        }
    }

    /// What the policy says of the very tree that would be pushed, and what it touches.
    async fn ruling(&self, tree: &Sha) -> Result<(Ruling, Survey), Halt> {
        let settings = &self.parts.settings;
        // Against the base and not the last push: what an earlier round weakened stays in sight.
        let base = self.mirror.tree_of(self.state.facts.base.sha.as_ref().unwrap_or(&self.start)).await?;
        let files = self.mirror.diff(&base, tree, &loose(&settings.limits)).await?;
        let secrets: Vec<String> = settings.secrets.iter().map(|s| s.expose_secret().to_owned()).collect();
        Ok((rule(&files, &settings.rules, &settings.limits, &secrets), survey(&files)))
    }

    /// The engine's next run in this round: the reasons, with everything so far as history.
    async fn send_back(&mut self, reasons: Vec<String>) -> Result<(), Halt> {
        let lines = self.parts.store.journal(self.host.lease.session).await?;
        self.turn.history = records(&lines);
        self.turn.resumed = false;
        self.turn.task = Task::Refused(reasons);
        Ok(())
    }

    /// The commit is made before its push is intended, its date included: pushing twice pushes the same.
    async fn commit(&self, tree: Sha, summary: String, flags: Vec<Flag>, survey: Survey) -> Finish {
        let ask_first = self.parts.settings.ask_first;
        match self.try_commit(&tree, &summary).await {
            Ok(commit) => Finish::Ended(Ending::Changed { commit, tree, summary, flags, survey, ask_first }),
            Err(halt) => Finish::Halted(halt),
        }
    }

    async fn try_commit(&self, tree: &Sha, summary: &str) -> Result<Sha, Halt> {
        let at = self.parts.store.now().await?;
        let app = self.parts.app().await?;
        let name = format!("{}[bot]", app.slug);
        let email = format!("{}+{name}@users.noreply.github.com", app.id);
        let session = self.host.lease.session.short();
        let context = super::show::context(&self.parts, app, &self.state, &session, None);
        let message = say::commit(&self.state, summary, &context);
        let parents = std::slice::from_ref(&self.start);
        let commit = self.mirror.commit(tree, parents, &message, &Signature { name, email, at }).await?;
        self.mirror.hold(&format!("session/{}", self.host.lease.session), &commit).await?;
        Ok(commit)
    }
}

/// Starts a container of this epoch and seeds it.
async fn open_sandbox(
    driver: &mut Driver,
    mirror: &Mirror,
    start: &Sha,
    tree: Option<&Sha>,
) -> Result<Arc<dyn Sandbox>, Opening> {
    let parts = driver.parts.clone();
    let size = &parts.settings.sandbox;
    let spec = Spec {
        session: driver.lease.session,
        epoch: driver.lease.epoch,
        image: size.image.clone(),
        cpus: size.cpus,
        memory: size.memory,
        pids: size.pids,
        disk: size.disk,
        wall_clock: parts.settings.limits.round + 2 * GRACE,
    };
    let failed =
        |error: &dyn std::fmt::Display| Opening::Failed(format!("The sandbox could not be used: {error}"));
    let sandbox: Arc<dyn Sandbox> = Arc::from(parts.sandboxes.start(&spec).await.map_err(|e| failed(&e))?);
    driver.sandbox = Some(sandbox.clone());
    let pack = mirror.pack(start, tree).await?;
    let command = Command::toolbox(wire::seed_arguments(start, tree));
    let mut process = sandbox.exec(command).await.map_err(|e| failed(&e))?;
    wire::seed(&mut process.stdin, &mut process.stdout, &pack).await.map_err(|e| failed(&e))?;
    Ok(sandbox)
}

/// The tree after the last journal line of a round.
fn checkpoint(lines: &[JournalLine], here: (u32, u32)) -> Option<Sha> {
    let mine = lines.iter().rev().filter(|l| (l.request, l.round) == here);
    mine.filter_map(|l| l.tree.as_deref()).find_map(|t| Sha::parse(t).ok())
}

fn records<'a>(lines: impl IntoIterator<Item = &'a JournalLine>) -> Vec<Record> {
    lines.into_iter().filter_map(|l| serde_json::from_value(l.entry.clone()).ok()).collect()
}

/// How many kept requests and notes the agent knows already: on a fresh round what stands in the task, on a resumed one
/// what its journal shows besides.
fn told_before(state: &State, lines: &[JournalLine], here: (u32, u32)) -> (usize, usize) {
    let facts = &state.facts;
    let said: Vec<String> = records(lines.iter().filter(|l| (l.request, l.round) == here))
        .into_iter()
        .filter_map(|record| match record {
            Record::Said { message: Message::User { text } } => Some(text),
            _ => None,
        })
        .collect();
    if said.is_empty() {
        return (0, facts.notes.len());
    }
    let knows = |text: &str| said.iter().any(|s| s.contains(Clean::new(text).as_str()));
    let requests = facts.kept.iter().take_while(|r| knows(&r.instruction)).count();
    (requests, facts.notes.iter().take_while(|n| knows(n)).count())
}

/// What an interrupted round used before: it is not paid for twice, and counts once.
fn count(lines: &[JournalLine], here: (u32, u32), used: &mut Used) {
    for line in lines.iter().filter(|l| (l.request, l.round) == here) {
        if let Ok(Record::Replied { usage, micros, .. }) = serde_json::from_value(line.entry.clone()) {
            used.steps += 1;
            used.spent.micros += micros;
            used.spent.tokens += usage.input + usage.output + usage.cache_read + usage.cache_write;
        }
    }
}

/// What the engine is told, and whether text by people without write access is among it.
async fn turn(
    parts: &Parts,
    state: &State,
    mirror: &Mirror,
    lines: &[JournalLine],
    start: &Sha,
) -> Result<(Turn, bool), Halt> {
    let facts = &state.facts;
    let base = facts.base.sha.as_ref().unwrap_or(start);
    let mut instructions = None;
    for name in ["AGENTS.md", "CLAUDE.md"] {
        if let Some(bytes) = mirror.file(base, name, INSTRUCTIONS).await? {
            instructions = Some(Clean::plain(&String::from_utf8_lossy(&bytes)));
            break;
        }
    }
    let resumed = lines.iter().any(|l| (l.request, l.round) == (facts.request_no, facts.round));
    let turn = Turn {
        repository: facts.repo.to_string(),
        instructions,
        task: task::of(state, parts.settings.limits.rounds),
        history: records(lines),
        resumed,
        limits: parts.settings.limits.clone(),
    };
    Ok((turn, !facts.thread.trusted && !facts.thread.body.is_empty()))
}
