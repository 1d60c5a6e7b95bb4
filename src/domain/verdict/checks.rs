//! The facts a verdict is taken from, as GitHub's API gives them. Unknown fields and values are kept, never fatal.

use serde::{Deserialize, Serialize};

/// All checks of one commit. Deserialises from the API's own lists.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Checks {
    /// `GET /repos/{owner}/{repo}/commits/{ref}/check-suites`.
    pub check_suites: Vec<Suite>,
    /// `GET /repos/{owner}/{repo}/commits/{ref}/check-runs`.
    pub check_runs: Vec<CheckRun>,
    /// `GET /repos/{owner}/{repo}/commits/{ref}/status`.
    pub statuses: Vec<Status>,
    /// `GET /repos/{owner}/{repo}/actions/runs?head_sha=`.
    pub workflow_runs: Vec<WorkflowRun>,
    /// Names that the base branch requires.
    pub required: Vec<String>,
}

/// A check suite: what one App says it will run on the commit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Suite {
    /// GitHub's id.
    pub id: u64,
}

/// A check run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CheckRun {
    /// GitHub's id; for GitHub Actions also the job's id.
    pub id: u64,
    /// Its name.
    pub name: String,
}

/// A commit status.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// GitHub's id.
    pub id: u64,
    /// Its context: what a check run's name is to a check run.
    pub context: String,
}

/// A workflow run of GitHub Actions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkflowRun {
    /// GitHub's id.
    pub id: u64,
}
