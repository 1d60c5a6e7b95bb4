//! The one transition: what an entry makes of a state. A branch an entry here, the work of each in its own function.

use super::{
    Ask, Base, Cause, Deadline, Effect, Ending, Entry, Exception, Facts, Message, NotPushed, Outcome, Phase,
    Question, Request, RoundEnd, RoundNote, Spent, State, Subject, Thread, Whose, ci,
};
use crate::domain::{
    failure::Kind,
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
    /// The name of our branch.
    pub branch: String,
}

/// A new session and what must happen because of it.
pub fn start(from: Start, now: Timestamp) -> (State, Vec<Effect>) {
    let react = Effect::React { on: from.request.source };
    let facts = Facts {
        installation: from.installation,
        repo: from.repo,
        public: from.public,
        thread: from.thread,
        request: from.request,
        request_no: 1,
        round: 0,
        cause: Cause::Asked,
        base: Base { branch: from.base, sha: None },
        branch: from.branch,
        head: None,
        head_tree: None,
        start: None,
        pull: None,
        kept: Vec::new(),
        notes: Vec::new(),
        stopping: false,
        flags: Vec::new(),
        survey: None,
        seen: Vec::new(),
        tainted: false,
        in_merge_queue: false,
        spent: Spent::default(),
        rounds: Vec::new(),
        failures: Vec::new(),
        exception: None,
        summary: None,
        remark: None,
        reruns: Vec::new(),
        tally: None,
        told: false,
        since: now,
        as_of: now,
    };
    (State { facts, phase: Phase::Queued }, vec![react])
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
        Entry::Asked { ask: Ask::Approve { by } } => next.approved(&by.login),
        Entry::Asked { ask: Ask::Stop { .. } } => next.stopped(),
        Entry::Asked { ask: Ask::Mistaken { by, sentence } } => next.cannot_follow(&by.login, &sentence),
        Entry::Noted { text, comment, .. } => next.noted(text, comment),
        Entry::HeadMoved { head, whose } => next.head_moved(head, whose),
        Entry::Judged { head, verdict } => ci::judged(&mut next, &head, verdict),
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
        Entry::NotPushed { why } => next.not_pushed(why)?,
        Entry::PullOpened { number, draftable } => next.pull_opened(super::Pull { number, draftable }),
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

    /// From the first push on there is a pull request, or one about to be opened.
    fn has_pull(&self) -> bool {
        self.state.facts.head.is_some()
    }

    // ---- what people ask ----

    fn asked(&mut self, request: Request) -> Taken {
        self.effects.push(Effect::React { on: request.source });
        match self.state.phase {
            Phase::Queued => {
                let instruction = &mut self.facts().request.instruction;
                *instruction = [instruction.as_str(), &request.instruction].join("\n\n").trim().to_owned();
            }
            // A working agent is told at its next turn; what it was not told of becomes a request of its own.
            Phase::Working | Phase::Publishing { .. } => self.facts().kept.push(request),
            Phase::Waiting { question: Question::Agent { .. }, .. } => self.begin(request, Cause::Answered),
            _ => self.begin(request, Cause::Asked),
        }
        Ok(())
    }

    fn retry(&mut self, mut request: Request) -> Taken {
        if matches!(self.state.phase, Phase::Queued | Phase::Working | Phase::Publishing { .. }) {
            return self.cannot_follow(&request.asker.login, "It is being worked on already.");
        }
        self.effects.push(Effect::React { on: request.source });
        request.instruction.clone_from(&self.state.facts.request.instruction);
        let cause = if self.state.facts.failures.is_empty() { Cause::Asked } else { Cause::RedCi };
        self.begin(request, cause);
        Ok(())
    }

    fn approved(&mut self, by: &str) -> Taken {
        match self.state.phase.clone() {
            Phase::Waiting { question: Question::Plan { .. }, .. } => self.queue(Cause::Answered),
            Phase::Waiting { question: Question::Publish { commit, tree }, .. } => self.publish(commit, tree),
            Phase::Resting { outcome: Outcome::NeedsPerson } => {
                self.facts().flags.clear();
                self.rest(Outcome::Green);
            }
            _ => return self.cannot_follow(by, "Nothing waits for an approval here."),
        }
        Ok(())
    }

    fn stopped(&mut self) -> Taken {
        self.facts().kept.clear();
        match self.state.phase {
            Phase::Resting { .. } => Err("nothing runs that could be stopped"),
            // What is intended is finished first: a push that may have happened cannot be taken back.
            Phase::Publishing { .. } => {
                self.facts().stopping = true;
                Ok(())
            }
            _ => {
                self.note_result("stopped");
                self.answer(Outcome::Stopped);
                Ok(())
            }
        }
    }

    fn noted(&mut self, text: String, comment: crate::domain::CommentId) -> Taken {
        self.facts().notes.push(text);
        if self.state.phase == Phase::Working {
            self.effects.push(Effect::React { on: Subject::Comment(comment) });
        }
        Ok(())
    }

    fn cannot_follow(&mut self, to: &str, why: &str) -> Taken {
        let message = Message::CannotFollow { text: why.to_owned() };
        self.say(message, to.to_owned());
        Ok(())
    }

    // ---- what is seen outside ----

    fn head_moved(&mut self, head: Sha, whose: Whose) -> Taken {
        if self.state.facts.head.as_ref() == Some(&head) {
            return Err("the head is known already");
        }
        match whose {
            Whose::Ours => return Err("a commit of our own, older than the head"),
            Whose::CleanMerge => {
                self.new_head(head, None);
                if !matches!(self.state.phase, Phase::Queued | Phase::Working | Phase::Waiting { .. }) {
                    self.state.phase = Phase::Watching { since: self.now };
                }
            }
            Whose::Foreign => {
                self.new_head(head.clone(), None);
                self.note_result("somebody else pushed");
                self.answer(Outcome::StoodDown { head });
            }
        }
        Ok(())
    }

    fn pull_closed(&mut self, merged: bool) -> Taken {
        if let (true, Some(at)) = (merged, self.state.facts.head.clone()) {
            let branch = self.state.facts.branch.clone();
            self.effects.push(Effect::DeleteBranch { branch, at });
        }
        self.over(if merged { Outcome::Merged } else { Outcome::Closed })
    }

    fn reopened(&mut self, head: Sha) -> Taken {
        if !matches!(self.state.phase, Phase::Done { outcome: Outcome::Closed }) {
            return Err("it was not closed");
        }
        self.new_head(head, None);
        self.state.phase = Phase::Resting { outcome: Outcome::Reopened };
        Ok(())
    }

    fn merge_queue(&mut self, inside: bool) -> Taken {
        self.facts().in_merge_queue = inside;
        Ok(())
    }

    fn expired(&mut self, deadline: Deadline) -> Taken {
        match (deadline, &self.state.phase) {
            (Deadline::Person, Phase::Waiting { since, .. })
                if self.now.since(*since) >= self.limits.person =>
            {
                self.answer(Outcome::NoAnswer);
                Ok(())
            }
            (Deadline::Silence, _) if !self.state.facts.told && self.state.is_live() => {
                self.tell();
                Ok(())
            }
            _ => Err("nothing waits for that any more"),
        }
    }

    // ---- what we do ourselves ----

    fn round_began(&mut self, base: Sha, start: Sha) -> Result<Taken, IllegalTransition> {
        self.expect("RoundBegan", self.state.phase == Phase::Queued)?;
        // The cap's last line: whatever made a round begin, there is never one more.
        if self.state.facts.round >= self.limits.rounds {
            self.answer(Outcome::NotGreen { why: ci::cap(self.limits.rounds) });
            return Ok(Ok(()));
        }
        let facts = self.facts();
        facts.round += 1;
        facts.base.sha.get_or_insert(base);
        facts.start = Some(start);
        facts.remark = None;
        let note = RoundNote { number: facts.round, cause: facts.cause, commit: None, result: String::new() };
        facts.rounds.push(note);
        self.state.phase = Phase::Working;
        Ok(Ok(()))
    }

    fn cannot_begin(&mut self, outcome: Outcome) -> Result<Taken, IllegalTransition> {
        self.expect("CannotBegin", self.state.phase == Phase::Queued)?;
        self.answer(outcome);
        Ok(Ok(()))
    }

    fn round_ended(&mut self, end: RoundEnd) -> Result<Taken, IllegalTransition> {
        let (now_at, then_at) =
            ((self.state.facts.request_no, self.state.facts.round), (end.request_no, end.round));
        self.expect("RoundEnded", then_at <= now_at)?;
        if then_at < now_at || self.state.phase != Phase::Working {
            return Ok(Err("the round was ended from outside before"));
        }
        let facts = self.facts();
        facts.kept.drain(..end.requests_taken.min(facts.kept.len()));
        facts.notes.drain(..end.notes_taken.min(facts.notes.len()));
        facts.spent.tokens += end.spent.tokens;
        facts.spent.micros += end.spent.micros;
        facts.tainted |= end.tainted;
        self.ended(end.ending);
        Ok(Ok(()))
    }

    fn ended(&mut self, ending: Ending) {
        match ending {
            Ending::Changed { commit, tree, summary, flags, survey, ask_first } => {
                let facts = self.facts();
                facts.summary = Some(summary);
                facts.flags = flags;
                facts.survey = Some(survey);
                if facts.seen.iter().any(|(_, seen)| *seen == tree) {
                    let round = facts.round;
                    self.note_result("the same tree as in an earlier round");
                    let why = format!("Round {round} rebuilt an earlier round's tree, so it stopped.");
                    self.answer(Outcome::NotGreen { why });
                } else if ask_first {
                    self.ask(Question::Publish { commit, tree });
                } else {
                    self.publish(commit, tree);
                }
            }
            Ending::Question { text } => {
                self.note_result("asked a question");
                self.ask(Question::Agent { text });
            }
            Ending::Nothing { summary, outside_request } => match self.exception(outside_request) {
                Some(exception) => ci::green_but_for(self, exception),
                None => {
                    self.note_result("nothing to change");
                    self.answer(Outcome::NothingToChange { why: summary });
                }
            },
            Ending::Limit { which } => {
                self.note_result("a limit was reached");
                self.answer(Outcome::Limit { which });
            }
            Ending::Budget { which } => {
                self.note_result("the budget is used up");
                self.answer(Outcome::Budget { which });
            }
            Ending::Refused { why } => {
                self.note_result("not pushed");
                self.answer(Outcome::Refused { why });
            }
            Ending::Failed { why } => {
                self.note_result("could not work");
                self.answer(Outcome::EngineFailed { why });
            }
        }
    }

    fn pushed(&mut self, done: &Sha) -> Result<Taken, IllegalTransition> {
        let Phase::Publishing { commit, tree } = self.state.phase.clone() else {
            let known = self.state.facts.head.as_ref() == Some(done);
            self.expect("Pushed", known || !self.state.is_live())?;
            return Ok(Err("the push is recorded already"));
        };
        self.expect("Pushed", commit == *done)?;
        self.new_head(commit.clone(), Some(tree));
        let facts = self.facts();
        if let Some(note) = facts.rounds.last_mut() {
            note.commit = Some(commit);
        }
        if facts.pull.is_none() {
            let (branch, base) = (facts.branch.clone(), facts.base.branch.clone());
            self.effects.push(Effect::OpenPull { branch, base });
        }
        self.state.phase = Phase::Watching { since: self.now };
        if std::mem::take(&mut self.facts().stopping) {
            self.answer(Outcome::Stopped);
        } else {
            self.next_kept();
        }
        Ok(Ok(()))
    }

    fn not_pushed(&mut self, why: NotPushed) -> Result<Taken, IllegalTransition> {
        // Pushed it may be, but there is no pull request: the same end.
        let unopened = self.state.facts.pull.is_none();
        let waits = match self.state.phase {
            Phase::Publishing { .. } => true,
            Phase::Watching { .. } => unopened,
            _ => false,
        };
        if !waits {
            self.expect("NotPushed", unopened || !self.state.is_live())?;
            return Ok(Err("the request has ended before, or another one goes on"));
        }
        self.facts().stopping = false;
        match why {
            NotPushed::Foreign { head } => {
                self.new_head(head.clone(), None);
                self.note_result("somebody else pushed");
                self.answer(Outcome::StoodDown { head });
            }
            NotPushed::Refused { reason } => {
                self.note_result("not pushed");
                self.answer(Outcome::Refused { why: reason });
            }
        }
        Ok(Ok(()))
    }

    fn pull_opened(&mut self, pull: super::Pull) -> Taken {
        if self.state.facts.pull.is_some() {
            return Err("the pull request is known already");
        }
        self.facts().pull = Some(pull);
        self.tell();
        Ok(())
    }

    // ---- the pieces they share ----

    fn expect(&self, entry: &'static str, holds: bool) -> Result<(), IllegalTransition> {
        if holds { Ok(()) } else { Err(IllegalTransition { phase: self.state.phase_word(), entry }) }
    }

    /// A new request: a fresh count of rounds, and whatever CI says of the old head is history.
    fn begin(&mut self, request: Request, cause: Cause) {
        let facts = self.facts();
        facts.request = request;
        facts.request_no += 1;
        facts.round = 0;
        facts.rounds.clear();
        facts.seen.clear();
        facts.spent = Spent::default();
        facts.exception = None;
        if cause != Cause::RedCi {
            facts.failures.clear();
        }
        self.queue(cause);
    }

    pub(super) fn queue(&mut self, cause: Cause) {
        self.facts().cause = cause;
        self.facts().remark = None;
        self.state.phase = Phase::Queued;
    }

    /// What the request may end green with: the agent's word alone is not enough, the failure must stand on the base too
    /// and be the only one left.
    fn exception(&self, outside_request: Option<String>) -> Option<Exception> {
        let facts = &self.state.facts;
        match (outside_request, facts.failures.as_slice()) {
            (Some(why), [only]) if facts.cause == Cause::RedCi && only.kind == Kind::Base => {
                Some(Exception { check: only.check.clone(), signature: only.signature.clone(), why })
            }
            _ => None,
        }
    }

    fn publish(&mut self, commit: Sha, tree: Sha) {
        let facts = &self.state.facts;
        let (branch, expected) = (facts.branch.clone(), facts.head.clone());
        self.effects.push(Effect::Push { branch, commit: commit.clone(), expected });
        self.state.phase = Phase::Publishing { commit, tree };
    }

    fn new_head(&mut self, head: Sha, tree: Option<Sha>) {
        let facts = self.facts();
        facts.head = Some(head);
        facts.head_tree = tree;
        facts.reruns.clear();
        facts.exception = None;
        facts.remark = None;
        facts.tally = None;
    }

    fn ask(&mut self, question: Question) {
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
        let quiet = matches!(outcome, Outcome::Green | Outcome::NoCi);
        self.state.phase = Phase::Resting { outcome };
        self.facts().remark = None;
        if quiet {
            self.tell();
            let asker = self.state.facts.request.asker.clone();
            self.effects.push(Effect::RequestReview { login: asker.login, id: asker.id });
        } else {
            self.tell_person(Message::Answer);
        }
    }

    /// Over for a reason that everybody can see for themselves: nobody is told.
    fn over(&mut self, outcome: Outcome) -> Taken {
        self.note_result("ended");
        self.state.phase = Phase::Done { outcome };
        Ok(())
    }

    /// The next kept request begins, unless a person's answer is waited for or the session is over without a head.
    fn next_kept(&mut self) {
        let idle =
            matches!(self.state.phase, Phase::Watching { .. } | Phase::Resting { .. } | Phase::Done { .. });
        if idle && !self.state.facts.kept.is_empty() {
            let request = self.facts().kept.remove(0);
            self.begin(request, Cause::Asked);
        }
    }

    /// The status comment is due: it is worth reading now.
    fn tell(&mut self) {
        if !std::mem::replace(&mut self.facts().told, true) {
            self.effects.push(Effect::PostStatus);
        }
    }

    /// A person is needed: the first word is the status comment itself, later ones a comment that names them.
    pub(super) fn tell_person(&mut self, message: Message) {
        if self.state.facts.told {
            let asker = self.state.facts.request.asker.login.clone();
            self.say(message, asker);
        } else {
            self.tell();
        }
    }

    fn say(&mut self, message: Message, to: String) {
        let request_no = self.state.facts.request_no;
        self.effects.push(Effect::Say { message, to, request_no });
    }

    pub(super) fn note_result(&mut self, result: &str) {
        if let Some(note) = self.facts().rounds.last_mut().filter(|n| n.result.is_empty()) {
            result.clone_into(&mut note.result);
        }
    }
}
