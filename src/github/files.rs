//! What a pull request changes, as GitHub shows it: its files, and which of their lines take a comment.

use super::reviews::{LineComment, Side};
use super::{GitHubError, Repository};
use crate::domain::Number;
use serde::Deserialize;

/// A file that a pull request changes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PullFile {
    /// Its path.
    #[serde(rename = "filename")]
    pub path: String,
    /// Its path before, where it was renamed.
    #[serde(rename = "previous_filename")]
    pub old_path: Option<String>,
    /// `added`, `removed`, `modified`, `renamed`, `copied`, `changed` or `unchanged`.
    pub status: String,
    /// Its hunks; `None` where it is no text, or too large.
    pub patch: Option<String>,
    /// Lines added.
    pub additions: u64,
    /// Lines removed.
    pub deletions: u64,
}

/// GitHub tells of this many at most, and cuts what is beyond without a word.
/// Source: GitHub REST, "List pull requests files".
const FILES_READ: usize = 3_000;

impl Repository {
    /// The files that a pull request changes; at most 3,000.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn files(&self, pull: Number) -> Result<Vec<PullFile>, GitHubError> {
        self.client.list(&self.url(["pulls", &pull.to_string(), "files"]), None, FILES_READ).await
    }
}

/// Parts comments into those that GitHub takes and those that it does not, for one line that is not part of the
/// difference has it refuse a whole review.
pub fn placeable(files: &[PullFile], comments: Vec<LineComment>) -> (Vec<LineComment>, Vec<LineComment>) {
    let takes = |comment: &LineComment| {
        files.iter().any(|file| {
            file.path == comment.path && file.takes(comment.start_line, comment.line, comment.side)
        })
    };
    comments.into_iter().partition(takes)
}

impl PullFile {
    /// Does GitHub take a comment on the lines from `start` (else one line) to `line`? Each must stand in a hunk,
    /// changed or as context, and several lines in the same one.
    pub fn takes(&self, start: Option<u32>, line: u32, side: Side) -> bool {
        let first = start.unwrap_or(line);
        let patch = self.patch.as_deref().unwrap_or_default();
        first <= line
            && hunks(patch).any(|hunk| {
                let (from, count) = if side == Side::Left { hunk.old } else { hunk.new };
                first >= from && line - from < count
            })
    }
}

/// First line and count of both sides: all lines between are there, as changes or as context.
#[derive(Debug, PartialEq, Eq)]
struct Hunk {
    old: (u32, u32),
    new: (u32, u32),
}

/// The hunks by their heads. A line of content has a sign or a space before it and can not be taken for one.
fn hunks(patch: &str) -> impl Iterator<Item = Hunk> {
    patch.lines().filter_map(|line| {
        let mut words = line.strip_prefix("@@ ")?.split(' ');
        let old = range(words.next()?.strip_prefix('-')?)?;
        let new = range(words.next()?.strip_prefix('+')?)?;
        Some(Hunk { old, new })
    })
}

/// `12,3`, or `12` for one line.
fn range(text: &str) -> Option<(u32, u32)> {
    let (from, count) = text.split_once(',').unwrap_or((text, "1"));
    Some((from.parse().ok()?, count.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(patch: Option<&str>) -> PullFile {
        PullFile { path: "a".into(), patch: patch.map(str::to_owned), ..PullFile::default() }
    }

    #[test]
    fn a_comment_stands_within_one_hunk() {
        // Two hunks: old 3 to 5 became new 3 to 6; old 20 became new 21. A removed line that looks like a hunk's head.
        let patch = "@@ -3,3 +3,4 @@ fn a\n one\n-@@ -90,9 +90,9 @@\n+two\n+three\n four\n@@ -20 +21 @@\n-x\n+y\n\\ No newline";
        let file = file(Some(patch));
        let taken = |start, side| (1..100).filter(|line| file.takes(start, *line, side)).collect::<Vec<_>>();
        assert_eq!(taken(None, Side::Right), [3, 4, 5, 6, 21]);
        assert_eq!(taken(None, Side::Left), [3, 4, 5, 20]);
        assert_eq!(taken(Some(4), Side::Right), [4, 5, 6]);
        assert!(taken(Some(2), Side::Right).is_empty());
    }

    #[test]
    fn nothing_is_placed_where_github_shows_no_lines() {
        let comment = |path: &str, line| LineComment {
            path: path.into(),
            line,
            start_line: None,
            side: Side::Right,
            body: "b".into(),
        };
        assert!(!file(None).takes(None, 1, Side::Right));
        // A new file has no old side, a removed one no new side.
        assert!(!file(Some("@@ -0,0 +1,2 @@\n+a\n+b")).takes(None, 0, Side::Left));
        assert!(!file(Some("@@ -1,2 +0,0 @@\n-a\n-b")).takes(None, 0, Side::Right));
        let files = [file(Some("@@ -1 +1 @@\n-a\n+b"))];
        let (placed, rest) = placeable(&files, vec![comment("a", 1), comment("a", 2), comment("b", 1)]);
        assert_eq!((placed.len(), rest.len()), (1, 2));
    }

    proptest::proptest! {
        #[test]
        fn no_patch_confuses_it(patch in "(@@|[-+ 0-9,@\n]){0,60}", start: Option<u32>, line: u32) {
            file(Some(&patch)).takes(start, line, Side::Left);
            file(Some(&patch)).takes(start, line, Side::Right);
        }
    }
}
