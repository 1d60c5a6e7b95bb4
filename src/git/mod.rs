//! Host-owned bare mirrors: the git program for the network, libgit2 for every object.
//!
//! No worktree, no repository configuration that anybody else can write, an emptied environment; tokens travel in
//! `GIT_CONFIG_*`, never in an argument or a file.

use crate::domain::{Limits, Sha, Timestamp, policy::FileDiff};
use crate::toolbox::wire::Change;
use secrecy::SecretString;
use std::path::PathBuf;

/// All mirrors of this host.
#[derive(Clone, Debug)]
pub struct Mirrors {}

/// One repository's mirror.
#[derive(Clone, Debug)]
pub struct Mirror {}

/// Where to reach the repository, and with what.
#[derive(Clone, Debug)]
pub struct Remote {
    /// `https://HOST/OWNER/NAME.git`.
    pub url: url::Url,
    /// A token for HTTP basic authentication as `x-access-token`; `None` for a local or public one.
    pub token: Option<SecretString>,
}

/// What git can fail with.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The network or the server failed; trying again can help.
    #[error("git: the server cannot be reached: {0}")]
    Unavailable(String),
    /// The token is refused.
    #[error("git: the token is refused: {0}")]
    Unauthorized(String),
    /// The ref is not there.
    #[error("git: {0} is not there")]
    NotFound(String),
    /// The server does not take the push: a rule, or a permission.
    #[error("the server refused the push: {0}")]
    Refused(String),
    /// The branch is not at what was expected.
    #[error("the branch is at {}, not at what was expected", .0.as_ref().map_or("nothing", |s| s.short()))]
    Moved(Option<Sha>),
    /// A path from the sandbox that no repository may hold.
    #[error("the path {path:?} is refused: {why}")]
    BadPath {
        /// As it came.
        path: String,
        /// Which rule.
        why: &'static str,
    },
    /// A cap on files or bytes is exceeded.
    #[error("{0}")]
    TooMuch(String),
    /// Anything else.
    #[error("git: {0}")]
    Other(String),
}

/// Who is named in a commit.
#[derive(Clone, Debug)]
pub struct Signature {
    /// Name.
    pub name: String,
    /// Address.
    pub email: String,
    /// When, to the second: part of the commit's name, so a retry makes the same commit.
    pub at: Timestamp,
}

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

#[allow(unused_variables, clippy::unused_async, missing_docs)]
impl Mirrors {
    pub fn new(root: PathBuf) -> Self {
        todo!()
    }
    /// The mirror under a stable key (the repository's id); made when it is not there.
    pub async fn open(&self, key: &str) -> Result<Mirror, GitError> {
        todo!()
    }
}

#[allow(unused_variables, clippy::unused_async, missing_docs)]
impl Mirror {
    /// Fetches branches (`refs/heads/x`) or other refs into the mirror; gives the commit each points to, `None` where
    /// the server has no such ref.
    pub async fn fetch(&self, remote: &Remote, refs: &[String]) -> Result<Vec<Option<Sha>>, GitError> {
        todo!()
    }
    /// What a branch of the server points to, asked now.
    pub async fn remote_head(&self, remote: &Remote, branch: &str) -> Result<Option<Sha>, GitError> {
        todo!()
    }
    /// Pushes `commit` to `branch` with the exact expected old id, forward only, then reads the ref back. Pushing what is there
    /// already is a success. `forbidden` names branches that are never pushed to (the default branch).
    pub async fn push(
        &self,
        remote: &Remote,
        branch: &str,
        expected: Option<&Sha>,
        commit: &Sha,
        forbidden: &[String],
    ) -> Result<(), GitError> {
        todo!()
    }
    /// A pack (no deltas) with `commit` (shallow), its tree and, where given, another tree: what `toolbox seed` reads.
    pub async fn pack(&self, commit: &Sha, tree: Option<&Sha>) -> Result<Vec<u8>, GitError> {
        todo!()
    }
    /// The tree of a commit.
    pub async fn tree_of(&self, commit: &Sha) -> Result<Sha, GitError> {
        todo!()
    }
    /// A new tree: `base` with the changes that came from a sandbox, each path checked, caps applied.
    pub async fn apply(&self, base: &Sha, changes: &[Change], limits: &Limits) -> Result<Sha, GitError> {
        todo!()
    }
    /// Makes a commit object; same input, same commit.
    pub async fn commit(
        &self,
        tree: &Sha,
        parents: &[Sha],
        message: &str,
        author: &Signature,
    ) -> Result<Sha, GitError> {
        todo!()
    }
    /// The differences between two trees with both sides' contents (within `limits.file_bytes` a side).
    pub async fn diff(&self, old: &Sha, new: &Sha, limits: &Limits) -> Result<Vec<FileDiff>, GitError> {
        todo!()
    }
    /// Lines added and removed.
    pub async fn stat(&self, old: &Sha, new: &Sha) -> Result<Vec<Stat>, GitError> {
        todo!()
    }
    /// The difference as a patch that `git apply` takes.
    pub async fn patch(&self, old: &Sha, new: &Sha) -> Result<String, GitError> {
        todo!()
    }
    /// A file of a commit or tree, up to `cap` bytes.
    pub async fn file(&self, treeish: &Sha, path: &str, cap: usize) -> Result<Option<Vec<u8>>, GitError> {
        todo!()
    }
    /// All paths of a commit or tree, at most `cap`.
    pub async fn paths(&self, treeish: &Sha, cap: usize) -> Result<Vec<String>, GitError> {
        todo!()
    }
    /// Is `commit` a merge of `ours` and a commit of the base whose tree is what a clean merge gives?
    pub async fn is_clean_merge(&self, commit: &Sha, ours: &Sha, base: &Sha) -> Result<bool, GitError> {
        todo!()
    }
    /// Keeps objects from being collected under `refs/fixpoint/<name>`.
    pub async fn hold(&self, name: &str, object: &Sha) -> Result<(), GitError> {
        todo!()
    }
}
