//! What another process can ask for, as JSON spells it.

use crate::emulator::faults::{Astray, Fault};
use crate::emulator::model::Play;
use crate::emulator::people::PullWish;
use crate::emulator::reviewers::LineComment;
use crate::emulator::{Ci, CiPlay, How, JobPlay, NewRepository, On, Permission, Script};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Everything that can be asked for; the tag is the verb in the path.
#[derive(Debug, Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case")]
pub(super) enum Verb {
    App,
    DeliverTo {
        url: String,
    },
    CreateRepository(RepositoryWish),
    Collaborator {
        repo: String,
        login: String,
        permission: Permission,
        #[serde(default)]
        hidden: bool,
    },
    Watch {
        repo: String,
        login: String,
    },
    UserToken {
        login: String,
    },
    OpenIssue {
        repo: String,
        login: String,
        title: String,
        body: String,
        #[serde(default)]
        labels: Vec<String>,
    },
    Comment {
        repo: String,
        number: u64,
        login: String,
        body: String,
    },
    EditComment {
        repo: String,
        id: u64,
        login: String,
        body: String,
    },
    Label {
        repo: String,
        number: u64,
        login: String,
        label: String,
    },
    Unlabel {
        repo: String,
        number: u64,
        login: String,
        label: String,
    },
    Close {
        repo: String,
        number: u64,
        login: String,
    },
    Reopen {
        repo: String,
        number: u64,
        login: String,
    },
    Merge {
        repo: String,
        number: u64,
        login: String,
    },
    OpenPull {
        repo: String,
        login: String,
        #[serde(flatten)]
        wish: PullWish,
    },
    Retarget {
        repo: String,
        number: u64,
        login: String,
        base: String,
    },
    Draft {
        repo: String,
        number: u64,
        login: String,
        draft: bool,
    },
    UpdateBranch {
        repo: String,
        login: String,
        branch: String,
    },
    Queue {
        repo: String,
        number: u64,
        login: String,
        queued: bool,
    },
    Review {
        repo: String,
        number: u64,
        login: String,
        state: String,
        #[serde(default)]
        body: String,
        #[serde(default)]
        lines: Vec<LineComment>,
    },
    CommentOnLine {
        repo: String,
        number: u64,
        login: String,
        line: LineComment,
    },
    Dismiss {
        repo: String,
        number: u64,
        login: String,
        review: u64,
    },
    Press {
        repo: String,
        login: String,
        check: String,
        identifier: String,
    },
    Rerequest {
        repo: String,
        login: String,
        check: String,
    },
    Reply {
        repo: String,
        number: u64,
        login: String,
        to: u64,
        body: String,
    },
    Push {
        repo: String,
        login: String,
        branch: String,
        files: BTreeMap<String, String>,
    },
    DeleteBranch {
        repo: String,
        login: String,
        branch: String,
    },
    Fork {
        repo: String,
        login: String,
    },
    Status {
        repo: String,
        sha: String,
        context: String,
        state: String,
    },
    CiPlays {
        repo: String,
        play: CiPlay,
    },
    CiEnds {
        repo: String,
        check: String,
        play: JobPlay,
    },
    ApproveRuns {
        repo: String,
    },
    ModelPlays {
        plays: Vec<Play>,
        #[serde(default)]
        key: String,
    },
    ModelShown,
    Fault(Fault),
    Astray {
        event: Option<String>,
        times: u32,
        astray: Astray,
    },
    /// Of a hundred webhooks so many, none that is sent again.
    AstrayShare {
        share: u32,
        astray: Astray,
    },
    ClearFaults,
    Grant {
        permission: String,
        level: Option<String>,
    },
    Suspend {
        suspended: bool,
    },
    Install {
        repo: String,
        installed: bool,
    },
    ExpireTokens,
    Secret {
        repo: String,
        name: String,
        value: String,
    },
    ReachForks {
        reached: bool,
    },
    MergeLag {
        reads: u32,
    },
    ListLag {
        reads: u32,
    },
    RateRemaining {
        remaining: u32,
    },
    ManifestCode {
        manifest: Value,
    },
    Settled,
    Pull {
        repo: String,
        number: u64,
    },
    Pulls {
        repo: String,
    },
    Issue {
        repo: String,
        number: u64,
    },
    Comments {
        repo: String,
        number: u64,
    },
    Reviews {
        repo: String,
        number: u64,
    },
    LineComments {
        repo: String,
        number: u64,
    },
    CheckRuns {
        repo: String,
        sha: String,
    },
    Branches {
        repo: String,
    },
    File {
        repo: String,
        reference: String,
        path: String,
    },
    Notifications,
    Requests,
    Deliveries,
    RedeliverFailed,
    LeakedAuthorizations,
}

#[derive(Debug, Deserialize)]
pub(super) struct RepositoryWish {
    name: String,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    private: bool,
    #[serde(default = "yes")]
    drafts: bool,
    #[serde(default)]
    protected: Vec<String>,
    #[serde(default)]
    required_checks: Vec<String>,
    /// Jobs and their commands; with none of the three there is no CI.
    #[serde(default)]
    commands: BTreeMap<String, String>,
    /// Names of scripted checks.
    #[serde(default)]
    checks: Vec<String>,
    /// CI is what the workflow files say.
    #[serde(default)]
    workflow: bool,
    on: Option<On>,
}

fn yes() -> bool {
    true
}

impl RepositoryWish {
    pub(super) fn into_new(self) -> NewRepository {
        let how = match () {
            () if !self.commands.is_empty() => How::Commands(self.commands.into_iter().collect()),
            () if !self.checks.is_empty() => {
                How::Scripted(Script { checks: self.checks, ..Script::default() })
            }
            () if self.workflow => How::Workflow,
            () => How::None,
        };
        let ci = Ci { how, on: self.on.unwrap_or(On::Push), ..Ci::default() };
        NewRepository {
            private: self.private,
            drafts: self.drafts,
            protected: self.protected,
            required_checks: self.required_checks,
            files: self.files.into_iter().map(|(path, text)| (path, text.into_bytes())).collect(),
            ..NewRepository::new(&self.name, &[]).ci(ci)
        }
    }
}
