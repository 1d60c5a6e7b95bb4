//! Performs once-effects: each looks before it acts, so that doing it twice does it once.

use super::{Halt, drive::Driver, show};
use crate::{
    domain::{
        Effect, Entry, Sha, Timestamp, say,
        session::{Message, NotPushed},
    },
    git::GitError,
    github::{GitHubError, Repository, Scope},
    store::EffectRow,
};
use serde_json::json;
use std::time::Duration;

/// One effect's calls altogether; GitHub answers in seconds or not at all.
const PATIENCE: Duration = Duration::from_secs(120);

/// A tie-in effect (a reaction, a review request) is given up after this many tries: the work does not hang on it.
const TRIES_OF_A_COURTESY: u32 = 5;

/// Waits between tries double up to this.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// What an effect came to.
struct Done {
    result: serde_json::Value,
    entries: Vec<Entry>,
}

/// Why an effect did not happen.
enum Undone {
    /// Trying again can help.
    Later(String, Duration),
    /// It never will; these entries say so to the session.
    Never(String, Vec<Entry>),
    /// The holder must stop.
    Halt(Halt),
}

impl From<GitHubError> for Undone {
    fn from(error: GitHubError) -> Self {
        match error.retry_after() {
            Some(wait) => Self::Later(error.to_string(), wait),
            None => Self::Never(error.to_string(), Vec::new()),
        }
    }
}

impl From<Halt> for Undone {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::Later(why, wait) => Self::Later(why, wait),
            Halt::Empty => Self::Later(Halt::Empty.to_string(), LONGEST_WAIT),
            other => Self::Halt(other),
        }
    }
}

impl From<crate::store::StoreError> for Undone {
    fn from(error: crate::store::StoreError) -> Self {
        Halt::from(error).into()
    }
}

impl Driver {
    /// Performs every effect whose time has come; gives the moment the next one is due.
    pub(super) async fn perform_due(&mut self) -> Result<Option<Timestamp>, Halt> {
        loop {
            let (rows, next) = self.parts.store.effects_due(&self.lease).await?;
            if rows.is_empty() {
                return Ok(next);
            }
            for row in &rows {
                self.perform(row).await?;
            }
            self.absorb().await?;
        }
    }

    async fn perform(&mut self, row: &EffectRow) -> Result<(), Halt> {
        let outcome = match tokio::time::timeout(PATIENCE, self.act(&row.effect)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Undone::Later("GitHub did not answer in time".to_owned(), Duration::from_secs(10))),
        };
        let (store, lease) = (self.parts.store.clone(), self.lease.clone());
        match outcome {
            Ok(done) => store.effect_done(&lease, row.id, &done.result, &done.entries).await?,
            Err(Undone::Never(why, entries)) => {
                tracing::warn!(effect = ?row.effect, why, "given up");
                let entries = if entries.is_empty() { not_published(&row.effect, &why) } else { entries };
                store.effect_failed(&lease, row.id, &why, &entries).await?;
            }
            Err(Undone::Later(why, _)) if row.attempts >= TRIES_OF_A_COURTESY && is_courtesy(&row.effect) => {
                store.effect_failed(&lease, row.id, &why, &[]).await?;
            }
            Err(Undone::Later(why, wait)) => {
                let doubled = Duration::from_secs(1) * 2u32.saturating_pow(row.attempts.min(9));
                let next = self.tick().await?.plus(wait.max(doubled.min(LONGEST_WAIT)));
                tracing::info!(effect = ?row.effect, why, "tried again later");
                store.effect_later(&lease, row.id, &why, next).await?;
            }
            Err(Undone::Halt(halt)) => return Err(halt),
        }
        Ok(())
    }

    async fn act(&mut self, effect: &Effect) -> Result<Done, Undone> {
        // The lease is proved before every effect: a holder that slept too long must not act.
        self.tick().await?;
        let repository = self.parts.repository(&self.state);
        let thread = self.state.facts.thread.number;
        match effect {
            Effect::React { on } => {
                repository.react(thread, *on).await?;
                done(json!(null))
            }
            Effect::Push { branch, commit, expected } => {
                self.push(&repository, branch, commit, expected.as_ref()).await
            }
            Effect::OpenPull { branch, base } => self.open_pull(&repository, branch, base).await,
            Effect::PostStatus => self.post_status(&repository).await,
            Effect::RequestReview { login, .. } => self.request_review(&repository, login).await,
            Effect::Say { message, to, request_no } => self.say(&repository, message, to, *request_no).await,
            Effect::Rerun { check, head } => self.rerun(&repository, check, head).await,
            Effect::DeleteBranch { branch, at } => {
                let mirror = self.parts.mirror(&self.state).await.map_err(Halt::from)?;
                let remote = self.parts.remote(&repository, Scope::Push).await?;
                // Only what is still ours, by an exact lease: a commit that came after the merge stands.
                match mirror.delete_branch(&remote, branch, at, &[]).await {
                    Ok(()) | Err(GitError::Moved(_) | GitError::NotFound(_)) => done(json!(null)),
                    Err(error) => Err(Undone::Later(error.to_string(), Duration::from_secs(5))),
                }
            }
        }
    }

    async fn push(
        &mut self,
        repository: &Repository,
        branch: &str,
        commit: &Sha,
        expected: Option<&Sha>,
    ) -> Result<Done, Undone> {
        if self.state.facts.in_merge_queue {
            return Err(Undone::Later(
                "the pull request stands in a merge queue".to_owned(),
                Duration::from_secs(60),
            ));
        }
        let mirror = self.parts.mirror(&self.state).await.map_err(Halt::from)?;
        let forbidden = vec![repository.info().await?.default_branch, self.state.facts.base.branch.clone()];
        let remote = self.parts.remote(repository, Scope::Push).await?;
        let not_pushed = |why| Undone::Never("not pushed".to_owned(), vec![Entry::NotPushed { why }]);
        match mirror.push(&remote, branch, expected, commit, &forbidden).await {
            Ok(()) => Ok(Done {
                result: json!({ "commit": commit }),
                entries: vec![Entry::Pushed { commit: commit.clone() }],
            }),
            Err(GitError::Unauthorized(why)) => {
                repository.forget_token(Scope::Push).await;
                Err(Undone::Later(why, Duration::from_secs(1)))
            }
            Err(GitError::Moved(Some(head))) => {
                self.keep_unpushed(&mirror, commit).await?;
                Err(not_pushed(NotPushed::Foreign { head }))
            }
            Err(GitError::Moved(None)) => Err(Undone::Never("gone".to_owned(), vec![Entry::BranchDeleted])),
            Err(GitError::Refused(reason)) => {
                self.keep_unpushed(&mirror, commit).await?;
                Err(not_pushed(NotPushed::Refused { reason }))
            }
            Err(other) => Err(Undone::Later(other.to_string(), Duration::from_secs(5))),
        }
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

    async fn open_pull(&mut self, repository: &Repository, branch: &str, base: &str) -> Result<Done, Undone> {
        let (title, body) = {
            let app = self.parts.app().await?;
            say::pull(&self.state, &show::context(&self.parts, app, &self.state, &self.short(), None))
        };
        let pull = repository.pull_once(branch, base, &title, &body).await?;
        let opened = Entry::PullOpened { number: pull.number, draftable: pull.draft };
        let entries =
            if pull.open { vec![opened] } else { vec![opened, Entry::PullClosed { merged: pull.merged }] };
        Ok(Done { result: json!({ "pull": pull.number }), entries })
    }

    async fn post_status(&mut self, repository: &Repository) -> Result<Done, Undone> {
        let body = self.status_body().await?;
        let thread = self.state.facts.thread.number;
        let (id, url) = repository.comment_once(thread, &show::marker(&self.lease, "status"), &body).await?;
        self.remember("status", &id.to_string(), &body).await?;
        self.remember("status-url", &url, "").await?;
        done(json!({ "comment": id }))
    }

    /// Never of the App itself, and never of the author, whom GitHub refuses.
    async fn request_review(&mut self, repository: &Repository, login: &str) -> Result<Done, Undone> {
        let Some(pull) = self.state.facts.pull.clone() else { return done(json!(null)) };
        // Review is asked of a ready pull request: asking on a draft would tell people too early.
        self.show_draft(repository).await?;
        match repository.request_review(pull.number, login).await {
            // Somebody who is not a collaborator any more cannot review; the pull request is ready all the same.
            Err(GitHubError::Invalid(why)) => done(json!({ "not asked": why })),
            other => {
                other?;
                done(json!(null))
            }
        }
    }

    async fn say(
        &mut self,
        repository: &Repository,
        message: &Message,
        to: &str,
        request_no: u32,
    ) -> Result<Done, Undone> {
        let kind = match message {
            Message::Answer => "answer",
            Message::Question => "question",
            Message::CannotFollow { .. } => "cannot-follow",
        };
        let marker = show::marker(&self.lease, &format!("{kind}-{request_no}"));
        let shown = self.parts.store.shown(self.lease.session).await?;
        let url =
            shown.iter().find(|s| s.thing == "status-url").map(|s| s.remote.clone()).unwrap_or_default();
        let patch = self.parts.store.patch(self.lease.session).await?;
        let app = self.parts.app().await?;
        let short = self.short();
        let context = show::context(&self.parts, app, &self.state, &short, patch.as_deref());
        let text = say::message(message, &self.state, to, &url, &context);
        let body = format!("{text}\n\n{marker}");
        let thread = self.state.facts.thread.number;
        let (id, _) = repository.comment_once(thread, &marker, &body).await?;
        // The same kind again in one request edits the first: nobody is told twice.
        repository.edit_comment(id, &body).await?;
        done(json!({ "comment": id }))
    }

    async fn rerun(&mut self, repository: &Repository, check: &str, head: &Sha) -> Result<Done, Undone> {
        let checks = repository.checks(head).await?;
        let run = checks
            .check_runs
            .iter()
            .filter(|r| r.name == check)
            .max_by_key(|r| r.id)
            .and_then(|r| checks.workflow_runs.iter().find(|w| w.check_suite_id == r.check_suite.id))
            .map(|w| w.id);
        let Some(run) = run else { return done(json!({ "not a workflow": check })) };
        repository.rerun_failed(run).await?;
        done(json!({ "workflow run": run }))
    }
}

/// What follows from an effect that will never be: without its push or its pull request a session cannot go on, and the
/// person is told why.
fn not_published(effect: &Effect, why: &str) -> Vec<Entry> {
    let reason = match effect {
        Effect::Push { .. } => why.to_owned(),
        Effect::OpenPull { .. } => format!("GitHub does not open the pull request: {why}"),
        _ => return Vec::new(),
    };
    vec![Entry::NotPushed { why: NotPushed::Refused { reason } }]
}

fn is_courtesy(effect: &Effect) -> bool {
    matches!(effect, Effect::React { .. } | Effect::RequestReview { .. } | Effect::DeleteBranch { .. })
}

fn done(result: serde_json::Value) -> Result<Done, Undone> {
    Ok(Done { result, entries: Vec::new() })
}
