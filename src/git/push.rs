//! From the mirror to one branch of the server: exactly from what was expected, forward only, and read back.

use super::fetch::{kept_as, valid};
use super::merge::is_within;
use super::objects::oid;
use super::program::{Printed, git, sort, words};
use super::{GitError, Mirror, Remote};
use crate::domain::{Fault, Sha, seeded};

impl Mirror {
    /// Pushes `commit` to `branch` with the exact expected old id (`None`: the branch must not exist), forward only, then
    /// reads the ref back. Pushing what is there already is a success. `forbidden` names branches that are never pushed
    /// to (the default branch).
    ///
    /// # Errors
    /// [`GitError::Moved`] when the branch is somewhere else, [`GitError::Refused`] with the server's own words when a
    /// rule or a missing permission stands against it, [`GitError::Unavailable`] when it is not known how it ended:
    /// pushing again finds out.
    pub async fn push(
        &self,
        remote: &Remote,
        branch: &str,
        expected: Option<&Sha>,
        commit: &Sha,
        forbidden: &[String],
    ) -> Result<(), GitError> {
        let name = allowed(branch, forbidden)?;
        if self.stands(remote, branch, expected, commit).await? {
            return Ok(());
        }
        if let Some(old) = expected {
            self.forward(remote, &name, old, commit).await?;
        }
        self.put(remote, branch, expected, commit).await
    }

    /// [`Mirror::push`] of a commit that need not build upon the old one: a branch of our own, put upon a new base. The
    /// old id must be exactly what is expected all the same.
    ///
    /// # Errors
    /// Those of [`Mirror::push`].
    pub async fn push_rewritten(
        &self,
        remote: &Remote,
        branch: &str,
        expected: &Sha,
        commit: &Sha,
        forbidden: &[String],
    ) -> Result<(), GitError> {
        allowed(branch, forbidden)?;
        if self.stands(remote, branch, Some(expected), commit).await? {
            return Ok(());
        }
        self.put(remote, branch, Some(expected), commit).await
    }

    /// Is the branch where it is to be? An error where it is neither there nor where it is expected.
    async fn stands(
        &self,
        remote: &Remote,
        branch: &str,
        expected: Option<&Sha>,
        commit: &Sha,
    ) -> Result<bool, GitError> {
        let id = oid(commit)?;
        self.blocking(move |repo| Ok(repo.find_commit(id).map(|_| ())?)).await?;
        let live = self.remote_head(remote, branch).await?;
        match live.as_ref() {
            there if there == Some(commit) => Ok(true),
            there if there == expected => Ok(false),
            _ => Err(GitError::Moved(live)),
        }
    }

    async fn put(
        &self,
        remote: &Remote,
        branch: &str,
        expected: Option<&Sha>,
        commit: &Sha,
    ) -> Result<(), GitError> {
        let (name, id) = (format!("refs/heads/{branch}"), oid(commit)?);
        let alone = self.network.lock().await;
        let printed = self.send(remote, &name, expected, &format!("{commit}:{name}")).await?;
        self.confirm(remote, branch, Some(commit), &printed).await?;
        drop(alone);
        let kept = kept_as(remote, &name);
        self.point(&kept, id, "pushed").await
    }

    /// Deletes our branch, if it is still at `at`: a commit that somebody put on it meanwhile is not lost. A branch that is
    /// gone already is a success.
    ///
    /// # Errors
    /// Those of [`Mirror::push`].
    pub async fn delete_branch(
        &self,
        remote: &Remote,
        branch: &str,
        at: &Sha,
        forbidden: &[String],
    ) -> Result<(), GitError> {
        let name = allowed(branch, forbidden)?;
        match self.remote_head(remote, branch).await? {
            None => return Ok(()),
            Some(live) if live != *at => return Err(GitError::Moved(Some(live))),
            Some(_) => {}
        }
        let _alone = self.network.lock().await;
        let printed = self.send(remote, &name, Some(at), &format!(":{name}")).await?;
        self.confirm(remote, branch, None, &printed).await
    }

    /// The old commit must be part of the new one's history. It is fetched where it is not held: git also sends far less
    /// when it knows what the server has.
    async fn forward(&self, remote: &Remote, name: &str, old: &Sha, new: &Sha) -> Result<(), GitError> {
        let (old_id, new_id) = (oid(old)?, oid(new)?);
        if !self.blocking(move |repo| Ok(repo.find_commit(old_id).is_ok())).await? {
            self.fetch(remote, &[name.to_owned()]).await?;
        }
        if self.blocking(move |repo| is_within(repo, old_id, new_id)).await? {
            return Ok(());
        }
        Err(GitError::Refused(format!("{} does not build upon {}", new.short(), old.short())))
    }

    async fn send(
        &self,
        remote: &Remote,
        name: &str,
        expected: Option<&Sha>,
        spec: &str,
    ) -> Result<Printed, GitError> {
        // The server compares the old id itself, under its lock: nobody's push in between is lost.
        let lease = format!("--force-with-lease={name}:{}", expected.map_or("", Sha::as_str));
        let lease = if seeded(Fault::PushForced) { "--force".to_owned() } else { lease };
        let args = ["push", "--porcelain", "--no-verify", &lease, "--", remote.url.as_str(), spec];
        git(self, remote, &args).await
    }

    /// Whatever git said, the ref itself says how it ended.
    async fn confirm(
        &self,
        remote: &Remote,
        branch: &str,
        wanted: Option<&Sha>,
        printed: &Printed,
    ) -> Result<(), GitError> {
        let live = self.remote_head(remote, branch).await?;
        if live.as_ref() == wanted {
            return Ok(());
        }
        match rejection(&printed.stdout) {
            _ if printed.status.success() => Err(GitError::Moved(live)),
            None => Err(sort(printed)),
            Some(reason) if is_race(reason) => Err(GitError::Moved(live)),
            Some(reason) => Err(GitError::Refused(refusal(reason, &printed.stderr))),
        }
    }
}

/// The branch's whole name, if it may be written to.
fn allowed(branch: &str, forbidden: &[String]) -> Result<String, GitError> {
    let name = format!("refs/heads/{branch}");
    valid(&name)?;
    if forbidden.iter().any(|never| never.eq_ignore_ascii_case(branch)) {
        return Err(GitError::Refused(format!("{branch} is a branch that is never pushed to")));
    }
    Ok(name)
}

/// Why the ref was rejected: `!<TAB>from:to<TAB>[remote rejected] (why)`.
fn rejection(stdout: &str) -> Option<&str> {
    let line = stdout.lines().find(|line| line.starts_with("!\t"))?;
    line.rsplit('\t').next()
}

/// Somebody else was faster; everything else is a rule.
fn is_race(reason: &str) -> bool {
    let races = [
        "stale info",
        "fetch first",
        "non-fast-forward",
        "already exists",
        "cannot lock ref",
        "failed to update ref",
    ];
    races.iter().any(|race| reason.contains(race))
}

fn refusal(reason: &str, stderr: &str) -> String {
    let why = reason.trim_start_matches("[remote rejected]").trim().trim_matches(['(', ')']);
    let told: Vec<&str> = stderr.lines().filter(|line| line.starts_with("remote:")).collect();
    if told.is_empty() { why.to_owned() } else { format!("{why}: {}", words(&told.join("\n"))) }
}
