//! Performs once-effects: each looks before it acts, so that doing it twice does it once.

mod push;
mod words;

use super::{Halt, REFUSED_LOOK, drive::Driver};
use crate::{
    domain::{Effect, Entry, Fault, Sha, Timestamp, seeded, session::NotPushed},
    git::GitError,
    github::{GitHubError, Repository, Scope},
    store::EffectRow,
};
use push::Push;
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
            Halt::Refused(why) => Self::Later(why, REFUSED_LOOK),
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
        if let (Effect::Push { commit, .. }, true) = (&row.effect, seeded(Fault::PushRecordedFirst)) {
            let pushed = [Entry::Pushed { commit: commit.clone() }];
            self.parts.store.effect_done(&self.lease, row.id, &json!(null), &pushed).await?;
        }
        if seeded(Fault::ActsTwice) {
            let _ = self.act(&row.effect).await;
        }
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
            Effect::Push { branch, commit, expected, fork, rewrites } => {
                let (expected, fork) = (expected.as_ref(), fork.as_ref());
                self.push(&repository, Push { branch, commit, expected, fork, rewrites: *rewrites }).await
            }
            Effect::OpenPull { branch, base } => self.open_pull(&repository, branch, base).await,
            Effect::PostStatus => self.post_status(&repository).await,
            Effect::RequestReview { login, .. } => self.request_review(&repository, login).await,
            Effect::Say { message, to, request_no, at } => {
                self.say(&repository, message, to, (*request_no, *at)).await
            }
            Effect::Reply { pull, to, commit, words } => {
                self.reply(&repository, *pull, *to, (commit.as_ref(), words.as_deref())).await
            }
            Effect::Review { pull, head, summary, comments, request_no } => {
                let review = (summary.as_str(), comments.as_slice());
                self.review(&repository, *pull, head, review, *request_no).await
            }
            Effect::Unlabel { label } => {
                repository.remove_label(thread, label).await?;
                done(json!(null))
            }
            Effect::Rerun { check, head } => self.rerun(&repository, check, head).await,
            Effect::DeleteBranch { branch, at } => {
                let mirror = self.parts.mirror(&self.state).await.map_err(Halt::from)?;
                let remote = self.parts.remote(&repository, Scope::Push).await?;
                // Only what is still ours, by an exact lease: a commit that came after the merge stands.
                match mirror.delete_branch(&remote, branch, at, &[]).await {
                    Ok(()) => done(json!({ "deleted": at })),
                    Err(GitError::Moved(_) | GitError::NotFound(_)) => done(json!(null)),
                    Err(error) => Err(Undone::Later(error.to_string(), Duration::from_secs(5))),
                }
            }
        }
    }

    async fn rerun(&mut self, repository: &Repository, check: &str, head: &Sha) -> Result<Done, Undone> {
        let checks = repository.checks(head).await?;
        let run = checks
            .check_runs
            .iter()
            .filter(|r| r.name == check)
            .max_by_key(|r| r.id)
            .and_then(|r| checks.workflow_runs.iter().find(|w| w.check_suite_id == r.check_suite.id))
            .map(|w| (w.id, w.run_attempt));
        let Some((run, attempt)) = run else { return done(json!({ "not a workflow": check })) };
        // Which attempt failed is noted before the next one is asked for: one that is there by then needs no asking.
        let nth = self.state.facts.reruns.iter().filter(|again| *again == check).count();
        let thing = format!("rerun:{}:{check}:{nth}", head.short());
        let failed = match self.shown(&thing).await? {
            Some(noted) => noted.remote,
            None => {
                self.remember(&thing, &attempt.to_string(), "").await?;
                attempt.to_string()
            }
        };
        if failed == attempt.to_string() {
            repository.rerun_failed(run).await?;
        }
        done(json!({ "workflow run": run }))
    }
}

/// What follows from an effect that will never be: without its push or its pull request a session cannot go on, and the
/// person is told why.
fn not_published(effect: &Effect, why: &str) -> Vec<Entry> {
    let (commit, reason) = match effect {
        Effect::Push { commit, .. } => (Some(commit.clone()), why.to_owned()),
        Effect::OpenPull { .. } => (None, format!("GitHub does not open the pull request: {why}")),
        _ => return Vec::new(),
    };
    vec![Entry::NotPushed { commit, why: NotPushed::Refused { reason } }]
}

fn is_courtesy(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::React { .. }
            | Effect::RequestReview { .. }
            | Effect::DeleteBranch { .. }
            | Effect::Unlabel { .. }
            | Effect::Reply { .. }
    )
}

fn done(result: serde_json::Value) -> Result<Done, Undone> {
    Ok(Done { result, entries: Vec::new() })
}
