//! Diagnostics by problem matchers: GitHub's format, run as GitHub's runner runs it, with a set of our own for common tools.

mod format;

pub use format::{Matcher, MatcherError};

use super::Diagnostic;
use format::{FIELDS, Pattern};
use regex::bytes::{RegexSet, RegexSetBuilder};
use std::collections::HashSet;
use std::sync::LazyLock;

/// Diagnostics given at most, and bytes of one message.
const DIAGNOSTICS: usize = 1000;
const MESSAGE: usize = 500;
/// What of a line is looked at, and what of a log the matchers of a repository are given.
const LINE: usize = 4 * MESSAGE;
const OWN: usize = 8 << 20;

/// What one matcher made of a line (and of the lines before it), as the runner would report it: properties as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    fields: [Option<String>; FIELDS],
}

impl Found {
    /// File, line, column, severity, code, message and project of the finding.
    pub fn get(&self, name: &str) -> Option<&str> {
        let names = ["file", "line", "column", "severity", "code", "message", "fromPath"];
        names.iter().position(|n| *n == name).and_then(|at| self.fields[at].as_deref())
    }

    /// What `before` found and what `pattern` adds to it.
    fn with(before: Option<&Self>, pattern: &Pattern, groups: &regex::bytes::Captures<'_>) -> Self {
        let mut found = before.cloned().unwrap_or_default();
        for (field, group) in pattern.groups.iter().enumerate() {
            let text = group
                .and_then(|group| groups.get(group))
                .map(|m| String::from_utf8_lossy(m.as_bytes()).trim().to_owned());
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                found.fields[field] = Some(text);
            }
        }
        found
    }

    fn with_defaults(mut self, matcher: &Matcher) -> Self {
        let severity = Some(&matcher.severity).filter(|s| !s.is_empty());
        self.fields[3] = self.fields[3].take().or_else(|| severity.cloned());
        self.fields[6] = self.fields[6].take().or_else(|| matcher.from_path.clone());
        self
    }
}

/// A matcher at work: it remembers the lines that began a finding of several lines.
pub struct Running<'a> {
    matcher: &'a Matcher,
    state: Vec<Option<Found>>,
}

impl<'a> Running<'a> {
    /// A matcher that has seen nothing yet.
    pub fn new(matcher: &'a Matcher) -> Self {
        Self { matcher, state: vec![None; matcher.patterns.len() - 1] }
    }

    /// Whether the next line may go on with what lines before it began.
    fn waits(&self) -> bool {
        self.state.iter().any(Option::is_some)
    }

    /// Reads a line, patterns from the last to the first, so that one line cannot serve two steps of the same finding.
    pub fn read(&mut self, line: &[u8]) -> Option<Found> {
        let patterns = &self.matcher.patterns;
        for (index, pattern) in patterns.iter().enumerate().rev() {
            let before = if index > 0 { self.state[index - 1].clone() } else { None };
            if index > 0 && before.is_none() {
                continue;
            }
            let groups = pattern.regex.captures(line);
            if index + 1 < patterns.len() {
                self.state[index] = groups.map(|groups| Found::with(before.as_ref(), pattern, &groups));
                continue;
            }
            if let Some(groups) = groups {
                let found = Found::with(before.as_ref(), pattern, &groups);
                self.state.fill(None);
                if pattern.looped && index > 0 {
                    self.state[index - 1] = before;
                }
                return Some(found.with_defaults(self.matcher));
            }
            if index > 0 {
                self.state[index - 1] = None;
            }
        }
        None
    }
}

#[expect(clippy::expect_used, reason = "the file is part of the program and a test reads it")]
static BUILT_IN: LazyLock<(Vec<Matcher>, RegexSet)> = LazyLock::new(|| {
    let matchers = Matcher::parse(include_str!("builtin.json")).expect("the built-in matchers are valid");
    let first = matchers.iter().map(|m| m.patterns[0].regex.as_str());
    let set = RegexSetBuilder::new(first).unicode(false).size_limit(64 << 20).dfa_size_limit(8 << 20).build();
    (matchers, set.expect("the built-in expressions are valid together"))
});

/// All matchers over one log.
pub(super) struct Finder<'a> {
    built_in: Vec<Running<'static>>,
    own: Vec<Running<'a>>,
    left: usize,
    seen: HashSet<(String, Option<u64>, String)>,
    found: Vec<Diagnostic>,
}

impl<'a> Finder<'a> {
    /// The built-in matchers after those of the repository.
    pub(super) fn new(own: &'a [Matcher]) -> Self {
        let built_in = BUILT_IN.0.iter().map(Running::new).collect();
        Self {
            built_in,
            own: own.iter().map(Running::new).collect(),
            left: OWN,
            seen: HashSet::new(),
            found: Vec::new(),
        }
    }

    /// Reads one cleaned line. True where a matcher of the repository says that it is an error.
    pub(super) fn read(&mut self, line: &[u8]) -> bool {
        if self.found.len() >= DIAGNOSTICS {
            return false;
        }
        let line = &line[..line.len().min(LINE)];
        let own = self.own(line);
        let any = !own.is_empty();
        own.iter().for_each(|found| self.add(found));
        let line = super::clean::message(line);
        let hits = if may_have_place(line) { BUILT_IN.1.matches(line) } else { BUILT_IN.1.matches(b"") };
        let mut first = None;
        for (index, running) in self.built_in.iter_mut().enumerate() {
            if hits.matched(index) || running.waits() {
                let found = running.read(line);
                first = first.or(found);
            }
        }
        if let Some(found) = first.filter(|_| !any) {
            self.add(&found);
        }
        own.iter().any(|found| severity(found.get("severity")) == "error")
    }

    /// What the repository's matchers find. Each is linear in the line, but nobody here wrote them and all of them read
    /// every line: past [`OWN`] bytes they are silent.
    fn own(&mut self, line: &[u8]) -> Vec<Found> {
        if self.own.is_empty() || self.left < line.len() {
            return Vec::new();
        }
        self.left -= line.len();
        self.own.iter_mut().filter_map(|running| running.read(line)).collect()
    }

    fn add(&mut self, found: &Found) {
        let number = |name| found.get(name).and_then(|text| text.parse::<u64>().ok());
        let Some(message) = found.get("message").map(|m| m.chars().take(MESSAGE).collect::<String>()) else {
            return;
        };
        let file = found.get("file").map(str::to_owned);
        if file.as_deref().is_some_and(is_host) {
            return;
        }
        let diagnostic = Diagnostic {
            file,
            line: number("line"),
            column: number("column"),
            severity: severity(found.get("severity")),
            message,
        };
        let key = (diagnostic.file.clone().unwrap_or_default(), diagnostic.line, diagnostic.message.clone());
        if self.seen.insert(key) {
            self.found.push(diagnostic);
        }
    }

    pub(super) fn finish(self) -> Vec<Diagnostic> {
        self.found
    }
}

/// A cheap test that spares most lines the table: a digit, a file name, or a colon that something follows.
fn may_have_place(line: &[u8]) -> bool {
    line.len() > 4
        && (line.iter().any(|b| b.is_ascii_digit() || *b == b'.')
            || memchr::memmem::find(line, b": ").is_some())
}

/// `example.org:443: …` looks like a place in a file.
fn is_host(file: &str) -> bool {
    let ends = [".com", ".org", ".net", ".io", ".dev", ".local", ".internal", ".localdomain"];
    file.contains("://") || (!file.contains('/') && ends.iter().any(|end| file.ends_with(end)))
}

/// GitHub knows three severities; what tools say is taken by its beginning, and what is not said is an error.
fn severity(text: Option<&str>) -> &'static str {
    let text = text.unwrap_or_default().to_ascii_lowercase();
    if text.starts_with("warn") || text == "w" || text == "refactor" {
        "warning"
    } else if ["note", "notice", "info", "hint", "remark", "style", "help", "suggest", "convention"]
        .iter()
        .any(|s| text.starts_with(s))
        || text == "i"
        || text == "c"
    {
        "notice"
    } else {
        "error"
    }
}
