//! What a webhook is to us: something that may start work, a fact about the world, or nothing.
//!
//! Sorting is pure and reads the payload leniently: whatever is null, missing or of an odd type, a delivery is sorted
//! with a reason and never fails. Text of bots and of ourselves is dropped here, before any work; checks, statuses,
//! pushes and pull requests are facts whoever caused them.

mod payload;
mod sort;
mod thread;

#[cfg(test)]
mod tests;

pub use sort::sort;
pub use thread::thread;

use crate::domain::{Actor, CommentId, InstallationId, Number, Repo, RepoId, Sha, UserId, command::On};

/// Who we are, as far as sorting needs it.
#[derive(Clone, Copy, Debug)]
pub struct Us<'a> {
    /// Our App's id. 0: not known.
    pub app: u64,
    /// Our App's slug, by which it is mentioned.
    pub slug: &'a str,
    /// The command word without the slash.
    pub word: &'a str,
    /// The label that starts work on an issue.
    pub label: &'a str,
    /// Bots that may command, by account id; nobody by default.
    pub bots: &'a [UserId],
}

/// A webhook, sorted.
#[allow(clippy::large_enum_variant, reason = "one at a time, taken apart at once")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Somebody asks for something: permission is still to be asked.
    Trigger(Box<Trigger>),
    /// Something is now so.
    Fact(Fact),
    /// Nothing follows from it; the reason.
    Ignore(&'static str),
}

impl Delivery {
    /// `trigger`, `fact` or `ignore`.
    pub fn does(&self) -> &'static str {
        match self {
            Self::Trigger(_) => "trigger",
            Self::Fact(_) => "fact",
            Self::Ignore(_) => "ignore",
        }
    }

    /// Why it is sorted so, in a few words.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Trigger(trigger) => trigger.asked.reason(),
            Self::Fact(fact) => fact.reason(),
            Self::Ignore(reason) => reason,
        }
    }
}

/// The repository it is about, and the installation that sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Missing in webhooks of a repository's own, which are not the App's; nothing can be done without it.
    pub installation: Option<InstallationId>,
    /// The repository.
    pub repo: Repo,
}

/// Somebody asks for something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// Where.
    pub place: Place,
    /// The issue or pull request.
    pub number: Number,
    /// Which of the two.
    pub on: On,
    /// By what.
    pub asked: Asked,
    /// Who: both the sender of the event and the author of the text.
    pub by: Actor,
    /// The text as it was at that moment; a later edit changes nothing.
    pub text: String,
    /// The thread's title and text as they were at that moment, where the event tells them: somebody who asks has read
    /// these, and not what stands there a minute later.
    pub thread: Option<(String, String)>,
}

/// What something was asked by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The text of an issue, when it was opened.
    Body,
    /// A comment on an issue or on a pull request's conversation.
    Comment(CommentId),
    /// Our label was put on an issue; the text is the label.
    Label,
    /// A submitted review, GitHub's id of it; the text is its summary.
    Review(u64),
    /// A button of our check run, or its "Re-run"; the text is the button's identifier, or `rerequested`.
    Button {
        /// Our check run.
        check_run: u64,
    },
}

impl Asked {
    fn reason(&self) -> &'static str {
        match self {
            Self::Body => "a command in the text of a new issue",
            Self::Comment(_) => "a command in a new comment",
            Self::Label => "the label that starts work was added",
            Self::Review(_) => "a review was submitted",
            Self::Button { .. } => "a button of our check run was pressed",
        }
    }
}

/// Something that is now so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// Checks, statuses or workflow runs of a commit have changed.
    Checks {
        /// Where.
        place: Place,
        /// The commit.
        head: Sha,
        /// One of them has just failed.
        failed: bool,
    },
    /// A branch moved, appeared or went.
    Push {
        /// Where.
        place: Place,
        /// The branch, without `refs/heads/`.
        branch: String,
        /// Its commit before; `None`: it is new, or GitHub did not say.
        before: Option<Sha>,
        /// Its commit now; `None`: it is gone.
        after: Option<Sha>,
        /// Who pushed.
        by: Option<Actor>,
    },
    /// Something about a pull request has changed.
    Pull {
        /// Where.
        place: Place,
        /// Which.
        number: Number,
        /// GitHub's word for what happened: `closed`, `synchronize`, `enqueued` …
        action: String,
        /// Its head commit.
        head: Option<Sha>,
        /// Its head branch.
        head_branch: String,
        /// The repository of its head; `None` when that was deleted.
        head_repo: Option<RepoId>,
        /// The branch it goes to.
        base_branch: String,
        /// It is merged.
        merged: bool,
        /// Who did it.
        by: Option<Actor>,
    },
    /// An issue was closed, deleted or moved to another repository.
    IssueClosed {
        /// Where.
        place: Place,
        /// Which.
        number: Number,
    },
    /// Somebody wrote something without a command; a note, if they may write.
    Comment {
        /// Where.
        place: Place,
        /// The issue or pull request.
        number: Number,
        /// Which of the two.
        on: On,
        /// Which comment.
        comment: CommentId,
        /// Who.
        by: Actor,
        /// What.
        text: String,
    },
    /// Who approves a pull request has changed.
    Approvals {
        /// Where.
        place: Place,
        /// The pull request.
        number: Number,
    },
    /// The App was removed from an account, or suspended there.
    InstallationGone {
        /// Which.
        installation: InstallationId,
    },
    /// Repositories were taken out of an installation.
    RepositoriesRemoved {
        /// Which.
        installation: InstallationId,
        /// The repositories.
        repos: Vec<RepoId>,
    },
    /// A repository was deleted or archived.
    RepositoryGone {
        /// Which.
        place: Place,
    },
    /// A repository was renamed, moved, or its visibility changed: ids stay, all else is read again.
    RepositoryChanged {
        /// Which.
        place: Place,
    },
}

impl Fact {
    fn reason(&self) -> &'static str {
        match self {
            Self::Checks { .. } => "checks of a commit have changed",
            Self::Push { after: Some(_), .. } => "a branch has moved",
            Self::Push { after: None, .. } => "a branch is gone",
            Self::Pull { .. } => "a pull request has changed",
            Self::IssueClosed { .. } => "an issue is closed or gone",
            Self::Comment { .. } => "a comment without a command",
            Self::Approvals { .. } => "who approves a pull request has changed",
            Self::InstallationGone { .. } => "the App has no access any more",
            Self::RepositoriesRemoved { .. } => "repositories are out of the App's reach",
            Self::RepositoryGone { .. } => "a repository is gone or archived",
            Self::RepositoryChanged { .. } => "a repository has another name, owner or visibility",
        }
    }
}
