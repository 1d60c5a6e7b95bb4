//! A log read by the default options, and names compared across their forms.

use fixpoint::digest::{Digest, Digester, Options};

/// The digest of a log by the default options.
pub fn digest(log: &[u8]) -> Digest {
    let mut digester = Digester::new(Options { budget: 8000, ..Options::default() });
    digester.push(log);
    digester.finish()
}

/// Letters and digits in lower case, to compare names in different forms.
pub fn plain(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric() || *c == '_').flat_map(char::to_lowercase).collect()
}
