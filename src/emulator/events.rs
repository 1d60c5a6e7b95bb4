//! What happened, in order, for whoever wants to tell the story: the demo and the tests.

use serde::Serialize;

/// Something that happened on the emulated GitHub.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Happened {
    /// When, by the emulator's clock.
    pub at: chrono::DateTime<chrono::Utc>,
    /// `owner/name`.
    pub repository: String,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// The kinds of things that happen. `login` is who did it, `number` an issue or pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names of variants and fields are GitHub's own words")]
pub enum What {
    IssueOpened {
        number: u64,
        login: String,
        title: String,
        body: String,
    },
    PullOpened {
        number: u64,
        login: String,
        title: String,
        branch: String,
        draft: bool,
    },
    Commented {
        number: u64,
        id: u64,
        login: String,
        body: String,
    },
    CommentEdited {
        number: u64,
        id: u64,
        login: String,
        body: String,
    },
    CommentDeleted {
        number: u64,
        id: u64,
        login: String,
    },
    Reacted {
        number: u64,
        login: String,
        content: String,
    },
    Reviewed {
        number: u64,
        login: String,
        state: String,
        body: String,
    },
    ReviewCommented {
        number: u64,
        id: u64,
        login: String,
        path: String,
        body: String,
    },
    ReviewRequested {
        number: u64,
        login: String,
        reviewer: String,
    },
    ReadyForReview {
        number: u64,
        login: String,
    },
    ConvertedToDraft {
        number: u64,
        login: String,
    },
    Edited {
        number: u64,
        login: String,
    },
    Labeled {
        number: u64,
        login: String,
        label: String,
    },
    Unlabeled {
        number: u64,
        login: String,
        label: String,
    },
    Closed {
        number: u64,
        login: String,
    },
    Reopened {
        number: u64,
        login: String,
    },
    Merged {
        number: u64,
        login: String,
        sha: String,
    },
    Pushed {
        login: String,
        branch: String,
        before: String,
        sha: String,
    },
    BranchDeleted {
        login: String,
        branch: String,
    },
    PushRefused {
        login: String,
        branch: String,
        why: String,
    },
    CheckRun {
        name: String,
        sha: String,
        status: String,
        conclusion: Option<String>,
    },
    Status {
        context: String,
        sha: String,
        state: String,
    },
    Rerun {
        login: String,
        run: u64,
        sha: String,
    },
    /// Of all that ran on a commit by Actions in one workflow run.
    CiCompleted {
        sha: String,
        conclusion: String,
    },
}
