//! Untrusted text, normalised once: the type that the prompt builder demands.

use super::{chars, hidden};
use crate::domain::{Fault, seeded};

/// Text that may enter a prompt: no hidden characters, no control sequences, no hidden HTML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clean {
    text: String,
    removed: usize,
}

impl Clean {
    /// Normalises what GitHub shows as Markdown (issues, comments, reviews): what people cannot see, the model does not
    /// see either. What is folded (`<details>`) stays, since people can open it.
    pub fn new(raw: &str) -> Self {
        if seeded(Fault::HiddenKept) {
            return Self { text: raw.to_owned(), removed: 0 };
        }
        let (text, characters) = chars::strip(raw);
        let (text, markup) = hidden::strip(&text);
        Self { text, removed: characters + markup }
    }

    /// Normalises what nobody renders (logs, files, names): characters and control sequences only, since there a
    /// `<!-- -->` is as visible as anything else and `[error]: …` is no link definition.
    pub fn plain(raw: &str) -> Self {
        let (text, removed) = chars::strip(raw);
        Self { text, removed }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// How many characters were taken out.
    pub fn removed(&self) -> usize {
        self.removed
    }
}
