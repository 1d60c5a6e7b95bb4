//! Source text reduced to what runs: comments and switched-off code taken out, so that a test that was commented out
//! counts as gone.

use crate::domain::{policy::paths, text::pattern::pattern};
use regex::Regex;

/// How comments are written in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comments {
    /// `#`, and texts in three quotes that are statements.
    Python,
    /// `#`, `=begin`.
    Ruby,
    /// `#`.
    Hash,
    /// `//`, `/* */`.
    Slashes,
    /// None known.
    None,
}

/// The text without comments and switched-off blocks; its line count stays.
pub(super) fn running(path: &str, text: &str) -> String {
    let comments = match paths::ending(path).as_str() {
        "py" | "pyi" => Comments::Python,
        "rb" => Comments::Ruby,
        "sh" | "bash" | "bats" | "zsh" | "ex" | "exs" | "t" | "feature" | "yml" | "yaml" | "toml" | "cfg"
        | "ini" => Comments::Hash,
        "rs" | "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" | "go" | "java" | "kt" | "kts"
        | "scala" | "groovy" | "gradle" | "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "hh" | "hxx" | "cs"
        | "swift" | "m" | "php" | "phpt" => Comments::Slashes,
        _ => Comments::None,
    };
    let text = match comments {
        // Texts as statements, and any that hold a test as if it were none.
        Comments::Python => {
            blank(text, pattern!(r#"(?ms)^[ \t]*[rRbBuU]?(?:""".*?"""|'''.*?''')[ \t]*(?:#[^\n]*)?$"#))
        }
        Comments::Ruby => blank(text, pattern!(r"(?ms)^=begin\b.*?^=end\b")),
        Comments::Slashes => blank(
            &blank(text, pattern!(r"(?s)(?:^|[\s;{}(,])/\*.*?\*/")),
            pattern!(r"(?ms)^[ \t]*#if 0\b.*?^[ \t]*#endif"),
        ),
        Comments::Hash | Comments::None => text.to_owned(),
    };
    match comments {
        Comments::None => text,
        Comments::Slashes => lines(&text, "//"),
        _ => lines(&text, "#"),
    }
}

/// The matches emptied, their line ends kept.
fn blank(text: &str, what: &Regex) -> String {
    what.replace_all(text, |found: &regex::Captures<'_>| "\n".repeat(found[0].matches('\n').count()))
        .into_owned()
}

/// Lines that are comments emptied, comments at a line's end cut off.
fn lines(text: &str, sign: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split('\n') {
        let start = line.trim_start();
        // `#[test]`, `#include` and `#!/bin/sh` are not comments where `//` is.
        let code = if start.starts_with(sign) { "" } else { before_comment(line, sign) };
        out.push_str(code.trim_end());
        out.push('\n');
    }
    out.pop();
    out
}

/// The part of a line before a comment: at a sign after white space that is in no string, as far as one line tells.
fn before_comment<'a>(line: &'a str, sign: &str) -> &'a str {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match quote {
            Some(open) if c == open && before != '\\' => quote = None,
            Some(_) => {}
            None if matches!(c, '"' | '\'' | '`') => quote = Some(c),
            None if before.is_whitespace() && line[at..].starts_with(sign) => return &line[..at],
            None => {}
        }
        before = c;
    }
    line
}
