//! The names of failing tests, in the form in which their own runner would take them again where there is one.

use super::clean::{message, trim};
use regex::bytes::{Captures, Regex, RegexSet, RegexSetBuilder};
use std::collections::HashSet;
use std::sync::LazyLock;

/// Names given at most, and bytes of one: a round works on a handful, and parametrised names can be whole documents.
const NAMES: usize = 500;
const NAME: usize = 600;
/// Lines over which the title of one failure may be spread.
const TITLE_LINES: usize = 12;

/// How a name is made of the groups of a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// Group 1.
    Plain,
    /// Group 1, a method, of the class of group 2.
    Of,
    /// Class and method by ` > `.
    Path,
    /// Names the class for what follows.
    Class,
    /// Names a test of that class; a verdict may follow.
    Pending,
    /// Says that the pending test failed.
    Verdict,
    /// A title that is whole.
    Bullet,
    /// A numbered title, one line or several.
    Title,
    /// A title that counts only when nothing better names the test.
    Weak,
    /// Begins the list of numbered failures, or ends it.
    Failures,
    Over,
    /// Begins Surefire's list, which an empty line ends.
    Surefire,
}

use Form::{Bullet, Class, Failures, Of, Over, Path, Pending, Plain, Surefire, Title, Verdict, Weak};

/// (form, pattern over the message without logger prefixes and without blanks in front).
#[rustfmt::skip]
const TABLE: &[(Form, &str)] = &[
    // Python
    (Plain, r"^(?:\[gw\d+\] \[ *\d+%\] )?(?:FAILED|ERROR) ([\w./\\\-]+\.\w+(?:::.+?)?)(?: - .*)?$"),
    (Plain, r"^([\w./\\\-]+\.\w+::\S.*?) (?:FAILED|ERROR)\b"),
    (Plain, r"^_+ ERROR collecting (\S+) _+$"),
    (Weak, r"^_+ (?:ERROR at (?:setup|teardown) of )?([A-Za-z].*?) _+$"),
    (Plain, r"^(?:FAIL|ERROR): (\S+ \([\w.$<>\-]+\))"),
    (Plain, r"^(?:FAIL|ERROR): ((?:\w+\.)+\w+(?:\(.*\))?)(?: \.\.\. .*)?$"),
    (Plain, r"^(?:FAIL|ERROR): (test\w*)$"),
    (Plain, r"^(\w+ \([\w.]+\)) \.\.\. (?:FAIL|ERROR)$"),
    // JVM
    (Plain, r"^(?:Tests run.*)? ?([\w.$]+(?:[.(\[].*?)?) +(?:-- )?Time elapsed: [\d.,]+ ?s\w* +<<< (?:FAILURE|ERROR)!"),
    (Class, r"^Tests run:.*<<< (?:FAILURE|ERROR)! ?-+ in (\S+)"),
    (Of, r"^Testcase: (\S+?)\(([\w.$]+)\):\s*(?:FAILED|Caused an ERROR)"),
    (Class, r"^Testsuite: (\S+)"),
    (Pending, r"^Testcase: (\S+) took"),
    (Verdict, r"^(?:FAILED|Caused an ERROR)$"),
    (Of, r"^MethodSource \[className = '(?P<class>[^']+)', methodName = '(?P<method>[^']+)'"),
    (Path, r"^([\w.$].* > .*?) FAILED$"),
    (Plain, r"^Test ([\w.$]+\.[\w$]+) failed: "),
    (Weak, r"^- (.+) \*\*\* FAILED \*\*\*"),
    // JavaScript
    (Bullet, r"^● (.+)$"),
    (Plain, r"^(?:FAIL|×|❯) +(\S+\.\w+ > .+)$"),
    (Failures, r"^\d+ failing\b"),
    (Plain, r"^[A-Z]\w+ [\d.]+ \([^)]*\) (.+) FAILED$"),
    (Surefire, r"^(?:Failed tests|Tests in error):\s*(.*)$"),
    (Weak, r"^((?:[A-Z]\w+\.)*test_\w+\[.*\])$"),
    // numbered lists
    (Failures, r"^(?:Failures|Failed examples|There (?:was|were) \d+ (?:failure|error)s?):?$"),
    (Title, r"^\d+\) (.+)$"),
    (Over, r"^(?:Finished in|Tests:|Tests run|[\d]+ examples?,|=+ slowest|Code coverage|npm ERR!)"),
    (Plain, r"^rspec \./\S+ # (.+)$"),
    (Weak, r"^([\w:]+#test_.*?)(?: +\[.*|:)?$"),
    (Weak, r"^(test_\w+\([\w:]+\))(?: \[.*)?:?$"),
    // the rest
    (Plain, r"^--- FAIL: (\S+)"),
    (Plain, r"^test (\S.*?) \.\.\. (?:FAILED|ERROR)"),
    (Plain, r"^---- (\S+) stdout ----"),
    (Plain, r"^not ok \d+ (?:- )?(.+?)(?: # .*)?$"),
    (Plain, r"^\[  FAILED  \] ([\w/]+\.[\w/]+)"),
    (Plain, r"^\d+ - (\S+) \((?:Failed|Timeout|SEGFAULT|Subprocess aborted|ILLEGAL|Not Run)\)"),
    (Plain, r"^(\S+(?: \S+)*) \[FAIL\]$"),
    (Plain, r"^(?:Failed|X) (\S.+?) \[(?:< )?\d.*\]$"),
    (Plain, r"^Test Case '(.+?)' failed"),
    (Plain, r"^✗ (\w+), "),
    (Weak, r"^(?:✖|✗|✘|✕) (.+?)(?: \(\d+ ?m?s\))?$"),
    (Plain, r"^=* *\[-\] (.+?)(?: \d+(?:\.\d+)?m?s.*| -> .*)?$"),
    (Plain, r"^(\S+\.t) +.*(?:Failed|Wstat)"),
    (Plain, r"TEST-UNEXPECTED-\w+ \| ([^|]+?) \|"),
    (Plain, r"^(//\S+) +(?:FAILED|TIMEOUT)\b"),
    (Plain, r"^FAIL .+ \[(\S+\.phpt)\]"),
    (Plain, r"^\d\d:\d\d .*-\d+: (.+) \[E\]$"),
];

#[expect(clippy::expect_used, reason = "the table is constant and a test builds it")]
static SET: LazyLock<(RegexSet, Vec<Regex>)> = LazyLock::new(|| {
    let rows = TABLE.iter().map(|row| row.1);
    let set = RegexSetBuilder::new(rows.clone()).unicode(false).dfa_size_limit(8 << 20).build();
    let each =
        rows.map(|row| regex::bytes::RegexBuilder::new(row).unicode(false).build().expect("a valid row"));
    (set.expect("a valid table"), each.collect())
});

/// Collects names line by line.
#[derive(Default)]
pub(super) struct Names {
    found: Vec<String>,
    weak: Vec<String>,
    seen: HashSet<String>,
    class: String,
    pending: Option<String>,
    title: Option<(usize, usize, String)>,
    listing: bool,
    surefire: bool,
}

impl Names {
    /// Reads one cleaned line.
    pub(super) fn read(&mut self, line: &[u8]) {
        let text = bare(line);
        if self.title.is_some() {
            self.go_on(text, depth(line));
        }
        if self.surefire {
            self.summarised(text);
        }
        if text.len() < 5 || !hinted(text) {
            return;
        }
        let Some(row) = SET.0.matches(text).iter().next() else { return };
        if let Some(found) = SET.1[row].captures(text) {
            self.take(TABLE[row].0, &found, depth(line));
        }
    }

    fn take(&mut self, form: Form, found: &Captures<'_>, depth: usize) {
        let group =
            |at: usize| found.get(at).map(|m| String::from_utf8_lossy(m.as_bytes()).trim().to_owned());
        let first = group(1).unwrap_or_default();
        match form {
            Plain => self.add(&first),
            Of => match (found.name("class"), found.name("method")) {
                (Some(_), Some(_)) => self.add(&format!("{first}.{}", group(2).unwrap_or_default())),
                _ => self.add(&format!("{}.{first}", group(2).unwrap_or_default())),
            },
            Path => self.add(&dotted(&first)),
            Class => self.class = first,
            Pending => self.pending = Some(first),
            Verdict => {
                if let Some(test) = self.pending.take() {
                    let name = if self.class.is_empty() { test } else { format!("{}.{test}", self.class) };
                    self.add(&name);
                }
            }
            Weak => push(&mut self.weak, first),
            Failures => self.listing = true,
            Over => self.listing = false,
            Bullet if !NOISE.iter().any(|noise| first.starts_with(noise)) => self.add_title(&first),
            Bullet => {}
            Title => self.begin(first, depth),
            Surefire => {
                self.summarised(first.as_bytes());
                self.surefire = true;
            }
        }
    }

    /// The first line of a numbered title, which goes on in deeper lines until one ends in a colon.
    fn begin(&mut self, first: String, depth: usize) {
        if self.listing && first.contains("::") && !first.contains(' ') {
            self.add_title(&first);
        } else if self.listing {
            self.title = Some((depth, 0, first));
            self.go_on(b"", depth);
        }
    }

    fn go_on(&mut self, text: &[u8], depth: usize) {
        let Some((margin, lines, mut title)) = self.title.take() else { return };
        if lines > 0 && !title.ends_with(':') {
            let more = String::from_utf8_lossy(text);
            if text.is_empty() || depth <= margin || looks_like_error(&more) {
                return self.add_title(&title);
            }
            title.push(' ');
            title.push_str(more.trim());
        }
        if title.ends_with(':') || lines > TITLE_LINES {
            return self.add_title(&title);
        }
        self.title = Some((margin, lines + 1, title));
    }

    /// A line of Surefire's list: `method(a.Class): message` or `Class.method:12 message`.
    fn summarised(&mut self, text: &[u8]) {
        static LINE: LazyLock<Option<Regex>> = LazyLock::new(|| {
            Regex::new(
                r"(?-u)^(?:([\w\[\]]+)(?: on instance .*?)?\(([\w.$]+)\)|(\w[\w$.]*\.\w+(?:\[.*?\])?):\d+)",
            )
            .ok()
        });
        if text.is_empty() || text.starts_with(b"Tests run") {
            self.surefire = false;
            return;
        }
        let Some(found) = LINE.as_ref().and_then(|line| line.captures(text)) else { return };
        let group = |at: usize| found.get(at).map(|m| String::from_utf8_lossy(m.as_bytes()).into_owned());
        match (group(1), group(2), group(3)) {
            (Some(method), Some(class), _) => push(&mut self.weak, format!("{method}({class})")),
            (_, _, Some(name)) => push(&mut self.weak, name),
            _ => {}
        }
    }

    fn add_title(&mut self, title: &str) {
        self.add(title.trim_end_matches(':').trim());
    }

    fn add(&mut self, name: &str) {
        if name.is_empty() || name.len() > 4 * NAME || self.found.len() >= NAMES {
            return;
        }
        let name: String = name.chars().take(NAME).collect();
        if self.seen.insert(name.clone()) {
            self.found.push(name);
        }
    }

    /// All names, in the order of the log, each once.
    pub(super) fn finish(mut self) -> Vec<String> {
        if let Some((_, _, title)) = self.title.take() {
            self.add_title(&title);
        }
        for name in std::mem::take(&mut self.weak) {
            let known = |known: &String| words(&name).all(|word| known.contains(word));
            if !self.found.iter().any(known) {
                self.add(&name);
            }
        }
        self.found
    }
}

/// Titles of jest that are no tests.
const NOISE: &[&str] =
    &["Console", "Cannot log after", "Deprecation", "Validation", "Multiple configurations"];

fn push(names: &mut Vec<String>, name: String) {
    if names.len() < NAMES && !names.contains(&name) {
        names.push(name);
    }
}

/// The message without the prefix of Ant's junit task and without blanks in front.
fn bare(line: &[u8]) -> &[u8] {
    let text = trim(message(line));
    let text = text.strip_prefix(b"[junit] ").map_or(text, trim);
    let text = text.strip_prefix(b"[junitlauncher] ").map_or(text, trim);
    &text[..text.len().min(2 * NAME)]
}

/// A cheap test that spares most lines the table.
fn hinted(text: &[u8]) -> bool {
    static HINT: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let words = r"FAIL|ERROR|[Ff]ail|^not ok|^●|^\d+\)|<<<|^Test(case|suite)|^_|MethodSource|^\[-\]|=\[-\]|= \[-\]|^✗|^✖|^✘|^✕|^×|^❯|#test_|^test_|\.test_|rspec|Caused an|Finished in|^Tests|\[E\]$|examples?,|^There w|Wstat|Timeout|SEGF|stdout ----|TIMEOUT";
        regex::bytes::RegexBuilder::new(words).unicode(false).build().ok()
    });
    HINT.as_ref().is_none_or(|hint| hint.is_match(text))
}

fn depth(line: &[u8]) -> usize {
    let text = message(line);
    text.len() - trim(text).len()
}

fn looks_like_error(text: &str) -> bool {
    let first = text.split([':', ' ', '(']).next().unwrap_or_default();
    first.ends_with("Error")
        || first.ends_with("Exception")
        || text.starts_with("Failure/Error")
        || text.starts_with("at ")
}

/// `Class > Inner > method()` as Gradle takes it: `Class$Inner.method()`.
fn dotted(path: &str) -> String {
    let parts: Vec<&str> = path.split(" > ").collect();
    let Some((last, classes)) = parts.split_last() else { return path.to_owned() };
    let class = classes.first().copied().unwrap_or_default();
    if classes.len() > 1 && last.contains('[') && last.contains(class) {
        return (*last).to_owned();
    }
    let types = classes.iter().all(|part| {
        part.split('.').next_back().is_some_and(|name| name.starts_with(|c: char| c.is_ascii_uppercase()))
    });
    let inner =
        if types && !classes.iter().skip(1).any(|c| c.contains(' ') || c.contains('(')) { "$" } else { "." };
    format!("{}.{last}", classes.join(inner))
}

/// The words of a name, to find it again in another form.
fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(log: &str) -> Vec<String> {
        let mut names = Names::default();
        log.lines().for_each(|line| names.read(line.as_bytes()));
        names.finish()
    }

    #[test]
    fn every_runner_is_understood() {
        for (log, want) in [
            ("FAILED tests/test_a.py::test_b[x y] - AssertionError", "tests/test_a.py::test_b[x y]"),
            ("FAIL: test_b (pkg.test_a.Case)", "test_b (pkg.test_a.Case)"),
            ("[ERROR] a.b.CTest.runs  Time elapsed: 0.003 s  <<< FAILURE!", "a.b.CTest.runs"),
            ("runs(a.b.CTest)  Time elapsed: 0.003 sec  <<< ERROR!", "runs(a.b.CTest)"),
            ("[junit] Testsuite: a.C\n[junit] Testcase: runs took 1 sec\n[junit] \tFAILED", "a.C.runs"),
            ("a.CTest > Inner > runs() FAILED", "a.CTest$Inner.runs()"),
            ("  ● math › adds", "math › adds"),
            ("  1 failing\n\n  1) Lookup\n       should find:\n     Error: x", "Lookup should find"),
            ("--- FAIL: TestParse/empty (0.00s)", "TestParse/empty"),
            ("test parse::empty ... FAILED", "parse::empty"),
            ("not ok 3 - parses", "parses"),
            ("[  FAILED  ] Suite.Name (3 ms)", "Suite.Name"),
            ("There was 1 failure:\n\n1) A\\BTest::testC\nFailed asserting", "A\\BTest::testC"),
            ("Failures:\n\n  1) Parser parses\n     Failure/Error: x", "Parser parses"),
        ] {
            assert_eq!(names(log), [want], "{log}");
        }
    }

    #[test]
    fn what_only_looks_like_a_test_is_none() {
        for log in [
            "> Task :test FAILED",
            "BUILD FAILED",
            "ERROR: something went wrong",
            "1) first do this",
            "Failed tests: none yet",
            "ok 3 - parses",
        ] {
            assert!(names(log).is_empty(), "{log}: {:?}", names(log));
        }
    }
}
