//! The round's end that a model's refusal comes to, whoever asked it.

use super::End;
use crate::llm::ModelError;

/// The end, with who can mend it.
pub(super) fn failed(error: &ModelError, (name, host): (&str, &str)) -> End {
    let who = match error {
        ModelError::Key(_) => "whoever runs fixpoint must give it a valid key",
        ModelError::Quota(_) => "whoever runs fixpoint must look after the account's billing",
        ModelError::Overloaded(_) => "it may work later: ask with `/code retry`",
        ModelError::TooLong(_) => "a smaller request, or a model that holds more, may help",
        ModelError::Invalid(_) | ModelError::Unreachable(_) => {
            "whoever runs fixpoint should check the model's name and address"
        }
    };
    let why = format!("{error}; {who} ({name} at {host})");
    match error {
        ModelError::Overloaded(_) | ModelError::Unreachable(_) => End::OutOfReach(why),
        _ => End::Failed(why),
    }
}
