//! The branch and its pull request.

use super::{Done, Halt, Undone};
use crate::{
    domain::{Entry, Fault, Repo, Sha, say, seeded, session::NotPushed},
    git::GitError,
    github::{Repository, Scope},
    work::{drive::Driver, look},
};
use serde_json::json;
use std::time::Duration;

/// What is pushed where.
pub(super) struct Push<'a> {
    /// Without `refs/heads/`.
    pub(super) branch: &'a str,
    pub(super) commit: &'a Sha,
    /// What the branch must be at; `None`: it must not exist.
    pub(super) expected: Option<&'a Sha>,
    /// The fork that the branch is in.
    pub(super) fork: Option<&'a Repo>,
    /// The commit replaces `expected`.
    pub(super) rewrites: bool,
}

impl Driver {
    pub(super) async fn push(&mut self, repository: &Repository, push: Push<'_>) -> Result<Done, Undone> {
        let Push { branch, commit, expected, fork, rewrites } = push;
        if self.state.facts.in_merge_queue {
            let why = "the pull request stands in a merge queue".to_owned();
            return Err(Undone::Later(why, self.parts.settings.limits.settle));
        }
        let not_pushed = |why| {
            let entry = Entry::NotPushed { commit: Some(commit.clone()), why };
            Undone::Never("not pushed".to_owned(), vec![entry])
        };
        let mirror = self.parts.mirror(&self.state).await.map_err(Halt::from)?;
        if !mirror.has(std::slice::from_ref(commit)).await.map_err(Halt::from)? {
            let reason = "its commit is lost with the data folder that it was made in; ask again".to_owned();
            return Err(not_pushed(NotPushed::Refused { reason }));
        }
        if !self.may_still_ask(repository).await? {
            self.keep_unpushed(&mirror, commit).await?;
            let reason = "whoever asked for it has no write access any more".to_owned();
            return Err(not_pushed(NotPushed::Refused { reason }));
        }
        let mut remote = self.parts.remote(repository, Scope::Push).await?;
        let mut forbidden = Vec::new();
        match fork {
            // The fork's own names are not ours to judge: a person may work on the default branch of theirs.
            Some(fork) => remote.url = repository.git_url_of(fork),
            None => {
                forbidden
                    .extend([repository.info().await?.default_branch, self.state.facts.base.branch.clone()]);
            }
        }
        let pushed = match expected.filter(|_| rewrites) {
            Some(expected) => mirror.push_rewritten(&remote, branch, expected, commit, &forbidden).await,
            None => mirror.push(&remote, branch, expected, commit, &forbidden).await,
        };
        match pushed {
            Ok(()) => {
                // What was kept of it is in the branch now.
                self.parts.store.keep_patch(&self.lease, "").await?;
                Ok(Done {
                    result: json!({ "commit": commit }),
                    entries: vec![Entry::Pushed { commit: commit.clone() }],
                })
            }
            Err(GitError::Unauthorized(why)) if fork.is_none() => {
                repository.forget_token(Scope::Push).await;
                Err(Undone::Later(why, Duration::from_secs(1)))
            }
            Err(GitError::Moved(Some(head))) => match look::moved(self, head.clone()).await? {
                Some(found @ Entry::Found { .. }) => {
                    Err(Undone::Never("rounds of ours stand there already".to_owned(), vec![found]))
                }
                _ => {
                    self.keep_unpushed(&mirror, commit).await?;
                    Err(not_pushed(NotPushed::Foreign { head }))
                }
            },
            Err(GitError::Moved(None)) => Err(Undone::Never("gone".to_owned(), vec![Entry::BranchDeleted])),
            Err(GitError::Refused(reason)) => {
                self.keep_unpushed(&mirror, commit).await?;
                Err(not_pushed(NotPushed::Refused { reason }))
            }
            // A fork that the token does not reach answers in many ways; it is tried once.
            Err(other) if fork.is_some() => {
                self.keep_unpushed(&mirror, commit).await?;
                Err(not_pushed(NotPushed::Refused { reason: other.to_string() }))
            }
            Err(other) => Err(Undone::Later(other.to_string(), Duration::from_secs(5))),
        }
    }

    /// Permission is asked again before anything is published: the round may have taken an hour.
    async fn may_still_ask(&self, repository: &Repository) -> Result<bool, Undone> {
        if seeded(Fault::PermissionOnce) {
            return Ok(true);
        }
        Ok(repository.permission_now(&self.state.facts.request.asker).await?.may_command())
    }

    /// What could not be pushed is kept as a patch.
    async fn keep_unpushed(&self, mirror: &crate::git::Mirror, commit: &Sha) -> Result<(), Undone> {
        let Some(start) = &self.state.facts.start else { return Ok(()) };
        let kept = async {
            let (old, new) = (mirror.tree_of(start).await?, mirror.tree_of(commit).await?);
            mirror.patch(&old, &new).await
        };
        let patch = kept.await.map_err(Halt::from)?;
        Ok(self.parts.store.keep_patch(&self.lease, &patch).await?)
    }

    pub(super) async fn open_pull(
        &mut self,
        repository: &Repository,
        branch: &str,
        base: &str,
    ) -> Result<Done, Undone> {
        let (title, body) = self.pull_says(&self.known().await?).await?;
        let (title, body) = (repository.as_written(&title), repository.as_written(&body));
        self.will_be_titled(&title).await?;
        let pull = repository.pull_once(branch, base, &title, &say::sealed(&body)).await?;
        let opened = Entry::PullOpened { number: pull.number, draftable: pull.draft };
        let entries =
            if pull.open { vec![opened] } else { vec![opened, Entry::PullClosed { merged: pull.merged }] };
        Ok(Done { result: json!({ "pull": pull.number }), entries })
    }
}
