//! Where two lines of commits parted.

use super::objects::{oid, sha};
use super::{GitError, Mirror};
use crate::domain::Sha;

impl Mirror {
    /// The last commit that both hold: what a pull request's difference is taken from. `None`: they share none.
    ///
    /// # Errors
    /// [`GitError::Other`] when the mirror lacks one of them.
    pub async fn merge_base(&self, one: &Sha, other: &Sha) -> Result<Option<Sha>, GitError> {
        let (one, other) = (oid(one)?, oid(other)?);
        self.blocking(move |repo| match repo.merge_base(one, other) {
            Ok(base) => Ok(Some(sha(base))),
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        })
        .await
    }
}
