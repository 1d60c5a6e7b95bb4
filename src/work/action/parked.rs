//! A change that waits for a person's yes is a commit that only the run's own mirror holds: it is left on the server, out
//! of CI's reach, and taken up from there.

use super::Undone;
use crate::{
    domain::{
        Phase, SessionId, Sha, State,
        session::{Outcome, Question},
    },
    git::{GitError, Mirror, Remote},
    github::Scope,
    store::Summary,
    work::Parts,
};

/// The commit that waits for a yes, where one does.
fn waiting(state: &State) -> Option<&Sha> {
    match &state.phase {
        Phase::Waiting { question: Question::Publish { commit, .. }, .. } => Some(commit),
        _ => None,
    }
}

/// Does a change of the session wait for a yes?
pub(super) fn waits(state: &State) -> bool {
    waiting(state).is_some()
}

/// Leaves what waits; gives whether something does.
pub(super) async fn leave(parts: &Parts, session: &Summary) -> Result<bool, Undone> {
    let Some(commit) = waiting(&session.state) else { return Ok(false) };
    let (mirror, remote) = place(parts, &session.state, Scope::Push).await?;
    mirror.park(&remote, &session.id.to_string(), commit).await?;
    Ok(true)
}

/// Takes up what waits. Where it is gone from the server the request is over, and its
/// status says why.
pub(super) async fn take(parts: &Parts, id: SessionId, state: &mut State) -> Result<(), Undone> {
    let Some(commit) = waiting(state) else { return Ok(()) };
    let (mirror, remote) = place(parts, state, Scope::Read).await?;
    match mirror.take_parked(&remote, &id.to_string()).await {
        Ok(Some(there)) if there == *commit => return Ok(()),
        Ok(_) | Err(GitError::NotFound(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let why = format!("the change that waited for a yes (`{}`) is gone from the server", commit.short());
    let outcome = Outcome::Refused { why };
    state.phase = match state.facts.head {
        Some(_) => Phase::Resting { outcome },
        None => Phase::Done { outcome },
    };
    Ok(())
}

/// Clears what waits no more. A leftover is no reason to fail.
pub(super) async fn clear(parts: &Parts, session: &Summary) {
    let cleared = async {
        let (mirror, remote) = place(parts, &session.state, Scope::Push).await?;
        Ok::<(), Undone>(mirror.unpark(&remote, &session.id.to_string()).await?)
    };
    if let Err(error) = cleared.await {
        tracing::warn!(%error, "what waited for a yes still stands on the server");
    }
}

async fn place(parts: &Parts, state: &State, scope: Scope) -> Result<(Mirror, Remote), Undone> {
    let repository = parts.repository(state);
    Ok((parts.mirror(state).await?, parts.remote(&repository, scope).await?))
}
