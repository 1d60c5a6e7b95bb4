//! Issues, pull requests and what is said in them.

use super::{Id, Time};
use std::collections::BTreeSet;

#[derive(Debug, Clone)]
pub(crate) struct Label {
    pub(crate) id: Id,
    pub(crate) name: String,
    pub(crate) color: String,
    pub(crate) description: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct Reaction {
    pub(crate) id: Id,
    pub(crate) user: Id,
    pub(crate) content: String,
    pub(crate) created: Time,
}

#[derive(Debug, Clone)]
pub(crate) struct Issue {
    pub(crate) id: Id,
    pub(crate) number: u64,
    pub(crate) title: String,
    pub(crate) body: Option<String>,
    pub(crate) author: Id,
    pub(crate) via_app: bool,
    pub(crate) open: bool,
    pub(crate) locked: bool,
    pub(crate) labels: Vec<String>,
    pub(crate) assignees: Vec<Id>,
    pub(crate) created: Time,
    pub(crate) updated: Time,
    pub(crate) closed: Option<Time>,
    pub(crate) closed_by: Option<Id>,
    pub(crate) reactions: Vec<Reaction>,
    pub(crate) subscribers: BTreeSet<Id>,
    /// How many more list answers leave this out (GitHub's lists lag behind its writes).
    pub(crate) lag: u32,
    pub(crate) pull: Option<Pull>,
}

#[derive(Debug, Clone)]
pub(crate) struct Side {
    pub(crate) repository: Id,
    pub(crate) branch: String,
    pub(crate) sha: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Pull {
    pub(crate) id: Id,
    pub(crate) head: Side,
    pub(crate) base: Side,
    pub(crate) draft: bool,
    pub(crate) merged: Option<Merged>,
    pub(crate) maintainer_can_modify: bool,
    pub(crate) reviewers: Vec<Id>,
    /// It stands in the merge queue.
    pub(crate) queued: bool,
    /// For which head and base it was asked whether it merges, and how often.
    pub(crate) judged: (String, u32),
}

#[derive(Debug, Clone)]
pub(crate) struct Merged {
    pub(crate) at: Time,
    pub(crate) by: Id,
    pub(crate) sha: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Comment {
    pub(crate) id: Id,
    pub(crate) issue: u64,
    pub(crate) author: Id,
    pub(crate) via_app: bool,
    pub(crate) body: String,
    pub(crate) created: Time,
    pub(crate) updated: Time,
    pub(crate) reactions: Vec<Reaction>,
    pub(crate) minimized: Option<String>,
    pub(crate) lag: u32,
}

#[derive(Debug, Clone)]
pub(crate) struct Review {
    pub(crate) id: Id,
    pub(crate) pull: u64,
    pub(crate) author: Id,
    /// `APPROVED`, `CHANGES_REQUESTED`, `COMMENTED`, `PENDING` or `DISMISSED`.
    pub(crate) state: String,
    pub(crate) body: String,
    pub(crate) commit: String,
    pub(crate) submitted: Time,
    pub(crate) lag: u32,
}

#[derive(Debug, Clone)]
pub(crate) struct ReviewComment {
    pub(crate) id: Id,
    pub(crate) pull: u64,
    pub(crate) review: Id,
    pub(crate) author: Id,
    pub(crate) body: String,
    pub(crate) path: String,
    pub(crate) line: u64,
    pub(crate) start_line: Option<u64>,
    /// The line is one of the old version.
    pub(crate) left: bool,
    /// Lines below the first hunk's head in the difference of the file.
    pub(crate) position: u64,
    pub(crate) commit: String,
    pub(crate) hunk: String,
    pub(crate) in_reply_to: Option<Id>,
    /// Of the first comment of a thread only.
    pub(crate) resolved_by: Option<Id>,
    pub(crate) created: Time,
    pub(crate) updated: Time,
    pub(crate) reactions: Vec<Reaction>,
    pub(crate) lag: u32,
}
