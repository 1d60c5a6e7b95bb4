//! A commit that waits on the server for a person's yes, where nobody's disk outlives the wait.
//!
//! It stands outside branches and tags, so no workflow runs on it and no list shows it.

use super::fetch::valid;
use super::program::{git, sort};
use super::{GitError, Mirror, Remote};
use crate::domain::Sha;

fn parked(key: &str) -> String {
    format!("refs/fixpoint/waiting/{key}")
}

impl Mirror {
    /// Puts a commit there, in the place of one that waited under the same key, and reads it back.
    ///
    /// # Errors
    /// [`GitError::Refused`] where the server does not take it; else what the network does.
    pub async fn park(&self, remote: &Remote, key: &str, commit: &Sha) -> Result<(), GitError> {
        let name = parked(key);
        self.send_parked(remote, &name, &format!("+{commit}:{name}")).await?;
        match self.fetch(remote, std::slice::from_ref(&name)).await?.as_slice() {
            [Some(there)] if there == commit => Ok(()),
            _ => Err(GitError::Refused(format!("{name} is not what was pushed"))),
        }
    }

    /// Brings the commit that waits under the key into the mirror, if one does.
    ///
    /// # Errors
    /// What the network does.
    pub async fn take_parked(&self, remote: &Remote, key: &str) -> Result<Option<Sha>, GitError> {
        Ok(self.fetch(remote, &[parked(key)]).await?.into_iter().next().flatten())
    }

    /// Nothing waits under the key any more; where nothing did, nothing happens.
    ///
    /// # Errors
    /// What the network does.
    pub async fn unpark(&self, remote: &Remote, key: &str) -> Result<(), GitError> {
        let name = parked(key);
        match self.take_parked(remote, key).await? {
            None => Ok(()),
            Some(_) => self.send_parked(remote, &name, &format!(":{name}")).await,
        }
    }

    async fn send_parked(&self, remote: &Remote, name: &str, spec: &str) -> Result<(), GitError> {
        valid(name)?;
        let _alone = self.network.lock().await;
        let args = ["push", "--porcelain", "--no-verify", "--", remote.url.as_str(), spec];
        let printed = git(self, remote, &args).await?;
        if printed.status.success() { Ok(()) } else { Err(sort(&printed)) }
    }
}
