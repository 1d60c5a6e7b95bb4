//! What people ask of a session.

use super::{
    Cause, Effect, Job, Message, Outcome, Phase, Question, Request, Spot, Subject,
    step::{Next, Taken},
};
use crate::domain::CommentId;

impl Next<'_> {
    pub(super) fn asked(&mut self, request: Request) -> Taken {
        self.facts().note_asker(&request);
        self.react(request.source);
        if matches!(request.job, Job::Feedback { .. }) && !self.takes_review() {
            let why = format!(
                "{} reviews were worked on here, which is the cap; a command in a comment goes on.",
                self.limits.reviews
            );
            return self.cannot_follow(&request.asker.login, &why, None);
        }
        let plain = request.job == Job::Run;
        match self.state.phase {
            Phase::Queued if plain && self.state.facts.request.job == Job::Run => {
                let instruction = &mut self.facts().request.instruction;
                *instruction = [instruction.as_str(), &request.instruction].join("\n\n").trim().to_owned();
            }
            // A working agent is told at its next turn; what it was not told of becomes a request of its own.
            Phase::Queued | Phase::Working | Phase::Publishing { .. } => self.facts().kept.push(request),
            Phase::Waiting { question: Question::Agent { .. }, .. } if plain => {
                self.begin(request, Some(Cause::Answered));
            }
            _ => self.begin(request, None),
        }
        Ok(())
    }

    fn takes_review(&mut self) -> bool {
        let facts = self.facts();
        facts.reviews += 1;
        facts.reviews <= self.limits.reviews
    }

    pub(super) fn retry(&mut self, mut request: Request) -> Taken {
        if self.state.is_busy() {
            let at = Spot::of(self.state.facts.thread.number, request.source);
            return self.cannot_follow(&request.asker.login, "It is being worked on already.", at);
        }
        self.react(request.source);
        let facts = &self.state.facts;
        request.instruction.clone_from(&facts.request.instruction);
        request.job.clone_from(&facts.request.job);
        let cause = (!facts.failures.is_empty() && !facts.is_read_only()).then_some(Cause::RedCi);
        self.begin(request, cause);
        Ok(())
    }

    pub(super) fn approved(&mut self, by: &str, at: Option<Spot>) -> Taken {
        let spot = at.map(|at| Subject::Comment(at.comment));
        match self.state.phase.clone() {
            Phase::Waiting { question: Question::Plan { text }, .. } => {
                let request = Request { job: Job::Run, ..self.state.facts.request.clone() };
                self.begin(request, Some(Cause::Answered));
                self.facts().plan = Some(text);
            }
            Phase::Waiting { question: Question::Publish { commit, tree }, .. } => self.publish(commit, tree),
            // Whatever was asked since, what is green and flagged waits for somebody's yes.
            Phase::Resting { .. } if self.is_flagged() => {
                self.facts().flags.clear();
                self.rest(Outcome::Green);
            }
            _ => return self.cannot_follow(by, "Nothing waits for an approval here.", at),
        }
        spot.into_iter().for_each(|on| self.react(on));
        Ok(())
    }

    fn is_flagged(&self) -> bool {
        let facts = &self.state.facts;
        !facts.flags.is_empty() && facts.is_green() && facts.guest.is_none()
    }

    pub(super) fn stopped(&mut self, by: &str, at: Option<Spot>) -> Taken {
        self.facts().kept.clear();
        if matches!(self.state.phase, Phase::Resting { .. }) {
            return self.cannot_follow(by, "Nothing runs here that could be stopped.", at);
        }
        at.into_iter().for_each(|at| self.react(Subject::Comment(at.comment)));
        match self.state.phase {
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

    pub(super) fn noted(&mut self, text: String, comment: CommentId) -> Taken {
        self.facts().notes.push(text);
        if self.state.phase == Phase::Working {
            self.react(Subject::Comment(comment));
        }
        Ok(())
    }

    pub(super) fn status(&mut self, to: String, at: Spot) -> Taken {
        self.say(Message::Status, to, Some(at));
        Ok(())
    }

    pub(super) fn cannot_follow(&mut self, to: &str, why: &str, at: Option<Spot>) -> Taken {
        let message = Message::CannotFollow { text: why.to_owned() };
        self.say(message, to.to_owned(), at);
        Ok(())
    }

    fn react(&mut self, on: Subject) {
        if on.takes_reactions() {
            self.effects.push(Effect::React { on });
        }
    }
}
