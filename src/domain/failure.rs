//! One red check, reduced to what verdicts, rounds and sentences need.

use serde::{Deserialize, Serialize};

/// Why a check is red.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The code under test; the agent's business.
    Change,
    /// The same failure stands on the base, without the change. A red like any other: most reports of bugs start there.
    Base,
    /// The same failure went away on one and the same commit before.
    Flaky,
    /// The machine, the network or the service that ran it; nobody's code.
    Infrastructure,
}

/// A red check with what its log says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The check's name as GitHub shows it.
    pub check: String,
    /// Why it is red.
    pub kind: Kind,
    /// Check name and normalised error: the same for the same failure, whatever the run.
    pub signature: String,
    /// The one line people see, at most 200 characters.
    pub line: String,
    /// The part of the log the model is given.
    pub excerpt: String,
    /// Names of failing tests, where the log has them.
    pub tests: Vec<String>,
    /// Where a person can read more.
    pub url: Option<String>,
    /// What was read: the job's log, the run's archive, annotations or the check's own output.
    pub source: Source,
    /// What its kind rests on, in one line of ours, where that is more than its own log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
}

/// Where a failure's excerpt was found, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The job's own log.
    JobLog,
    /// The run's log archive.
    Archive,
    /// The check run's annotations.
    Annotations,
    /// The check run's output or the status's description.
    Output,
    /// Nothing could be read.
    Nothing,
}
