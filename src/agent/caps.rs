//! The caps on everything a model is shown, each with its reason. What is cut is the middle: beginnings say what a text is,
//! ends say how it came out.

use std::borrow::Cow;

/// A title: GitHub's own limit is 256.
pub(super) const TITLE: usize = 256;
/// An issue's text: a long report with a log in it; more is an attachment.
pub(super) const BODY: usize = 24_000;
/// What was asked, by people who may write: as long as an issue may be, since it is the task itself.
pub(super) const INSTRUCTION: usize = 24_000;
/// One comment or note.
pub(super) const NOTE: usize = 6_000;
/// Comments or notes; the last ones, since they answer the first.
pub(super) const NOTES: usize = 20;
/// What a sandbox may reach: a few dozen entries.
pub(super) const REACHABLE: usize = 3_000;
/// The repository's template for pull requests.
pub(super) const TEMPLATE: usize = 8_000;
/// A pull request's difference, as a first look; the files themselves can be read.
pub(super) const DIFF: usize = 120_000;
/// The piece of a difference under which a reviewer's comment stands.
pub(super) const HUNK: usize = 3_000;
/// A reviewer's comments that are told and answered in one round.
pub(super) const THREADS: usize = 50;
/// Comments of our own on lines: a review of more is read by nobody.
pub(super) const COMMENTS: usize = 30;
/// Files in conflict by name.
pub(super) const FILES: usize = 100;
/// The repository's `AGENTS.md`: it is read again with every question.
pub(super) const INSTRUCTIONS: usize = 24_000;
/// Red checks that are told in full: they share their cause more often than not.
pub(super) const CHECKS: usize = 8;
/// A check's one line.
pub(super) const LINE: usize = 500;
/// A check's excerpt: what a digest is made to fit.
pub(super) const EXCERPT: usize = 12_000;
/// Failing tests by name, a check.
pub(super) const TESTS: usize = 40;
/// The reasons of a refusal.
pub(super) const REASONS: usize = 20;
/// A tool's result: some hundred lines of a file; the rest can be asked for.
pub(super) const RESULT: usize = 40_000;
/// A summary or question of the model's own, as it goes on to people.
pub(super) const SUMMARY: usize = 8_000;
/// Tokens of conversation, also where the model holds more: every step pays for all of it again.
pub(super) const CONTEXT: u64 = 200_000;
/// One answer of the model: a file of two thousand lines in one call.
pub(super) const REPLY_TOKENS: u32 = 32_000;

/// `text` in at most about `cap` bytes: the middle is cut, and how much was cut is said there.
pub(super) fn middle(text: &str, cap: usize) -> Cow<'_, str> {
    if text.len() <= cap {
        return Cow::Borrowed(text);
    }
    let head = text.floor_char_boundary(cap / 2);
    let tail = text.ceil_char_boundary(text.len() - cap / 2);
    let left_out = text[head..tail].chars().count();
    Cow::Owned(format!("{}\n[… {left_out} characters left out …]\n{}", &text[..head], &text[tail..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_middle_is_cut_and_both_ends_stay(text in "\\PC{0,400}", cap in 0_usize..300) {
            let cut = middle(&text, cap);
            prop_assert!(cut.len() <= cap + 64);
            if text.len() <= cap {
                prop_assert_eq!(&cut, &text);
            } else {
                prop_assert!(cut.contains("characters left out"));
                let half = text.floor_char_boundary(cap / 2);
                prop_assert!(cut.starts_with(&text[..half]));
                prop_assert!(cut.ends_with(&text[text.ceil_char_boundary(text.len() - cap / 2)..]));
            }
        }
    }
}
