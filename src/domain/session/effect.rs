//! What the outside world will notice. Each effect is a row: the intent before the act, the result after it.

use super::{LineComment, Spot};
use crate::domain::ids::{CommentId, Number, Repo, Sha, UserId};
use serde::{Deserialize, Serialize};

/// One act that must happen once. Each knows how to look before it acts.
///
/// What GitHub should show all the time (the status comment's text, the check run, draft or ready) is not here: it is
/// rendered from the state and kept up to date.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// 👀 on what asked.
    React {
        /// What asked.
        on: Subject,
    },
    /// Push our branch.
    Push {
        /// The branch, without `refs/heads/`.
        branch: String,
        /// The commit, made before this intent: pushing twice pushes the same.
        commit: Sha,
        /// What the branch must be at; `None`: it must not exist.
        expected: Option<Sha>,
        /// The fork that the branch is in; `None`: the repository itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fork: Option<Repo>,
        /// The commit does not stand on `expected` but replaces it.
        #[serde(default)]
        rewrites: bool,
    },
    /// Find the pull request of our branch, or open it.
    OpenPull {
        /// Its head branch.
        branch: String,
        /// The branch it goes to.
        base: String,
    },
    /// Create the status comment, from when on it is kept up to date.
    PostStatus,
    /// Ask for a review of the ready pull request.
    RequestReview {
        /// Of whom.
        login: String,
        /// Their id: nothing is asked of somebody who took over a login.
        id: UserId,
    },
    /// One new comment that a person is told by.
    Say {
        /// What it is about.
        message: Message,
        /// Whom it names.
        to: String,
        /// The request it belongs to: one message of a kind in a request, the same again edits it.
        request_no: u32,
        /// The comment that it answers, where it answers one: each has its own answer, in its own thread.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<Spot>,
    },
    /// Answer a thread of a review.
    Reply {
        /// The pull request.
        pull: Number,
        /// The reviewer's comment.
        to: u64,
        /// The commit that came of the review, if one did.
        commit: Option<Sha>,
        /// What the agent says to it.
        words: Option<String>,
    },
    /// Post a review.
    Review {
        /// The pull request.
        pull: Number,
        /// The commit that was looked at.
        head: Sha,
        /// What is said of the whole.
        summary: String,
        /// What is said of lines.
        comments: Vec<LineComment>,
        /// The request it answers.
        request_no: u32,
    },
    /// Take the label off that started the work.
    Unlabel {
        /// Which.
        label: String,
    },
    /// Start a check's failed jobs again.
    Rerun {
        /// The check's name.
        check: String,
        /// The head it ran on.
        head: Sha,
    },
    /// Delete our merged branch, if it is still at this commit.
    DeleteBranch {
        /// The branch.
        branch: String,
        /// Its last commit.
        at: Sha,
    },
}

/// What a new comment is about. The text is rendered from the state when it is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "snake_case")]
pub enum Message {
    /// A request ended in a way that needs the asker.
    Answer,
    /// The agent or the policy asks something.
    Question,
    /// Where it stands, because somebody asked.
    Status,
    /// A command that could not be followed, with why and what would work.
    CannotFollow {
        /// The sentence.
        text: String,
    },
}

/// What something was said in or about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "on", content = "id", rename_all = "snake_case")]
pub enum Subject {
    /// An issue's or pull request's own text.
    Body,
    /// A comment of the conversation.
    Comment(CommentId),
    /// A submitted review.
    Review(u64),
    /// A label.
    Label,
    /// A button of our check run.
    Button(u64),
    /// CI of a commit, by the repository's rule.
    Checks,
}

impl Subject {
    /// GitHub lets a reaction be put on it.
    pub fn takes_reactions(self) -> bool {
        matches!(self, Self::Body | Self::Comment(_))
    }
}
