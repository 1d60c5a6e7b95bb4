//! Untrusted text, normalised once: the type that the prompt builder demands.

/// Text that may enter a prompt: no hidden characters, no control sequences, no hidden HTML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clean {
    text: String,
    removed: usize,
}

impl Clean {
    /// Normalises `raw`; what people cannot see, the model does not see either.
    pub fn new(raw: &str) -> Self {
        let _ = raw;
        todo!()
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
