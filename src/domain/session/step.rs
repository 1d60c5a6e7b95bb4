//! The one transition.

use super::{Effect, Entry, State};
use crate::domain::{Limits, Timestamp};

/// What an entry makes of a state.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// The state after it, and what must happen outside because of it.
    To(Box<State>, Vec<Effect>),
    /// It changes nothing, for a reason people can read.
    Ignore(&'static str),
}

/// One of our own entries came out of order: a bug, never the world's doing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{entry} cannot follow in phase {phase}")]
pub struct IllegalTransition {
    /// Where it stood.
    pub phase: &'static str,
    /// What came.
    pub entry: &'static str,
}

/// What `entry` makes of `state`, at `now` and within `limits`.
///
/// # Errors
/// [`IllegalTransition`] when one of our own entries comes out of order; facts from outside never are.
pub fn step(state: &State, entry: Entry, now: Timestamp, limits: &Limits) -> Result<Step, IllegalTransition> {
    let _ = (state, entry, now, limits);
    todo!()
}

/// A new session and what must happen because of it.
pub fn start() {}
