//! Where a session stands: the facts that hold in every phase, and the phase with the data that is true only in it.

use super::{Facts, Outcome};
use crate::domain::{ids::Sha, time::Timestamp};
use serde::{Deserialize, Serialize};

/// A session's whole state: what its entries fold to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// What holds in every phase.
    pub facts: Facts,
    /// Where it stands.
    pub phase: Phase,
}

/// Where a session stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    /// A round is wanted and waits for its turn.
    Queued,
    /// A round runs; the only phase that holds a sandbox.
    Working,
    /// A commit is made and on its way to GitHub.
    Publishing {
        /// What is being pushed.
        commit: Sha,
        /// Its tree, remembered so that a repeat is noticed.
        tree: Sha,
    },
    /// CI runs on the head.
    Watching {
        /// When the head was pushed.
        since: Timestamp,
    },
    /// A person's answer is needed to go on.
    Waiting {
        /// What was asked.
        question: Question,
        /// When it was asked.
        since: Timestamp,
    },
    /// The request is answered and the pull request is open.
    Resting {
        /// How the request ended.
        outcome: Outcome,
    },
    /// The session is over.
    Done {
        /// How it ended.
        outcome: Outcome,
    },
}

/// What a waiting session waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "asks", rename_all = "snake_case")]
pub enum Question {
    /// The agent wants to know something.
    Agent {
        /// Its question, as it put it.
        text: String,
    },
    /// A plan wants approval.
    Plan {
        /// The plan, as the agent put it.
        text: String,
    },
    /// A finished change wants approval before it is pushed.
    Publish {
        /// The commit that would be pushed.
        commit: Sha,
        /// Its tree.
        tree: Sha,
    },
}

impl State {
    /// Is a request being worked on (not resting, not done)?
    pub fn is_live(&self) -> bool {
        !matches!(self.phase, Phase::Resting { .. } | Phase::Done { .. })
    }

    /// Is a round, or its push, wanted or going on?
    pub fn is_busy(&self) -> bool {
        matches!(self.phase, Phase::Queued | Phase::Working | Phase::Publishing { .. })
    }

    /// Does nothing go on without a person?
    pub fn needs_person(&self) -> bool {
        match &self.phase {
            Phase::Waiting { .. } => true,
            Phase::Resting { outcome } | Phase::Done { outcome } => outcome.needs_person(),
            _ => false,
        }
    }

    /// Is a conflict with the base ours to mend now? Only of a branch of ours that is watched or well.
    pub fn keeps_up(&self) -> bool {
        let watched = match &self.phase {
            Phase::Watching { .. } => true,
            Phase::Resting { outcome } => outcome.is_well(),
            _ => false,
        };
        watched && self.facts.guest.is_none()
    }

    /// Would a green head change how the request ended? Only where it ended because of CI, or on a red head.
    pub fn awaits_green(&self) -> bool {
        let Phase::Resting { outcome } = &self.phase else { return false };
        let for_ci = match outcome {
            Outcome::NotGreen { .. }
            | Outcome::NotStarted { .. }
            | Outcome::Infrastructure { .. }
            | Outcome::ChecksCancelled
            | Outcome::TimedOut
            | Outcome::Reopened => true,
            Outcome::NothingToChange { .. }
            | Outcome::Limit { .. }
            | Outcome::Budget { .. }
            | Outcome::EngineFailed { .. }
            | Outcome::Refused { .. } => !self.facts.failures.is_empty(),
            _ => false,
        };
        for_ci && self.facts.guest.is_none()
    }

    /// Is the pull request one to be looked at by reviewers now? `None`: that is not ours to say.
    pub fn is_ready(&self) -> Option<bool> {
        match &self.phase {
            Phase::Done { .. } => None,
            Phase::Resting { outcome: Outcome::Reopened | Outcome::StoodDown { .. } } => None,
            Phase::Resting { outcome: Outcome::Green | Outcome::NoCi } => Some(true),
            Phase::Resting { outcome: Outcome::NeedsPerson } => Some(false),
            // A request that changed nothing leaves a green head what it was.
            Phase::Resting { .. } => Some(self.facts.is_green() && self.facts.flags.is_empty()),
            _ => Some(false),
        }
    }

    /// Is it over?
    pub fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Done { .. })
    }

    /// All it ever did was answer a comment: no round was wanted.
    pub fn only_answered(&self) -> bool {
        let is_word = matches!(&self.phase, Phase::Done { outcome: Outcome::NothingToChange { .. } });
        is_word && self.facts.round == 0
    }

    /// The phase in one word, as logs and lists show it.
    pub fn phase_word(&self) -> &'static str {
        match self.phase {
            Phase::Queued => "queued",
            Phase::Working => "working",
            Phase::Publishing { .. } => "publishing",
            Phase::Watching { .. } => "watching",
            Phase::Waiting { .. } => "waiting",
            Phase::Resting { .. } => "resting",
            Phase::Done { .. } => "done",
        }
    }
}
