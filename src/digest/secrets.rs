//! Cuts secrets out of text that leaves: those the caller knows, and what looks like one. The log was masked by the runner already;
//! this is the last line, not the first.

use aho_corasick::AhoCorasick;
use regex::{Captures, Regex};
use std::sync::LazyLock;

/// What stands in place of a secret.
const MASK: &str = "***";
/// A known secret shorter than this would mask ordinary words.
const SHORTEST: usize = 8;

/// Forms of secrets: the group `keep`, where there is one, stays.
const FORMS: &[&str] = &[
    r"\bgh[pousr]_[A-Za-z0-9]{20,}",
    r"\bgithub_pat_[A-Za-z0-9_]{20,}",
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    r"\bxox[abprs]-[A-Za-z0-9-]{10,}",
    r"\bsk-[A-Za-z0-9_-]{20,}",
    r"\b(?:npm|pypi|glpat|dop_v1|hf|rubygems)[_-][A-Za-z0-9_-]{20,}",
    r"\bAIza[A-Za-z0-9_-]{30,}",
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*",
    r"(?P<url>\b[a-z][a-z0-9+.-]*://)[^\s/:@]*:[^\s/@]{3,}@",
    r"(?i)(?P<keep>\b(?:authorization|proxy-authorization): *(?:basic|bearer|token) +)[A-Za-z0-9+/=._~-]{8,}",
    r#"(?i)(?P<name>\b[\w-]*(?:password|passwd|secret|api_?key|access_?key|auth_?token|access_?token|private_?key)["']? ?[=:] ?["']?)[A-Za-z0-9+/=._~!@#%^&-]{8,}"#,
];

/// A cheap sign without which no form fits.
const HINTS: &[&str] = &[
    "gh",
    "github_pat_",
    "akia",
    "asia",
    "xox",
    "sk-",
    "npm",
    "pypi",
    "glpat",
    "dop_v1",
    "hf_",
    "rubygems",
    "aiza",
    "eyj",
    "private key",
    "://",
    "authorization",
    "passw",
    "secret",
    "key",
    "token",
];

#[expect(clippy::expect_used, reason = "the forms are constant and a test uses them")]
static FORM: LazyLock<(AhoCorasick, Regex)> = LazyLock::new(|| {
    let hints = AhoCorasick::builder().ascii_case_insensitive(true).build(HINTS).expect("few short words");
    (hints, Regex::new(&FORMS.join("|")).expect("valid forms"))
});

/// The cutter.
pub(super) struct Secrets {
    known: Option<AhoCorasick>,
}

impl Secrets {
    /// `known` are secrets that the caller has given out; they are cut wherever they stand.
    pub(super) fn new(known: &[String]) -> Self {
        let long = known.iter().filter(|secret| secret.len() >= SHORTEST);
        let known = AhoCorasick::new(long).ok().filter(|all| all.patterns_len() > 0);
        Self { known }
    }

    /// The text without secrets.
    pub(super) fn cut(&self, text: &str) -> String {
        let text = match &self.known {
            Some(known) if known.is_match(text) => known.replace_all(text, &vec![MASK; known.patterns_len()]),
            _ => text.to_owned(),
        };
        if !FORM.0.is_match(&text) {
            return text;
        }
        let keep = |found: &Captures<'_>| {
            let kept = ["keep", "name"].iter().find_map(|name| found.name(name)).map_or("", |m| m.as_str());
            found
                .name("url")
                .map_or_else(|| format!("{kept}{MASK}"), |scheme| format!("{}{MASK}@", scheme.as_str()))
        };
        FORM.1.replace_all(&text, keep).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_cut_and_words_are_not() {
        let secrets = Secrets::new(&["hunter2hunter2".to_owned(), "short".to_owned()]);
        for (text, want) in [
            ("token ghp_0123456789abcdefghijABCDEFGHIJ012345 end", "token *** end"),
            ("clone https://bot:s3cr3tpass@example.org/x.git", "clone https://***@example.org/x.git"),
            ("Authorization: Bearer abcdefghij.klmnop", "Authorization: Bearer ***"),
            ("DB_PASSWORD=correct-horse-battery", "DB_PASSWORD=***"),
            ("it was hunter2hunter2!", "it was ***!"),
            ("a short word and a key: none", "a short word and a key: none"),
            ("https://example.org:8080/path@v1", "https://example.org:8080/path@v1"),
        ] {
            assert_eq!(secrets.cut(text), want);
        }
    }
}
