//! Regular expressions of ours, compiled once where they are used.

use regex::{Regex, bytes};

/// A regular expression for text, compiled when it is first used.
macro_rules! pattern {
    ($source:expr $(,)?) => {{
        static PATTERN: std::sync::LazyLock<regex::Regex> =
            std::sync::LazyLock::new(|| $crate::domain::text::pattern::compiled($source));
        &*PATTERN
    }};
}
pub(in crate::domain) use pattern;

/// Compiles a constant; whether it can be compiled is tried by the tests that reach it.
#[expect(clippy::expect_used, reason = "only constants come here")]
pub(in crate::domain) fn compiled(source: &str) -> Regex {
    Regex::new(source).expect("a constant pattern")
}

/// The same for bytes.
#[expect(clippy::expect_used, reason = "only constants come here")]
pub(in crate::domain) fn compiled_bytes(source: &str) -> bytes::Regex {
    bytes::Regex::new(source).expect("a constant pattern")
}
