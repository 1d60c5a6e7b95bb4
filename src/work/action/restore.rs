//! Takes the sessions that a run is about up from where they were kept.
//!
//! Believed is what our own account wrote and what stands on our branch, and the two are held against each other: a block
//! that was deleted, or put back to an older one, gains nobody a round, a branch or a pull request.

use super::{
    About, Errand, Undone,
    block::{self, Block},
    parked,
    rebuild::{self, ended},
};
use crate::{
    domain::{
        CommentId, Effect, Entry, InstallationId, Number, Phase, Repo, SessionId, Sha, State,
        session::NotPushed,
    },
    github::{Comment, PullRequest, Repository},
    store::{Carried, NewSession, StoreError},
    work::{
        Halt, Parts,
        own::{self, Pushed},
    },
};
use std::{collections::BTreeSet, time::Duration};

/// Comments older than this hold no session that still waits for something: a person's answer is waited for a week.
const LOOKED_BACK: Duration = Duration::from_secs(30 * 24 * 60 * 60);

impl From<Halt> for Undone {
    fn from(halt: Halt) -> Self {
        Self::Restore(halt.to_string())
    }
}

impl From<crate::git::GitError> for Undone {
    fn from(error: crate::git::GitError) -> Self {
        Self::Restore(error.to_string())
    }
}

/// Takes up every session that the errand may be about; gives those whose change waits for a person's yes.
pub(super) async fn all(parts: &Parts, errand: &Errand) -> Result<Vec<SessionId>, Undone> {
    let repository = parts.github.repository(errand.installation, &errand.repo);
    let here = Here { parts, repository, installation: errand.installation, repo: &errand.repo };
    let threads = match &errand.about {
        About::Thread(number) => here.threads_with(*number).await?,
        About::Branch(branch) => here.threads_of(branch).await?,
        About::Everything => here.threads().await?,
    };
    for thread in threads {
        here.take_up(thread).await?;
    }
    let live = parts.store.live_sessions(None, Some(errand.repo.id)).await?;
    Ok(live.iter().filter(|session| parked::waits(&session.state)).map(|session| session.id).collect())
}

/// The issue that a branch of ours is for.
fn thread_of_branch(branch: &str) -> Option<Number> {
    branch.strip_prefix("fixpoint/")?.split('-').next()?.parse().ok().map(Number)
}

struct Here<'a> {
    parts: &'a Parts,
    repository: Repository,
    installation: InstallationId,
    repo: &'a Repo,
}

impl Here<'_> {
    /// The thread itself; of a pull request from a branch of ours also the issue that it is for. A session stands on the
    /// one that it was asked on, and what was asked on the pull request is the newer.
    async fn threads_with(&self, number: Number) -> Result<Vec<Number>, Undone> {
        if !self.repository.issue(number).await?.is_pull {
            return Ok(vec![number]);
        }
        let pull = self.repository.pull(number).await?;
        let here = pull.head_repo.as_ref().map(|repo| repo.id) == Some(self.repo.id);
        let issue = thread_of_branch(&pull.head_branch).filter(|issue| here && *issue != number);
        Ok([number].into_iter().chain(issue).collect())
    }

    /// The open pull requests of a branch, and the issue that it is for where it is ours.
    async fn threads_of(&self, branch: &str) -> Result<Vec<Number>, Undone> {
        let pulls = self.repository.pulls_of(branch).await?.into_iter();
        let open = pulls.filter(|pull| pull.open).map(|pull| pull.number);
        Ok(open.chain(thread_of_branch(branch)).collect())
    }

    /// Every thread with a comment of ours that holds a session, then every one that a pull request of ours is for.
    async fn threads(&self) -> Result<Vec<Number>, Undone> {
        let now = self.parts.store.now().await?;
        let back = i64::try_from(LOOKED_BACK.as_millis()).unwrap_or(i64::MAX);
        let since = crate::domain::Timestamp(now.0.saturating_sub(back));
        let comments = self.repository.own_comments_since(since).await?;
        let live = |comment: &&Comment| block::read(comment).is_some_and(|block| !block.state.is_done());
        let mut threads: Vec<Number> =
            comments.iter().filter(live).filter_map(|comment| comment.thread).collect();
        let pulls = self.repository.own_pulls().await?;
        threads.extend(pulls.iter().filter_map(|pull| thread_of_branch(&pull.head_branch)));
        let mut seen = BTreeSet::new();
        threads.retain(|thread| seen.insert(*thread));
        Ok(threads)
    }

    async fn take_up(&self, thread: Number) -> Result<(), Undone> {
        let comments = self.repository.own_comments_on(thread).await?;
        let newest = comments.iter().rev().filter_map(block::read);
        let (live, done): (Vec<Block>, Vec<Block>) = newest.partition(|block| !block.state.is_done());
        if let Some(block) = live.into_iter().next() {
            return Box::pin(self.continue_from(thread, block, &comments)).await;
        }
        if self.rebuild(thread, &comments).await? {
            return Ok(());
        }
        // What is over says what was asked last, and which comments were followed.
        match done.into_iter().next() {
            Some(block) => self.adopt(block).await,
            None => Ok(()),
        }
    }

    /// From the block, unless the branch knows better.
    async fn continue_from(&self, thread: Number, block: Block, comments: &[Comment]) -> Result<(), Undone> {
        let mirror = self.parts.mirror(&block.state).await?;
        let branches = self.parts.fetch_branches(&mirror, &self.repository, &block.state).await;
        let Ok([Some(base), Some(live)]) = &branches else {
            return Box::pin(self.resume(block, None)).await;
        };
        let pushed = own::pushed(&mirror.log(&[base], live).await?, Some(&block.id.short()));
        let facts = &block.state.facts;
        let known = (facts.request_no, facts.round);
        match pushed.last() {
            Some(last) if last.at() > known => {
                tracing::warn!("the branch is ahead of the status comment");
                if self.rebuild(thread, comments).await? {
                    return Ok(());
                }
                // A person's branch is not ours to read a session from, but its rounds count.
                let mut block = block;
                (block.state.facts.request_no, block.state.facts.round) = last.at();
                Box::pin(self.resume(block, None)).await
            }
            Some(last) if facts.head.as_ref() != Some(live) && last.commit == *live => {
                Box::pin(self.resume(block, Some(last.clone()))).await
            }
            _ => Box::pin(self.resume(block, None)).await,
        }
    }

    /// Takes a session up, and tells it what became of the run that was killed in the middle of a round.
    async fn resume(&self, block: Block, pushed: Option<Pushed>) -> Result<(), Undone> {
        let (id, state) = (block.id, block.state.clone());
        self.adopt(block).await?;
        let entry = match (&state.phase, pushed) {
            (Phase::Working, Some(pushed)) => Some(ended(&pushed, &state)),
            (Phase::Publishing { commit, .. }, Some(pushed)) if *commit == pushed.commit => {
                Some(Entry::Pushed { commit: pushed.commit })
            }
            (Phase::Publishing { commit, .. }, _) => Some(Entry::NotPushed {
                commit: Some(commit.clone()),
                why: NotPushed::Refused {
                    reason: "the run was ended before it could push, and the change went with it".to_owned(),
                },
            }),
            _ => None,
        };
        if let Some(entry) = entry {
            self.parts.store.append(id, &entry).await?;
        }
        Ok(())
    }

    async fn adopt(&self, block: Block) -> Result<(), Undone> {
        let mut state = block.state;
        // Whatever the block says: it is this repository, by its present names, and reached as it is reached now.
        (state.facts.repo, state.facts.installation) = (self.repo.clone(), self.installation);
        Box::pin(parked::take(self.parts, block.id, &mut state)).await?;
        let carried = Carried { shown: block.shown, subjects: block.subjects };
        self.insert(block.id, state, block.effects, &carried).await
    }

    async fn insert(
        &self,
        id: SessionId,
        state: State,
        mut effects: Vec<Effect>,
        carried: &Carried,
    ) -> Result<(), Undone> {
        let facts = &state.facts;
        let unopened = facts.head.is_some() && facts.pull.is_none() && !state.is_done();
        if unopened && !effects.iter().any(|effect| matches!(effect, Effect::OpenPull { .. })) {
            let (branch, base) = (facts.branch.clone(), facts.base.branch.clone());
            effects.push(Effect::OpenPull { branch, base });
        }
        match Box::pin(self.parts.store.adopt(&NewSession { id, state, effects, takes_over: None }, carried))
            .await
        {
            // Two comments of ours tell of one thread: the newer was taken up.
            Err(StoreError::Owned(_)) => Ok(()),
            other => Ok(other?),
        }
    }

    /// Without a block: is there work of ours all the same? Then the session is what its commits say.
    async fn rebuild(&self, thread: Number, comments: &[Comment]) -> Result<bool, Undone> {
        let Some((branch, pull)) = self.work_on(thread).await? else { return Ok(false) };
        let info = self.repository.info().await?;
        let base = pull.as_ref().map_or_else(|| info.default_branch.clone(), |p| p.base_branch.clone());
        let refs = [&base, &branch].map(|name| format!("refs/heads/{name}"));
        let mirror = self.parts.mirrors.open(&self.repo.id.to_string()).await?;
        let found: Vec<Option<Sha>> = self.parts.fetch(&mirror, &self.repository, &refs).await?;
        let [Some(base_sha), Some(head)] = found.as_slice() else { return Ok(false) };
        let pushed = own::pushed(&mirror.log(&[base_sha], head).await?, None);
        let issue = self.repository.issue(thread).await?;
        let lost = rebuild::Lost {
            installation: self.installation,
            repo: self.repo.clone(),
            public: !info.private,
            base: (base, base_sha.clone()),
            branch,
            pull: pull.map(|pull| pull.number),
        };
        let Some(state) =
            lost.state(&self.repository, &issue, &pushed, self.parts.store.now().await?).await?
        else {
            return Ok(false);
        };
        let status = comments.iter().rev().find_map(|c| Some((super::session_of(&c.body)?, c)));
        let (id, shown, effects) = match status {
            Some((id, comment)) => (id, vec![block::status(comment)], Vec::new()),
            None => (SessionId(uuid::Uuid::now_v7()), Vec::new(), vec![Effect::PostStatus]),
        };
        // What was said up to now may have been followed: it is not followed a second time.
        let subjects = self.followed(thread).await?;
        self.insert(id, state, effects, &Carried { shown, subjects }).await?;
        tracing::warn!(%thread, "the session was rebuilt from its branch");
        Ok(true)
    }

    /// Our branch for a thread: of an open pull request of ours, or one that a killed run pushed and opened none for.
    async fn work_on(&self, thread: Number) -> Result<Option<(String, Option<PullRequest>)>, Undone> {
        let ours = |pull: &PullRequest| thread_of_branch(&pull.head_branch) == Some(thread);
        let pulls = self.repository.own_pulls().await?;
        if let Some(pull) = pulls.into_iter().filter(ours).max_by_key(|pull| pull.number) {
            return Ok(Some((pull.head_branch.clone(), Some(pull))));
        }
        let issue = self.repository.issue(thread).await?;
        let branch = crate::domain::say::branch(thread, &issue.title);
        let there = self.repository.branch(&branch).await?.is_some();
        let unopened = there && self.repository.pulls_of(&branch).await?.is_empty();
        Ok(unopened.then_some((branch, None)))
    }

    /// The comments that ours has reacted to.
    async fn followed(&self, thread: Number) -> Result<Vec<String>, Undone> {
        let followed: Vec<CommentId> = self.repository.reacted_on(thread).await?;
        Ok(followed.into_iter().map(|id| format!("comment:{id}")).collect())
    }
}
