//! A red check and where its reason can be read.

use super::{
    Annotation, App, CheckRun, Status, Suite, WorkflowRun,
    signs::{self, Sign},
};
use crate::domain::failure::{Failure, Kind, Source};

/// A red check and where it can be read.
#[derive(Clone, Debug, PartialEq)]
pub struct RedCheck {
    /// Its name.
    pub name: String,
    /// The check run's id (for GitHub Actions also the job's); `None` for a commit status.
    pub check_run: Option<u64>,
    /// The workflow run's id, where it is GitHub Actions'.
    pub workflow_run: Option<u64>,
    /// Whether it is a job of GitHub Actions, with a log of its own.
    pub is_actions: bool,
    /// Its conclusion, as GitHub says it.
    pub conclusion: String,
    /// Title, summary and text of its output, or the status's description.
    pub output: String,
    /// How many annotations there are to read.
    pub annotations: u64,
    /// Where a person can read more.
    pub url: Option<String>,
    /// Why it is red, where that is known before any log is read: GitHub itself says that its runner was lost.
    pub known: Option<Kind>,
}

/// A job that GitHub never began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotBegun;

impl RedCheck {
    /// A check run that is known to be red; where it is a job of GitHub Actions its page names the workflow run.
    pub fn of(run: &CheckRun) -> Self {
        Self::of_run(run, super::gather::run_in_address(run))
    }

    /// A failed job of GitHub Actions with the messages of its annotations, where no check run was read. What GitHub itself
    /// says there of its machines is `known`: lost is [`Kind::Infrastructure`]. `Err` where the job never began.
    pub fn of_job(name: &str, job: u64, run: u64, annotations: &[String]) -> Result<Self, NotBegun> {
        let note = |message: &String| Annotation { message: message.clone(), ..Annotation::default() };
        let job = CheckRun {
            id: job,
            name: name.to_owned(),
            app: App { slug: "github-actions".to_owned(), ..App::default() },
            annotations: annotations.iter().map(note).collect(),
            ..CheckRun::default()
        };
        let known = match signs::read(&job) {
            Some(Sign::NotStarted(_)) => return Err(NotBegun),
            Some(Sign::Lost(_)) => Some(Kind::Infrastructure),
            None => None,
        };
        Ok(Self { known, ..Self::of_run(&job, Some(run)) })
    }

    pub(super) fn of_run(run: &CheckRun, workflow_run: Option<u64>) -> Self {
        let output = [&run.output.title, &run.output.summary, &run.output.text];
        let parts: Vec<&str> =
            output.into_iter().flatten().map(String::as_str).filter(|part| !part.is_empty()).collect();
        let notes: Vec<&str> = run.annotations.iter().map(|note| note.message.as_str()).collect();
        Self {
            name: run.name.clone(),
            check_run: Some(run.id).filter(|id| *id != 0),
            workflow_run,
            is_actions: run.app.is_actions(),
            conclusion: run.conclusion.clone().unwrap_or_default(),
            output: [parts, notes].concat().join("\n"),
            annotations: run.output.annotations_count,
            url: run.html_url.clone().or_else(|| run.details_url.clone()),
            known: None,
        }
    }

    pub(super) fn of_status(status: &Status) -> Self {
        Self {
            name: status.context.clone(),
            check_run: None,
            workflow_run: None,
            is_actions: false,
            conclusion: status.state.clone(),
            output: status.description.clone().unwrap_or_default(),
            annotations: 0,
            url: status.target_url.clone(),
            known: None,
        }
    }

    pub(super) fn of_workflow(run: &WorkflowRun) -> Self {
        let named = if run.name.is_empty() { &run.path } else { &run.name };
        Self {
            workflow_run: Some(run.id),
            url: run.html_url.clone(),
            ..Self::bare(named, run.conclusion.as_deref())
        }
    }

    pub(super) fn of_suite(suite: &Suite, name: &str) -> Self {
        Self::bare(name, suite.conclusion.as_deref())
    }

    fn bare(name: &str, conclusion: Option<&str>) -> Self {
        Self {
            name: name.to_owned(),
            check_run: None,
            workflow_run: None,
            is_actions: false,
            conclusion: conclusion.unwrap_or_default().to_owned(),
            output: String::new(),
            annotations: 0,
            url: None,
            known: None,
        }
    }

    /// The failure as far as it is known without a log.
    pub fn without_log(&self, kind: Kind) -> Failure {
        let line =
            self.output.lines().find(|line| !line.trim().is_empty()).unwrap_or(&self.conclusion).trim();
        let line: String = line.chars().take(200).collect();
        let source = if self.output.is_empty() { Source::Nothing } else { Source::Output };
        Failure {
            check: self.name.clone(),
            kind,
            signature: format!("{}: {line}", self.name),
            excerpt: self.output.clone(),
            tests: Vec::new(),
            url: self.url.clone(),
            source,
            evidence: None,
            line,
        }
    }
}
