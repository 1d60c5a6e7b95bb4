//! What stands on a branch: its commits with what they say.

use super::objects::{oid, sha};
use super::{GitError, Mirror};
use crate::domain::Sha;

/// Commits of one branch that are read: far more than rounds and people make in one pull request.
const READ: usize = 500;

/// Bytes of a message that are read: trailers stand at its end, and ours are short.
const MESSAGE: usize = 16 << 10;

/// A commit of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    /// Its name.
    pub commit: Sha,
    /// Its tree.
    pub tree: Sha,
    /// Its first parent.
    pub parent: Option<Sha>,
    /// Whose address stands for the author, and whose for the committer.
    pub by: [String; 2],
    /// The end of its message.
    pub message: String,
}

impl Mirror {
    /// The commits that `head` has and those `known` have not, along first parents, oldest first; of more than 500 the newest.
    ///
    /// # Errors
    /// [`GitError::NotFound`] when the mirror lacks one of them.
    pub async fn log(&self, known: &[&Sha], head: &Sha) -> Result<Vec<Logged>, GitError> {
        let known = known.iter().map(|known| oid(known)).collect::<Result<Vec<_>, _>>()?;
        let head = oid(head)?;
        self.blocking(move |repo| {
            let mut walk = repo.revwalk()?;
            walk.set_sorting(git2::Sort::TOPOLOGICAL)?;
            walk.simplify_first_parent()?;
            walk.push(head)?;
            for known in known {
                walk.hide(known)?;
            }
            let mut found = Vec::new();
            for id in walk.take(READ) {
                let commit = repo.find_commit(id?)?;
                let address =
                    |who: git2::Signature<'_>| String::from_utf8_lossy(who.email_bytes()).into_owned();
                let message = String::from_utf8_lossy(commit.message_bytes()).into_owned();
                let from = message.ceil_char_boundary(message.len().saturating_sub(MESSAGE));
                found.push(Logged {
                    commit: sha(commit.id()),
                    tree: sha(commit.tree_id()),
                    parent: commit.parent_id(0).ok().map(sha),
                    by: [address(commit.author()), address(commit.committer())],
                    message: message[from..].to_owned(),
                });
            }
            found.reverse();
            Ok(found)
        })
        .await
    }
}
