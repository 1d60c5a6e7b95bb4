//! The facts a verdict is taken from, as GitHub's API gives them.
//!
//! Everything is read leniently: unknown fields are passed over, unknown values kept as they are, a null, a missing or
//! an odd field is as good as none. A verdict over half a list is better than no verdict because of one odd entry.

use super::lenient::{list, moment, or_default};
use crate::domain::Timestamp;
use serde::{Deserialize, Serialize};

/// All checks of one commit. Deserialises from the API's own lists, with or without the envelope that holds their count.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Checks {
    /// `GET /repos/{owner}/{repo}/commits/{ref}/check-suites`.
    #[serde(deserialize_with = "list")]
    pub check_suites: Vec<Suite>,
    /// `GET /repos/{owner}/{repo}/commits/{ref}/check-runs`.
    #[serde(deserialize_with = "list")]
    pub check_runs: Vec<CheckRun>,
    /// `GET /repos/{owner}/{repo}/commits/{ref}/status`.
    #[serde(deserialize_with = "list")]
    pub statuses: Vec<Status>,
    /// `GET /repos/{owner}/{repo}/actions/runs?head_sha=`.
    #[serde(deserialize_with = "list")]
    pub workflow_runs: Vec<WorkflowRun>,
    /// Names that the base branch requires.
    #[serde(deserialize_with = "super::lenient::names")]
    pub required: Vec<String>,
}

impl Checks {
    /// The earliest time that any of them names: the push came before it.
    pub fn earliest(&self) -> Option<Timestamp> {
        let suites = self.check_suites.iter().filter_map(|suite| suite.created_at);
        let runs = self.check_runs.iter().filter_map(|run| run.started_at.or(run.completed_at));
        let statuses = self.statuses.iter().filter_map(|status| status.created_at);
        let workflows = self.workflow_runs.iter().filter_map(|run| run.created_at);
        suites.chain(runs).chain(statuses).chain(workflows).min()
    }
}

/// The App that made a suite or run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct App {
    /// GitHub's id.
    #[serde(deserialize_with = "or_default")]
    pub id: u64,
    /// `github-actions` for GitHub Actions.
    #[serde(deserialize_with = "or_default")]
    pub slug: String,
}

impl App {
    /// GitHub Actions itself, whose suites are a promise that runs will come.
    pub fn is_actions(&self) -> bool {
        // The id is github.com's; on GitHub Enterprise it differs, the slug does not.
        self.slug == "github-actions" || (self.slug.is_empty() && self.id == 15_368)
    }
}

/// A check suite: what one App says it will run on the commit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Suite {
    /// GitHub's id.
    #[serde(deserialize_with = "or_default")]
    pub id: u64,
    /// Whose it is.
    #[serde(deserialize_with = "or_default")]
    pub app: App,
    /// The commit.
    #[serde(deserialize_with = "or_default")]
    pub head_sha: String,
    /// `queued`, `in_progress`, `completed` …
    #[serde(deserialize_with = "or_default")]
    pub status: String,
    /// Once completed.
    #[serde(deserialize_with = "or_default")]
    pub conclusion: Option<String>,
    /// How many runs it has; GitHub does not always say.
    #[serde(deserialize_with = "or_default")]
    pub latest_check_runs_count: Option<u64>,
    /// When it was made.
    #[serde(with = "moment")]
    pub created_at: Option<Timestamp>,
    /// When it last changed.
    #[serde(with = "moment")]
    pub updated_at: Option<Timestamp>,
}

/// A check run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CheckRun {
    /// GitHub's id; for GitHub Actions also the job's id.
    #[serde(deserialize_with = "or_default")]
    pub id: u64,
    /// Its name.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// The commit.
    #[serde(deserialize_with = "or_default")]
    pub head_sha: String,
    /// Whose it is.
    #[serde(deserialize_with = "or_default")]
    pub app: App,
    /// The suite it belongs to.
    #[serde(deserialize_with = "or_default")]
    pub check_suite: SuiteRef,
    /// `queued`, `in_progress`, `completed`, `waiting` …
    #[serde(deserialize_with = "or_default")]
    pub status: String,
    /// Once completed.
    #[serde(deserialize_with = "or_default")]
    pub conclusion: Option<String>,
    /// When it began.
    #[serde(with = "moment")]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(with = "moment")]
    pub completed_at: Option<Timestamp>,
    /// Where its own page is; for GitHub Actions it names workflow run and job.
    #[serde(deserialize_with = "or_default")]
    pub details_url: Option<String>,
    /// Where people read it on GitHub.
    #[serde(deserialize_with = "or_default")]
    pub html_url: Option<String>,
    /// What it says about itself.
    #[serde(deserialize_with = "or_default")]
    pub output: Output,
    /// Its annotations, where the caller has read them: `GET /repos/{owner}/{repo}/check-runs/{id}/annotations`.
    #[serde(deserialize_with = "list")]
    pub annotations: Vec<Annotation>,
    /// How many steps its job had, where the caller has read it: `GET /repos/{owner}/{repo}/actions/jobs/{id}`.
    #[serde(deserialize_with = "super::lenient::count")]
    pub steps: Option<usize>,
}

/// The suite of a check run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SuiteRef {
    /// GitHub's id.
    #[serde(deserialize_with = "or_default")]
    pub id: u64,
}

/// What a check run says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Output {
    /// One line.
    #[serde(deserialize_with = "or_default")]
    pub title: Option<String>,
    /// Markdown.
    #[serde(deserialize_with = "or_default")]
    pub summary: Option<String>,
    /// Markdown, longer.
    #[serde(deserialize_with = "or_default")]
    pub text: Option<String>,
    /// How many annotations there are to read.
    #[serde(deserialize_with = "or_default")]
    pub annotations_count: u64,
}

/// One annotation of a check run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Annotation {
    /// `notice`, `warning`, `failure`.
    #[serde(deserialize_with = "or_default")]
    pub annotation_level: String,
    /// One line.
    #[serde(deserialize_with = "or_default")]
    pub title: Option<String>,
    /// The text.
    #[serde(deserialize_with = "or_default")]
    pub message: String,
}

/// A commit status.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// GitHub's id.
    #[serde(deserialize_with = "or_default")]
    pub id: u64,
    /// Its context: what a check run's name is to a check run.
    #[serde(deserialize_with = "or_default")]
    pub context: String,
    /// `pending`, `success`, `failure`, `error`.
    #[serde(deserialize_with = "or_default")]
    pub state: String,
    /// One line.
    #[serde(deserialize_with = "or_default")]
    pub description: Option<String>,
    /// Where people read more.
    #[serde(deserialize_with = "or_default")]
    pub target_url: Option<String>,
    /// When it was made.
    #[serde(with = "moment")]
    pub created_at: Option<Timestamp>,
    /// When it last changed.
    #[serde(with = "moment")]
    pub updated_at: Option<Timestamp>,
}

/// A workflow run of GitHub Actions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkflowRun {
    /// GitHub's id; a re-run keeps it.
    #[serde(deserialize_with = "or_default")]
    pub id: u64,
    /// The workflow's name.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// The workflow's file.
    #[serde(deserialize_with = "or_default")]
    pub path: String,
    /// `push`, `pull_request` …
    #[serde(deserialize_with = "or_default")]
    pub event: String,
    /// The commit.
    #[serde(deserialize_with = "or_default")]
    pub head_sha: String,
    /// `queued`, `in_progress`, `completed`, `waiting` …
    #[serde(deserialize_with = "or_default")]
    pub status: String,
    /// Once completed.
    #[serde(deserialize_with = "or_default")]
    pub conclusion: Option<String>,
    /// Counts from 1; each re-run raises it.
    #[serde(deserialize_with = "or_default")]
    pub run_attempt: u64,
    /// The suite its jobs' check runs belong to.
    #[serde(deserialize_with = "or_default")]
    pub check_suite_id: u64,
    /// Where people read it.
    #[serde(deserialize_with = "or_default")]
    pub html_url: Option<String>,
    /// When it was made.
    #[serde(with = "moment")]
    pub created_at: Option<Timestamp>,
    /// When it last changed.
    #[serde(with = "moment")]
    pub updated_at: Option<Timestamp>,
}
