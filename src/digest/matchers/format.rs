//! GitHub's problem matcher files: reading and checking them by the runner's own rules.
//!
//! The format and its rules: <https://github.com/actions/toolkit/blob/main/docs/problem-matchers.md>.

use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;
use std::collections::HashSet;

/// Matchers of one file, patterns of one matcher and of all of them, and bytes of one compiled expression: a file of a
/// repository is not trusted. Together they bound what a file can cost in memory; those in use have ten patterns at most.
const MATCHERS: usize = 64;
const PATTERNS: usize = 16;
const PATTERNS_IN_ALL: usize = 128;
const COMPILED: usize = 256 << 10;

/// Why a matcher file is refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum MatcherError {
    /// It is not JSON of this shape.
    #[error("not a problem matcher file: {0}")]
    Shape(String),
    /// A rule of the format is broken.
    #[error("problem matcher `{owner}`: {rule}")]
    Rule {
        /// Owner of the matcher.
        owner: String,
        /// The rule, and what to do.
        rule: String,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    #[serde(default)]
    problem_matcher: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    #[serde(default)]
    owner: String,
    #[serde(default)]
    severity: String,
    #[serde(default)]
    from_path: Option<String>,
    #[serde(default)]
    pattern: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    regexp: String,
    #[serde(default, rename = "loop")]
    looped: bool,
    file: Option<i64>,
    line: Option<i64>,
    column: Option<i64>,
    severity: Option<i64>,
    code: Option<i64>,
    message: Option<i64>,
    from_path: Option<i64>,
}

impl Row {
    /// The groups in the order of `Field`.
    fn groups(&self) -> [Option<i64>; FIELDS] {
        [self.file, self.line, self.column, self.severity, self.code, self.message, self.from_path]
    }
}

/// The properties a pattern can set.
pub(super) const FIELDS: usize = 7;
const NAMES: [&str; FIELDS] = ["file", "line", "column", "severity", "code", "message", "fromPath"];
const MESSAGE: usize = 5;

/// One pattern of a matcher.
#[derive(Debug)]
pub(super) struct Pattern {
    pub regex: Regex,
    pub looped: bool,
    /// Group of each property.
    pub groups: [Option<usize>; FIELDS],
}

/// A problem matcher, checked.
#[derive(Debug)]
pub struct Matcher {
    pub(super) owner: String,
    pub(super) severity: String,
    pub(super) from_path: Option<String>,
    pub(super) patterns: Vec<Pattern>,
}

impl Matcher {
    /// Reads a matcher file. The first broken rule refuses the whole file, as the runner does.
    pub fn parse(json: &str) -> Result<Vec<Self>, MatcherError> {
        let file: File = serde_json::from_str(json).map_err(|e| MatcherError::Shape(e.to_string()))?;
        let mut owners = HashSet::new();
        if file.problem_matcher.len() > MATCHERS {
            return Err(MatcherError::Shape(format!("more than {MATCHERS} matchers")));
        }
        if file.problem_matcher.iter().map(|entry| entry.pattern.len()).sum::<usize>() > PATTERNS_IN_ALL {
            return Err(MatcherError::Shape(format!("more than {PATTERNS_IN_ALL} patterns")));
        }
        let mut matchers = Vec::new();
        for entry in file.problem_matcher {
            let refuse = |rule: String| MatcherError::Rule { owner: entry.owner.clone(), rule };
            if entry.owner.is_empty() {
                return Err(refuse("`owner` is missing".into()));
            }
            if !owners.insert(entry.owner.to_lowercase()) {
                return Err(refuse(
                    "the same `owner` stands twice (upper and lower case are the same)".into(),
                ));
            }
            matchers.push(check(entry)?);
        }
        Ok(matchers)
    }

    /// The owner, by which the file names it.
    pub fn owner(&self) -> &str {
        &self.owner
    }
}

fn check(entry: Entry) -> Result<Matcher, MatcherError> {
    let refuse = |rule: &str| MatcherError::Rule { owner: entry.owner.clone(), rule: rule.to_owned() };
    if entry.pattern.is_empty() || entry.pattern.len() > PATTERNS {
        return Err(refuse(&format!("it needs 1 to {PATTERNS} patterns")));
    }
    let last = entry.pattern.len() - 1;
    let mut set = [false; FIELDS];
    let mut patterns = Vec::new();
    for (index, row) in entry.pattern.iter().enumerate() {
        if row.looped && (index != last || last == 0) {
            return Err(refuse("`loop` belongs to the last of several patterns"));
        }
        if row.looped && row.message.is_none() {
            return Err(refuse("a pattern with `loop` must set `message`"));
        }
        let regex = compile(&row.regexp).map_err(|why| refuse(&format!("`{}`: {why}", row.regexp)))?;
        let mut groups = [None; FIELDS];
        for (field, group) in row.groups().into_iter().enumerate() {
            let Some(group) = group else { continue };
            let inside = usize::try_from(group).ok().filter(|group| *group < regex.captures_len());
            let Some(inside) = inside else {
                return Err(refuse(&format!(
                    "`{}` is group {group}, which `{}` has not",
                    NAMES[field], row.regexp
                )));
            };
            if std::mem::replace(&mut set[field], true) {
                return Err(refuse(&format!("`{}` is set twice", NAMES[field])));
            }
            groups[field] = Some(inside);
        }
        patterns.push(Pattern { regex, looped: row.looped, groups });
    }
    if !set[MESSAGE] {
        return Err(refuse("no pattern sets `message`"));
    }
    Ok(Matcher { owner: entry.owner, severity: entry.severity, from_path: entry.from_path, patterns })
}

/// Compiles an expression of JavaScript's dialect with an engine that is linear in the line. Look-around and back references have no
/// linear form and are refused with the reason.
pub(super) fn compile(text: &str) -> Result<Regex, String> {
    RegexBuilder::new(&translate(text)).unicode(false).size_limit(COMPILED).build().map_err(|error| {
        match error {
            regex::Error::CompiledTooBig(_) => "too large".to_owned(),
            _ if text.contains("(?=")
                || text.contains("(?!")
                || text.contains("(?<=")
                || text.contains("(?<!") =>
            {
                "look-around is not supported; write it without".to_owned()
            }
            _ => "not an expression this can run".to_owned(),
        }
    })
}

/// Escapes what JavaScript takes literally and this engine does not: `[` and doubled `&`, `-`, `~` inside a class, a brace that
/// begins no repetition, and escapes of letters that mean themselves.
fn translate(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len() + 8);
    let mut class = false;
    let mut at = 0;
    while at < letters.len() {
        let letter = letters[at];
        let next = letters.get(at + 1).copied();
        match letter {
            '\\' => {
                at += 1;
                match next {
                    Some('/') => out.push('/'),
                    Some(c) if c.is_ascii_alphabetic() && !"bBdDsSwWnrtfvxupPAzaU".contains(c) => out.push(c),
                    Some(c) if !c.is_ascii() || c == '<' || c == '>' => out.push(c),
                    Some(c) => out.extend(['\\', c]),
                    None => out.push('\\'),
                }
            }
            '[' if class => out.push_str("\\["),
            '[' => {
                class = true;
                out.push('[');
                // "[]" and "[^]": JavaScript's empty class and any character.
                let negated = next == Some('^');
                at += usize::from(negated);
                if negated {
                    out.push('^');
                }
            }
            ']' if class => {
                class = false;
                out.push(']');
            }
            '&' | '~' if class => out.extend(['\\', letter]),
            '-' if class && next == Some('-') => out.push_str("\\-"),
            '{' if !class && !repeats(&letters[at..]) => out.push_str("\\{"),
            '}' if !class && !closes(&letters[..at]) => out.push_str("\\}"),
            _ => out.push(letter),
        }
        at += 1;
    }
    out
}

/// Whether `{…` is a repetition.
fn repeats(letters: &[char]) -> bool {
    let inner: String = letters.iter().skip(1).take_while(|c| **c != '}').collect();
    letters.contains(&'}')
        && inner.starts_with(|c: char| c.is_ascii_digit())
        && inner.chars().all(|c| c.is_ascii_digit() || c == ',')
}

/// Whether a `}` after these letters ends a repetition or an escape like `\u{1b}`.
fn closes(letters: &[char]) -> bool {
    let open = letters.iter().rposition(|c| *c == '{');
    open.is_some_and(|open| {
        letters[open + 1..].iter().all(|c| c.is_ascii_hexdigit() || *c == ',')
            && (open == 0 || letters[open - 1] != '\\')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_of_the_other_dialect_run() {
        for (text, line) in [
            (r"^([^\s][^[]*)\/(\d+)$", "a/12"),
            (r"a{b}\-c", "a{b}-c"),
            (r"[\w&&-]+x", "a&-x"),
            (r"\u001b\[31m(.*)", "\u{1b}[31mred"),
            (r"^[^\]]+\]$", "ab]"),
        ] {
            assert!(compile(text).unwrap().is_match(line.as_bytes()), "{text}");
        }
        assert!(compile(r"(?!a)b").unwrap_err().contains("look-around"));
    }
}
