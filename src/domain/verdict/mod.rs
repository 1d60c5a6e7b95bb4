//! What CI says about one commit, as one of a closed set of verdicts.

mod checks;
mod judge;

pub use checks::{CheckRun, Checks, Status, Suite, WorkflowRun};
pub use judge::{Context, Judgement, RedCheck, judge};

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
