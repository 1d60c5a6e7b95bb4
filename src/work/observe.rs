//! Reads the past of a repository's CI. Reads only: no model, no database, no write.

use super::look::Logs;
use crate::{
    domain::{
        Timestamp,
        failure::{Kind, Source},
        observe::{Attempt, Job, Observed, Seen, observe},
        verdict::RedCheck,
    },
    github::{self, GitHub, GitHubError, Repository, Run},
};
use futures::{StreamExt as _, TryStreamExt as _};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// Logs that are read: at a second each that is some minutes, and a third of an hour's requests. Past these a red job is
/// taken for the change's.
const LOGS: usize = 1_500;
/// Runs whose jobs are asked for at once.
const AT_ONCE: usize = 4;

/// Reads the last `days` days of `OWNER/NAME` as they are at `now`.
///
/// # Errors
/// Any of [`GitHubError`]: [`GitHubError::NotFound`] where the App is not installed on the repository.
pub async fn past(
    github: &GitHub,
    (owner, name): (&str, &str),
    (now, days): (Timestamp, u32),
    rounds: u32,
) -> Result<Observed, GitHubError> {
    let (installation, repo) = github.installed(owner, name).await?;
    let repository = github.repository(installation, &repo);
    let base = repository.info().await?.default_branch;
    let span = Duration::from_secs(u64::from(days) * 24 * 60 * 60);
    let since = Timestamp(now.0.saturating_sub(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)));
    let runs = repository.runs_since(since).await?;
    let count = runs.len();
    let open: BTreeSet<String> =
        runs.iter().filter(|run| !is_plain(run)).map(|r| r.run.head_sha.clone()).collect();
    let jobs = futures::stream::iter(runs.into_iter().map(|run| {
        let repository = repository.clone();
        // Of a commit on which all passed at once no job has anything to tell.
        let told = open.contains(&run.run.head_sha);
        async move {
            let jobs = if told { repository.jobs(run.run.id).await? } else { Vec::new() };
            Ok::<_, GitHubError>((run, jobs))
        }
    }));
    let read: Vec<(Run, Vec<github::Job>)> = jobs.buffered(AT_ONCE).try_collect().await?;
    let mut reader = Reader { logs: Logs::new(&repository), repository: &repository, left: LOGS, unread: 0 };
    let mut history = Vec::new();
    for (run, jobs) in read {
        history.extend(reader.attempts(&run, jobs).await?);
    }
    Ok(Observed { report: observe(history, &base, rounds), runs: count, unread: reader.unread })
}

struct Reader<'a> {
    logs: Logs<'a>,
    repository: &'a Repository,
    left: usize,
    unread: usize,
}

impl Reader<'_> {
    /// The attempts of a run. What an earlier attempt ended with is told by its jobs alone; the list of runs has the last.
    async fn attempts(&mut self, run: &Run, jobs: Vec<github::Job>) -> Result<Vec<Attempt>, GitHubError> {
        let mut by_attempt: BTreeMap<u64, Vec<github::Job>> = BTreeMap::new();
        for job in jobs {
            by_attempt.entry(job.run_attempt.max(1)).or_default().push(job);
        }
        by_attempt.entry(run.run.run_attempt.max(1)).or_default();
        let mut attempts = Vec::new();
        for (number, jobs) in by_attempt {
            let last = number == run.run.run_attempt.max(1);
            let ended = run.run.conclusion.as_deref().unwrap_or_default();
            let by_run = last && matches!(ended, "failure" | "timed_out" | "startup_failure");
            let red = by_run || jobs.iter().any(is_red);
            let mut sorted = Vec::new();
            for job in jobs {
                sorted.push(self.job(run, job).await?);
            }
            attempts.push(Attempt {
                branch: run.head_branch.clone(),
                head: run.run.head_sha.clone(),
                workflow: run.run.path.clone(),
                run: run.run.id,
                number,
                created: run.run.created_at.map_or(0, |at| at.0),
                red,
                passed: last && ended == "success",
                jobs: sorted,
            });
        }
        Ok(attempts)
    }

    async fn job(&mut self, run: &Run, job: github::Job) -> Result<Job, GitHubError> {
        let failure = if is_red(&job) { Some(self.failure(run, &job).await?) } else { None };
        let passed = job.conclusion.as_deref() == Some("success");
        Ok(Job { milliseconds: job.milliseconds(), name: job.name, passed, failure })
    }

    async fn failure(&mut self, run: &Run, job: &github::Job) -> Result<Seen, GitHubError> {
        let unknown = || Seen::Tested { signature: format!("{}: unread", job.id), tests: Vec::new() };
        if job.steps.is_empty() {
            return Ok(Seen::NotStarted);
        }
        if self.left == 0 {
            self.unread += 1;
            return Ok(unknown());
        }
        self.left -= 1;
        let annotations = self.repository.annotations(job.id).await?;
        let Ok(check) = RedCheck::of_job(&job.name, job.id, run.run.id, &annotations) else {
            return Ok(Seen::NotStarted);
        };
        if check.known.is_some() {
            return Ok(Seen::Infrastructure);
        }
        // On the heap: it is the largest part of a future that is awaited many layers up.
        let read = Box::pin(self.logs.read(&check, false));
        let Some(read) = read.await.map_err(|halt| unreadable(&halt))? else {
            return Ok(unknown());
        };
        if read.kind == Kind::Infrastructure {
            return Ok(Seen::Infrastructure);
        }
        // An annotation says no more than that a process failed: two that say so need not have failed alike.
        if !matches!(read.source, Source::JobLog | Source::Archive) {
            self.unread += 1;
            return Ok(unknown());
        }
        Ok(Seen::Tested { signature: read.signature, tests: read.tests })
    }
}

fn unreadable(halt: &super::Halt) -> GitHubError {
    GitHubError::Unavailable(halt.to_string())
}

/// It passed, and at once.
fn is_plain(run: &Run) -> bool {
    run.run.conclusion.as_deref() == Some("success") && run.run.run_attempt <= 1
}

fn is_red(job: &github::Job) -> bool {
    matches!(job.conclusion.as_deref(), Some("failure" | "timed_out"))
}
