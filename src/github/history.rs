//! What GitHub Actions ran in the past: runs by date, and the jobs of every attempt.

use super::{GitHubError, Repository};
use crate::domain::{Timestamp, verdict::WorkflowRun};
use serde::Deserialize;
use std::collections::HashSet;

/// A workflow run of the past.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Run {
    /// What every list of runs says of it.
    #[serde(flatten)]
    pub run: WorkflowRun,
    /// The branch it ran on; for a fork's pull request that of the fork.
    pub head_branch: String,
}

/// One job of one attempt.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Job {
    /// GitHub's id; also that of its check run.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Of which attempt; from 1.
    pub run_attempt: u64,
    /// Once completed.
    pub conclusion: Option<String>,
    /// When it began, RFC 3339.
    pub started_at: Option<String>,
    /// When it ended, RFC 3339.
    pub completed_at: Option<String>,
    /// Its steps: none where it never had a runner.
    pub steps: Vec<serde::de::IgnoredAny>,
}

/// Pages of runs, a hundred each: some months of a busy repository.
const RUN_PAGES: usize = 100;
/// Jobs of a run, all attempts together: a matrix has at most 256.
const JOBS_READ: usize = 2_000;
/// Workflows whose last green run is looked for: what tests a change is rarely spread over more.
const GREEN_RUNS: usize = 5;

impl Repository {
    /// The workflow runs made since, newest first; at most ten thousand.
    ///
    /// # Errors
    /// [`GitHubError::Forbidden`] where the installation grants no `actions: read`; else any of [`GitHubError`].
    pub async fn runs_since(&self, since: Timestamp) -> Result<Vec<Run>, GitHubError> {
        // Not GitHub's own filter by date: it ends every search at a thousand.
        let url = self.url(["actions", "runs"]);
        let old = |run: &Run| run.run.created_at.is_some_and(|at| at < since);
        let mut runs = self.client.list_until(&url, Some("workflow_runs"), RUN_PAGES, old).await?;
        runs.retain(|run| !old(run));
        Ok(runs)
    }

    /// The jobs of the newest green run that each workflow had on a branch; of five workflows at most.
    ///
    /// # Errors
    /// [`GitHubError::Forbidden`] where the installation grants no `actions: read`; else any of [`GitHubError`].
    pub async fn green_jobs(&self, branch: &str) -> Result<Vec<Job>, GitHubError> {
        let mut url = self.url(["actions", "runs"]);
        url.query_pairs_mut().append_pair("branch", branch).append_pair("status", "success");
        let mut runs: Vec<WorkflowRun> =
            self.client.list_until(&url, Some("workflow_runs"), 1, |_| false).await?;
        let mut seen = HashSet::new();
        // A fork's branch may have the same name; its pull requests' runs are none of the branch's.
        runs.retain(|run| run.event != "pull_request" && seen.insert(run.path.clone()));
        let mut jobs = Vec::new();
        for run in runs.iter().take(GREEN_RUNS) {
            jobs.extend(self.jobs(run.id).await?);
        }
        Ok(jobs)
    }

    /// The jobs of a run, those of earlier attempts too.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn jobs(&self, run: u64) -> Result<Vec<Job>, GitHubError> {
        let mut url = self.url(["actions", "runs", &run.to_string(), "jobs"]);
        url.query_pairs_mut().append_pair("filter", "all");
        self.client.list(&url, Some("jobs"), JOBS_READ).await
    }
}

impl Job {
    /// How long it ran, in milliseconds.
    pub fn milliseconds(&self) -> u64 {
        let at = |text: &Option<String>| {
            let at = chrono::DateTime::parse_from_rfc3339(text.as_deref()?).ok()?;
            Some(at.timestamp_millis())
        };
        match (at(&self.started_at), at(&self.completed_at)) {
            (Some(from), Some(to)) => u64::try_from(to - from).unwrap_or(0),
            _ => 0,
        }
    }
}
