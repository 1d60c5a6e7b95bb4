//! A session: one line of work on one branch, as a state that only [`step()`] may change.

mod ci;
mod effect;
mod entry;
mod state;
mod step;
#[cfg(test)]
mod tests;

pub use effect::{Effect, Message, Subject};
pub use entry::{Ask, Cause, Deadline, Ending, Entry, NotPushed, RoundEnd, Whose};
pub use state::{
    Base, Exception, Facts, Outcome, Phase, Pull, Question, Request, RoundNote, Spent, State, Thread,
};
pub use step::{IllegalTransition, Start, Step, start, step};
