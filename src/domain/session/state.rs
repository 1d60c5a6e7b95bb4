//! What is true of a session: the facts that hold in every phase, and the phase with the data that is true only in it.

use super::{Cause, Subject};
use crate::domain::{
    Failure,
    ids::{Actor, InstallationId, Number, Repo, Sha},
    policy::{Flag, Survey},
    time::Timestamp,
};
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
    },
    /// Somebody else pushed to the branch; theirs stands.
    StoodDown {
        /// Their commit.
        head: Sha,
    },
    /// Nobody answered within the wait.
    NoAnswer,
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

/// What holds in every phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Through which installation it is reached.
    pub installation: InstallationId,
    /// The repository.
    pub repo: Repo,
    /// Whether anybody may read it: decides what is said.
    pub public: bool,
    /// Where it was asked, and is answered.
    pub thread: Thread,
    /// The request being worked on, or the last answered.
    pub request: Request,
    /// Counts requests from 1.
    pub request_no: u32,
    /// Rounds of this request that have begun. Counts up only in [`super::step()`], so no crash can exceed the cap.
    pub round: u32,
    /// What the next round is for.
    pub cause: Cause,
    /// What the work started from.
    pub base: Base,
    /// Our branch, from its first push.
    pub branch: String,
    /// What our branch points to, from its first push.
    pub head: Option<Sha>,
    /// The head's tree, where we made it.
    pub head_tree: Option<Sha>,
    /// The commit the present (or last) round started from.
    pub start: Option<Sha>,
    /// The pull request, once open.
    pub pull: Option<Pull>,
    /// Requests that wait for this one's answer.
    pub kept: Vec<Request>,
    /// Plain comments of writers for the next round.
    pub notes: Vec<String>,
    /// Somebody said stop while it could not stop at once.
    pub stopping: bool,
    /// What in the pushed change wants a person's look.
    pub flags: Vec<Flag>,
    /// What the change touches, counted.
    pub survey: Option<Survey>,
    /// Failure signatures with the tree they were seen on, to notice a repeat.
    pub seen: Vec<(String, Sha)>,
    /// Text by people without write access reached the model.
    pub tainted: bool,
    /// The pull request stands in a merge queue; nothing is pushed meanwhile.
    pub in_merge_queue: bool,
    /// What the request has used.
    pub spent: Spent,
    /// The request's rounds, oldest first: the report.
    pub rounds: Vec<RoundNote>,
    /// The red checks of the last verdict.
    pub failures: Vec<Failure>,
    /// The one red check that stands on the base too and that the agent calls outside the request: then green but for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exception: Option<Exception>,
    /// What the agent said it did, in its words; shown as its words.
    pub summary: Option<String>,
    /// A one-line status worth showing while CI is watched (an approval is needed, a re-run was started).
    pub remark: Option<String>,
    /// Re-runs asked for on the present head, by check.
    pub reruns: Vec<String>,
    /// How many of the head's checks are green, of how many.
    pub tally: Option<(u32, u32)>,
    /// The status comment was asked for: from then on it is kept up to date.
    pub told: bool,
    /// When the session was made.
    pub since: Timestamp,
    /// When anything last changed: the moment that texts about it name.
    pub as_of: Timestamp,
}

/// Where a session was asked for and is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// The issue's (or pull request's) number.
    pub number: Number,
    /// Its title when the session began.
    pub title: String,
    /// Its text when the session began.
    pub body: String,
    /// Who wrote it has write access: its text instructs. Else it is data.
    pub trusted: bool,
}

/// What a person or rule asked once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Who asked; asked for review at the end.
    pub asker: Actor,
    /// What to do; empty means "what the issue says".
    pub instruction: String,
    /// What asked: a comment, the issue's body.
    pub source: Subject,
}

/// What the work started from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// The branch the pull request goes to.
    pub branch: String,
    /// Its commit when the session's branch was made (or the base last taken in). Known from the first round.
    pub sha: Option<Sha>,
}

/// Our pull request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pull {
    /// Its number.
    pub number: Number,
    /// False where the repository's plan has no drafts.
    pub draftable: bool,
}

/// A red check that a request may end with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exception {
    /// The check.
    pub check: String,
    /// Its failure's signature: another failure of the same check is a red again.
    pub signature: String,
    /// Why it has nothing to do with the request, in the agent's words.
    pub why: String,
}

/// What a request has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Tokens of every kind.
    pub tokens: u64,
    /// Millionths of a dollar; 0 where no price is known.
    pub micros: u64,
}

/// One round in the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundNote {
    /// Counted within the request.
    pub number: u32,
    /// What it was for.
    pub cause: Cause,
    /// What it pushed, if it did.
    pub commit: Option<Sha>,
    /// How it came out, in a few words.
    pub result: String,
}

impl Facts {
    /// Is the one red check the one that the request ended with?
    pub fn excepts(&self, failures: &[Failure]) -> bool {
        matches!((&self.exception, failures), (Some(known), [only]) if only.signature == known.signature)
    }
}

impl State {
    /// Is a request being worked on (not resting, not done)?
    pub fn is_live(&self) -> bool {
        !matches!(self.phase, Phase::Resting { .. } | Phase::Done { .. })
    }

    /// Is it over?
    pub fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Done { .. })
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
