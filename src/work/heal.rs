//! What was lost is made whole: a mirror that lacks what a session stands on (the data folder was deleted, or the database
//! restored on another machine), and a round that a database of an older day takes for unfinished.

use super::{Halt, drive::Driver, look};
use crate::domain::{Entry, Phase, Sha};

impl Driver {
    /// Fetches base and branch where the mirror lacks a commit that the session knows.
    pub(super) async fn heal(&self) -> Result<(), Halt> {
        let facts = &self.state.facts;
        let publishing = match &self.state.phase {
            Phase::Publishing { commit, .. } => Some(commit),
            Phase::Done { .. } => return Ok(()),
            _ => None,
        };
        let known = [facts.base.sha.as_ref(), facts.start.as_ref(), facts.head.as_ref(), publishing];
        let known: Vec<Sha> = known.into_iter().flatten().cloned().collect();
        if known.is_empty() {
            return Ok(());
        }
        let mirror = self.parts.mirror(&self.state).await?;
        if mirror.has(&known).await? {
            return Ok(());
        }
        tracing::info!("the mirror lacks commits of the session; they are fetched");
        let repository = self.parts.repository(&self.state);
        self.parts.fetch_branches(&mirror, &repository, &self.state).await.map(drop)
    }

    /// A round is gone on with: was it pushed already, by whoever wrote what this database does not know? Then it is not paid
    /// for twice. Whoever does not work looks at the branch anyway.
    pub(super) async fn already_pushed(&self) -> Result<Option<Entry>, Halt> {
        let facts = &self.state.facts;
        let live = match &facts.guest {
            Some(_) => return Ok(None),
            None => self.parts.repository(&self.state).branch(&facts.branch).await?,
        };
        let Some(live) = live.filter(|live| facts.head.as_ref() != Some(live)) else { return Ok(None) };
        let moved = look::moved(self, live).await?;
        Ok(moved.filter(|entry| matches!(entry, Entry::Found { .. })))
    }
}
