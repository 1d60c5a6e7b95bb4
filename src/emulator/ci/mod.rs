//! CI: what runs when a commit is pushed, and how it reports. Either a command that really runs, or a script.

mod command;
mod handed;
mod handing;
mod log;
mod past;
mod runs;
mod workflow;

use super::state::{Annotation, Id, Job, Progress, World};
use super::{Guard, Hub};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

pub use handed::{Handed, Ran};
pub(crate) use log::{Log, Recorded};
pub use past::PastRun;

/// A job that runs longer than this is killed and `timed_out`, unless a repository says otherwise.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// The CI of one repository.
#[derive(Debug, Clone)]
pub struct Ci {
    /// What starts it.
    pub on: On,
    /// What it does.
    pub how: How,
    /// Wall clock for one job.
    pub time_limit: Duration,
}

/// The events that start CI, as `on:` in a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum On {
    /// Every push to a branch.
    Push,
    /// Pull requests that are opened, reopened or pushed to.
    PullRequest,
    /// Both: a commit of a pull request then has two suites with the same names.
    Both,
}

/// What CI does with a commit.
#[derive(Debug, Clone)]
pub enum How {
    /// There is no CI.
    None,
    /// Checks the commit out and runs each command; a name and a shell command for each job.
    Commands(Vec<(String, String)>),
    /// Reads `.github/workflows/*.yml` of the commit: the `run:` steps of its jobs.
    Workflow,
    /// Does what a test says.
    Scripted(Script),
    /// One check that somebody else runs.
    Handed {
        /// Its name.
        check: String,
        /// Who is given its jobs; [`super::Emulator::job_ends`] tells their end.
        to: mpsc::UnboundedSender<Handed>,
    },
}

/// What a scripted CI does, push by push.
#[derive(Debug, Clone, Default)]
pub struct Script {
    /// The jobs of a commit for which no play is left: they stay queued until a test ends them.
    pub checks: Vec<String>,
    /// Taken in order, one a run.
    pub plays: VecDeque<Play>,
}

/// What one workflow run does.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Play {
    /// These jobs run, and each goes as said.
    Jobs(Vec<(String, JobPlay)>),
    /// The workflow file is broken: a run without jobs.
    StartupFailure,
    /// The run waits for a maintainer's approval.
    ActionRequired,
    /// Nothing appears at all.
    Nothing,
}

/// How one job goes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobPlay {
    /// `None`: it stays in progress. `Some("queued")`: it never starts.
    pub conclusion: Option<String>,
    /// What its step printed; `None`: the job has no log.
    pub log: Option<String>,
    /// A job that never got a runner has none.
    pub steps: bool,
    /// Messages of annotations on its check run that are about the run itself.
    #[serde(default)]
    pub annotations: Vec<String>,
    /// How long it runs.
    #[serde(default)]
    pub milliseconds: u64,
}

impl JobPlay {
    fn ends(conclusion: &str, log: Option<&str>) -> JobPlay {
        JobPlay {
            conclusion: Some(conclusion.into()),
            log: log.map(String::from),
            steps: true,
            annotations: Vec::new(),
            milliseconds: 0,
        }
    }

    /// Succeeds.
    pub fn passes() -> JobPlay {
        JobPlay::ends("success", Some("ok"))
    }

    /// Fails after printing `log`; the lines around it are as Actions writes them.
    pub fn fails(log: &str) -> JobPlay {
        JobPlay {
            annotations: vec!["Process completed with exit code 1.".into()],
            ..JobPlay::ends("failure", Some(log))
        }
    }

    /// Ends with another conclusion, e.g. `skipped`, `neutral`, `cancelled`.
    pub fn concludes(conclusion: &str) -> JobPlay {
        JobPlay::ends(conclusion, Some(""))
    }

    /// Its runner went away in the middle.
    pub fn loses_its_runner() -> JobPlay {
        let words = "The hosted runner lost communication with the server. Anything in your workflow that terminates the runner process, starves it for CPU/Memory, or blocks its network access can cause this error.";
        JobPlay { annotations: vec![words.into()], ..JobPlay::ends("failure", None) }
    }

    /// No runner was ever given: billing, or none with that label. Zero steps, no log.
    pub fn is_not_started() -> JobPlay {
        let words = "The job was not started because recent account payments have failed or your spending limit needs to be increased. Please check the 'Billing & plans' section in your settings";
        JobPlay { steps: false, annotations: vec![words.into()], ..JobPlay::ends("failure", None) }
    }

    /// Exceeds its time.
    pub fn times_out() -> JobPlay {
        let words = "The job has exceeded the maximum execution time of 6h0m0s";
        JobPlay { annotations: vec![words.into()], ..JobPlay::ends("timed_out", Some("still running …")) }
    }

    /// Starts and never ends.
    pub fn hangs() -> JobPlay {
        JobPlay { conclusion: None, ..JobPlay::passes() }
    }

    /// Is queued and never starts.
    pub fn stays_queued() -> JobPlay {
        JobPlay { conclusion: Some("queued".into()), steps: false, ..JobPlay::passes() }
    }

    /// Takes that long.
    #[must_use]
    pub fn after(mut self, time: Duration) -> JobPlay {
        self.milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self
    }
}

impl Default for Ci {
    fn default() -> Ci {
        Ci { on: On::Push, how: How::None, time_limit: TIME_LIMIT }
    }
}

impl Ci {
    /// No CI at all.
    pub fn none() -> Ci {
        Ci::default()
    }

    /// One job that runs a shell command in the checked-out commit.
    pub fn command(name: &str, command: &str) -> Ci {
        Ci { how: How::Commands(vec![(name.into(), command.into())]), ..Ci::default() }
    }

    /// The `run:` steps of the commit's own workflow files.
    pub fn workflow() -> Ci {
        Ci { how: How::Workflow, ..Ci::default() }
    }

    /// Checks that do what the test says.
    pub fn scripted(checks: &[&str]) -> Ci {
        let checks = checks.iter().map(|&name| name.to_owned()).collect();
        Ci { how: How::Scripted(Script { checks, plays: VecDeque::new() }), ..Ci::default() }
    }

    /// One check that whoever holds the other end runs.
    pub fn handed(check: &str, to: mpsc::UnboundedSender<Handed>) -> Ci {
        Ci { how: How::Handed { check: check.into(), to }, ..Ci::default() }
    }

    /// Started by these events.
    #[must_use]
    pub fn on(mut self, on: On) -> Ci {
        self.on = on;
        self
    }

    pub(crate) fn starts_on(&self, event: &str) -> bool {
        match self.on {
            On::Both => true,
            On::Push => event == "push",
            On::PullRequest => event == "pull_request",
        }
    }
}

/// A step of a job that really runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Step {
    /// Its name in the log.
    pub(crate) name: String,
    /// A shell script, with `${{ secrets.X }}` where the workflow has it.
    pub(crate) script: String,
    /// Its environment, the job's and the workflow's in it, with the same.
    pub(crate) env: Vec<(String, String)>,
}

/// What one job of a run has to do.
#[derive(Debug, Clone)]
pub(crate) enum Work {
    /// Shell commands, one a step.
    Steps(Vec<Step>),
    Play(JobPlay),
    /// Nothing by itself: a test ends it.
    Held,
    /// Somebody else runs it.
    Handed(mpsc::UnboundedSender<Handed>),
}

/// A job to be done by the runner.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) repo: Id,
    pub(crate) job: Id,
    pub(crate) work: Work,
    pub(crate) guard: Guard,
}

/// The runner: takes jobs as they come and works on all of them at once.
pub(crate) async fn runner(hub: Arc<Hub>, mut orders: mpsc::UnboundedReceiver<Order>) {
    while let Some(order) = orders.recv().await {
        let hub = hub.clone();
        tokio::spawn(async move { work(&hub, order).await });
    }
}

async fn work(hub: &Arc<Hub>, order: Order) {
    let Order { repo, job, work, guard } = order;
    match work {
        Work::Steps(steps) => {
            hub.with(|world| world.start_job(repo, job));
            let recorded = command::run(hub, repo, job, &steps).await;
            hub.with(|world| world.finish_job(repo, job, recorded));
        }
        Work::Play(play) if play.conclusion.as_deref() == Some("queued") => {}
        Work::Play(play) => {
            hub.with(|world| world.start_job(repo, job));
            tokio::time::sleep(Duration::from_millis(play.milliseconds)).await;
            if play.conclusion.is_some() {
                hub.with(|world| world.play_job(repo, job, &play));
            }
        }
        Work::Held => {}
        Work::Handed(to) => handed::hand_out(hub, repo, job, &to),
    }
    drop(guard);
}

impl World {
    /// The jobs of a scripted run that was let go: the next play, or the declared checks, held.
    pub(crate) fn queue_scripted_jobs(&mut self, repo: Id, run: Id) {
        let How::Scripted(script) = &mut self.repo_mut(repo).ci.how else { return };
        let jobs = match script.plays.pop_front() {
            Some(Play::Jobs(jobs)) => jobs.into_iter().map(|(name, play)| (name, Work::Play(play))).collect(),
            _ => script.checks.iter().map(|name| (name.clone(), Work::Held)).collect::<Vec<_>>(),
        };
        for (name, work) in jobs {
            self.queue_job(repo, run, &name, work);
        }
    }

    /// The play of a job that is run again, if the next play names it.
    pub(crate) fn next_play(&mut self, repo: Id, name: &str) -> Option<JobPlay> {
        let How::Scripted(script) = &mut self.repo_mut(repo).ci.how else { return None };
        let Some(Play::Jobs(jobs)) = script.plays.front_mut() else { return None };
        let at = jobs.iter().position(|(job, _)| job == name)?;
        let (_, play) = jobs.remove(at);
        if jobs.is_empty() {
            script.plays.pop_front();
        }
        Some(play)
    }

    /// Ends a job as a play says.
    pub(crate) fn play_job(&mut self, repo: Id, job: Id, play: &JobPlay) {
        let Some(conclusion) = play.conclusion.clone() else { return };
        let name = self.repositories[&repo].jobs.get(&job).map_or_else(String::new, |job| job.name.clone());
        let mut recorded = match &play.log {
            Some(text) => Log::of(&name, text, &conclusion).recorded(&conclusion),
            None => Recorded {
                conclusion: conclusion.clone(),
                steps: log::frame(&conclusion),
                log: None,
                annotations: Vec::new(),
            },
        };
        if !play.steps {
            recorded.steps = Vec::new();
            recorded.log = None;
        }
        recorded.annotations = play.annotations.iter().map(Annotation::of_the_run).collect();
        self.finish_job(repo, job, recorded);
    }

    /// The newest unfinished job of that name on a commit.
    pub(crate) fn waiting_job(&self, repo: Id, name: &str, sha: Option<&str>) -> Option<Id> {
        let here = &self.repositories[&repo];
        let of_commit = |job: &&Job| {
            sha.is_none_or(|sha| here.workflow_runs.get(&job.run).is_some_and(|run| run.head_sha == sha))
        };
        here.jobs
            .values()
            .rev()
            .filter(|job| job.name == name && !matches!(job.progress, Progress::Completed(_)))
            .find(of_commit)
            .map(|job| job.id)
    }
}
