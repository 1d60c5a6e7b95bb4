//! The record of who asked, what was refused, what left the sandbox and what was published: lines that outlive the
//! session, and hold no content.
//!
//! A line is drawn from the fact it tells (an entry, a done effect), so that it is written in the fact's own transaction
//! and cannot say anything else. What happens beside the session's steps (a host that a sandbox reached) is a kind more
//! of [`Audit`], handed to the store as it is.

mod told;
mod words;

#[cfg(test)]
mod tests;

use super::{
    ids::{Actor, Number, RepoId, Sha},
    session::Subject,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One line before it is stored: whose deed, and what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audited {
    /// The account that asked for it; `None`: fixpoint's own doing.
    pub by: Option<Actor>,
    /// What.
    pub what: Audit,
}

/// What is recorded: a closed set, each with its fields and without content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Audit {
    /// Somebody who may ask asked for something.
    Asked {
        /// What.
        wish: Wish,
        /// The comment, review or button that asked, where one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<Subject>,
        /// Why nothing came of it, if so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ignored: Option<String>,
    },
    /// Somebody asked and was refused: nothing was begun, and nothing said.
    Refused {
        /// The issue or pull request.
        thread: Number,
        /// Why.
        why: String,
    },
    /// A change was taken out of the sandbox and passed the policy.
    Left {
        /// The commit made of it.
        commit: Sha,
        /// Its files.
        files: Vec<Leaving>,
        /// Files beyond those named.
        more: usize,
        /// Bytes of all files.
        bytes: u64,
        /// A person is asked before it is pushed.
        asks: bool,
    },
    /// A change was not let out of the sandbox.
    Withheld {
        /// Which rule, in words.
        why: String,
    },
    /// A branch was pushed and read back.
    Pushed {
        /// The branch.
        branch: String,
        /// The fork that it is in; `None`: the repository itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fork: Option<RepoId>,
        /// The commit it is at.
        commit: Sha,
    },
    /// Commits of ours were found on the branch that the database, put back to an older day, did not know.
    Found {
        /// They, oldest first.
        commits: Vec<Sha>,
    },
    /// A push was not made.
    NotPushed {
        /// Why.
        why: String,
    },
    /// A pull request was opened, or found open.
    PullOpened {
        /// Its number.
        number: Number,
    },
    /// A comment was written.
    Commented {
        /// GitHub's id of it.
        comment: u64,
    },
    /// A review was posted.
    Reviewed {
        /// The pull request.
        pull: Number,
        /// GitHub's id of the review.
        review: u64,
    },
    /// A check's failed jobs were started again.
    Rerun {
        /// The check.
        check: String,
        /// The commit it ran on.
        head: Sha,
    },
    /// A merged branch of ours was deleted.
    BranchDeleted {
        /// Which.
        branch: String,
    },
    /// A host outside was reached from a sandbox.
    Reached {
        /// `HOST:PORT`.
        host: String,
        /// Requests by method; connections that passed unopened are `CONNECT`.
        asked: BTreeMap<String, u64>,
        /// Bytes that left.
        sent: u64,
        /// Bytes that came back.
        received: u64,
    },
    /// A host outside was asked for from a sandbox and refused.
    HostRefused {
        /// `HOST:PORT`, as it was asked for.
        host: String,
        /// Which rule, in words.
        why: String,
        /// How often.
        times: u64,
    },
}

/// A file on its way out of a sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leaving {
    /// Its path.
    pub path: String,
    /// Its size; nothing for one that was removed.
    pub bytes: u64,
}

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wish {
    /// A change.
    Run,
    /// A plan.
    Plan,
    /// That CI is mended.
    Fix,
    /// That the base is taken in.
    Rebase,
    /// A review.
    Review,
    /// A review of ours was answered by a person's review.
    Feedback,
    /// The last request once more.
    Retry,
    /// Where it stands.
    Status,
    /// Yes to what waits.
    Approve,
    /// An end.
    Stop,
    /// Something that cannot be followed.
    Unclear,
}

impl Audit {
    /// The kind's name, as it is stored.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Asked { .. } => "asked",
            Self::Refused { .. } => "refused",
            Self::Left { .. } => "left",
            Self::Withheld { .. } => "withheld",
            Self::Pushed { .. } => "pushed",
            Self::Found { .. } => "found",
            Self::NotPushed { .. } => "not_pushed",
            Self::PullOpened { .. } => "pull_opened",
            Self::Commented { .. } => "commented",
            Self::Reviewed { .. } => "reviewed",
            Self::Rerun { .. } => "rerun",
            Self::BranchDeleted { .. } => "branch_deleted",
            Self::Reached { .. } => "reached",
            Self::HostRefused { .. } => "host_refused",
        }
    }
}
