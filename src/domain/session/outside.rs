//! What is seen outside: it comes in any order, twice or late, and is merged or passed over with a reason.

use super::{
    Cause, Deadline, Effect, Outcome, Phase, Whose,
    step::{Next, Taken},
};
use crate::domain::ids::{InstallationId, Repo, Sha};

impl Next<'_> {
    pub(super) fn head_moved(&mut self, head: Sha, whose: Whose) -> Taken {
        if self.state.facts.head.as_ref() == Some(&head) {
            return Err("the head is known already");
        }
        match whose {
            Whose::Ours => return Err("a commit of our own, which its holder finds by looking"),
            Whose::CleanMerge => {
                self.new_head(head, None);
                if !matches!(self.state.phase, Phase::Queued | Phase::Working | Phase::Waiting { .. }) {
                    self.state.phase = Phase::Watching { since: self.now };
                }
            }
            // People push to their own branches all the time; nobody is told while nothing runs.
            Whose::Foreign if self.state.facts.guest.is_some() && !self.state.is_live() => {
                self.new_head(head.clone(), None);
                self.state.phase = Phase::Resting { outcome: Outcome::StoodDown { head } };
            }
            Whose::Foreign => {
                self.new_head(head.clone(), None);
                self.note_result("somebody else pushed");
                self.answer(Outcome::StoodDown { head });
            }
        }
        Ok(())
    }

    /// A branch of ours is kept mergeable, in a round; of a person's branch it is only known.
    pub(super) fn conflicted(&mut self, base: Sha) -> Taken {
        if self.state.facts.conflict.as_ref() == Some(&base) {
            return Err("the conflict is known already");
        }
        if !self.state.keeps_up() {
            return Err("not ours, or not watched now; it shows again while it stands");
        }
        self.facts().conflict = Some(base);
        self.note_result("conflicts with the base");
        if self.state.facts.round >= self.state.facts.cap(self.limits) {
            self.answer(Outcome::Conflict);
        } else {
            self.queue(Cause::Conflict);
        }
        Ok(())
    }

    pub(super) fn retargeted(&mut self, base: String) -> Taken {
        let known = &mut self.facts().base;
        if known.branch == base {
            return Err("it goes there already");
        }
        known.branch = base;
        known.sha = None;
        Ok(())
    }

    pub(super) fn renamed(&mut self, repo: Repo, installation: InstallationId) -> Taken {
        let facts = self.facts();
        if repo.id != facts.repo.id {
            return Err("about another repository");
        }
        if (&repo, installation) == (&facts.repo, facts.installation) {
            return Err("it is called so already");
        }
        (facts.repo, facts.installation) = (repo, installation);
        Ok(())
    }

    pub(super) fn pull_closed(&mut self, merged: bool) -> Taken {
        let facts = &self.state.facts;
        if let (true, Some(at), None) = (merged, facts.head.clone(), &facts.guest) {
            let branch = facts.branch.clone();
            self.effects.push(Effect::DeleteBranch { branch, at });
        }
        self.over(if merged { Outcome::Merged } else { Outcome::Closed })
    }

    pub(super) fn reopened(&mut self, head: Sha) -> Taken {
        if !matches!(self.state.phase, Phase::Done { outcome: Outcome::Closed }) {
            return Err("it was not closed");
        }
        self.new_head(head, None);
        self.state.phase = Phase::Resting { outcome: Outcome::Reopened };
        Ok(())
    }

    pub(super) fn merge_queue(&mut self, inside: bool) -> Taken {
        self.facts().in_merge_queue = inside;
        Ok(())
    }

    pub(super) fn expired(&mut self, deadline: Deadline) -> Taken {
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
}
