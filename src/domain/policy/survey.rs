//! What a change touches, counted: for the reviewer's first look.

use super::{FileDiff, paths, weaker};
use serde::{Deserialize, Serialize};

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
    /// Its size now; nothing where it was removed.
    #[serde(default)]
    pub bytes: u64,
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
    // Lines as a bag, not in order: linear however large a file is, and a line that only moved is not counted.
    let come = weaker::added(&old, &new);
    Touched {
        path: file.path.clone(),
        added: come.len(),
        removed: weaker::added(&new, &old).len(),
        bytes: file.new.as_ref().map_or(0, |new| new.len() as u64),
        lines: come.first().zip(come.last()).map(|((first, _), (last, _))| (first + 1, last + 1)),
        is_test: paths::is_test(&file.path),
        is_new: file.old_mode.is_none(),
        is_manifest: paths::is_manifest(&file.path),
    }
}
