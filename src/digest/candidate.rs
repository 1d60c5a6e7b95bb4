//! Which lines are looked at at all. Two nets over raw bytes: a coarse one that runs over the whole log at memory speed, and a fine
//! one for the lines that were kept.

use super::clean::{message, without_timestamp};
use aho_corasick::packed::{Config, MatchKind, Searcher};
use memchr::{memchr, memrchr};
use regex::bytes::{Regex, RegexBuilder};
use std::ops::Range;
use std::sync::LazyLock;

/// What hardly any failure is reported without, and the markers of runners, each with the weight (0 to 10) of a window around it.
/// At most 64 rows: beyond that the searcher has no vector form.
#[rustfmt::skip]
const COARSE: &[(&str, f32)] = &[
    ("error:", 8.0), ("error ", 4.0), ("Error:", 7.0), ("ERROR", 6.0), ("rror]", 6.0), ("rror[", 8.0), ("failed", 4.0), ("Failed", 5.0),
    ("FAILED", 8.0), ("FAIL:", 9.0), ("FAILURE", 7.0), ("UNEXPECTED", 9.0), ("fatal", 7.0), ("FATAL", 7.0), ("Fatal", 7.0), ("xception:", 6.0),
    ("Exception in", 8.0), ("panic", 7.0), ("raceback (", 8.0), ("undefined ", 6.0), ("not found", 5.0), ("annot ", 5.0), ("ould not ", 5.0),
    ("nable to ", 5.0), ("o such ", 5.0), ("xpected", 5.0), ("ssertion", 6.0), ("npm ERR!", 3.0), ("not ok ", 9.0), ("<<<", 8.0), ("*** ", 5.0), ("illed", 5.0),
    ("imed out", 5.0), ("core dumped", 8.0), ("egmentation fault", 8.0), ("● ", 8.0), ("✗", 7.0), ("✖", 7.0), ("✘", 7.0), ("✕", 7.0), ("❌", 8.0), ("[-] ", 8.0),
    ("##[", 1.0), ("travis_time:start", 1.0), ("section_start:", 1.0), ("xited with", 2.0), ("Finished: ", 2.0), ("Build step '", 3.0),
    ("[Pipeline] {", 1.0), ("No output has", 9.0), ("Job failed", 3.0), ("Job succeeded", 1.0), ("Post job cleanup", 1.0), (" aborted", 5.0), ("cancel", 3.0),
];

#[expect(clippy::expect_used, reason = "the table is constant and a test searches with it")]
static SEARCHER: LazyLock<Searcher> = LazyLock::new(|| {
    let mut builder = Config::new().match_kind(MatchKind::LeftmostFirst).builder();
    builder.extend(COARSE.iter().map(|row| row.0)).build().expect("the table is neither empty nor too large")
});

/// The next line in `bytes[from..]` that the coarse net holds, without its LF, and the weight of the first sign in it.
pub(super) fn next(bytes: &[u8], from: usize) -> Option<(Range<usize>, f32)> {
    let hit = SEARCHER.find_in(bytes, aho_corasick::Span { start: from, end: bytes.len() })?;
    let start = memrchr(b'\n', &bytes[from..hit.start()]).map_or(from, |at| from + at + 1);
    let end = memchr(b'\n', &bytes[hit.end()..]).map_or(bytes.len(), |at| hit.end() + at);
    Some((start..end, COARSE[hit.pattern().as_usize()].1))
}

/// How often beginnings of lines were seen, roughly: what a program says all the time is no news.
pub(super) struct Familiar {
    counts: Vec<u32>,
}

/// Beginnings told apart; collisions only make a line look more familiar than it is.
const BEGINNINGS: usize = 1 << 14;

impl Familiar {
    pub(super) fn new() -> Self {
        Self { counts: vec![0; BEGINNINGS] }
    }

    /// The factor for the weight of a raw line: 1 for the first of its kind, slowly less for each further one.
    pub(super) fn factor(&mut self, raw: &[u8]) -> f32 {
        let slot = usize::try_from(kin(without_timestamp(raw)) % BEGINNINGS as u64).unwrap_or(0);
        self.counts[slot] = self.counts[slot].saturating_add(1);
        1.0 / (1.0 + 0.1 * (31 - self.counts[slot].leading_zeros()) as f32)
    }
}

/// Hash of the first letters of a message: lines of one kin are of one making.
pub(super) fn kin(line: &[u8]) -> u64 {
    let letters = message(line).iter().filter(|b| !b.is_ascii_digit()).take(24);
    letters.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Words and places of which at least one stands in every line that the table of signs can hit.
#[rustfmt::skip]
const FINE: &[&str] = &[
    "error", "fail", "fatal", "exception", "panic", "abort", "assert", "traceback", "undefined", "unresolved", "unrecogni",
    "not found", "not ok", "cannot", "can't ", "could not", "couldn't", "can not", "unable to", "unsupported", "denied", "refused", "invalid",
    "missing", "unexpected", "expected", "illegal", "killed", "timed out", "timeout", "time", "segfault", "segmentation", "sanitizer", "overflow",
    "core dumped", "conflict", "corrupt", "incompatible", "no such", "no matching", "not match", "doesn't ", "does not", "not defined", "not allowed", "unsatisf", "violat", "mismatch", "forbidden",
    "dubious", "caused by", "exit", "returned", "warn", "deprecat", "cancel", "terminated", "dirty", "reset", "unreachable", "resolv", "broken",
    "npm err!", "no space left", "rate limit", "toomany", "hang up", "etimedout", "econnreset", "handshake", "name resolution", "output", "log length", "offen[cs]e", "problem", "runner", "communication", "502|503|504",
    "please ", "multiple definition", "symbol", "actual", "received", "\\bgot\\b", "\\bwant\\b", "unhandled", "uncaught", "yarn run", "see above", "info visit", "retrying", "re-run", "run with", "\\*\\*\\*", "build step", "finished", "lifecycle", "returned",
    "pass", "ok\\b", "download", "=== ", "\\[info\\]", "^setting up", "^unpacking", "^selecting", "^get:", "^preparing", "^receiving", "^collecting", "^requirement", "^installing", "^fetching", "^using", "^gcc", "^cc ", "^g\\+\\+", "^clang", "^\\[ *[0-9]+%",
    "\\.[a-z]\\w{0,9}[\"']?[:(\\[] ?\\[?[0-9]", "line [0-9]", "[0-9]:[0-9]+\\s", "^\\s*-->", ":::", "^e: ",
    "[0-9]\\) ", "✗", "✘", "✕", "✖", "×", "●", "❌", "✓", "✔", "√", "\\[-\\]", "\\[\\+\\]", "<<<", "^E ", "^_{3}", "^----", "---", "rspec",
    "##\\[", "^::", "went wrong", "crash", "after correcting", "re-run", "to see", "for more",
];

#[expect(clippy::expect_used, reason = "the table is constant and a test builds it")]
static ANY: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = format!("(?im-u:{})", FINE.join("|"));
    RegexBuilder::new(&pattern).unicode(false).build().expect("the candidate pattern is valid")
});

/// Whether the table of signs can hit this message at all.
pub(super) fn promising(message: &[u8]) -> bool {
    ANY.shortest_match(message).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_coarse_net_gives_whole_lines() {
        let log = b"all well\nIt FAILED here\nfine";
        let (range, weight) = next(log, 0).unwrap();
        assert_eq!((&log[range.clone()], weight), (&b"It FAILED here"[..], 8.0));
        assert!(next(log, range.end).is_none());
    }

    #[test]
    fn what_is_said_all_the_time_loses_weight() {
        let mut familiar = Familiar::new();
        let first = familiar.factor(b"ERROR 1 nothing");
        assert!((0..100).map(|_| familiar.factor(b"ERROR 2 nothing")).last().unwrap() < first);
    }
}
