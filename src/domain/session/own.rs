//! What we do ourselves: rounds and their ends, pushes, the pull request. Out of order it is a bug.

use super::{
    Cause, Effect, Ending, Found, IllegalTransition, NotPushed, Outcome, Phase, Pull, Question, RoundEnd,
    RoundNote, ci,
    step::{Next, Taken},
};
use crate::domain::{
    fault::{Fault, seeded},
    ids::Sha,
    policy::{Flag, Survey},
};

impl Next<'_> {
    pub(super) fn round_began(&mut self, base: Sha, start: Sha) -> Result<Taken, IllegalTransition> {
        self.expect("RoundBegan", self.state.phase == Phase::Queued)?;
        let cap = self.state.facts.cap(self.limits);
        // The cap's last line: whatever made a round begin, there is never one more.
        if self.state.facts.round >= cap {
            self.answer(Outcome::NotGreen { why: ci::cap(cap) });
            return Ok(Ok(()));
        }
        let facts = self.facts();
        facts.round += u32::from(!seeded(Fault::RoundUncounted));
        facts.base.sha.get_or_insert_with(|| base.clone());
        facts.tip = Some(base);
        facts.start = Some(start);
        facts.remark = None;
        let note = RoundNote { number: facts.round, cause: facts.cause, commit: None, result: String::new() };
        facts.rounds.push(note);
        self.state.phase = Phase::Working;
        Ok(Ok(()))
    }

    pub(super) fn cannot_begin(&mut self, outcome: Outcome) -> Result<Taken, IllegalTransition> {
        self.expect("CannotBegin", self.state.phase == Phase::Queued)?;
        self.answer(outcome);
        Ok(Ok(()))
    }

    pub(super) fn round_ended(&mut self, end: RoundEnd) -> Result<Taken, IllegalTransition> {
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
        facts.refused.extend(end.refused);
        if !end.replies.is_empty() {
            facts.replies = end.replies;
        }
        if let Some(why) = end.outside_request {
            facts.claim(&why);
        }
        self.ended(end.ending);
        Ok(Ok(()))
    }

    fn ended(&mut self, ending: Ending) {
        match ending {
            Ending::Changed { .. } => self.changed(ending),
            Ending::Planned { text } => {
                self.note_result("made a plan");
                self.ask(Question::Plan { text });
            }
            Ending::Reviewed { summary, comments } => self.reviewed(summary, comments),
            Ending::Question { text } => {
                self.note_result("asked a question");
                self.ask(Question::Agent { text });
            }
            Ending::Nothing { summary } => self.nothing(summary),
            Ending::Limit { which } => {
                self.note_result("a limit was reached");
                self.answer(Outcome::Limit { which });
            }
            Ending::Budget { which } => {
                self.note_result("a budget is used up");
                self.answer(Outcome::Budget { which });
            }
            Ending::Refused { why } => {
                self.note_result("not pushed");
                self.answer(Outcome::Refused { why });
            }
            Ending::Unready { why } => {
                self.note_result("could not begin");
                self.answer(Outcome::CannotBegin { why });
            }
            Ending::Failed { why, passing } => {
                self.note_result(if passing { "the model was out of reach" } else { "could not work" });
                self.answer(Outcome::EngineFailed { why, passing });
            }
        }
    }

    fn changed(&mut self, ending: Ending) {
        let Ending::Changed {
            commit,
            tree,
            summary,
            description,
            flags,
            survey,
            handed,
            ask_first,
            takes_in,
            rewrites,
        } = ending
        else {
            return;
        };
        let facts = self.facts();
        if description.is_some() {
            facts.description = description;
        }
        // What a merge of the base is about stands in its commit; the pull request is still about its own matter.
        if facts.cause != Cause::Conflict || facts.summary.is_none() {
            facts.summary = Some(summary);
        }
        facts.flags = flags;
        facts.survey = Some(survey);
        facts.handed = handed;
        // Said before it is so, since nobody is asked.
        let is_told_first = (facts.tainted || facts.reads_strangers()) && !facts.handed.is_empty();
        facts.rewrites = rewrites;
        if takes_in.is_some() {
            facts.base.sha = takes_in;
            facts.conflict = None;
        }
        if facts.seen.iter().any(|(_, seen)| *seen == tree) {
            let round = facts.round;
            self.note_result("the same tree as in an earlier round");
            let why = format!("Round {round} rebuilt an earlier round's tree, so it stopped.");
            self.answer(Outcome::NotGreen { why });
        } else if facts.guest.as_ref().is_some_and(|guest| !guest.pushable) {
            self.note_result("kept as a patch");
            self.answer(Outcome::PatchOffered);
        } else if ask_first {
            self.ask(Question::Publish { commit, tree });
        } else {
            if is_told_first {
                self.tell();
            }
            self.publish(commit, tree);
        }
    }

    fn nothing(&mut self, summary: String) {
        let facts = &self.state.facts;
        match facts.claimed(&facts.failures).cloned() {
            Some(exception) => ci::green_but_for(self, exception),
            None => {
                self.note_result("nothing to change");
                self.reply_to_threads(None);
                self.answer(Outcome::NothingToChange { why: summary });
            }
        }
    }

    fn reviewed(&mut self, summary: String, comments: Vec<super::LineComment>) {
        self.note_result("reviewed");
        let facts = &self.state.facts;
        if let (Some(pull), Some(head)) = (&facts.pull, facts.head.clone()) {
            let (pull, request_no) = (pull.number, facts.request_no);
            self.effects.push(Effect::Review { pull, head, summary, comments, request_no });
        }
        match self.facts().rested.take() {
            // The review itself is the answer: what waited before it waits still.
            Some(before) if self.state.facts.guest.is_none() => {
                self.state.phase = Phase::Resting { outcome: before };
                self.next_kept();
            }
            _ => self.answer(Outcome::Reviewed),
        }
    }

    pub(super) fn pushed(&mut self, done: &Sha) -> Result<Taken, IllegalTransition> {
        // What happens outside may have ended the round, and begun another, while its push was on its way.
        let Phase::Publishing { commit, tree } = self.state.phase.clone() else {
            return Ok(Err("the push is recorded already, or its round was ended from outside"));
        };
        if commit != *done {
            return Ok(Err("the push of a round that was ended from outside"));
        }
        self.new_head(commit.clone(), Some(tree));
        let facts = self.facts();
        facts.rewrites = false;
        if let Some(note) = facts.rounds.last_mut() {
            note.commit = Some(commit.clone());
        }
        if facts.pull.is_none() {
            let (branch, base) = (facts.branch.clone(), facts.base.branch.clone());
            self.effects.push(Effect::OpenPull { branch, base });
        }
        self.reply_to_threads(Some(&commit));
        self.state.phase = Phase::Watching { since: self.now };
        if std::mem::take(&mut self.facts().stopping) {
            self.answer(Outcome::Stopped);
        } else {
            self.next_kept();
        }
        Ok(Ok(()))
    }

    /// Every thread of the review gets an answer, once: with the commit that came of it, or the reason why none did.
    fn reply_to_threads(&mut self, commit: Option<&Sha>) {
        let facts = &self.state.facts;
        let Some(pull) = facts.pull.as_ref().map(|pull| pull.number) else { return };
        if facts.cause != Cause::Review {
            return;
        }
        let words = |id: u64| facts.replies.iter().find(|(to, _)| *to == id).map(|(_, text)| text.clone());
        let replies: Vec<Effect> = facts
            .threads()
            .iter()
            .map(|thread| Effect::Reply {
                pull,
                to: thread.id,
                commit: commit.cloned(),
                words: words(thread.id),
            })
            .collect();
        self.effects.extend(replies);
        self.facts().replies.clear();
    }

    /// As if they were pushed now, by whom they were: what became of them on the way is not known any more.
    pub(super) fn found(
        &mut self,
        rounds: Vec<Found>,
        (base, start): (Sha, Sha),
        (flags, survey): (Vec<Flag>, Survey),
    ) -> Taken {
        if rounds.last().is_none_or(|last| self.state.facts.head.as_ref() == Some(&last.commit)) {
            return Err("they are known already");
        }
        // Else it is on its way.
        let unopened = self.state.facts.pull.is_none() && !matches!(self.state.phase, Phase::Watching { .. });
        for round in rounds {
            self.note_result("another round followed");
            self.found_one(round);
        }
        let facts = self.facts();
        facts.base.sha = Some(base);
        facts.start = Some(start);
        (facts.flags, facts.survey) = (flags, Some(survey));
        facts.rewrites = false;
        facts.tainted |= facts.reads_strangers();
        if unopened {
            let (branch, base) = (facts.branch.clone(), facts.base.branch.clone());
            self.effects.push(Effect::OpenPull { branch, base });
        }
        self.state.phase = Phase::Watching { since: self.now };
        if std::mem::take(&mut self.facts().stopping) {
            self.answer(Outcome::Stopped);
        } else {
            self.next_kept();
        }
        Ok(())
    }

    fn found_one(&mut self, Found { round, commit, tree, summary }: Found) {
        let facts = self.facts();
        let pushed = facts.rounds.iter().filter(|note| note.commit.is_some()).map(|note| note.number).max();
        if pushed.is_some_and(|pushed| round <= pushed) {
            // The rounds begin anew: another request was made, of which nothing else is known.
            facts.request_no += 1;
            facts.rounds.clear();
            if !facts.kept.is_empty() {
                facts.request = facts.kept.remove(0);
            }
        }
        facts.round = round;
        facts.rounds.retain(|note| note.commit.is_some() || note.number < round);
        let (number, cause, result) = (round, facts.cause, String::new());
        facts.rounds.push(RoundNote { number, cause, commit: Some(commit.clone()), result });
        facts.summary = Some(summary);
        self.new_head(commit, Some(tree));
    }

    pub(super) fn not_pushed(
        &mut self,
        tried: Option<&Sha>,
        why: NotPushed,
    ) -> Result<Taken, IllegalTransition> {
        // Pushed it may be, but there is no pull request: the same end.
        let unopened = self.state.facts.pull.is_none();
        let waits = match &self.state.phase {
            Phase::Publishing { commit, .. } => tried.is_none_or(|tried| tried == commit),
            Phase::Watching { .. } => unopened,
            _ => false,
        };
        if !waits {
            return Ok(Err("the request has ended before, or another one goes on"));
        }
        let facts = self.facts();
        (facts.stopping, facts.rewrites) = (false, false);
        match why {
            NotPushed::Foreign { head } => {
                self.new_head(head.clone(), None);
                self.note_result("somebody else pushed");
                self.answer(Outcome::StoodDown { head });
            }
            NotPushed::Refused { reason } => match &mut self.facts().guest {
                // Whether a fork's branch can be pushed to is only known by trying, and tried once.
                Some(guest) if guest.fork.is_some() => {
                    guest.pushable = false;
                    self.note_result("kept as a patch");
                    self.answer(Outcome::PatchOffered);
                }
                _ => {
                    self.note_result("not pushed");
                    self.answer(Outcome::Refused { why: reason });
                }
            },
        }
        Ok(Ok(()))
    }

    pub(super) fn pull_opened(&mut self, pull: Pull) -> Taken {
        if self.state.facts.pull.is_some() {
            return Err("the pull request is known already");
        }
        self.facts().pull = Some(pull);
        self.tell();
        Ok(())
    }
}
