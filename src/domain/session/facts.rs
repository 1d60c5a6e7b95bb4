//! The facts of a session that hold in every phase: what was asked and by whom, what the work stands on, what came of it.

use super::{Cause, Job, Outcome, Request};
use crate::domain::{
    Failure, Limits,
    egress::Refusals,
    failure::Kind,
    ids::{Actor, InstallationId, Number, Repo, Sha, UserId},
    policy::{Flag, Survey, exposure::Handed},
    time::Timestamp,
};
use serde::{Deserialize, Serialize};

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
    /// The base branch's commit when that round began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tip: Option<Sha>,
    /// The pull request, once open.
    pub pull: Option<Pull>,
    /// The branch and the pull request are a person's, and this is what is known of them; `None`: they are ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<Guest>,
    /// Requests that wait for this one's answer.
    pub kept: Vec<Request>,
    /// Plain comments of writers for the next round.
    pub notes: Vec<String>,
    /// Somebody said stop while it could not stop at once.
    pub stopping: bool,
    /// How the request before ended, while one that changes nothing is worked on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rested: Option<Outcome>,
    /// The plan that was approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// Reviews that were worked on, over all requests.
    #[serde(default)]
    pub reviews: u32,
    /// What the agent answers to the threads of the review, by comment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replies: Vec<(u64, String)>,
    /// Who asked for something in it, reviews aside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub askers: Vec<UserId>,
    /// Who approved which commit of the pull request, as GitHub last said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<Approval>,
    /// The base commit that the head could not be merged with: noted once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict: Option<Sha>,
    /// The commit on its way to GitHub replaces the head: a rebase of our own branch.
    #[serde(default)]
    pub rewrites: bool,
    /// What in the pushed change wants a person's look.
    pub flags: Vec<Flag>,
    /// What the change touches, counted.
    pub survey: Option<Survey>,
    /// What CI hands to the change, by the base's workflows.
    #[serde(default, skip_serializing_if = "Handed::is_empty")]
    pub handed: Handed,
    /// Failure signatures with the tree they were seen on, to notice a repeat.
    pub seen: Vec<(String, Sha)>,
    /// Text by people without write access reached the model.
    pub tainted: bool,
    /// What its sandboxes were refused on their way out.
    #[serde(default, skip_serializing_if = "Refusals::is_empty")]
    pub refused: Refusals,
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
    /// The reds of the base that the agent has called outside the request, while other work went on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Exception>,
    /// What the agent said it did, in its words; shown as its words.
    pub summary: Option<String>,
    /// The repository's template for pull requests as the agent filled it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
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
    /// The (or pull request's) number.
    pub number: Number,
    /// Its title when the session began.
    pub title: String,
    /// Its text when the session began.
    pub body: String,
    /// Who wrote it has write access: its text instructs. Else it is data.
    pub trusted: bool,
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

/// What is known of a person's pull request that is worked on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guest {
    /// Who opened it.
    pub author: Actor,
    /// The fork its branch is in; `None`: the repository itself.
    pub fork: Option<Repo>,
    /// Its branch may be pushed to, as far as GitHub tells: tried once.
    pub pushable: bool,
}

/// Somebody approved a commit of the pull request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// Who.
    pub by: UserId,
    /// Which commit.
    pub head: Sha,
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
    /// How many rounds the present request may have.
    pub fn cap(&self, limits: &Limits) -> u32 {
        self.request.options.rounds.unwrap_or(limits.rounds).min(limits.rounds)
    }

    /// Remembers who asked. Whoever reviews looks at the work of others, and that is what a second person is for.
    pub(super) fn note_asker(&mut self, request: &Request) {
        let id = request.asker.id;
        if !matches!(request.job, Job::Feedback { .. }) && !self.askers.contains(&id) {
            self.askers.push(id);
        }
    }

    /// Is every check of the head known to have passed?
    pub fn is_green(&self) -> bool {
        matches!(self.tally, Some((green, all)) if all > 0 && green == all)
    }

    /// Does text by people without write access reach the model? A title is text enough, and on a stranger's pull request the
    /// files themselves are theirs.
    pub fn reads_strangers(&self) -> bool {
        let thread = &self.thread;
        !thread.trusted && (self.guest.is_some() || !thread.body.is_empty() || !thread.title.is_empty())
    }

    /// The rounds of the present request change nothing.
    pub fn is_read_only(&self) -> bool {
        self.request.job.is_read_only()
    }

    /// The threads of the review that the present request answers.
    pub fn threads(&self) -> &[super::LineNote] {
        match &self.request.job {
            Job::Feedback { threads, .. } => threads,
            _ => &[],
        }
    }

    /// The agent says that what is red on the base too has nothing to do with the request.
    pub(super) fn claim(&mut self, why: &str) {
        if self.cause != Cause::RedCi {
            return;
        }
        for failure in self.failures.iter().filter(|failure| failure.kind == Kind::Base) {
            let (check, signature) = (failure.check.clone(), failure.signature.clone());
            self.claims.retain(|claim| claim.signature != signature);
            self.claims.push(Exception { check, signature, why: why.to_owned() });
        }
    }

    /// What a request may end green with: the agent's word alone is not enough, the failure must stand on the base too
    /// and be the only one left.
    pub(super) fn claimed(&self, failures: &[Failure]) -> Option<&Exception> {
        match failures {
            [only] if only.kind == Kind::Base => {
                self.claims.iter().find(|claim| claim.signature == only.signature)
            }
            _ => None,
        }
    }

    /// Is the one red check the one that the request ended with?
    pub fn excepts(&self, failures: &[Failure]) -> bool {
        matches!((&self.exception, failures), (Some(known), [only]) if only.signature == known.signature)
    }
}
