//! What single lines say about a failure, as a table: the weight is how likely people point at such a line when they are asked
//! why a build failed. Written from the output formats of the tools; no project stands in it.

use super::candidate::promising;
use super::clean::{message, trim};
use memchr::memmem;
use regex::bytes::{RegexSet, RegexSetBuilder};
use std::sync::LazyLock;

/// Kinds of lines, as far as the ranking tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// A message with a place in a source file.
    Diagnostic,
    /// A failed test or a difference between expected and actual.
    Test,
    /// An exception, a panic, a crash, with what follows it.
    Trace,
    /// A tool's own statement that it failed.
    Message,
    /// A count or heading at the end of a run.
    Summary,
    /// "It failed", said by something that only passes the failure on.
    Wrapper,
    /// The world outside failed: network, runner, disk, limits.
    World,
    /// A warning.
    Warning,
    /// Something that went well.
    Fine,
    /// Nothing known.
    Plain,
}

/// A line's sort and weight (0 to 10).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sign {
    pub sort: Sort,
    pub weight: f32,
    /// How well such a line serves as the one line, where that differs: "rake aborted!" is to be shown, but says nothing.
    pub point: f32,
    /// Row of the table.
    pub row: usize,
}

use Sort::{Diagnostic, Fine, Message, Summary, Test, Trace, Warning, World, Wrapper};

/// (sort, weight, weight as the one line, pattern over the message without logger prefixes); at most 64 rows.
#[rustfmt::skip]
pub(super) const TABLE: &[(Sort, f32, f32, &str)] = &[
    // compilers and linters
    (Diagnostic, 8.5, 8.5, r"[:(\[]\d+[,:.\])]?(\d+)?[\])]?\s?:?,? *(fatal |syntax |internal compiler )?error\b"),
    (Diagnostic, 8.0, 8.0, r"^(fatal |internal compiler )?error(\[\w+\])?: "),
    (Diagnostic, 8.5, 8.5, r"\berror [A-Z]{1,6}\d{2,5}\b"),
    (Diagnostic, 10.0, 10.0, r"\.(java|kt|scala|groovy):\[?\d+(,\d+\])?:? (?i)(error|cannot|incompatible|package|class|method|unreported|constructor)"),
    (Diagnostic, 8.5, 8.5, r"undefined reference to|undefined symbols?\b|unresolved external|ld: symbol\(s\) not found|multiple definition of"),
    (Diagnostic, 6.5, 6.5, r"^\s*(\d+):(\d+)\s+((✖|×|✗)\s+)?(error\b|\S.*\s[\w-]+(/[\w-]+)*$)"),
    (Diagnostic, 5.0, 5.0, r"^(\./|/|[A-Za-z]:[\\/])?[\w@.+\-\\/ ]+\.[A-Za-z]\w{0,9}(:\d+){1,2}:?\s*\S"),
    (Diagnostic, 6.0, 6.0, r"^(\./|/|[A-Za-z]:[\\/])?[\w@.+\-\\/]+\.[A-Za-z]\w{0,9}[(\[]\d+([,:]\d+)?[)\]]\s?:?\s*\S"),
    (Diagnostic, 8.0, 8.0, r"^e: |❌ +\S+:\d+"),
    (Diagnostic, 4.0, 4.0, r"^  File .*, line \d+"),
    (Diagnostic, 5.0, 5.0, r"^\s*(-->|::: )\s?\S+:\d+:\d+"),
    // tests
    (Test, 10.0, 10.0, r"^\s*--- FAIL\b|^not ok\b"),
    (Test, 10.0, 8.0, r"^\s*✗ |^\s*✘ |^\s*✕ |^\s*\[-\] "),
    (Test, 9.5, 9.5, r"TEST-UNEXPECTED|PROCESS-CRASH"),
    (Test, 9.0, 9.0, r"\*\*\* (FAILED|ABORTED) \*\*\*|<<< (FAILURE|ERROR|FAIL)!?|^\[  FAILED  \] \S+\.\S"),
    (Test, 8.5, 8.5, r"^(FAIL|ERROR|FAILED):? \S"),
    (Test, 8.5, 8.5, r"^\s*\S.* (FAILED|FAIL)$|^test .* \.\.\. (FAILED|ERROR|FAIL)|\.\.\. (FAIL|ERROR|FAILED)$"),
    (Test, 8.5, 8.5, r"^\s*\d+\) .*\S$"),
    (Test, 10.0, 8.0, r"^\s*● .+|^_{3,} .+ _{3,}$|^---- .* stdout ----"),
    (Test, 8.5, 8.5, r"AssertionError|[Aa]ssertion.*[Ff]ailed|AssertionFailed|ComparisonFailure|^E   +\S|Failed asserting"),
    (Test, 6.5, 8.5, r"(?i)\bexpected\b.*\b(but|got|actual|was|to (be|equal|contain|match|have|eq)|instead)\b|^\s*(expected|actual|received|got|want)\b ?:"),
    (Test, 5.5, 4.0, r"Test Case .* failed|(?i)\btest .* failed\b|^FAILED\b|^FAIL\b"),
    (Test, 6.5, 5.5, r"(?i)^failures?:?$|^=+ (FAILURES|ERRORS) =+|^There (was|were) \d+ (failure|error)|^Failed (tests|examples)"),
    (Test, 6.0, 6.0, r"Dubious, test returned|Failed \d+/\d+ (sub)?tests|(?i)^\s*(failed test|rspec \./)"),
    // exceptions and crashes
    (Trace, 9.0, 3.0, r"^Traceback \(most recent call last\)"),
    (Trace, 9.0, 8.0, r"^Exception in thread|panicked at|^panic: |^fatal error: |^Uncaught |Unhandled "),
    (Trace, 8.5, 8.5, r"^\s*(E\s+)?([\w$]+\.)*[A-Z]\w*(Error|Exception|Failure)\b:? ?"),
    (Trace, 8.0, 8.0, r"^\*\* \(\w+|^Caused by: |(?i)segmentation fault|sanitizer: |core dumped|stack overflow|^\w*Error: "),
    (Trace, 7.5, 7.5, r"^\S.* \(([A-Z]\w+::)*[A-Z]\w*(Error|Exception)\)|PHP Fatal error|^Fatal error"),
    // messages
    (Message, 8.0, 8.0, r"^fatal: |^(?i)error[:!] |^(?i)fatal\b|^\s*[Ee]rror: "),
    (Message, 8.0, 6.5, r"^ERROR\b"),
    (Message, 8.0, 3.5, r"\baborted!?$"),
    (Message, 7.5, 7.5, r"^\S+: error: |^ *Error \("),
    (Message, 7.0, 6.5, r"(?i)\b(not found|no such (file|module|package)|cannot (find|open|load|resolve|import|access)|could ?n[o']t (find|resolve|open|load|build|create|be)|unable to|failed to|does not exist|is not defined|undefined (method|variable|local)|command not found|permission denied|no matching|not match|unsatisf|conflict)"),
    (Message, 4.0, 4.0, r"(?i)(^|[^\w/.\-])(errors?|failed|failure|invalid|illegal|unexpected|missing|unsupported|unrecogni[sz]ed|denied|forbidden|cannot|can't|mismatch|violat\w*|incompatible|not allowed|dirty)([^\w/.\-]|\.?$|\. )|(?i)\bplease (run|commit|fix|update|check|apply)"),
    (Message, 8.0, 8.0, r"^##\[error\]|^::error"),
    (Message, 6.5, 5.0, r"(?i)^FAILURE: Build failed|What went wrong|Execution failed for task|Failed to execute goal"),
    // summaries
    (Summary, 4.0, 2.5, r"(?i)\b[1-9]\d* (tests? |examples? |specs? )?(failed|failures?|failing|errors?|broken|problems?|offenses?|violations?)\b|(Failures|Errors|Failed|failed|errors|failures)[:=] ?[1-9]"),
    (Summary, 8.0, 4.0, r"^FAILURES!|^FAILED \(|Test (suite|run) failed|BUILD FAIL(ED|URE)|COMPILATION ERROR"),
    // passed on by something else
    (Wrapper, 1.5, 1.0, r"^npm ERR!|^error Command failed|^yarn run|exit(ed)? (code|status|with)|returned (a )?non-?zero|^make(\[\d+\])?: \*\*\*|Command failed|^##\[error\]Process completed|^Process .* exited|Build step '|^Finished: |ELIFECYCLE"),
    (Wrapper, 2.5, 1.5, r"^(Re-run Maven|To see the full|For more information about|\[Help|-> \[Help|Please refer to|After correcting)|See above for more|^info Visit|(?i)retrying|for more log output|Run with --"),
    (Wrapper, 3.0, 2.0, r"^error: (test failed|[Cc]ould not compile|aborting due|build failed|command failed|process didn't exit|Recipe|Process|Job failed)"),
    // the world outside
    (World, 9.5, 8.0, r"(?i)could not resolve host|connection (timed out|refused|reset)|network is unreachable|tls handshake|\b(502|503|504)\b.*(error|unavailable|gateway|timeout)|temporary failure in name|name resolution|no space left on device|ETIMEDOUT|ECONNRESET|rate limit (exceeded|reached|hit)|exceeded.*rate limit|hash sum mismatch|toomanyrequests|(read|connect) timed out|socket hang up|The requested URL returned error: (5|429)"),
    (World, 9.0, 9.0, r"(?i)runner has received a shutdown|lost communication|The operation was cancel|job was cancel|no output has been received|exceeded the maximum (time|log)|exceeded the time limit|task was canceled|Error cloning remote|log length has exceeded"),
    // warnings
    (Warning, 2.0, 2.0, r"(?i)\bwarn(ing)?\b|deprecat"),
    // fine
    (Fine, 0.0, 0.0, r"^ok\b|^\s*(ok|✓|✔|√|PASS(ED)?)\b|(?i)\.\.\.+ ?(ok|passed|pass|skipped)\b|\b0 (failed|failures|errors)\b.*\b0 (errors|failed|failures)|^Download(ing|ed)|^\[INFO\] (Download|Running)|^\s*--- (PASS|SKIP)|^=== (RUN|PAUSE|CONT)|^\s*\[\+\] |^test .*\.\.\. ok$|\b(PASSED|SKIPPED|XFAIL)( +\[ *\d+%\])?$"),
    (Fine, 0.0, 0.0, r"(?i)Failures: 0, Errors: 0|(failures?|errors?|failed)[:=] ?0\b.*$|^(Setting up|Unpacking|Selecting|Get:|Preparing to unpack|Receiving objects|Resolving deltas|Collecting|Requirement already|Installing|Fetching|Using) |\b0 errors?\b|^gcc |^cc |^g\+\+ |^clang|^\[ *\d+%\]"),
    // by the level that the logger wrote; see `level`
    (Message, 7.0, 6.0, NEVER),
    (Warning, 2.0, 2.0, NEVER),
];

/// Bytes of a message that are looked at.
const READ: usize = 600;

/// The weight of a line that a problem matcher of the repository reports.
const REPORTED: f32 = 8.5;
/// A pattern that no text fits, for rows that are set otherwise.
const NEVER: &str = r"[^\s\S]";

/// The row for the level in the prefix that [`message`] takes away.
fn level(prefix: &[u8]) -> u64 {
    let has = |word: &[u8]| memmem::find(prefix, word).is_some();
    if has(b"ERROR") || has(b"error") || has(b"CRITICAL") || has(b"FATAL") {
        1 << (TABLE.len() - 2)
    } else if has(b"WARN") || has(b"warn") {
        1 << (TABLE.len() - 1)
    } else {
        0
    }
}

#[expect(clippy::expect_used, reason = "the table is constant and a test builds it")]
static SET: LazyLock<RegexSet> = LazyLock::new(|| {
    let rows = TABLE.iter().map(|row| row.3);
    RegexSetBuilder::new(rows)
        .unicode(false)
        .size_limit(64 << 20)
        .dfa_size_limit(8 << 20)
        .build()
        .expect("the table of signs is valid")
});

/// Judges a cleaned line: the heaviest row counts, but what only passes a failure on, or went well, outdoes the rest.
pub(super) fn judge(line: &[u8]) -> Sign {
    let hits = hits(line);
    let mut best = Sign { sort: Sort::Plain, weight: 0.0, point: 0.0, row: 0 };
    let mut warning = None;
    for (row, (sort, weight, point, _)) in TABLE.iter().enumerate().filter(|(row, _)| hits >> row & 1 == 1) {
        let new = Sign { sort: *sort, weight: *weight, point: *point, row };
        if new.sort == Sort::Warning {
            warning = Some(new);
        }
        if (rank(new.sort), new.weight) > (rank(best.sort), best.weight) || best.sort == Sort::Plain {
            best = new;
        }
    }
    // "WARNING: cannot find x" is a warning, whatever its words.
    if best.sort == Sort::Message { warning.unwrap_or(best) } else { best }
}

/// What a line says that a problem matcher of the repository calls an error: as much as the plainest compiler's message.
pub(super) fn reported(sign: Sign) -> Sign {
    if sign.weight >= REPORTED {
        sign
    } else {
        Sign { sort: Sort::Diagnostic, weight: REPORTED, point: REPORTED, row: TABLE.len() }
    }
}

fn rank(sort: Sort) -> u8 {
    match sort {
        Sort::Fine => 2,
        Sort::Wrapper => 1,
        _ => 0,
    }
}

/// The rows of the table that fit a cleaned line, as bits.
fn hits(line: &[u8]) -> u64 {
    let text = message(line);
    let level = level(&line[..line.len() - text.len()]);
    let text = &text[..text.len().min(READ)];
    if trim(text).is_empty() {
        return 0;
    }
    if !promising(text) {
        return level;
    }
    SET.matches(text).iter().fold(level, |bits, row| bits | 1 << row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_compiles_and_tells_the_sorts_apart() {
        for (line, sort) in [
            ("src/lib.rs:3:5: error: expected one of", Diagnostic),
            ("--- FAIL: TestParse (0.03s)", Test),
            ("Traceback (most recent call last):", Trace),
            ("npm ERR! code ELIFECYCLE", Wrapper),
            ("fatal: not a repository", Message),
            ("ok 23 - error is reported", Fine),
            ("hello", Sort::Plain),
        ] {
            assert_eq!(judge(line.as_bytes()).sort, sort, "{line}");
        }
    }
}
