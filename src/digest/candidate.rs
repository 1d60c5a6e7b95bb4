//! Which lines are looked at at all. One automaton over the raw bytes; everything dearer runs on its hits only.

use regex::bytes::{Regex, RegexBuilder};
use std::sync::LazyLock;

/// Words without which hardly any tool reports a failure, places in source files, and the markers of runners. A line that has none
/// of these can still be shown: as context, or as part of the end of a failed step.
const SIGNS: &[&str] = &[
    "error",
    "fail",
    "fatal",
    "exception",
    "panic",
    "abort",
    "assert",
    "traceback",
    "undefined",
    "unresolved",
    "unrecogni",
    "not found",
    "not ok",
    "cannot",
    "can't ",
    "could not",
    "couldn't",
    "can not",
    "unable to",
    "unsupported",
    "denied",
    "refused",
    "invalid",
    "missing",
    "unexpected",
    "expected",
    "illegal",
    "killed",
    "timed out",
    "timeout",
    "segfault",
    "segmentation",
    "sanitizer",
    "core dumped",
    "conflict",
    "corrupt",
    "incompatible",
    "no such",
    "doesn't ",
    "does not",
    "unsatisf",
    "violat",
    "mismatch",
    "forbidden",
    "dubious",
    "caused by",
    "returned [1-9]",
    "status [1-9]",
    "code:? [1-9]",
    "exited with",
    "warning",
    "canceled",
    "cancelled",
    "terminated",
    "npm err!",
    "no space left",
    "rate limit",
    "offen[cs]e",
    "issues? found",
    "please ",
    "problems?\\b",
    // places
    "\\.[a-z]{1,6}[\"']?[:(\\[][ \\[]?[0-9]",
    "\", line [0-9]",
    " line [0-9]",
    // failing tests, in the ways of test runners
    "\\b[0-9]+\\) ",
    "✗",
    "✘",
    "✕",
    "✖",
    "×",
    "●",
    "\\[-\\]",
    "<<<",
    "\\*\\*\\*",
    "^\\s*[EF] ",
    "^\\+\\+\\+ ",
    // markers
    "##\\[",
    "travis_time:start",
    "section_start",
    "\\[pipeline\\]",
    "build step",
    "finished: ",
    "^\\+ ",
    "^\\$ ",
    "exec(uting|ution)",
    "^::",
    "^> ",
];

#[expect(clippy::expect_used, reason = "the table is constant and a test builds it")]
static ANY: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = format!("(?im-u:{})", SIGNS.join("|"));
    RegexBuilder::new(&pattern).unicode(false).build().expect("the candidate pattern is valid")
});

/// The end of the next hit in `bytes` at or after `from`.
pub(super) fn find(bytes: &[u8], from: usize) -> Option<usize> {
    ANY.shortest_match_at(bytes, from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_automaton_is_built_and_finds_places_and_words() {
        for (line, hit) in
            [("a.rs:12: x", true), ("It FAILED", true), ("12:30:01 all well", false), ("x\n+ make", true)]
        {
            assert_eq!(find(line.as_bytes(), 0).is_some(), hit, "{line}");
        }
    }
}
