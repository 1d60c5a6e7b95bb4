//! What would have been done about a repository's CI of the past: its red runs sorted by kind, and what acting on them would
//! have cost. Pure: the history is read elsewhere.

use super::Timestamp;
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
    /// It passed as a whole: then its jobs may be left unread.
    pub passed: bool,
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

/// What was observed, and what of it could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// The table.
    pub report: Report,
    /// Workflow runs looked at.
    pub runs: usize,
    /// Failed jobs of which nothing could be read any more, or that were too many: they count as the change's.
    pub unread: usize,
}

/// A repository that a server observes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// `OWNER/NAME`.
    pub repository: String,
    /// When its past was last read, and what it came to; the error is a sentence. `None`: it is yet to be read.
    pub read: Option<(Timestamp, Result<Observed, String>)>,
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
        for other in before {
            if let Some(there) = other.jobs.iter().find(|there| there.name == job.name) {
                return matches!(&there.failure, Some(Seen::Tested { signature: s, .. }) if s == signature);
            }
            if other.passed {
                return false;
            }
        }
        false
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(created: i64, branch: &str, head: &str, number: u64, failure: Option<&str>) -> Attempt {
        let passed = failure.is_none();
        let failure =
            failure.map(|signature| Seen::Tested { signature: signature.to_owned(), tests: Vec::new() });
        let job = Job { name: "test".into(), milliseconds: 60_001, passed, failure };
        let (branch, head) = (branch.to_owned(), head.to_owned());
        Attempt { branch, head, number, created, run: 1, red: !passed, jobs: vec![job], ..Attempt::default() }
    }

    #[test]
    fn a_session_ends_with_the_next_green_and_with_its_cap() {
        let mut history: Vec<Attempt> = (0..5).map(|n| ran(n, "a", &n.to_string(), 1, Some("x"))).collect();
        let report = observe(history.clone(), "main", 3);
        assert_eq!((report.red, report.sessions, report.ci_minutes), (5, 1, 6));
        history[2] = ran(2, "a", "2", 1, None);
        let report = observe(history.clone(), "main", 3);
        assert_eq!((report.red, report.sessions, report.ci_minutes), (4, 2, 8));
        history.reverse();
        assert_eq!(observe(history, "main", 3), report, "the order it is read in decides nothing");
    }

    #[test]
    fn the_base_is_what_it_was_at_that_time() {
        let history = vec![
            ran(1, "main", "m1", 1, Some("x")),
            ran(2, "a", "a1", 1, Some("x")),
            ran(3, "b", "b1", 1, Some("y")),
            // Its jobs were not worth reading.
            Attempt { jobs: Vec::new(), passed: true, ..ran(4, "main", "m2", 1, None) },
            ran(5, "c", "c1", 1, Some("x")),
            ran(6, "d", "d1", 1, Some("x")),
            ran(6, "d", "d1", 2, None),
        ];
        let report = observe(history, "main", 3);
        assert_eq!((report.by_kind["base"], report.by_kind["change"], report.by_kind["flaky"]), (2, 2, 1));
        assert_eq!((report.sessions, report.flaky.len()), (3, 1));
    }
}
