//! What makes two failures the same one: the check's name and the error without what changes from run to run.

use super::clean::{message, trim};
use sha2::{Digest as _, Sha256};

/// Failing tests that count; with more the set itself is no longer stable from run to run.
const TESTS: usize = 20;

/// Hex of 16 bytes over check, levelled error line and failing tests.
pub(super) fn signature(check: &str, line: &[u8], tests: &[String]) -> String {
    let mut hash = Sha256::new();
    hash.update(check.as_bytes());
    hash.update([0]);
    hash.update(level(&String::from_utf8_lossy(trim(message(line)))).as_bytes());
    let mut tests: Vec<&String> = tests.iter().take(TESTS).collect();
    tests.sort();
    for test in tests {
        hash.update([0]);
        hash.update(test.as_bytes());
    }
    hex::encode(&hash.finalize()[..16])
}

/// The line in lower case, paths cut to their last part, numbers and hexadecimal words replaced.
fn level(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for word in
        line.split_inclusive(|c: char| !(c.is_alphanumeric() || matches!(c, '/' | '\\' | '_' | '-' | '.')))
    {
        let (core, end) = match word.char_indices().next_back() {
            Some((at, last)) if !last.is_alphanumeric() && !matches!(last, '/' | '\\' | '_' | '-' | '.') => {
                word.split_at(at)
            }
            _ => (word, ""),
        };
        let name = core.rsplit(['/', '\\']).next().unwrap_or(core);
        out.push_str(&numbers(name));
        out.push_str(end);
    }
    out.to_lowercase()
}

/// Runs of digits become `0`; a word of seven or more hexadecimal digits becomes one `0`.
fn numbers(word: &str) -> String {
    let word = word.strip_prefix("0x").unwrap_or(word);
    let hexadecimal = word.len() >= 7
        && word.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
        && word.contains(|c: char| c.is_ascii_digit());
    if hexadecimal {
        return "0".to_owned();
    }
    let mut out = String::new();
    let mut digits = false;
    for letter in word.chars() {
        let digit = letter.is_ascii_digit();
        if !digit {
            out.push(letter);
        } else if !digits {
            out.push('0');
        }
        digits = digit;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f40_a_rerun_has_the_same_signature_and_another_error_has_not() {
        let one =
            signature("test", b"/tmp/a1b2c3/x.rs:12: assertion failed at 0x7ffe12ab34cd after 3.2s", &[]);
        let again =
            signature("test", b"/home/ci/x.rs:14: assertion failed at 0x7ffe00000001 after 11.9s", &[]);
        let other =
            signature("test", b"/tmp/a1b2c3/y.rs:12: assertion failed at 0x7ffe12ab34cd after 3.2s", &[]);
        assert_eq!(one, again);
        assert_ne!(one, other);
        assert_ne!(
            one,
            signature("lint", b"/tmp/a1b2c3/x.rs:12: assertion failed at 0x7ffe12ab34cd after 3.2s", &[])
        );
        assert_ne!(signature("t", b"", &["a".into()]), signature("t", b"", &["b".into()]));
    }
}
