//! Whether a commit on our branch is GitHub's "Update branch", and so changes nothing that people or we wrote.

use super::objects::oid;
use super::{GitError, Mirror};
use crate::domain::Sha;
use git2::{Oid, Repository};

impl Mirror {
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

fn is_clean_merge(repo: &Repository, commit: Oid, ours: Oid, base: Oid) -> Result<bool, GitError> {
    let merge = repo.find_commit(commit)?;
    let parents: Vec<Oid> = merge.parent_ids().collect();
    let [first, theirs] = parents[..] else { return Ok(false) };
    if first != ours || !is_within(repo, theirs, base)? {
        return Ok(false);
    }
    let mut options = git2::MergeOptions::new();
    options.find_renames(true);
    let mut merged =
        repo.merge_commits(&repo.find_commit(ours)?, &repo.find_commit(theirs)?, Some(&options))?;
    Ok(!merged.has_conflicts() && merged.write_tree_to(repo)? == merge.tree_id())
}

/// Is `commit` part of `tip`'s history, the tip itself included?
pub(super) fn is_within(repo: &Repository, commit: Oid, tip: Oid) -> Result<bool, GitError> {
    Ok(commit == tip || repo.graph_descendant_of(tip, commit)?)
}
