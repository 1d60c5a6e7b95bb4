//! The last green log of the same job on the base: what is new against it is rarely innocent.

use crate::{
    digest::GreenIndex,
    domain::verdict::CheckRun,
    github::{GitHubError, JobLog, Repository},
    work::Halt,
};
use std::{collections::HashMap, sync::Arc};

/// Green logs that are read for one verdict: a matrix that fails as a whole fails for one reason.
const LOGS: usize = 8;
/// What of a green log is read, its end: enough for all but the largest, and a comparison is a help, not a need.
const LOG: usize = 32 << 20;

/// Finds green logs, each once.
pub(super) struct Greens {
    repository: Repository,
    /// The base branch.
    branch: String,
    /// The check runs of the base's commit.
    runs: Vec<CheckRun>,
    /// The jobs of the branch's last green runs by name, once they were asked for.
    jobs: Option<HashMap<String, u64>>,
    known: HashMap<String, Option<Arc<GreenIndex>>>,
}

impl Greens {
    /// Of a base branch with the check runs of its commit, newest first.
    pub(super) fn new(repository: &Repository, branch: &str, runs: Vec<CheckRun>) -> Self {
        let (repository, branch) = (repository.clone(), branch.to_owned());
        Self { repository, branch, runs, jobs: None, known: HashMap::new() }
    }

    /// The lines of the last green log of that job. Whatever goes wrong, there is none: a digest is made without it too.
    pub(super) async fn of(&mut self, name: &str) -> Result<Option<Arc<GreenIndex>>, Halt> {
        if let Some(known) = self.known.get(name) {
            return Ok(known.clone());
        }
        if self.known.len() >= LOGS {
            return Ok(None);
        }
        let read = match self.log(name).await {
            Ok(Some(log)) => {
                let index = tokio::task::spawn_blocking(move || GreenIndex::of(&log));
                Some(Arc::new(index.await.map_err(|error| super::logs::broken(&error))?))
            }
            Ok(None) => None,
            Err(error) => {
                tracing::debug!(%error, name, "no green log");
                None
            }
        };
        self.known.insert(name.to_owned(), read.clone());
        Ok(read)
    }

    async fn log(&mut self, name: &str) -> Result<Option<Vec<u8>>, GitHubError> {
        let Some(job) = self.job(name).await? else { return Ok(None) };
        Ok(match self.repository.job_log(job, LOG).await? {
            JobLog::Text(log) => Some(log),
            JobLog::NotYet | JobLog::Gone => None,
        })
    }

    /// The job that passed on the base's commit; where it did not, or did not run there, on the branch before.
    async fn job(&mut self, name: &str) -> Result<Option<u64>, GitHubError> {
        let passed = |run: &&CheckRun| {
            run.name == name && run.app.is_actions() && run.conclusion.as_deref() == Some("success")
        };
        if let Some(run) = self.runs.iter().find(passed) {
            return Ok(Some(run.id));
        }
        let jobs = match self.jobs.take() {
            Some(jobs) => jobs,
            // Asked once, also when it fails: the next job would fare no better.
            None => {
                self.jobs = Some(HashMap::new());
                by_name(self.repository.green_jobs(&self.branch).await?)
            }
        };
        let found = jobs.get(name).copied();
        self.jobs = Some(jobs);
        Ok(found)
    }
}

fn by_name(jobs: Vec<crate::github::Job>) -> HashMap<String, u64> {
    let passed = jobs.into_iter().filter(|job| job.conclusion.as_deref() == Some("success"));
    passed.map(|job| (job.name, job.id)).collect()
}
