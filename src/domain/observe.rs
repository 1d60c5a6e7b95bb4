//! What would have been done about a repository's CI of the past: its red runs sorted by kind, and what acting on them would
//! have cost. Pure: the history is read elsewhere.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// One attempt of one workflow run, its failed jobs read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attempt {
    /// The branch it ran on.
    pub branch: String,
    /// The commit.
    pub head: String,
    /// The workflow's file.
    pub workflow: String,
    /// GitHub's id of the run, the same for all its attempts.
    pub run: u64,
    /// From 1.
    pub number: u64,
    /// When the run was made, in milliseconds since 1970-01-01 UTC.
    pub created: i64,
    /// It ended with a failure; a cancelled one or one that waits did not.
    pub red: bool,
    /// Its jobs; none where GitHub could not start it.
    pub jobs: Vec<Job>,
}

/// One job of an attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Job {
    /// Its name.
    pub name: String,
    /// How long it ran, in milliseconds.
    pub milliseconds: u64,
    /// It passed.
    pub passed: bool,
    /// How it failed, where it did.
    pub failure: Option<Seen>,
}

/// How a job failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It never had a runner.
    NotStarted,
    /// The machine, the network or the service that ran it.
    Infrastructure,
    /// Something was tested and failed.
    Tested {
        /// Job and normalised error.
        signature: String,
        /// Names of the failing tests, where its log has them.
        tests: Vec<String>,
    },
}

/// What the history comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Red runs; each attempt of a run counts.
    pub red: u64,
    /// The same, by why they were red: `change`, `base`, `flaky`, `infrastructure`, `not_started`.
    pub by_kind: BTreeMap<&'static str, u64>,
    /// Tests (where a log names none: jobs) that failed and passed on one and the same commit.
    pub flaky: BTreeSet<String>,
    /// Jobs that were red on the base branch, for a reason of the code there.
    pub base_red: BTreeSet<String>,
    /// Sessions that would have started: of each branch but the base from a red that a person or an agent must mend to the
    /// next green.
    pub sessions: u64,
    /// Minutes of CI that their rounds would have cost: each round's push runs what ran on the red commit once more. Each
    /// job counts in whole minutes, rounded up, as GitHub's bills do.
    pub ci_minutes: u64,
}

/// Why an attempt is red as a whole: what can be mended comes before what cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Why {
    Change,
    Base,
    Flaky,
    Infrastructure,
    NotStarted,
}

impl Why {
    fn word(self) -> &'static str {
        match self {
            Self::Change => "change",
            Self::Base => "base",
            Self::Flaky => "flaky",
            Self::Infrastructure => "infrastructure",
            Self::NotStarted => "not_started",
        }
    }

    fn wants_a_session(self) -> bool {
        matches!(self, Self::Change | Self::Base)
    }
}

/// Sorts a history, in any order. `rounds`: the cap of rounds a session.
pub fn observe(mut history: Vec<Attempt>, base: &str, rounds: u32) -> Report {
    history.sort_by_key(|attempt| (attempt.created, attempt.run, attempt.number));
    let past = Past { history: &history, base };
    let mut report = Report::default();
    let kinds = [Why::Change, Why::Base, Why::Flaky, Why::Infrastructure, Why::NotStarted];
    report.by_kind = kinds.map(|why| (why.word(), 0)).into();
    let mut reds: Vec<Option<Why>> = Vec::new();
    for attempt in &history {
        let why = attempt.red.then(|| past.sort(attempt, &mut report));
        if let Some(why) = why {
            report.red += 1;
            *report.by_kind.entry(why.word()).or_default() += 1;
        }
        reds.push(why);
    }
    (report.sessions, report.ci_minutes) = past.sessions(&reds, rounds);
    report
}

struct Past<'a> {
    /// Oldest first.
    history: &'a [Attempt],
    base: &'a str,
}

impl Past<'_> {
    fn sort(&self, attempt: &Attempt, report: &mut Report) -> Why {
        let mut worst = Why::NotStarted;
        for job in &attempt.jobs {
            let Some(failure) = &job.failure else { continue };
            let why = match failure {
                Seen::NotStarted => Why::NotStarted,
                Seen::Infrastructure => Why::Infrastructure,
                Seen::Tested { tests, .. } if self.passed_unchanged(attempt, job) => {
                    match tests.is_empty() {
                        true => report.flaky.insert(job.name.clone()),
                        false => tests.iter().fold(false, |_, test| report.flaky.insert(test.clone())),
                    };
                    Why::Flaky
                }
                Seen::Tested { .. } if attempt.branch == self.base => {
                    report.base_red.insert(job.name.clone());
                    Why::Base
                }
                Seen::Tested { signature, .. } if self.red_on_base(attempt, job, signature) => Why::Base,
                Seen::Tested { .. } => Why::Change,
            };
            worst = worst.min(why);
        }
        worst
    }

    /// The same job of the same workflow passed on the same commit, before or after.
    fn passed_unchanged(&self, attempt: &Attempt, job: &Job) -> bool {
        let same = |other: &&Attempt| other.head == attempt.head && other.workflow == attempt.workflow;
        self.history
            .iter()
            .filter(same)
            .flat_map(|other| &other.jobs)
            .any(|other| other.name == job.name && other.passed)
    }

    /// On the base this job failed in the same way the last time before.
    fn red_on_base(&self, attempt: &Attempt, job: &Job, signature: &str) -> bool {
        let before = self.history.iter().rev().filter(|other| {
            other.branch == self.base
                && other.workflow == attempt.workflow
                && other.created <= attempt.created
        });
        let last = before.flat_map(|other| &other.jobs).find(|other| other.name == job.name);
        let failure = last.and_then(|job| job.failure.as_ref());
        matches!(failure, Some(Seen::Tested { signature: there, .. }) if there == signature)
    }

    /// How many sessions, and the minutes of their rounds.
    fn sessions(&self, reds: &[Option<Why>], rounds: u32) -> (u64, u64) {
        let mut heads: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut wants: BTreeSet<(&str, &str)> = BTreeSet::new();
        for (attempt, why) in self.history.iter().zip(reds).filter(|(a, _)| a.branch != self.base) {
            let of_branch = heads.entry(&attempt.branch).or_default();
            if !of_branch.contains(&attempt.head.as_str()) {
                of_branch.push(&attempt.head);
            }
            if why.is_some_and(Why::wants_a_session) {
                wants.insert((&attempt.branch, &attempt.head));
            }
        }
        let (mut sessions, mut minutes) = (0, 0);
        for (branch, heads) in heads {
            let mut round = 0;
            for head in heads {
                let red = wants.contains(&(branch, head));
                round = if red { round + 1 } else { 0 };
                sessions += u64::from(round == 1);
                minutes += if red && round <= rounds { self.minutes(branch, head) } else { 0 };
            }
        }
        (sessions, minutes)
    }

    /// What one run of everything on a commit takes: the last attempt of each run counts, and of several runs of one
    /// workflow the last.
    fn minutes(&self, branch: &str, head: &str) -> u64 {
        let here = self.history.iter().filter(|attempt| attempt.branch == branch && attempt.head == head);
        let mut jobs: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for attempt in here {
            for job in &attempt.jobs {
                jobs.insert((&attempt.workflow, &job.name), job.milliseconds.div_ceil(60_000));
            }
        }
        jobs.values().sum()
    }
}
