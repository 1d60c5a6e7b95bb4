//! An open round: a sandbox with the repository in it, and an engine that works there.

use super::{
    Change, End, Finish, GRACE,
    change::{Ruled, Said},
    dependencies, offer, ready, task, way, words,
};
use crate::{
    agent::{self, Gateway, Message, Record, Stop, Task, Turn, Workspace},
    domain::{
        Sha, State,
        session::{Ending, Job, Spent},
        text::Clean,
    },
    sandbox::{Command, Sandbox, Spec},
    store::JournalLine,
    toolbox::wire,
    work::{
        Halt,
        drive::Driver,
        journal::{Host, Notes, Used, loose},
    },
};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

/// The longest a sandbox that is about to be closed is read for: somebody waits for the word that it was stopped.
const LAST_LOOK: std::time::Duration = std::time::Duration::from_secs(20);

/// Instruction files are cut to this: more would crowd out the task.
const INSTRUCTIONS: usize = 64 << 10;

/// Why a round could not be opened.
pub(super) enum Opening {
    Halt(Halt),
    /// The machine's doing: for the operator.
    Failed(String),
    /// The repository's doing: for whoever asked.
    Unready(String),
}

impl<E: Into<Halt>> From<E> for Opening {
    fn from(error: E) -> Self {
        Self::Halt(error.into())
    }
}

/// An open round: everything its work needs.
pub(super) struct Round {
    change: Change,
    sandbox: Arc<dyn Sandbox>,
    /// Its only way out, where it has one; let go, it is closed.
    way: Option<way::Open>,
    /// What it asks the model through, where its engine is in there.
    gateway: Option<Arc<Gateway>>,
    host: Host,
    turn: Turn,
    pub(super) tainted: bool,
}

impl Round {
    pub(super) async fn open(
        driver: &mut Driver,
        change: Change,
        notes: Arc<Mutex<Notes>>,
    ) -> Result<Self, Opening> {
        let (parts, state, lease) = (&change.parts, &change.state, change.lease.clone());
        let mut lines = parts.store.journal(lease.session).await?;
        let here = (state.facts.request_no, state.facts.round);
        let mut counted = Used::default();
        count(&lines, here, &mut counted);
        if let Some(tree) = checkpoint(&lines, here)
            && !change.mirror.has(std::slice::from_ref(&tree)).await?
        {
            // What the agent did so far went with the data folder that it was in: the round begins again. What it has used
            // still counts.
            tracing::warn!(%tree, "the checkpoint is lost; the round begins again");
            lines.retain(|line| (line.request, line.round) != here);
        }
        let first = change.merge.as_ref().map(|_| change.first_tree.clone());
        let checkpoint = checkpoint(&lines, here).or(first);
        let gateway = parts.engine.gateway(parts.house.model.as_deref());
        let (sandbox, way) = open_sandbox(driver, &change, (checkpoint.as_ref(), gateway.as_ref())).await?;
        let (turn, tainted) = turn(&change, &lines).await?;
        {
            let (requests, plain) = told_before(state, &lines, here);
            notes.lock().unwrap_or_else(PoisonError::into_inner).skip(requests, plain);
        }
        offer(&notes, state);
        let host = Host {
            parts: parts.clone(),
            lease,
            sandbox: sandbox.clone(),
            mirror: change.mirror.clone(),
            // Snapshots tell what differs from what was seeded, which is the checkpoint where there is one.
            seeded: checkpoint.unwrap_or_else(|| change.first_tree.clone()),
            request_no: here.0,
            round: here.1,
            notes,
            before: state.facts.spent,
            used: Mutex::new(counted),
            began: Instant::now(),
        };
        Ok(Self { change, sandbox, way, gateway, host, turn, tainted })
    }

    pub(super) fn spent(&self) -> Spent {
        self.host.used.lock().unwrap_or_else(PoisonError::into_inner).spent
    }

    /// The round's work, as long as the way out is whole.
    pub(super) async fn work(&mut self) -> Finish {
        let Some(mut way) = self.way.take() else { return self.work_inside().await };
        let done = tokio::select! {
            finish = self.work_inside() => Ok(finish),
            why = way.broken() => Err(why),
        };
        self.way = Some(way);
        match done {
            Ok(finish) => finish,
            Err(why) => self.stopped(Stop::Broken(why)).await,
        }
    }

    /// The set-up runs, then the engine; a change that the policy refuses goes back to it once.
    async fn work_inside(&mut self) -> Finish {
        if let Err(why) = self.set_up().await {
            return self.without_push(Ending::Unready { why }).await;
        }
        let mut refused = false;
        loop {
            let end = self.engine().await.end;
            let reasons = words::reasons(&self.change, &end);
            if !reasons.is_empty() {
                match self.refuse(reasons, &mut refused).await {
                    Some(finish) => return finish,
                    None => continue,
                }
            }
            let said = match end {
                agent::End::Finished(said) => said,
                agent::End::Question { text } => return Ending::Question { text }.into(),
                agent::End::Failed(why) => return self.without_push(failed(why)).await,
                agent::End::OutOfReach(why) => {
                    return self.without_push(Ending::Failed { why, passing: true }).await;
                }
                agent::End::Stopped(stop) => return self.stopped(stop).await,
            };
            if self.change.state.facts.is_read_only() {
                return self.read_only(said);
            }
            let agent::Finish { summary, outside_request, replies, description, .. } = said;
            let tree = match self.host.checkpoint().await {
                Ok(tree) => tree,
                Err(stop) => return self.stopped(stop).await,
            };
            if self.change.is_unchanged(&tree) {
                let ending = Ending::Nothing { summary };
                return End { replies, outside_request, ..ending.into() }.into();
            }
            match self.change.ruling(&tree).await {
                Err(halt) => return Finish::Halted(halt),
                Ok(Ruled::Pass(flags, survey)) => {
                    let said = Said { summary, description };
                    return match self.change.committed(tree, said, flags, *survey).await {
                        Ok(ending) => End { replies, outside_request, ..ending.into() }.into(),
                        Err(halt) => Finish::Halted(halt),
                    };
                }
                Ok(Ruled::Refuse(reasons)) => {
                    if let Some(finish) = self.refuse(reasons, &mut refused).await {
                        return finish;
                    }
                }
            }
        }
    }

    /// The agent is told why, once a round; if it insists, that is the round's end.
    async fn refuse(&mut self, reasons: Vec<String>, before: &mut bool) -> Option<Finish> {
        if std::mem::replace(before, true) {
            return Some(self.without_push(Ending::Refused { why: reasons.join(" ") }).await);
        }
        self.send_back(reasons).await.err().map(Finish::Halted)
    }

    async fn set_up(&self) -> Result<(), String> {
        let caps = wire::Caps::from(&loose(&self.change.parts.settings.limits));
        dependencies::install(&self.change, self.sandbox.as_ref(), &self.host.seeded, &caps).await?;
        ready::set_up(self.sandbox.as_ref(), &self.change.parts.house.holds.setup, &caps).await
    }

    /// A plan or a review: what was changed on the way is let go with the sandbox.
    fn read_only(&self, said: agent::Finish) -> Finish {
        let agent::Finish { summary, comments, .. } = said;
        match self.change.state.facts.request.job {
            Job::Review => Ending::Reviewed { summary, comments }.into(),
            _ => Ending::Planned { text: summary }.into(),
        }
    }

    async fn engine(&self) -> agent::Outcome {
        let workspace = Workspace { sandbox: self.sandbox.as_ref(), gateway: self.gateway.as_ref() };
        self.change.parts.engine.run(&self.turn, &workspace, &self.host).await
    }

    async fn stopped(&mut self, stop: Stop) -> Finish {
        let ending = match stop {
            Stop::LeaseLost => return Finish::Halted(Halt::LeaseLost),
            // The driver sees the cancelled phase by itself.
            Stop::Cancelled => {
                return Finish::Halted(Halt::Later("cancelled".to_owned(), std::time::Duration::ZERO));
            }
            Stop::Budget(which) => Ending::Budget { which },
            Stop::Limit(which) => Ending::Limit { which },
            Stop::Broken(why) => failed(why),
        };
        self.keep_cut_off().await;
        ending.into()
    }

    async fn without_push(&mut self, ending: Ending) -> Finish {
        self.keep_patch().await;
        ending.into()
    }

    /// The last checkpoint as a patch: work that is not pushed is not lost.
    async fn keep_patch(&self) {
        self.keep(None).await;
    }

    /// The work as it lies in the sandbox as a patch, what a command that was cut off had changed included; where that cannot be
    /// read any more, the last checkpoint.
    pub(super) async fn keep_cut_off(&self) {
        let read = tokio::time::timeout(LAST_LOOK, self.host.checkpoint()).await;
        self.keep(read.ok().and_then(Result::ok)).await;
    }

    async fn keep(&self, read: Option<Sha>) {
        if self.change.state.facts.is_read_only() {
            return;
        }
        let kept = async {
            let lines = self.change.parts.store.journal(self.host.lease.session).await?;
            match read.or_else(|| checkpoint(&lines, (self.host.request_no, self.host.round))) {
                Some(tree) => self.change.keep(&self.change.first_tree, &tree).await,
                None => Ok(()),
            }
        };
        if let Err(error) = kept.await {
            tracing::warn!(%error, "the patch could not be kept");
        }
    }

    /// The engine's next run in this round: the reasons, with everything so far as history.
    async fn send_back(&mut self, reasons: Vec<String>) -> Result<(), Halt> {
        let lines = self.change.parts.store.journal(self.host.lease.session).await?;
        self.turn.history = records(&lines);
        self.turn.resumed = false;
        self.turn.task = Task::Refused(reasons);
        Ok(())
    }
}

fn failed(why: String) -> Ending {
    Ending::Failed { why, passing: false }
}

/// Starts a container of this epoch and seeds it.
async fn open_sandbox(
    driver: &mut Driver,
    change: &Change,
    (tree, gateway): (Option<&Sha>, Option<&Arc<Gateway>>),
) -> Result<(Arc<dyn Sandbox>, Option<way::Open>), Opening> {
    let (mut parts, start) = (driver.parts.clone(), &change.start);
    parts.upstream = parts.upstream.of(&change.state.facts.repo.to_string());
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
        services: parts.house.holds.services.clone(),
        service_memory: size.service_memory,
        way_out: way::is_wanted(&parts, gateway),
    };
    let failed =
        |error: &dyn std::fmt::Display| Opening::Failed(format!("The sandbox could not be used: {error}"));
    let sandbox: Arc<dyn Sandbox> =
        Arc::from(parts.sandboxes.start(&spec).await.map_err(|e| ready::unusable(&e))?);
    driver.sandbox = Some(sandbox.clone());
    let pack = change.mirror.pack(start, tree).await?;
    let command = Command::toolbox(wire::seed_arguments(start, tree));
    let mut process = sandbox.exec(command).await.map_err(|e| failed(&e))?;
    wire::seed(&mut process.stdin, &mut process.stdout, &pack).await.map_err(|e| failed(&e))?;
    if !spec.way_out {
        return Ok((sandbox, None));
    }
    let inside = (sandbox.as_ref(), gateway);
    let way = way::open(&parts, inside, spec.wall_clock).await.map_err(|e| failed(&e))?;
    driver.way = Some(way.seen());
    Ok((sandbox, Some(way)))
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
    let plain = facts.kept.iter().take_while(|r| r.job == Job::Run);
    let requests = plain.take_while(|r| knows(&r.instruction)).count();
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

/// The repository's template for pull requests, in the round that will open one.
async fn template(change: &Change) -> Result<Option<Clean>, Halt> {
    let facts = &change.state.facts;
    if facts.pull.is_some() || facts.is_read_only() {
        return Ok(None);
    }
    let text = change.parts.repository(&change.state).pull_template(&facts.base.branch).await?;
    Ok(text.as_deref().map(Clean::plain))
}

/// What the engine is told, and whether text by people without write access is among it.
async fn turn(change: &Change, lines: &[JournalLine]) -> Result<(Turn, bool), Halt> {
    let (parts, mirror) = (&change.parts, &change.mirror);
    let facts = &change.state.facts;
    let base = facts.base.sha.as_ref().unwrap_or(&change.start);
    let mut instructions = None;
    for name in ["AGENTS.md", "CLAUDE.md"] {
        if let Some(bytes) = mirror.file(base, name, INSTRUCTIONS).await? {
            instructions = Some(Clean::plain(&String::from_utf8_lossy(&bytes)));
            break;
        }
    }
    if let Some(own) = &parts.house.holds.instructions {
        let files = instructions.as_ref().map_or("", Clean::as_str);
        instructions = Some(Clean::plain(format!("{files}\n\n{own}").trim_start()));
    }
    let mut history = records(lines);
    if history.is_empty() && facts.round > 1 {
        // The conversation was not kept: what the rounds are for is told again.
        history.push(agent::recalled(&task::request(facts)));
    }
    let resumed = lines.iter().any(|l| (l.request, l.round) == (facts.request_no, facts.round));
    let turn = Turn {
        repository: facts.repo.to_string(),
        instructions,
        task: task::of(change).await?,
        history,
        resumed,
        model: parts.house.model.clone(),
        template: template(change).await?,
        reachable: parts.settings.allow.rules().iter().map(ToString::to_string).collect(),
        limits: parts.settings.limits.clone(),
        services: parts.house.holds.services.clone(),
    };
    Ok((turn, facts.reads_strangers()))
}
