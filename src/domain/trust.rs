//! Who may start what, and whose text instructs.

use super::fault::{Fault, seeded};
use serde::{Deserialize, Serialize};

/// What an account may do in a repository, as the permission endpoint's `permission` says it.
/// Source: GitHub REST, "Get repository permissions for a user".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// Nothing.
    None,
    /// Read.
    Read,
    /// Write (`maintain` is reported as write).
    Write,
    /// Everything.
    Admin,
}

impl Permission {
    /// Reads GitHub's word; an unknown one gives nothing.
    pub fn parse(word: &str) -> Self {
        match word {
            "admin" => Self::Admin,
            "write" | "maintain" => Self::Write,
            "read" | "triage" => Self::Read,
            _ => Self::None,
        }
    }

    /// May this account give instructions?
    pub fn may_command(self) -> bool {
        self >= Self::Write || seeded(Fault::AnybodyHeard)
    }
}
