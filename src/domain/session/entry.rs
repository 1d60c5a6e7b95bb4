//! What may happen to a session. Every entry is stored before it is stepped, with its time and limits.

use super::{Approval, LineComment, Outcome, Request, Spent, Subject};
use crate::domain::{
    egress::Refusals,
    ids::{Actor, CommentId, InstallationId, Number, Repo, Sha},
    policy::{Flag, Survey, exposure::Handed},
    verdict::Verdict,
};
use serde::{Deserialize, Serialize};

/// One thing that happened: asked by people, seen outside, or done by ourselves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum Entry {
    /// Somebody with write access asked for something.
    Asked {
        /// What.
        ask: Ask,
    },
    /// A plain comment by somebody with write access.
    Noted {
        /// Who wrote it.
        by: Actor,
        /// What it says.
        text: String,
        /// Where.
        comment: CommentId,
    },
    /// Our branch points to another commit than the one we know.
    HeadMoved {
        /// Where it points now.
        head: Sha,
        /// Whose commit that is, decided before the entry is stored.
        whose: Whose,
    },
    /// What CI says about a commit.
    Judged {
        /// The commit that was looked at.
        head: Sha,
        /// What was found.
        verdict: Verdict,
    },
    /// The head cannot be merged with the base as it is.
    Conflicted {
        /// The base's commit.
        base: Sha,
    },
    /// The pull request goes to another branch now.
    Retargeted {
        /// Which.
        base: String,
    },
    /// The repository has another name or owner: its id stays.
    Renamed {
        /// As it is called now.
        repo: Repo,
        /// Through which installation it is reached now.
        installation: InstallationId,
    },
    /// Who approves the pull request now, all of it read anew.
    Approvals {
        /// Everybody who does.
        approvals: Vec<Approval>,
    },
    /// The pull request was closed.
    PullClosed {
        /// By a merge.
        merged: bool,
    },
    /// The pull request was opened again.
    PullReopened {
        /// Its head at that time.
        head: Sha,
    },
    /// Our branch was deleted.
    BranchDeleted,
    /// The issue was closed.
    IssueClosed,
    /// The App was suspended, or the repository is gone or out of reach.
    NoAccess,
    /// The pull request entered (or left) a merge queue.
    MergeQueue {
        /// It is in there now.
        inside: bool,
    },
    /// A webhook names this commit: a reason to look at its checks now, and nothing more.
    Hint {
        /// The commit.
        head: Sha,
    },
    /// A wait is over.
    Expired {
        /// Which.
        deadline: Deadline,
    },
    /// Capacity was found and a round begins.
    RoundBegan {
        /// The base branch's commit the round sees.
        base: Sha,
        /// The commit the round starts from: the branch's live head, or the base.
        start: Sha,
    },
    /// No round can begin, and waiting will not help.
    CannotBegin {
        /// How the request ends because of it.
        outcome: Outcome,
    },
    /// The agent's work in a round is over.
    RoundEnded {
        /// How, and what came of it.
        end: RoundEnd,
    },
    /// The branch was read back and is at our commit.
    Pushed {
        /// That commit.
        commit: Sha,
    },
    /// The push was not made.
    NotPushed {
        /// Of which commit; `None`: it is the pull request that could not be opened.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<Sha>,
        /// Why.
        why: NotPushed,
    },
    /// Rounds of this session stand on the branch that its state does not know: the database is of an older day.
    Found {
        /// They, oldest first.
        rounds: Vec<Found>,
        /// The base's commit that they build upon.
        base: Sha,
        /// The commit that the last of them started from.
        start: Sha,
        /// What the policy says of the last one.
        flags: Vec<Flag>,
        /// What it touches.
        survey: Survey,
    },
    /// The pull request is open: made, or found.
    PullOpened {
        /// Its number.
        number: Number,
        /// Whether it could be a draft.
        draftable: bool,
    },
}

/// What somebody with write access asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Ask {
    /// Do this.
    Run {
        /// What, by whom, where.
        request: Request,
    },
    /// Do the last request again, with a fresh count of rounds.
    Retry {
        /// By whom, where; its instruction is empty.
        request: Request,
    },
    /// Say where it stands.
    Status {
        /// Who wants to know.
        by: Actor,
        /// Where.
        at: Spot,
    },
    /// The one question it waits for is answered with yes.
    Approve {
        /// Who approves.
        by: Actor,
        /// Where, if in a comment.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<Spot>,
    },
    /// End it now.
    Stop {
        /// Who stops it.
        by: Actor,
        /// Where, if in a comment.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<Spot>,
    },
    /// Something that cannot be followed; they are told what would work.
    Mistaken {
        /// Who.
        by: Actor,
        /// What they are told.
        sentence: String,
        /// Where, if in a comment.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<Spot>,
    },
}

/// A comment and the thread it stands in: where it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spot {
    /// The issue or pull request.
    pub thread: Number,
    /// The comment.
    pub comment: CommentId,
}

impl Spot {
    /// Where something that was asked on a thread is answered; `None`: it was asked by no comment.
    pub fn of(thread: Number, source: Subject) -> Option<Self> {
        match source {
            Subject::Comment(comment) => Some(Self { thread, comment }),
            _ => None,
        }
    }
}

/// Whose a commit on our branch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Whose {
    /// We made it, and the state does not know it: the holder looks, and takes up what it finds ([`Entry::Found`]).
    Ours,
    /// A clean merge of the base into ours ("Update branch"); counts as ours.
    CleanMerge,
    /// Anybody else's; it stands.
    Foreign,
}

/// Why a round is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Somebody asked.
    Asked,
    /// CI was red on what the round before pushed.
    RedCi,
    /// The agent's question, or the wait for a plan, was answered.
    Answered,
    /// A review on our pull request.
    Review,
    /// The base cannot be merged cleanly any more.
    Conflict,
}

/// A wait that can end without anybody doing something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deadline {
    /// A person's answer.
    Person,
    /// Something worth reading, so that a status comment is due though nothing has happened.
    Silence,
}

/// How a round's work ended, and what it used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundEnd {
    /// Which request it worked on; an ending of another is history.
    pub request_no: u32,
    /// Which round of it.
    pub round: u32,
    /// How it ended.
    pub ending: Ending,
    /// How many of the kept requests the agent was told of, oldest first: they are part of this one.
    pub requests_taken: usize,
    /// How many of the notes the agent was told of, oldest first.
    pub notes_taken: usize,
    /// What it used.
    pub spent: Spent,
    /// Text by people without write access reached the model in it.
    pub tainted: bool,
    /// What the agent answers to the threads of a review, by comment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replies: Vec<(u64, String)>,
    /// Why something that is still red has nothing to do with the request, where the agent says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside_request: Option<String>,
    /// What its sandbox was refused on its way out.
    #[serde(default, skip_serializing_if = "Refusals::is_empty")]
    pub refused: Refusals,
}

/// How a round's work ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ending", rename_all = "snake_case")]
pub enum Ending {
    /// A commit is made on the host and passed the policy.
    Changed {
        /// The commit to push.
        commit: Sha,
        /// Its tree.
        tree: Sha,
        /// What the agent says it did.
        summary: String,
        /// The repository's template for pull requests as the agent filled it in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// What wants a person's look.
        flags: Vec<Flag>,
        /// What it touches, counted.
        survey: Survey,
        /// What CI would hand to it.
        #[serde(default, skip_serializing_if = "Handed::is_empty")]
        handed: Handed,
        /// The policy wants a person to see the change before it is pushed.
        ask_first: bool,
        /// The commit of the base that it takes in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        takes_in: Option<Sha>,
        /// It does not stand on the head but replaces it: a rebase of our own branch.
        #[serde(default)]
        rewrites: bool,
    },
    /// A plan, to be approved.
    Planned {
        /// As the agent put it.
        text: String,
    },
    /// A review, to be posted.
    Reviewed {
        /// The agent's summary.
        summary: String,
        /// Its comments on lines.
        comments: Vec<LineComment>,
    },
    /// The agent asks something.
    Question {
        /// What, as it put it.
        text: String,
    },
    /// Nothing was changed.
    Nothing {
        /// What the agent says.
        summary: String,
    },
    /// A limit of the round was reached.
    Limit {
        /// Which, in words.
        which: String,
    },
    /// A budget is used up.
    Budget {
        /// Which, in words.
        which: String,
    },
    /// The policy refused the change and the agent insisted.
    Refused {
        /// Why, and what would allow it.
        why: String,
    },
    /// What the repository needs for a round, a service or its set-up, did not come about.
    Unready {
        /// What was seen, for whoever keeps the repository.
        why: String,
    },
    /// The engine, the model or the sandbox could not work.
    Failed {
        /// What was seen, and who can mend it.
        why: String,
        /// The model was out of reach: asking again later may be all it takes.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        passing: bool,
    },
}

/// A round as its commit tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Counted within its request.
    pub round: u32,
    /// What it pushed.
    pub commit: Sha,
    /// Its tree.
    pub tree: Sha,
    /// The commit's subject.
    pub summary: String,
}

/// Why a push was not made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum NotPushed {
    /// Somebody else's commit is on the branch; it stands.
    Foreign {
        /// Their commit.
        head: Sha,
    },
    /// GitHub refuses it: a permission is missing, or a rule protects the branch.
    Refused {
        /// GitHub's words, and what would allow it.
        reason: String,
    },
}
