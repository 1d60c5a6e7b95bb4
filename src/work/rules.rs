//! What holds in a repository: its own configuration, read from the tip of its default branch, within what the operator
//! allows.

use super::{Parts, Settings};
use crate::{
    domain::{
        Repo, RepoId,
        repo_config::{self, Effective, Operator, PATH, Read},
    },
    github::{GitHubError, Repository},
};
use moka::future::Cache;
use std::{sync::Arc, time::Duration};

/// A change of the file takes effect after this at the latest; until then it costs no request.
const KEPT: Duration = Duration::from_secs(60);

/// More repositories are not busy in one minute.
const MOST: u64 = 1_000;

/// What held in each repository when it was last asked.
#[derive(Clone, Debug)]
pub struct Rulebook(Cache<RepoId, Arc<Effective>>);

impl Default for Rulebook {
    fn default() -> Self {
        Self(Cache::builder().max_capacity(MOST).time_to_live(KEPT).build())
    }
}

/// What holds in a repository. Where its file cannot be read as YAML the defaults hold, and the mistakes say so; where
/// GitHub does not answer nothing is known, and nothing may begin.
///
/// # Errors
/// Any of [`GitHubError`].
pub(super) async fn of(
    parts: &Parts,
    repository: &Repository,
    repo: &Repo,
) -> Result<Arc<Effective>, GitHubError> {
    let found = parts.rulebook.0.try_get_with(repo.id, read(parts, repository)).await;
    found.map_err(|error: Arc<GitHubError>| (*error).clone())
}

/// What holds where nothing of the repository is known yet: the operator's bounds.
pub(super) fn unknown(settings: &Settings, public: bool) -> Arc<Effective> {
    Arc::new(Effective::of(Read::default(), &operator(settings, false), public))
}

async fn read(parts: &Parts, repository: &Repository) -> Result<Arc<Effective>, GitHubError> {
    let info = repository.info().await?;
    // By its commit: a tag of the same name would be another file.
    let file = match repository.branch(&info.default_branch).await? {
        Some(tip) => repository.file(PATH, tip.as_str()).await,
        None => Ok(None),
    };
    let read = match file {
        Ok(None) => Read::default(),
        Ok(Some(bytes)) => repo_config::read(&bytes),
        Err(GitHubError::Invalid(why)) => Read::failed(&why),
        Err(error) => return Err(error),
    };
    let operator = operator(&parts.settings, repository.may_write_workflows().await?);
    Ok(Arc::new(Effective::of(read, &operator, !info.private)))
}

fn operator(settings: &Settings, app_may: bool) -> Operator {
    Operator {
        limits: settings.limits.clone(),
        day_micros: settings.daily.repository,
        ask_first: settings.ask_first,
        deny: settings.rules.deny.clone(),
        workflows: app_may,
        models: settings.models.clone(),
        images: settings.images.clone(),
    }
}
