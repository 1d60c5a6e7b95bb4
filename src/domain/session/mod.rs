//! A session: one line of work on one branch, as a state that only [`step()`] may change.

mod asked;
mod ci;
mod effect;
mod entry;
mod facts;
mod outcome;
mod outside;
mod own;
mod request;
mod state;
mod step;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod worlds;

pub use effect::{Effect, Message, Subject};
pub use entry::{Ask, Cause, Deadline, Ending, Entry, Found, NotPushed, RoundEnd, Spot, Whose};
pub use facts::{Approval, Base, Exception, Facts, Guest, Pull, RoundNote, Spent, Thread};
pub use outcome::Outcome;
pub use request::{Job, LineComment, LineNote, Request};
pub use state::{Phase, Question, State};
pub use step::{IllegalTransition, OnPull, Start, Step, start, step};
