//! What GitHub shows is read back once, some time after it was last written.
//!
//! A request may be on its way when its sender loses the lease, or dies, and arrive when another has long gone on: an older
//! text then stands over the newer one, or a comment beside its twin. Nothing on GitHub's side keeps it from that, and a
//! fence on ours comes too late. While a session moves the next writing covers it; where it comes to rest somebody looks
//! once more.

use super::{
    Halt,
    drive::Driver,
    show::{hash, marked},
};
use crate::{
    domain::{CommentId, Fault, Number, Phase, Timestamp, seeded, session::Outcome},
    github::Repository,
};
use std::{collections::HashSet, time::Duration};

/// Among what is shown: when this is to be read back (in milliseconds), or that it was.
const THING: &str = "read-back";
const DONE: &str = "done";

/// GitHub may be away for a while; after this what stands there stands.
const LONGEST: Duration = Duration::from_secs(3600);

impl Driver {
    /// Reads back what is shown, if the time for it has come; gives the moment when it will.
    pub(super) async fn read_back(&mut self) -> Result<Option<Timestamp>, Halt> {
        // An Action's run ends with its work.
        let ends = self.parts.settings.action.is_some();
        if !is_settled(&self.state.phase) || ends || seeded(Fault::NotReadBack) {
            return Ok(None);
        }
        let mut shown = self.parts.store.shown(self.lease.session).await?;
        shown.retain(|one| !one.remote.is_empty());
        let known = shown.iter().position(|one| one.thing == THING).map(|at| shown.remove(at));
        if shown.is_empty() {
            return Ok(None);
        }
        let now_shown: String =
            shown.iter().map(|s| format!("{} {} {}\n", s.thing, s.remote, s.hash)).collect();
        let Some(known) = known.filter(|known| known.hash == hash(&now_shown)) else {
            let due = self.tick().await?.plus(self.parts.settings.read_back);
            self.remember(THING, &due.0.to_string(), &now_shown).await?;
            return Ok(Some(due));
        };
        let Some(due) = known.remote.parse().ok().map(Timestamp).filter(|_| known.remote != DONE) else {
            return Ok(None);
        };
        if self.tick().await? < due {
            return Ok(Some(due));
        }
        match self.put_right().await {
            Err(Halt::Later(why, wait)) if self.now.since(due) < LONGEST => {
                return Err(Halt::Later(why, wait));
            }
            Err(Halt::Later(why, _)) => tracing::warn!(why, "what GitHub shows could not be read back"),
            other => other?,
        }
        self.remember(THING, DONE, &now_shown).await?;
        Ok(None)
    }

    async fn put_right(&mut self) -> Result<(), Halt> {
        let repository = self.parts.repository(&self.state);
        let mut threads = vec![self.state.facts.thread.number];
        threads.extend(self.state.facts.pull.as_ref().map(|pull| pull.number));
        threads.dedup();
        for thread in threads {
            self.single_comments(&repository, thread).await?;
        }
        if let Some(pull) = self.own_pull() {
            let (title, body) = self.pull_says(&self.known().await?).await?;
            self.describe(&repository, pull.number, (&title, &body)).await?;
        }
        // None can be deleted: of two that were made at once both say the same.
        for (_, show) in self.checks(&self.known().await?).await? {
            for id in repository.own_checks(&show).await? {
                repository.update_check(id, &show).await?;
            }
        }
        Ok(())
    }

    /// Of each comment of this session one, and the status as it is now.
    async fn single_comments(&self, repository: &Repository, thread: Number) -> Result<(), Halt> {
        let status = self.status_body().await?;
        let kept: Option<CommentId> =
            self.shown("status").await?.and_then(|s| s.remote.parse().ok().map(CommentId));
        let mut seen = HashSet::new();
        for comment in repository.own_comments_on(thread).await? {
            let Some(thing) = marked(&self.lease, &comment.body) else { continue };
            let extra = match (&kept, thing) {
                (Some(kept), "status") => comment.id != *kept,
                _ => !seen.insert(thing.to_owned()),
            };
            if extra {
                repository.delete_comment(comment.id).await?;
            } else if thing == "status" && kept.is_some() && comment.body != status {
                repository.edit_comment(comment.id, &status).await?;
            }
        }
        Ok(())
    }
}

/// Does it stay like that until somebody does something?
fn is_settled(phase: &Phase) -> bool {
    match phase {
        Phase::Done { outcome } => *outcome != Outcome::NoAccess,
        Phase::Resting { .. } | Phase::Waiting { .. } => true,
        _ => false,
    }
}
