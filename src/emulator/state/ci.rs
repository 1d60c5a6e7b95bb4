//! Checks, statuses, workflow runs and jobs.

use super::{Id, Time};
use bytes::Bytes;

/// Of a check run, job, suite or workflow run: where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Progress {
    Queued,
    Running,
    Completed(String),
}

impl Progress {
    pub(crate) fn status(&self) -> &'static str {
        match self {
            Progress::Queued => "queued",
            Progress::Running => "in_progress",
            Progress::Completed(_) => "completed",
        }
    }

    pub(crate) fn conclusion(&self) -> Option<&str> {
        match self {
            Progress::Completed(conclusion) => Some(conclusion),
            _ => None,
        }
    }

    pub(crate) fn is_completed(&self) -> bool {
        matches!(self, Progress::Completed(_))
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Suite {
    pub(crate) id: Id,
    pub(crate) app: Id,
    pub(crate) head_sha: String,
    pub(crate) head_branch: Option<String>,
    pub(crate) before: Option<String>,
    pub(crate) progress: Progress,
    pub(crate) created: Time,
    pub(crate) updated: Time,
}

#[derive(Debug, Clone)]
pub(crate) struct CheckRun {
    pub(crate) id: Id,
    pub(crate) suite: Id,
    pub(crate) app: Id,
    pub(crate) name: String,
    pub(crate) head_sha: String,
    pub(crate) progress: Progress,
    pub(crate) details_url: Option<String>,
    pub(crate) external_id: String,
    pub(crate) title: Option<String>,
    pub(crate) summary: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) annotations: Vec<Annotation>,
    pub(crate) actions: Vec<CheckAction>,
    pub(crate) started: Option<Time>,
    pub(crate) completed: Option<Time>,
}

/// A button of a check run.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[expect(missing_docs, reason = "the fields are GitHub's own words")]
pub struct CheckAction {
    pub label: String,
    pub description: String,
    pub identifier: String,
}

/// One annotation of a check run.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct Annotation {
    /// The file, relative to the repository's root; GitHub writes `.github` when it means the run itself.
    pub path: String,
    /// First line, 1-based.
    pub start_line: u64,
    /// Last line, inclusive.
    pub end_line: u64,
    /// `notice`, `warning` or `failure`.
    pub annotation_level: String,
    /// The text that is shown.
    pub message: String,
    /// A heading.
    #[serde(default)]
    pub title: Option<String>,
}

impl Annotation {
    /// What Actions writes when something went wrong with a job itself rather than with a file.
    pub fn of_the_run(message: impl Into<String>) -> Annotation {
        Annotation {
            path: ".github".into(),
            start_line: 1,
            end_line: 1,
            annotation_level: "failure".into(),
            message: message.into(),
            title: None,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Status {
    pub(crate) id: Id,
    pub(crate) sha: String,
    pub(crate) context: String,
    pub(crate) state: String,
    pub(crate) description: Option<String>,
    pub(crate) target_url: Option<String>,
    pub(crate) creator: Id,
    pub(crate) created: Time,
}

#[derive(Debug, Clone)]
pub(crate) struct WorkflowRun {
    pub(crate) id: Id,
    pub(crate) suite: Id,
    pub(crate) workflow: Workflow,
    pub(crate) number: u64,
    pub(crate) attempt: u64,
    pub(crate) event: String,
    pub(crate) head_sha: String,
    pub(crate) head_branch: String,
    pub(crate) actor: Id,
    pub(crate) progress: Progress,
    pub(crate) created: Time,
    pub(crate) updated: Time,
    /// The archive of its logs, where it was recorded elsewhere.
    pub(crate) archive: Option<Bytes>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Workflow {
    pub(crate) id: Id,
    pub(crate) name: String,
    pub(crate) path: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) name: String,
    pub(crate) progress: Progress,
    pub(crate) log: String,
    pub(crate) started: Option<Time>,
    pub(crate) completed: Option<Time>,
}

#[derive(Debug, Clone)]
pub(crate) struct Job {
    /// Equal to the id of its check run, as on GitHub.
    pub(crate) id: Id,
    pub(crate) run: Id,
    pub(crate) attempt: u64,
    pub(crate) name: String,
    pub(crate) progress: Progress,
    pub(crate) steps: Vec<Step>,
    /// `None` until the job has a log: asking for it is a 404.
    pub(crate) log: Option<String>,
    pub(crate) runner: Option<String>,
    pub(crate) created: Time,
    pub(crate) started: Option<Time>,
    pub(crate) completed: Option<Time>,
}
