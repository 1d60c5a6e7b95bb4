//! Merges without a worktree: the base into a branch, conflicts as files with markers, and whether a commit on our
//! branch is GitHub's "Update branch", and so changes nothing that people or we wrote.

use super::conflicts::{holds_markers, settle};
use super::objects::{oid, sha, tree_at};
use super::{GitError, Mirror};
use crate::domain::Sha;
use git2::{MergeOptions, Oid, Repository};

/// What a merge came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merged {
    /// `ours` holds all of `theirs` already.
    UpToDate,
    /// It merges by itself.
    Clean {
        /// What it comes to.
        tree: Sha,
    },
    /// Somebody has to decide.
    Conflicts {
        /// Everything that merges by itself, and in each of `files` both sides between markers. Where no markers can
        /// say it (one side removed the file, or it is no text) the side that has it stands there, of two ours. A file that
        /// one side renamed stands under its new name.
        tree: Sha,
        /// The paths to be decided on, sorted.
        files: Vec<String>,
    },
}

impl Mirror {
    /// Merges `theirs` into `ours`, both commits that the mirror holds. The commit is the caller's to make, with both
    /// as parents.
    ///
    /// # Errors
    /// [`GitError::NotFound`] when the mirror lacks one of them, [`GitError::Other`] when they have no common history,
    /// [`GitError::TooMuch`] past 500 files in conflict.
    pub async fn merge(&self, ours: &Sha, theirs: &Sha) -> Result<Merged, GitError> {
        let (ours, theirs) = (oid(ours)?, oid(theirs)?);
        self.blocking(move |repo| merge(repo, ours, theirs)).await
    }

    /// Which of the files still hold a conflict's markers; one that is gone holds none.
    ///
    /// # Errors
    /// [`GitError::NotFound`] when the mirror does not hold the tree or commit.
    pub async fn has_markers(&self, treeish: &Sha, files: &[String]) -> Result<Vec<String>, GitError> {
        let (treeish, files) = (oid(treeish)?, files.to_vec());
        self.blocking(move |repo| {
            let tree = tree_at(repo, treeish)?;
            let marked = |path: &String| {
                let blob = tree.get_path(path.as_ref()).and_then(|entry| repo.find_blob(entry.id()));
                blob.is_ok_and(|blob| holds_markers(blob.content()))
            };
            Ok(files.into_iter().filter(marked).collect())
        })
        .await
    }

    /// Is `commit` a merge of `ours` and a commit of the base whose tree is what a clean merge gives? A merge that was
    /// resolved another way than libgit2 does it counts as somebody's work: then nobody's work is overwritten.
    ///
    /// # Errors
    /// [`GitError::NotFound`] when the mirror lacks one of the commits.
    pub async fn is_clean_merge(&self, commit: &Sha, ours: &Sha, base: &Sha) -> Result<bool, GitError> {
        let (commit, ours, base) = (oid(commit)?, oid(ours)?, oid(base)?);
        self.blocking(move |repo| is_clean_merge(repo, commit, ours, base)).await
    }
}

fn merge(repo: &Repository, ours: Oid, theirs: Oid) -> Result<Merged, GitError> {
    let (ours, theirs) = (repo.find_commit(ours)?, repo.find_commit(theirs)?);
    if is_within(repo, theirs.id(), ours.id())? {
        return Ok(Merged::UpToDate);
    }
    // libgit2 would take two histories without a common commit for two sets of new files.
    let Ok(base) = repo.merge_base(ours.id(), theirs.id()) else {
        return Err(GitError::Other("the two commits have no history in common".into()));
    };
    let mut index = repo.merge_commits(&ours, &theirs, Some(&options()))?;
    if !index.has_conflicts() {
        return Ok(Merged::Clean { tree: sha(index.write_tree_to(repo)?) });
    }
    let trees = [repo.find_commit(base)?.tree()?, ours.tree()?, theirs.tree()?];
    let files = settle(repo, &mut index, &trees)?;
    Ok(Merged::Conflicts { tree: sha(index.write_tree_to(repo)?), files })
}

fn options() -> MergeOptions {
    let mut options = MergeOptions::new();
    options.find_renames(true);
    options
}

fn is_clean_merge(repo: &Repository, commit: Oid, ours: Oid, base: Oid) -> Result<bool, GitError> {
    let merge = repo.find_commit(commit)?;
    let parents: Vec<Oid> = merge.parent_ids().collect();
    let [first, theirs] = parents[..] else { return Ok(false) };
    if first != ours || !is_within(repo, theirs, base)? {
        return Ok(false);
    }
    let mut merged =
        repo.merge_commits(&repo.find_commit(ours)?, &repo.find_commit(theirs)?, Some(&options()))?;
    Ok(!merged.has_conflicts() && merged.write_tree_to(repo)? == merge.tree_id())
}

/// Is `commit` part of `tip`'s history, the tip itself included?
pub(super) fn is_within(repo: &Repository, commit: Oid, tip: Oid) -> Result<bool, GitError> {
    Ok(commit == tip || repo.graph_descendant_of(tip, commit)?)
}
