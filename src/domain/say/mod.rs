//! Every sentence a user reads, rendered from the state. No fact about what was checked or reached is the agent's to write.

use crate::domain::{Limits, State, Timestamp, session::Message};

/// What rendering needs besides the state.
#[derive(Clone, Debug)]
pub struct Context<'a> {
    /// The moment named in the text.
    pub now: Timestamp,
    /// Caps that the text names.
    pub limits: &'a Limits,
    /// Where people read repositories, e.g. `https://github.com`.
    pub web_url: &'a str,
    /// Where fixpoint's own pages are, if they can be reached.
    pub public_url: Option<&'a str>,
    /// The command word, `code` by default.
    pub word: &'a str,
    /// Our App's slug, for links to its settings.
    pub app: &'a str,
    /// Engine and model as the pull request names them.
    pub engine: &'a str,
    /// What is said of the sandbox.
    pub sandbox: &'a str,
    /// A kept patch that fits into the message.
    pub patch: Option<&'a str>,
}

/// The status comment, complete in itself.
pub fn status(state: &State, context: &Context<'_>) -> String {
    let _ = (state, context);
    todo!()
}

/// Title and body of the pull request.
pub fn pull(state: &State, context: &Context<'_>) -> (String, String) {
    let _ = (state, context);
    todo!()
}

/// Title and summary of our check run; it is never one that blocks.
pub fn check(state: &State, context: &Context<'_>) -> (String, String) {
    let _ = (state, context);
    todo!()
}

/// A new comment that names who must act: at most 400 characters, linking `status_url`.
pub fn message(
    message: &Message,
    state: &State,
    to: &str,
    status_url: &str,
    context: &Context<'_>,
) -> String {
    let _ = (message, state, to, status_url, context);
    todo!()
}

/// The message of the commit a round makes: subject, body, trailers.
pub fn commit(state: &State, summary: &str, context: &Context<'_>) -> String {
    let _ = (state, summary, context);
    todo!()
}

/// Our branch for a thread: `fixpoint/<issue>-<slug>`, lower-case ASCII, digits and hyphens.
pub fn branch(number: crate::domain::Number, title: &str) -> String {
    let _ = (number, title);
    todo!()
}
