//! The one transition: what an entry makes of a state. A branch an entry here, the work of each in its own function.

use super::{
    Ask, Base, Cause, Effect, Entry, Facts, Guest, Job, Message, Outcome, Phase, Pull, Question, Request,
    Spent, Spot, State, Thread, ci,
};
use crate::domain::{
    egress::Refusals,
    ids::{InstallationId, Repo, Sha},
    limits::Limits,
    time::Timestamp,
};

/// What an entry makes of a state.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// The state after it, and what must happen outside because of it.
    To(Box<State>, Vec<Effect>),
    /// It changes nothing, for a reason people can read.
    Ignore(&'static str),
}

/// One of our own entries came out of order: a bug, never the world's doing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{entry} cannot follow while a session is {phase}")]
pub struct IllegalTransition {
    /// Where it stood.
    pub phase: &'static str,
    /// What came.
    pub entry: &'static str,
}

/// What is known when a session is made.
#[derive(Clone, Debug)]
pub struct Start {
    /// Through which installation it is reached.
    pub installation: InstallationId,
    /// The repository.
    pub repo: Repo,
    /// Whether anybody may read it.
    pub public: bool,
    /// Where it was asked.
    pub thread: Thread,
    /// What was asked.
    pub request: Request,
    /// The branch the pull request will go to.
    pub base: String,
    /// The name of our branch, or of the person's whose pull request is worked on.
    pub branch: String,
    /// A person's pull request, where it is about one.
    pub on: Option<OnPull>,
}

/// A person's pull request that a session begins on.
#[derive(Clone, Debug)]
pub struct OnPull {
    /// Its number.
    pub pull: Pull,
    /// Its live head.
    pub head: Sha,
    /// Whose it is; `None`: it is ours, from a session that is over.
    pub guest: Option<Guest>,
}

/// A new session and what must happen because of it.
pub fn start(from: Start, now: Timestamp) -> (State, Vec<Effect>) {
    let source = from.request.source;
    let react = source.takes_reactions().then_some(Effect::React { on: source });
    let cause = first_cause(&from.request.job);
    let (pull, head, guest) = match from.on {
        Some(on) => (Some(on.pull), Some(on.head), on.guest),
        None => (None, None, None),
    };
    let phase = first_phase(&from.request.job, head.as_ref(), now);
    let mut facts = Facts {
        installation: from.installation,
        repo: from.repo,
        public: from.public,
        thread: from.thread,
        request: from.request,
        request_no: 1,
        round: 0,
        cause,
        base: Base { branch: from.base, sha: None },
        branch: from.branch,
        head,
        head_tree: None,
        start: None,
        tip: None,
        pull,
        guest,
        kept: Vec::new(),
        notes: Vec::new(),
        stopping: false,
        rested: None,
        plan: None,
        reviews: 0,
        replies: Vec::new(),
        askers: Vec::new(),
        approvals: Vec::new(),
        conflict: None,
        rewrites: false,
        flags: Vec::new(),
        survey: None,
        handed: Default::default(),
        seen: Vec::new(),
        tainted: false,
        refused: Refusals::default(),
        in_merge_queue: false,
        spent: Spent::default(),
        rounds: Vec::new(),
        failures: Vec::new(),
        exception: None,
        claims: Vec::new(),
        summary: None,
        description: None,
        remark: None,
        reruns: Vec::new(),
        tally: None,
        told: false,
        since: now,
        as_of: now,
    };
    facts.note_asker(&facts.request.clone());
    (State { facts, phase }, react.into_iter().collect())
}

/// What a request's first round is for.
fn first_cause(job: &Job) -> Cause {
    match job {
        Job::Run | Job::Plan | Job::Review => Cause::Asked,
        Job::Fix => Cause::RedCi,
        Job::Rebase => Cause::Conflict,
        Job::Feedback { .. } => Cause::Review,
    }
}

/// Where a request begins: what is to be mended is asked of CI first.
fn first_phase(job: &Job, head: Option<&Sha>, now: Timestamp) -> Phase {
    match (job, head) {
        (Job::Fix, Some(_)) => Phase::Watching { since: now },
        _ => Phase::Queued,
    }
}

/// What `entry` makes of `state`, at `now` and within `limits`.
///
/// # Errors
/// [`IllegalTransition`] when one of our own entries comes out of order; facts from outside never are.
pub fn step(state: &State, entry: Entry, now: Timestamp, limits: &Limits) -> Result<Step, IllegalTransition> {
    let mut next = Next { state: state.clone(), effects: Vec::new(), now, limits };
    if state.is_done() && !matches!(entry, Entry::PullReopened { .. }) {
        return Ok(Step::Ignore("the session is over"));
    }
    let verdict = match entry {
        Entry::Asked { ask: Ask::Run { request } } => next.asked(request),
        Entry::Asked { ask: Ask::Retry { request } } => next.retry(request),
        Entry::Asked { ask: Ask::Approve { by, at } } => next.approved(&by.login, at),
        Entry::Asked { ask: Ask::Status { by, at } } => next.status(by.login, at),
        Entry::Asked { ask: Ask::Stop { by, at } } => next.stopped(&by.login, at),
        Entry::Asked { ask: Ask::Mistaken { by, sentence, at } } => {
            next.cannot_follow(&by.login, &sentence, at)
        }
        Entry::Noted { text, comment, .. } => next.noted(text, comment),
        Entry::HeadMoved { head, whose } => next.head_moved(head, whose),
        Entry::Judged { head, verdict } => ci::judged(&mut next, &head, verdict),
        Entry::Conflicted { base } => next.conflicted(base),
        Entry::Retargeted { base } => next.retargeted(base),
        Entry::Renamed { repo, installation } => next.renamed(repo, installation),
        Entry::Approvals { approvals } if approvals == state.facts.approvals => Err("known already"),
        Entry::Approvals { approvals } => {
            next.facts().approvals = approvals;
            Ok(())
        }
        Entry::PullClosed { merged } => next.pull_closed(merged),
        Entry::PullReopened { head } => next.reopened(head),
        Entry::BranchDeleted => next.over(Outcome::Closed),
        Entry::IssueClosed if next.has_pull() => Err("the work is in a pull request by now"),
        Entry::IssueClosed => next.over(Outcome::IssueClosed),
        Entry::NoAccess => next.over(Outcome::NoAccess),
        Entry::MergeQueue { inside } if inside == state.facts.in_merge_queue => Err("known already"),
        Entry::MergeQueue { inside } => next.merge_queue(inside),
        Entry::Hint { .. } => Err("a reason to look at the checks, which is done"),
        Entry::Expired { deadline } => next.expired(deadline),
        Entry::RoundBegan { base, start } => next.round_began(base, start)?,
        Entry::CannotBegin { outcome } => next.cannot_begin(outcome)?,
        Entry::RoundEnded { end } => next.round_ended(end)?,
        Entry::Pushed { commit } => next.pushed(&commit)?,
        Entry::NotPushed { commit, why } => next.not_pushed(commit.as_ref(), why)?,
        Entry::Found { rounds, base, start, flags, survey } => {
            next.found(rounds, (base, start), (flags, survey))
        }
        Entry::PullOpened { number, draftable } => next.pull_opened(Pull { number, draftable }),
    };
    next.facts().as_of = now;
    Ok(match verdict {
        Ok(()) => Step::To(Box::new(next.state), next.effects),
        Err(reason) => Step::Ignore(reason),
    })
}

/// Done, or nothing changed for this reason.
pub(super) type Taken = Result<(), &'static str>;

/// The state being made, with what it needs.
pub(super) struct Next<'a> {
    pub(super) state: State,
    pub(super) effects: Vec<Effect>,
    pub(super) now: Timestamp,
    pub(super) limits: &'a Limits,
}

impl Next<'_> {
    pub(super) fn facts(&mut self) -> &mut Facts {
        &mut self.state.facts
    }

    /// From the first push on there is a pull request, or one about to be opened; on a person's there is one at once.
    pub(super) fn has_pull(&self) -> bool {
        self.state.facts.head.is_some()
    }

    // ---- the pieces they share ----

    pub(super) fn expect(&self, entry: &'static str, holds: bool) -> Result<(), IllegalTransition> {
        if holds { Ok(()) } else { Err(IllegalTransition { phase: self.state.phase_word(), entry }) }
    }

    /// A new request: a fresh count of rounds, and whatever CI says of the old head is history. Without a `cause` the job
    /// decides how it begins.
    pub(super) fn begin(&mut self, request: Request, cause: Option<Cause>) {
        let now = self.now;
        let rested = match &self.state.phase {
            Phase::Resting { outcome } if request.job.is_read_only() => Some(outcome.clone()),
            _ => None,
        };
        let facts = self.facts();
        facts.rested = rested;
        facts.request = request;
        facts.request_no += 1;
        facts.round = 0;
        facts.rounds.clear();
        facts.seen.clear();
        facts.spent = Spent::default();
        facts.exception = None;
        facts.claims.clear();
        facts.plan = None;
        facts.replies.clear();
        if cause != Some(Cause::RedCi) {
            facts.failures.clear();
        }
        let job = facts.request.job.clone();
        self.queue(cause.unwrap_or_else(|| first_cause(&job)));
        if cause.is_none() {
            self.state.phase = first_phase(&job, self.state.facts.head.as_ref(), now);
        }
    }

    pub(super) fn queue(&mut self, cause: Cause) {
        self.facts().cause = cause;
        self.facts().remark = None;
        self.state.phase = Phase::Queued;
    }

    pub(super) fn publish(&mut self, commit: Sha, tree: Sha) {
        let facts = &self.state.facts;
        let (branch, expected, rewrites) = (facts.branch.clone(), facts.head.clone(), facts.rewrites);
        let fork = facts.guest.as_ref().and_then(|guest| guest.fork.clone());
        self.effects.push(Effect::Push { branch, commit: commit.clone(), expected, fork, rewrites });
        self.state.phase = Phase::Publishing { commit, tree };
    }

    pub(super) fn new_head(&mut self, head: Sha, tree: Option<Sha>) {
        let facts = self.facts();
        facts.head = Some(head);
        facts.head_tree = tree;
        facts.reruns.clear();
        facts.exception = None;
        facts.remark = None;
        facts.tally = None;
    }

    pub(super) fn ask(&mut self, question: Question) {
        self.state.phase = Phase::Waiting { question, since: self.now };
        self.tell_person(Message::Question);
    }

    /// Ends the request: resting where there is a pull request, done where there is none. The asker is told in the way
    /// the outcome wants; what was kept meanwhile begins.
    pub(super) fn answer(&mut self, outcome: Outcome) {
        if self.has_pull() {
            self.rest(outcome);
        } else {
            self.state.phase = Phase::Done { outcome };
            self.tell_person(Message::Answer);
        }
        self.next_kept();
    }

    pub(super) fn rest(&mut self, outcome: Outcome) {
        let well = matches!(outcome, Outcome::Green | Outcome::NoCi);
        // The review itself tells; and what a rule asked for is worth no word when there was nothing to do.
        let silent = outcome == Outcome::Reviewed
            || (self.state.facts.request.automatic && self.state.facts.round == 0);
        self.state.phase = Phase::Resting { outcome };
        self.facts().remark = None;
        if silent {
            return;
        }
        if well && self.state.facts.guest.is_none() {
            self.tell();
            let asker = self.state.facts.request.asker.clone();
            self.effects.push(Effect::RequestReview { login: asker.login, id: asker.id });
        } else {
            self.tell_person(Message::Answer);
        }
    }

    /// Over for a reason that everybody can see for themselves: nobody is told.
    pub(super) fn over(&mut self, outcome: Outcome) -> Taken {
        // What still waited ends with it: a pull request that is opened again begins with nothing.
        self.facts().kept.clear();
        self.note_result("ended");
        self.state.phase = Phase::Done { outcome };
        Ok(())
    }

    /// The next kept request begins, unless a person's answer is waited for or the session is over without a head.
    pub(super) fn next_kept(&mut self) {
        let idle =
            matches!(self.state.phase, Phase::Watching { .. } | Phase::Resting { .. } | Phase::Done { .. });
        if idle && !self.state.facts.kept.is_empty() {
            let request = self.facts().kept.remove(0);
            self.begin(request, None);
        }
    }

    /// The status comment is due: it is worth reading now.
    pub(super) fn tell(&mut self) {
        if !std::mem::replace(&mut self.facts().told, true) {
            self.effects.push(Effect::PostStatus);
        }
    }

    /// A person is needed: the first word is the status comment itself, later ones a comment that names them.
    pub(super) fn tell_person(&mut self, message: Message) {
        if self.state.facts.told {
            let asker = self.state.facts.request.asker.login.clone();
            self.say(message, asker, None);
        } else {
            self.tell();
        }
    }

    pub(super) fn say(&mut self, message: Message, to: String, at: Option<Spot>) {
        let request_no = self.state.facts.request_no;
        self.effects.push(Effect::Say { message, to, request_no, at });
    }

    pub(super) fn note_result(&mut self, result: &str) {
        if let Some(note) = self.facts().rounds.last_mut().filter(|n| n.result.is_empty()) {
            result.clone_into(&mut note.result);
        }
    }
}
