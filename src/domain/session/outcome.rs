//! How a request, or a whole session, ended: one of a closed set, each with its own answer.

use crate::domain::ids::Sha;
use serde::{Deserialize, Serialize};

/// How a request, or a whole session, ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// Every check of the head passed.
    Green,
    /// Green, but something in the change wants a person's look first.
    NeedsPerson,
    /// Still red at the cap, or the same tree came back.
    NotGreen {
        /// Why it stopped there.
        why: String,
    },
    /// The repository runs no check on this head.
    NoCi,
    /// CI should have run but did not start, for a reason that is not in the code.
    NotStarted {
        /// What GitHub gave to see.
        why: String,
    },
    /// The runner or the network failed, and its re-runs are used up.
    Infrastructure {
        /// What was seen.
        why: String,
    },
    /// Somebody cancelled the checks.
    ChecksCancelled,
    /// Checks did not finish within the wait.
    TimedOut,
    /// The agent found nothing to change.
    NothingToChange {
        /// What it said.
        why: String,
    },
    /// A person stopped it.
    Stopped,
    /// A limit of the round was reached: steps, wall clock, files.
    Limit {
        /// Which, in words.
        which: String,
    },
    /// Money or tokens are used up.
    Budget {
        /// Which budget, in words.
        which: String,
    },
    /// The change was refused and nothing was pushed.
    Refused {
        /// Why, and what would allow it.
        why: String,
    },
    /// No round can begin as things are in the repository.
    CannotBegin {
        /// Why, and what would change it.
        why: String,
    },
    /// The engine or the model could not work.
    EngineFailed {
        /// What was seen, and who can mend it.
        why: String,
        /// The model was out of reach: asking again later may be all it takes.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        passing: bool,
    },
    /// Somebody else pushed to the branch; theirs stands.
    StoodDown {
        /// Their commit.
        head: Sha,
    },
    /// Nobody answered within the wait.
    NoAnswer,
    /// The pull request cannot be merged with its base as it is, and the rounds are used up.
    Conflict,
    /// A review of the pull request was posted.
    Reviewed,
    /// The change is done, but the branch is not one that may be pushed to: it is a patch in the answer.
    PatchOffered,
    /// The pull request was closed and opened again; it waits for a command.
    Reopened,
    /// The pull request was merged.
    Merged,
    /// The pull request was closed, or its branch deleted.
    Closed,
    /// The issue was closed before there was a pull request.
    IssueClosed,
    /// The App was suspended or the repository is out of reach.
    NoAccess,
}

impl Outcome {
    /// Nothing is wrong with the pull request.
    pub fn is_well(&self) -> bool {
        matches!(self, Self::Green | Self::NeedsPerson | Self::NoCi)
    }

    /// Has a person to do something before the matter goes on? A new outcome has to say.
    pub fn needs_person(&self) -> bool {
        match self {
            Self::NeedsPerson
            | Self::NotGreen { .. }
            | Self::NotStarted { .. }
            | Self::Infrastructure { .. }
            | Self::ChecksCancelled
            | Self::TimedOut
            | Self::Limit { .. }
            | Self::Budget { .. }
            | Self::Refused { .. }
            | Self::CannotBegin { .. }
            | Self::EngineFailed { .. }
            | Self::Conflict => true,
            Self::Green
            | Self::NoCi
            | Self::NothingToChange { .. }
            | Self::Stopped
            | Self::StoodDown { .. }
            | Self::NoAnswer
            | Self::Reviewed
            | Self::PatchOffered
            | Self::Reopened
            | Self::Merged
            | Self::Closed
            | Self::IssueClosed
            | Self::NoAccess => false,
        }
    }
}
