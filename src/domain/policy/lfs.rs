//! Files that are kept in Git LFS: the repository holds a pointer, the content lies on another server.
//!
//! A sandbox sees pointers alone, and no LFS objects are pushed from here. Would a change to such a file be committed, whoever
//! checks it out would get a pointer to nothing, or a large file where a pointer belongs. So nobody's content is touched:
//! the change is refused with a sentence. What is removed, renamed or let be is the tree's own affair.

use super::FileDiff;
use globset::{GlobBuilder, GlobMatcher};
use std::collections::BTreeSet;

/// What names the files that filters apply to. Source: git's `gitattributes`.
pub const ATTRIBUTES: &str = ".gitattributes";

/// A pointer is never longer. Source: git-lfs, "spec.md".
const POINTER: usize = 1_024;

/// Bytes of a line that is read; git itself reads twice as much. Source: git's `gitattributes`.
const LINE: usize = 1_024;

/// Bytes of all patterns together: each is made into a machine many times its size.
const PATTERNS: usize = 64 << 10;

/// How a pointer begins, today and before the project had its name. Source: git-lfs, "spec.md".
const VERSIONS: [&[u8]; 2] =
    [b"version https://git-lfs.github.com/spec/", b"version https://hawser.github.com/spec/"];

/// Which paths are kept in LFS.
#[derive(Clone, Debug, Default)]
pub struct Tracked(Vec<Rule>);

#[derive(Clone, Debug)]
struct Rule {
    /// The folder whose attributes say so, with a slash at its end; empty at the top.
    folder: String,
    matches: GlobMatcher,
    by_name: bool,
    is_lfs: bool,
}

impl Tracked {
    /// Of the attributes of a tree: each file's folder (empty at the top), and what it says.
    pub fn of<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut files: Vec<_> = files.into_iter().collect();
        // The nearest speaks last.
        files.sort_by_key(|(folder, _)| folder.split('/').filter(|name| !name.is_empty()).count());
        let macros = macros(&files);
        let mut room = PATTERNS;
        Self(files.iter().flat_map(|(folder, text)| rules(folder, text, &macros, &mut room)).collect())
    }

    /// Is this path kept in LFS?
    pub fn holds(&self, path: &str) -> bool {
        let last = self.0.iter().rev().find(|rule| rule.is_about(path));
        last.is_some_and(|rule| rule.is_lfs)
    }
}

impl Rule {
    fn is_about(&self, path: &str) -> bool {
        let Some(below) = path.strip_prefix(&self.folder) else { return false };
        self.matches.is_match(if self.by_name { below.rsplit('/').next().unwrap_or(below) } else { below })
    }
}

/// Names that stand for several attributes, LFS's filter among them; only the top may define them.
fn macros(files: &[(&str, &str)]) -> BTreeSet<String> {
    let lines = files.iter().filter(|(folder, _)| folder.is_empty()).flat_map(|(_, text)| text.lines());
    let named = lines.filter_map(|line| line.trim().strip_prefix("[attr]"));
    let with_filter = named.filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let name = words.next()?;
        words.any(|word| word == "filter=lfs").then(|| name.to_owned())
    });
    with_filter.collect()
}

fn rules(folder: &str, text: &str, macros: &BTreeSet<String>, room: &mut usize) -> Vec<Rule> {
    let folder = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let mut rule = |line: &str| {
        let line = line.trim();
        if line.len() > LINE || line.is_empty() || line.starts_with(['#', '[']) {
            return None;
        }
        let (pattern, words) = pattern(line)?;
        // The last word about the filter holds.
        let is_lfs = words.split_ascii_whitespace().rev().find_map(|word| match word {
            "filter=lfs" => Some(true),
            "-filter" | "!filter" => Some(false),
            other if other.starts_with("filter=") => Some(false),
            other if macros.contains(other) => Some(true),
            other => macros.contains(other.strip_prefix(['-', '!'])?).then_some(false),
        })?;
        *room = room.checked_sub(pattern.len())?;
        let by_name = !pattern.contains('/');
        let mut glob = GlobBuilder::new(pattern.trim_start_matches('/'));
        let matches = glob.literal_separator(true).backslash_escape(true).build().ok()?.compile_matcher();
        Some(Rule { folder: folder.clone(), matches, by_name, is_lfs })
    };
    text.lines().filter_map(&mut rule).collect()
}

/// A line's pattern, which stands in quotes where it holds spaces, and the rest.
fn pattern(line: &str) -> Option<(String, &str)> {
    match line.strip_prefix('"') {
        None => line.split_once([' ', '\t']).map(|(pattern, words)| (pattern.to_owned(), words)),
        Some(quoted) => quoted.split_once('"').map(|(pattern, words)| (pattern.to_owned(), words)),
    }
}

/// Is it an LFS pointer?
fn is_pointer(content: &[u8]) -> bool {
    content.len() <= POINTER && VERSIONS.iter().any(|version| content.starts_with(version))
}

/// Why a change to a file is not pushed, where it is kept in LFS before or after it.
pub(super) fn reason(file: &FileDiff, before: &Tracked, after: &Tracked) -> Option<String> {
    let is_file = file.new_mode.is_some_and(|mode| mode & 0o170_000 == 0o100_000);
    // An empty file is its own pointer.
    if !is_file
        || file.new.as_ref().is_some_and(Vec::is_empty)
        || (file.old == file.new && file.old_mode.is_some())
    {
        return None;
    }
    let pointer = |side: &Option<Vec<u8>>| side.as_deref().is_some_and(is_pointer);
    let is_kept = after.holds(&file.path)
        || before.holds(file.old_path.as_deref().unwrap_or(&file.path))
        || pointer(&file.old)
        || pointer(&file.new);
    is_kept.then(|| {
        format!(
            "`{}` is kept in Git LFS: the repository holds only a pointer to it, and no LFS object is pushed from here. \
             Leave it as it is; a person has to change it.",
            super::refuse::shown(&file.path)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTER: &str = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";

    #[test]
    fn attributes_say_what_is_kept_in_lfs() {
        let top = "# pictures\n*.png filter=lfs diff=lfs merge=lfs -text\n/data/** filter=lfs\n\"a b.bin\" filter=lfs\n\
                   *.svg filter=lfs\n*.svg -filter\nart/*.psd filter=lfs\n*.txt text\n";
        let tracked =
            Tracked::of([("docs/small", "*.png !filter\n"), ("", top), ("docs", "*.gif filter=lfs\n")]);
        for path in
            ["a.png", "x/y/a.png", "data/a", "data/x/b", "a b.bin", "art/x.psd", "docs/x/a.gif", "docs/a.png"]
        {
            assert!(tracked.holds(path), "{path}");
        }
        for path in ["a.svg", "more/data/a", "art/x/y.psd", "a.gif", "a.txt", "docs/small/a.png", "png"] {
            assert!(!tracked.holds(path), "{path}");
        }
        let named = Tracked::of([("", "[attr]big filter=lfs -text\n*.iso big\n/keep.iso -big\n")]);
        assert!(named.holds("x/a.iso") && !named.holds("keep.iso"));
    }

    #[test]
    fn patterns_without_end_are_passed_over() {
        let long = format!("{} filter=lfs\n*.png filter=lfs\n", "?".repeat(500_000));
        assert!(Tracked::of([("", long.as_str())]).holds("a.png"));
        let many: String = (0..40_000).map(|n| format!("{n}?[!a]{{b,c}}* filter=lfs\n")).collect();
        assert!(Tracked::of([("", many.as_str())]).0.len() < 10_000);
        assert!(Tracked::of([("", format!("{} filter=lfs\n", "[!é]".repeat(200)).as_str())]).0.len() < 2);
    }

    #[test]
    fn f34_content_of_a_file_in_lfs_is_refused_and_nothing_else() {
        let tracked = Tracked::of([("", "*.png filter=lfs\n")]);
        let none = Tracked::default();
        let file = |path: &str, old: Option<&str>, new: Option<&str>| FileDiff {
            path: path.to_owned(),
            old_path: None,
            old_mode: old.map(|_| 0o100_644),
            new_mode: new.map(|_| 0o100_644),
            old: old.map(|text| text.as_bytes().to_vec()),
            new: new.map(|text| text.as_bytes().to_vec()),
        };
        let refused = |file: &FileDiff, before, after| reason(file, before, after).is_some();
        let edited = file("a.png", Some(POINTER), Some("\u{89}PNG"));
        assert!(refused(&edited, &tracked, &tracked) && refused(&edited, &none, &none), "known by either");
        assert!(refused(&file("new.png", None, Some("\u{89}PNG")), &none, &tracked));
        assert!(refused(&file("new.png", None, Some(POINTER)), &tracked, &tracked), "a pointer to nothing");
        assert!(
            refused(&file("a.png", Some(POINTER), Some("PNG")), &tracked, &none),
            "also where it leaves LFS"
        );
        assert!(!refused(&file("a.png", Some(POINTER), None), &tracked, &tracked), "removed");
        let moved =
            FileDiff { old_path: Some("a.png".into()), ..file("b.png", Some(POINTER), Some(POINTER)) };
        assert!(!refused(&moved, &tracked, &tracked), "renamed");
        assert!(!refused(&file("art/.gitkeep.png", None, Some("")), &tracked, &tracked), "empty");
        assert!(!refused(&file("a.rs", Some("x"), Some("y")), &tracked, &tracked));
    }
}
