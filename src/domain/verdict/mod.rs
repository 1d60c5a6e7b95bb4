//! What CI says about one commit, as one of a closed set of verdicts.

mod checks;
mod gather;
mod judge;
mod lenient;
mod merge;
mod red;
mod signs;

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "cases read better without ampersands")]
mod tests;

pub use checks::{Annotation, App, CheckRun, Checks, Output, Status, Suite, SuiteRef, WorkflowRun};
pub use judge::{Context, Judgement, judge};
pub use red::{NotBegun, RedCheck};

use crate::domain::Failure;
use serde::{Deserialize, Serialize};

/// What CI says about one commit, with the red checks read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// Not settled yet: look again.
    Pending {
        /// Green checks so far, of how many.
        tally: (u32, u32),
    },
    /// Every check that counts passed.
    Green {
        /// Green checks, of how many.
        tally: (u32, u32),
    },
    /// Red because of the change (or red on the base too, which counts alike).
    Red {
        /// The red checks.
        failures: Vec<Failure>,
        /// Green checks, of how many.
        tally: (u32, u32),
    },
    /// Nothing runs on this commit, and nothing should.
    NoCi,
    /// A maintainer must approve the workflows before they run.
    AwaitingApproval {
        /// How many workflows wait.
        workflows: u32,
        /// Where they are approved.
        url: Option<String>,
    },
    /// CI should have run but did not start.
    NotStarted {
        /// What GitHub gave to see, and who can mend it.
        why: String,
    },
    /// Red, but not by anybody's code.
    Infrastructure {
        /// The red checks.
        failures: Vec<Failure>,
        /// What was seen, in one line.
        why: String,
    },
    /// Somebody cancelled it.
    Cancelled,
    /// It did not finish within the wait.
    TimedOut {
        /// The checks that never finished.
        pending: Vec<String>,
    },
}

impl Verdict {
    /// Its name in one word, the same that it is stored under.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pending { .. } => "pending",
            Self::Green { .. } => "green",
            Self::Red { .. } => "red",
            Self::NoCi => "no_ci",
            Self::AwaitingApproval { .. } => "awaiting_approval",
            Self::NotStarted { .. } => "not_started",
            Self::Infrastructure { .. } => "infrastructure",
            Self::Cancelled => "cancelled",
            Self::TimedOut { .. } => "timed_out",
        }
    }

    /// What it rests on, in one line without Markdown beyond code spans.
    pub fn reason(&self) -> String {
        match self {
            Self::Pending { tally: (green, all) } => format!("not settled yet: {green} of {all} green"),
            Self::Green { tally: (green, all) } => format!("{green} of {all} green"),
            Self::Red { failures, tally: (green, all) } => {
                let names: Vec<&str> = failures.iter().map(|failure| failure.check.as_str()).collect();
                format!("{green} of {all} green; red: {}", names.join(", "))
            }
            Self::NoCi => "no check ran on this commit, and none should".to_owned(),
            Self::AwaitingApproval { workflows, .. } => {
                format!("{workflows} waiting for a maintainer's approval")
            }
            Self::NotStarted { why } | Self::Infrastructure { why, .. } => why.clone(),
            Self::Cancelled => "somebody cancelled the checks".to_owned(),
            Self::TimedOut { pending } => format!("never finished: {}", pending.join(", ")),
        }
    }
}
