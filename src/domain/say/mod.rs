//! Every sentence a user reads, rendered from the state. No fact about what was checked or reached is the agent's to write.
//!
//! One `face` stands behind the status comment, the check run and the message, so that they cannot differ: the first
//! sentence says outcome, what, and who must act; at most five short lines follow; the rest is folded.

mod commit;
mod face;
mod handed;
mod live;
mod looks;
mod message;
mod observed;
mod outcome;
mod pull;
mod remark;
mod report;
mod review;
mod seal;
mod second;
mod voice;
mod words;

pub use commit::{branch, commit};
pub use message::{help, idle, message};
pub use observed::{KINDS, observed, upshot};
pub use pull::pull;
pub use remark::awaiting_approval;
pub use review::{line_comment, reply, review};
pub use seal::{is_sealed, renewed, sealed};
pub use second::{PERSONS_OWN, SECOND_PERSON, second_person};

use crate::domain::{Limits, State, Timestamp, policy::Survey, text};
use voice::Voice;

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
    /// Engine and model as the pull request names them, e.g. `native, claude-sonnet-4-5`.
    pub engine: &'a str,
    /// The host the model is reached at; never shown on public repositories.
    pub host: Option<&'a str>,
    /// What is said of the sandbox.
    pub sandbox: &'a str,
    /// The session as commands and trailers name it.
    pub session: &'a str,
    /// What the change touches, where it is known.
    pub survey: Option<&'a Survey>,
    /// A kept patch that fits into the message.
    pub patch: Option<&'a str>,
    /// How many come before it, while it waits for a place to run in.
    pub before: Option<u32>,
    /// A patch is kept, whether or not it stands in the message.
    pub kept: bool,
}

/// GitHub's limit of a check run's summary, in characters. Source: REST, "Create a check run".
const SUMMARY_LIMIT: usize = 65_535;

/// Room that is left for the marker which the caller puts behind a body.
const MARKER: usize = 512;

/// The status comment, complete in itself. It is edited again and again, so it mentions nobody.
pub fn status(state: &State, context: &Context<'_>) -> String {
    text::cut(&face::face(&Voice { state, context }).comment(), text::BODY_LIMIT - MARKER)
}

/// Title and summary of our check run; it is never one that blocks.
pub fn check(state: &State, context: &Context<'_>) -> (String, String) {
    let face = face::face(&Voice { state, context });
    // A check run's title is plain text.
    let title = face.lead.replace('`', "");
    (title, text::cut(&face.summary(), SUMMARY_LIMIT - MARKER))
}

/// Title and summary of a check run of ours on a commit that another came after. They name no commit: said once, it stays.
pub fn superseded() -> (String, String) {
    ("A later commit came".to_owned(), "How it stands is told on the newest commit.".to_owned())
}

#[cfg(test)]
mod tests;
