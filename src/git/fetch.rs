//! From the server into the mirror.

use super::objects::sha;
use super::program::{git, sort};
use super::{GitError, Mirror, Remote};
use crate::domain::Sha;
use sha2::{Digest, Sha256};

/// A ref may vanish between the listing and the fetch.
const TRIES: usize = 3;

impl Mirror {
    /// Fetches branches (`refs/heads/x`) or other refs into the mirror; gives the commit each points to, `None` where
    /// the server has no such ref.
    ///
    /// # Errors
    /// [`GitError::NotFound`] when the repository is empty or not there; else what the network does.
    pub async fn fetch(&self, remote: &Remote, refs: &[String]) -> Result<Vec<Option<Sha>>, GitError> {
        refs.iter().try_for_each(|name| valid(name))?;
        let _alone = self.network.lock().await;
        let mut last = GitError::Other("nothing was fetched".into());
        for _ in 0..TRIES {
            let there = self.list(remote, refs).await?;
            match self.bring(remote, refs, &there).await {
                Err(error @ GitError::NotFound(_)) => last = error,
                other => return other,
            }
        }
        Err(last)
    }

    /// What a branch of the server points to, asked now.
    ///
    /// # Errors
    /// What the network does.
    pub async fn remote_head(&self, remote: &Remote, branch: &str) -> Result<Option<Sha>, GitError> {
        let name = format!("refs/heads/{branch}");
        valid(&name)?;
        Ok(self.ask(remote, &[&name]).await?.into_iter().find(|(found, _)| *found == name).map(|(_, id)| id))
    }

    /// What each ref points to on the server, in the order asked.
    async fn list(&self, remote: &Remote, refs: &[String]) -> Result<Vec<Option<Sha>>, GitError> {
        let asked: Vec<&str> = refs.iter().map(String::as_str).collect();
        let there = self.ask(remote, &asked).await?;
        let at = |name: &String| there.iter().find(|(found, _)| found == name).map(|(_, id)| id.clone());
        let found: Vec<Option<Sha>> = refs.iter().map(at).collect();
        let nothing = !found.is_empty() && found.iter().all(Option::is_none);
        if nothing && self.ask(remote, &["HEAD", "refs/heads/*"]).await?.is_empty() {
            return Err(GitError::NotFound("a commit; the repository is empty".into()));
        }
        Ok(found)
    }

    /// `git ls-remote`: its patterns match the ends of names too, so whoever asks compares.
    async fn ask(&self, remote: &Remote, patterns: &[&str]) -> Result<Vec<(String, Sha)>, GitError> {
        let args: Vec<&str> =
            ["ls-remote", "--", remote.url.as_str()].into_iter().chain(patterns.iter().copied()).collect();
        let printed = git(self, remote, &args).await?;
        if !printed.status.success() {
            return Err(sort(&printed));
        }
        let line = |line: &str| {
            let (id, name) = line.split_once('\t')?;
            Some((name.to_owned(), Sha::parse(id).ok()?))
        };
        Ok(printed.stdout.lines().filter_map(line).collect())
    }

    async fn bring(
        &self,
        remote: &Remote,
        refs: &[String],
        there: &[Option<Sha>],
    ) -> Result<Vec<Option<Sha>>, GitError> {
        let wanted: Vec<&String> =
            refs.iter().zip(there).filter(|(_, id)| id.is_some()).map(|(name, _)| name).collect();
        if !wanted.is_empty() && !self.holds(remote, &wanted, there).await? {
            let specs: Vec<String> =
                wanted.iter().map(|name| format!("+{name}:{}", kept_as(remote, name))).collect();
            let args = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", remote.url.as_str()];
            let args: Vec<&str> = args.into_iter().chain(specs.iter().map(String::as_str)).collect();
            let printed = git(self, remote, &args).await?;
            if !printed.status.success() {
                if printed.stderr.contains(".lock': File exists") {
                    self.sweep().await?;
                }
                let gone = printed.stderr.contains("couldn't find remote ref");
                return Err(if gone { GitError::NotFound("a ref".into()) } else { sort(&printed) });
            }
            self.repack(remote).await?;
        }
        let names: Vec<Option<String>> =
            refs.iter().zip(there).map(|(name, id)| id.as_ref().map(|_| kept_as(remote, name))).collect();
        self.blocking(move |repo| {
            let commit = |name: &String| Ok(sha(repo.find_reference(name)?.peel_to_commit()?.id()));
            names.iter().map(|name| name.as_ref().map(commit).transpose()).collect()
        })
        .await
    }

    /// Whether all of it was fetched before: then nothing is asked of the server.
    async fn holds(
        &self,
        remote: &Remote,
        wanted: &[&String],
        there: &[Option<Sha>],
    ) -> Result<bool, GitError> {
        let ids = there.iter().flatten().cloned();
        let pairs: Vec<(String, Sha)> = wanted.iter().map(|name| kept_as(remote, name)).zip(ids).collect();
        self.blocking(move |repo| {
            let same = |(name, id): &(String, Sha)| {
                repo.refname_to_id(name).is_ok_and(|held| held.to_string() == id.as_str())
            };
            Ok(pairs.iter().all(same))
        })
        .await
    }
}

/// Where a ref of the server is kept. Under a digest, since `a` may have become `a/b` on the server, and both can not be
/// refs of one repository; with the server's path, since a fork's branches stand beside the repository's own.
pub(super) fn kept_as(remote: &Remote, name: &str) -> String {
    let digest =
        Sha256::new().chain_update(remote.url.path()).chain_update("\0").chain_update(name).finalize();
    format!("refs/server/{}", hex::encode(&digest[..20]))
}

/// Only whole names: nothing that git would read as a pattern or an option.
pub(super) fn valid(name: &str) -> Result<(), GitError> {
    if name.starts_with("refs/") && git2::Reference::is_valid_name(name) {
        return Ok(());
    }
    Err(GitError::Other(format!("{name:?} is no ref's name")))
}
