//! Differences between two trees: for the policy, for people, and as a patch.

use super::objects::{oid, tree_at};
use super::{GitError, Mirror};
use crate::domain::{Limits, Sha, policy::FileDiff};
use git2::{Delta, Diff, DiffFile, DiffFindOptions, DiffFormat, DiffOptions, FileMode, Oid, Repository};

/// How large a change is, file by file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Path.
    pub path: String,
    /// Lines added.
    pub added: usize,
    /// Lines removed.
    pub removed: usize,
}

/// Files in one difference. GitHub itself shows 3,000; what a merge of the base brings may be more.
const FILES: usize = 10_000;
/// Contents of one difference that are held in memory at once.
const CONTENTS: usize = 256 << 20;
/// A patch that people are given. GitHub shows differences up to a tenth of it.
const PATCH: usize = 16 << 20;

impl Mirror {
    /// The differences between two trees (or commits) with both sides' contents; a side larger than
    /// `limits.file_bytes`, or a submodule, comes without.
    ///
    /// # Errors
    /// [`GitError::TooMuch`] past 10,000 files or 256 MB.
    pub async fn diff(&self, old: &Sha, new: &Sha, limits: &Limits) -> Result<Vec<FileDiff>, GitError> {
        let (old, new, cap) = (oid(old)?, oid(new)?, limits.file_bytes);
        self.blocking(move |repo| {
            let mut diff = between(repo, old, new, &mut DiffOptions::new())?;
            diff.find_similar(Some(DiffFindOptions::new().renames(true)))?;
            let mut files = Vec::with_capacity(diff.deltas().len());
            let mut left = CONTENTS;
            for delta in diff.deltas() {
                let file = FileDiff {
                    path: path(&delta.new_file()),
                    old_path: (delta.status() == Delta::Renamed).then(|| path(&delta.old_file())),
                    old_mode: mode(&delta.old_file()),
                    new_mode: mode(&delta.new_file()),
                    old: content(repo, &delta.old_file(), cap)?,
                    new: content(repo, &delta.new_file(), cap)?,
                };
                let held = file.old.as_ref().map_or(0, Vec::len) + file.new.as_ref().map_or(0, Vec::len);
                left = left.checked_sub(held).ok_or_else(|| {
                    GitError::TooMuch(format!("the difference holds more than {} MB", CONTENTS >> 20))
                })?;
                files.push(file);
            }
            Ok(files)
        })
        .await
    }

    /// Lines added and removed, file by file; none of either for what is not text.
    ///
    /// # Errors
    /// [`GitError::TooMuch`] past 10,000 files.
    pub async fn stat(&self, old: &Sha, new: &Sha) -> Result<Vec<Stat>, GitError> {
        let (old, new) = (oid(old)?, oid(new)?);
        self.blocking(move |repo| {
            let diff = between(repo, old, new, &mut DiffOptions::new())?;
            let mut stats = Vec::new();
            for (index, delta) in diff.deltas().enumerate() {
                let patch = git2::Patch::from_diff(&diff, index)?;
                let (_, added, removed) = patch.map_or(Ok((0, 0, 0)), |patch| patch.line_stats())?;
                stats.push(Stat { path: path(&delta.new_file()), added, removed });
            }
            Ok(stats)
        })
        .await
    }

    /// The difference as a patch that `git apply` takes.
    ///
    /// # Errors
    /// [`GitError::TooMuch`] past 16 MB.
    pub async fn patch(&self, old: &Sha, new: &Sha) -> Result<String, GitError> {
        let (old, new) = (oid(old)?, oid(new)?);
        self.blocking(move |repo| {
            let mut options = DiffOptions::new();
            options.show_binary(true).id_abbrev(40);
            match String::from_utf8(printed(&between(repo, old, new, &mut options)?)?) {
                Ok(patch) => Ok(patch),
                // Text in another encoding: as binary it survives every way a patch can take.
                Err(_) => {
                    let diff = between(repo, old, new, options.force_binary(true))?;
                    Ok(String::from_utf8_lossy(&printed(&diff)?).into_owned())
                }
            }
        })
        .await
    }
}

fn between<'r>(
    repo: &'r Repository,
    old: Oid,
    new: Oid,
    options: &mut DiffOptions,
) -> Result<Diff<'r>, GitError> {
    let (old, new) = (tree_at(repo, old)?, tree_at(repo, new)?);
    let diff = repo.diff_tree_to_tree(Some(&old), Some(&new), Some(options))?;
    if diff.deltas().len() > FILES {
        return Err(GitError::TooMuch(format!("the difference touches more than {FILES} files")));
    }
    Ok(diff)
}

fn printed(diff: &Diff<'_>) -> Result<Vec<u8>, GitError> {
    let mut patch = Vec::new();
    let whole = diff.print(DiffFormat::Patch, |_, _, line| {
        if matches!(line.origin(), '+' | '-' | ' ') {
            patch.push(u8::try_from(line.origin()).unwrap_or(b' '));
        }
        patch.extend_from_slice(line.content());
        patch.len() <= PATCH
    });
    if patch.len() > PATCH {
        return Err(GitError::TooMuch(format!("the patch is larger than {} MB", PATCH >> 20)));
    }
    whole?;
    Ok(patch)
}

fn path(file: &DiffFile<'_>) -> String {
    String::from_utf8_lossy(file.path_bytes().unwrap_or_default()).into_owned()
}

fn mode(file: &DiffFile<'_>) -> Option<u32> {
    file.exists().then(|| u32::from(file.mode()))
}

fn content(repo: &Repository, file: &DiffFile<'_>, cap: usize) -> Result<Option<Vec<u8>>, GitError> {
    if !file.exists() || file.mode() == FileMode::Commit {
        return Ok(None);
    }
    let (size, _) = repo.odb()?.read_header(file.id())?;
    Ok(if size > cap { None } else { Some(repo.find_blob(file.id())?.content().to_vec()) })
}
