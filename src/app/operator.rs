//! What the operator may ask of a session, past GitHub: the same entries that a command in a comment would append.

use crate::{
    domain::{
        Entry, Phase, UserId,
        ids::Actor,
        session::{Ask, Question, Request},
    },
    store::{self, Store, StoreError, Summary},
};
use std::time::Duration;

/// A busy database is waited for so long: the terminal has asked its person once, and asks for a stop once.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a session cannot be asked that.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// As it stands nothing would come of it.
    #[error("{0}")]
    Pointless(&'static str),
    /// The store failed.
    #[error("{0}")]
    Store(#[from] StoreError),
}

/// Nobody of GitHub: whoever may write the database.
fn operator() -> Actor {
    Actor { id: UserId(0), login: "operator".to_owned() }
}

/// Hands an entry in.
async fn append(store: &Store, session: &Summary, entry: &Entry) -> Result<(), Refused> {
    Ok(store::patiently(PATIENCE, || store.append(session.id, entry)).await?)
}

/// Ends what a session does.
///
/// # Errors
/// [`Refused::Pointless`] when it does nothing.
pub async fn stop(store: &Store, session: &Summary) -> Result<(), Refused> {
    if !session.state.is_live() {
        return Err(Refused::Pointless("nothing runs that could be stopped"));
    }
    let entry = Entry::Asked { ask: Ask::Stop { by: operator(), at: None } };
    append(store, session, &entry).await
}

/// Does a session's last request again. Who asked for it stays who is told.
///
/// # Errors
/// [`Refused::Pointless`] when it is worked on, or over for good.
pub async fn retry(store: &Store, session: &Summary) -> Result<(), Refused> {
    match session.state.phase {
        Phase::Queued | Phase::Working | Phase::Publishing { .. } => {
            return Err(Refused::Pointless("it is being worked on already"));
        }
        Phase::Done { .. } => {
            return Err(Refused::Pointless("the session is over: ask anew where it was asked"));
        }
        Phase::Watching { .. } | Phase::Waiting { .. } | Phase::Resting { .. } => {}
    }
    let request = Request { instruction: String::new(), ..session.state.facts.request.clone() };
    append(store, session, &Entry::Asked { ask: Ask::Retry { request } }).await
}

/// Answers the question that a session waits with.
///
/// # Errors
/// [`Refused::Pointless`] when it asks nothing.
pub async fn answer(store: &Store, session: &Summary, text: String) -> Result<(), Refused> {
    let asks = matches!(session.state.phase, Phase::Waiting { question: Question::Agent { .. }, .. });
    if !asks {
        return Err(Refused::Pointless("no question waits for an answer"));
    }
    let request = Request { instruction: text, ..session.state.facts.request.clone() };
    append(store, session, &Entry::Asked { ask: Ask::Run { request } }).await
}
