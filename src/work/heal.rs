//! A mirror that lost what a session stands on is made whole: the data folder was deleted, or the database restored on
//! another machine.

use super::{Halt, drive::Driver};
use crate::domain::{Phase, Sha};

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
}
