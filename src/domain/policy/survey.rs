//! What a change touches, counted: for the reviewer's first look.

use super::{FileDiff, paths};
use serde::{Deserialize, Serialize};
use similar::{ChangeTag, TextDiff};

/// What a change touches. Facts of ours, from the two trees.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survey {
    /// File by file, in the change's order.
    pub files: Vec<Touched>,
}

/// One changed file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touched {
    /// Its path.
    pub path: String,
    /// Lines added.
    pub added: usize,
    /// Lines removed.
    pub removed: usize,
    /// First and last changed line of the new content, counted from 1.
    pub lines: Option<(usize, usize)>,
    /// It holds tests.
    pub is_test: bool,
    /// It was not there before.
    pub is_new: bool,
    /// It says what the project depends on.
    pub is_manifest: bool,
}

impl Touched {
    /// `src/pager.rs:80-97`.
    pub fn place(&self) -> String {
        match self.lines {
            Some((first, last)) if first == last => format!("{}:{first}", self.path),
            Some((first, last)) => format!("{}:{first}-{last}", self.path),
            None => self.path.clone(),
        }
    }
}

impl Survey {
    /// Changed lines in all.
    pub fn lines(&self) -> usize {
        self.files.iter().map(|file| file.added + file.removed).sum()
    }

    /// The file, tests aside, with most changed lines.
    pub fn largest(&self) -> Option<&Touched> {
        let code = self.files.iter().filter(|file| !file.is_test && !file.is_manifest);
        code.max_by_key(|file| file.added + file.removed)
    }

    /// `tests: 2 files added, 1 changed`; nothing when none was touched.
    pub fn tests_line(&self) -> Option<String> {
        let added = self.files.iter().filter(|file| file.is_test && file.is_new).count();
        let changed = self.files.iter().filter(|file| file.is_test && !file.is_new).count();
        match (added, changed) {
            (0, 0) => Some("no test file touched".to_owned()),
            _ => Some(format!("test files: {added} added, {changed} changed")),
        }
    }

    /// The first manifest that changed.
    pub fn dependencies_line(&self) -> Option<String> {
        let manifest = self.files.iter().find(|file| file.is_manifest)?;
        Some(format!("dependencies may have changed (`{}`)", manifest.path.replace('`', "'")))
    }
}

/// Counts what a change touches.
pub fn survey(files: &[FileDiff]) -> Survey {
    Survey { files: files.iter().map(touched).collect() }
}

fn touched(file: &FileDiff) -> Touched {
    let side =
        |bytes: &Option<Vec<u8>>| String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned();
    let (old, new) = (side(&file.old), side(&file.new));
    let diff = TextDiff::from_lines(&old, &new);
    let (mut added, mut removed, mut lines) = (0, 0, None::<(usize, usize)>);
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Insert => {
                added += 1;
                let at = change.new_index().map_or(1, |index| index + 1);
                lines = Some(lines.map_or((at, at), |(first, _)| (first, at)));
            }
            ChangeTag::Delete => removed += 1,
            ChangeTag::Equal => {}
        }
    }
    Touched {
        path: file.path.clone(),
        added,
        removed,
        lines,
        is_test: paths::is_test(&file.path),
        is_new: file.old_mode.is_none(),
        is_manifest: paths::is_manifest(&file.path),
    }
}
