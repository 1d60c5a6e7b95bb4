//! The judgement itself: from facts to a verdict, before any log is read.

use super::Checks;
use crate::domain::{Limits, Timestamp};

/// What a judgement depends on besides the checks.
#[derive(Clone, Debug)]
pub struct Context<'a> {
    /// The database's clock.
    pub now: Timestamp,
    /// When the commit was pushed.
    pub pushed: Timestamp,
    /// Grace, settle and wait.
    pub limits: &'a Limits,
    /// Our own App's id: its checks are not CI.
    pub own_app: u64,
    /// Check names that do not count.
    pub ignore: &'a [String],
    /// The base's workflows should run on this push.
    pub expected: bool,
    /// The change touches workflow files.
    pub touches_workflows: bool,
}

/// A verdict whose red checks are still to be read.
#[derive(Clone, Debug, PartialEq)]
pub enum Judgement {
    /// Nothing has to be read for it.
    Settled(super::Verdict),
    /// These checks are red; their logs decide why.
    Red {
        /// The red checks.
        checks: Vec<RedCheck>,
        /// Green checks, of how many.
        tally: (u32, u32),
    },
}

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
    /// Where a person can read more.
    pub url: Option<String>,
}

/// What the checks say at this moment.
pub fn judge(checks: &Checks, context: &Context<'_>) -> Judgement {
    let _ = (checks, context);
    todo!()
}
