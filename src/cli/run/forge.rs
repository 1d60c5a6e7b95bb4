//! The forge of a run: the emulator with the repository's commits, and the check as its CI.

use super::place::Place;
use crate::{
    app::{CheckEnd, Checked, Checker, Run},
    digest::{Digester, Options as DigestOptions},
    domain::{Sha, text},
    emulator::{Ci, Emulator, Handed, Lender, NewRepository, Options, Permission, Ran},
};
use anyhow::Context;
use std::{collections::HashMap, path::PathBuf, time::Duration};
use tokio::{sync::mpsc, task::JoinSet};
use tokio_util::sync::CancellationToken;

/// Whose account stands for the person at the terminal.
const PERSON: &str = "you";

/// What the branch is called where HEAD is on none that the forge can have.
const DETACHED: &str = "detached";

/// The name of the one check.
const CHECK: &str = "check";

/// The longest title; the whole instruction is the text.
const TITLE: usize = 120;

/// A run of a day asks less than this: nothing is to be saved on loopback.
const REQUESTS: u32 = 10_000_000;

/// How long the last checks may take to be gone.
const REST: Duration = Duration::from_secs(10);

/// The forge.
pub(super) struct Forge {
    pub(super) emulator: Emulator,
    /// The repository's id there.
    pub(super) id: u64,
    /// Where its commits are.
    pub(super) git: PathBuf,
    /// The commit that the run starts from.
    pub(super) base: Sha,
    pub(super) began: std::time::Instant,
    /// The commits whose check ended, with what it said last where it was red.
    pub(super) checked: HashMap<Sha, Option<String>>,
    repo: String,
    jobs: Option<mpsc::UnboundedReceiver<Handed>>,
    ends: (mpsc::UnboundedSender<Told>, mpsc::UnboundedReceiver<Told>),
    runner: Option<tokio::task::JoinHandle<()>>,
}

/// What is told of checks.
pub(super) enum Told {
    /// One ended.
    Ended {
        commit: Sha,
        checked: Checked,
        /// What went wrong, in a line.
        line: String,
    },
    /// It could not run at all.
    Broken(String),
}

impl Forge {
    /// Starts one with an empty repository.
    pub(super) async fn start(place: &Place, run: &Run) -> anyhow::Result<Self> {
        let now = u64::try_from(chrono::Utc::now().timestamp_millis()).unwrap_or(1);
        let options = Options {
            root: Some(run.file("forge")),
            rate_limit: REQUESTS,
            owner: "local".to_owned(),
            first_id: now,
            // Other people of the machine can reach the port: this is what they would have to know.
            app_id: u64::from(rand::random::<u32>()) << 20 | u64::from(rand::random::<u16>()),
            driven: false,
            ..Options::default()
        };
        let emulator = Emulator::start(options).await?;
        let repo = format!("local/{}", place.short_name());
        let (to, jobs) = mpsc::unbounded_channel();
        let mut new = NewRepository::new(&repo, &[]).ci(Ci::handed(CHECK, to)).private();
        new.default_branch = base_name(place).to_owned();
        let id = emulator.create_repository(new)?;
        emulator.collaborator(&repo, PERSON, Permission::Write)?;
        let git = emulator.git_directory(&repo)?;
        let base = place.head.commit.clone();
        let began = std::time::Instant::now();
        Ok(Self {
            emulator,
            id,
            git,
            base,
            began,
            checked: HashMap::new(),
            repo,
            jobs: Some(jobs),
            ends: mpsc::unbounded_channel(),
            runner: None,
        })
    }

    /// Takes the repository's commits in, and has what is pushed checked from now on.
    pub(super) async fn open(
        &mut self,
        place: &Place,
        server: &str,
        command: &str,
        checker: Checker,
        stop: CancellationToken,
    ) -> anyhow::Result<()> {
        self.emulator.deliver_to(&format!("http://{server}/webhooks"));
        let jobs = self.jobs.take().context("the forge is open already")?;
        let runner = Runner {
            emulator: self.emulator.clone(),
            repo: self.repo.clone(),
            command: command.to_owned(),
            checker,
            told: self.ends.0.clone(),
            stop,
        };
        self.runner = Some(tokio::spawn(runner.work(jobs)));
        let objects = place.local.objects().await?;
        let lender = Lender { objects: objects.folder, shallow: objects.shallow };
        self.emulator.borrow(&self.repo, PERSON, &lender, (base_name(place), self.base.as_str()))?;
        Ok(())
    }

    /// Asks for the work.
    pub(super) fn ask(&self, instruction: &str, check: &str, word: &str) -> anyhow::Result<()> {
        let first = instruction.lines().find(|line| !line.trim().is_empty()).unwrap_or(instruction);
        let title = text::shorten(&text::line(first), TITLE);
        let fence = if check.contains('`') { "``" } else { "`" };
        let body = format!(
            "{instruction}\n\nEvery commit is checked by running {fence}{check}{fence} in the top folder; it must succeed."
        );
        let issue = self.emulator.open_issue(&self.repo, PERSON, &title, &body)?;
        self.emulator.comment(&self.repo, issue, PERSON, &format!("/{word}"))?;
        Ok(())
    }

    /// What is told next of a check.
    pub(super) async fn told(&mut self) -> Told {
        match self.ends.1.recv().await {
            Some(told) => told,
            // Its sender is this one's own.
            None => std::future::pending().await,
        }
    }

    /// Waits until the last checks are gone, with their sandboxes.
    pub(super) async fn rest(mut self) {
        if let Some(runner) = self.runner.take() {
            let _ = tokio::time::timeout(REST, runner).await;
        }
    }
}

/// What the branch that HEAD is on is called on the forge.
fn base_name(place: &Place) -> &str {
    // Beside a branch `fixpoint` there can be none below it.
    place.head.branch.as_deref().filter(|branch| *branch != "fixpoint").unwrap_or(DETACHED)
}

/// Runs the check on every commit that is pushed.
struct Runner {
    emulator: Emulator,
    repo: String,
    command: String,
    checker: Checker,
    told: mpsc::UnboundedSender<Told>,
    stop: CancellationToken,
}

impl Runner {
    async fn work(self, mut jobs: mpsc::UnboundedReceiver<Handed>) {
        let this = std::sync::Arc::new(self);
        let mut running = JoinSet::new();
        while let Some(Some(job)) = this.stop.run_until_cancelled(jobs.recv()).await {
            let this = this.clone();
            running.spawn(async move { this.check(job).await });
        }
        while running.join_next().await.is_some() {}
    }

    async fn check(&self, job: Handed) {
        let Ok(commit) = Sha::parse(&job.sha) else { return };
        let checked = match self.checker.run(&commit, &self.stop).await {
            Ok(checked) => checked,
            Err(error) => {
                let _ = self.told.send(Told::Broken(format!("the check could not be run: {error:#}")));
                return;
            }
        };
        let failed = match checked.end {
            CheckEnd::Status(0) => None,
            CheckEnd::Status(code) => Some(format!("Process completed with exit code {code}.")),
            CheckEnd::TimedOut => {
                let limit = super::show::span(self.checker.limit());
                Some(format!("The check did not end within {limit} and was killed."))
            }
            CheckEnd::Stopped => Some("The check was stopped.".to_owned()),
        };
        let line = failed.as_deref().map_or_else(String::new, |why| worst(&checked, why));
        let ran = Ran { command: self.command.clone(), printed: checked.printed.clone(), failed };
        let _ = self.emulator.job_ends(&self.repo, job.job, &ran);
        let _ = self.told.send(Told::Ended { commit, checked, line });
    }
}

/// What went wrong, in a line.
fn worst(checked: &Checked, why: &str) -> String {
    let mut digester = Digester::new(DigestOptions { check: CHECK, ..DigestOptions::default() });
    digester.push(checked.printed.as_bytes());
    let line = digester.finish().line_text;
    if line.is_empty() || checked.end == CheckEnd::TimedOut { why.to_owned() } else { line }
}
