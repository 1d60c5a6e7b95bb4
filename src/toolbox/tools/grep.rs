//! Searching file contents, with ripgrep's own libraries.

use super::{SHOWN, Told, find, paths::Paths, text};
use grep_regex::RegexMatcherBuilder;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use std::fmt::Write;

/// Matching lines shown: past this the expression is too wide to be of use.
const MATCHES: usize = 200;

/// A matching line longer than this is generated code or data.
const LINE: usize = 300;

/// What is looked for.
#[derive(Debug)]
pub(in crate::toolbox) struct Query<'a> {
    /// A regular expression.
    pub(in crate::toolbox) pattern: &'a str,
    /// Where: a folder or a file.
    pub(in crate::toolbox) path: &'a str,
    /// Only files of this glob.
    pub(in crate::toolbox) glob: Option<&'a str>,
    /// Lines around each match.
    pub(in crate::toolbox) context: usize,
    /// Upper and lower case are the same.
    pub(in crate::toolbox) ignore_case: bool,
}

/// The matching lines as `path:line:text`.
pub(in crate::toolbox) fn grep(paths: &Paths, query: &Query<'_>) -> Told<String> {
    let real = paths.resolve(query.path)?;
    let mut build = RegexMatcherBuilder::new();
    build.case_insensitive(query.ignore_case).line_terminator(Some(b'\n'));
    let matcher = build.build(query.pattern).map_err(|e| format!("the expression cannot be read: {e}"))?;
    let only = query.glob.map(find::matcher).transpose()?;
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .before_context(query.context)
        .after_context(query.context)
        .binary_detection(BinaryDetection::quit(0))
        // A line longer than this ends the search of its file instead of filling the memory.
        .heap_limit(Some(super::HELD))
        .build();

    let mut found = Found::default();
    for entry in find::files(&real).filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file())) {
        if only.as_ref().is_some_and(|glob| !find::means(glob, &real, entry.path())) {
            continue;
        }
        found.name = paths.name(entry.path());
        let _ = searcher.search_path(&matcher, entry.path(), &mut found);
        if found.full() {
            found.out.push_str("[more match; narrow the expression, the path or the glob]");
            break;
        }
    }
    match found.out.is_empty() {
        true => Ok("[no match; ignored and binary files are not looked at]".into()),
        false => Ok(found.out),
    }
}

#[derive(Default)]
struct Found {
    name: String,
    matches: usize,
    out: String,
}

impl Found {
    fn full(&self) -> bool {
        self.matches >= MATCHES || self.out.len() >= SHOWN
    }

    fn line(&mut self, mark: char, number: Option<u64>, bytes: &[u8]) {
        let line = String::from_utf8_lossy(bytes);
        let line = text::line(line.trim_end_matches(['\n', '\r']), LINE);
        let _ = writeln!(self.out, "{}{mark}{}{mark}{line}", self.name, number.unwrap_or_default());
    }
}

impl Sink for Found {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        self.matches += 1;
        self.line(':', found.line_number(), found.bytes());
        Ok(!self.full())
    }

    fn context(&mut self, _: &Searcher, near: &SinkContext<'_>) -> Result<bool, Self::Error> {
        self.line('-', near.line_number(), near.bytes());
        Ok(!self.full())
    }
}
