//! What holds in a repository: its own configuration, read from the tip of its default branch, within what the operator
//! allows.
//!
//! A session's holder takes it up before it begins, looks or resumes; from then on its settings are that repository's, so
//! that whoever reads a limit reads the one that holds here.

use super::{Parts, Settings};
use crate::{
    domain::{
        RepoId, State,
        repo_config::{self, Ask, Effective, Operator, PATH, Read},
    },
    github::{GitHubError, Repository},
};
use moka::future::Cache;
use std::{sync::Arc, time::Duration};

/// A change of the file takes effect after this at the latest; until then it costs no request.
const KEPT: Duration = Duration::from_secs(60);

/// More repositories are not busy in one minute.
const MOST: u64 = 1_000;

/// What repositories say of themselves, and the operator's settings before they are narrowed.
#[derive(Clone, Debug)]
pub struct House {
    operator: Arc<Settings>,
    /// Models that may be chosen, the operator's own first.
    models: Vec<String>,
    known: Cache<RepoId, Arc<Effective>>,
    /// What holds where these parts are used: the operator's bounds until a repository's are taken up.
    pub(super) holds: Arc<Effective>,
    /// The model of the request that these parts are used for, where not the operator's own.
    pub(super) model: Option<String>,
}

impl House {
    /// `models`: those that the engine can be told to use, its own first.
    pub fn new(operator: Arc<Settings>, models: Vec<String>) -> Self {
        // The careful reading, until it is known whether anybody may read the repository.
        let holds = Arc::new(Effective::of(Read::default(), &bounds(&operator, &models, false), true));
        let known = Cache::builder().max_capacity(MOST).time_to_live(KEPT).build();
        Self { operator, models, known, holds, model: None }
    }
}

/// What holds in a repository. Where its file cannot be used the defaults hold, and the mistakes say so; where GitHub does
/// not answer nothing is known, and nothing may begin.
///
/// # Errors
/// Any of [`GitHubError`].
pub(super) async fn of(
    house: &House,
    repository: &Repository,
    id: RepoId,
) -> Result<Arc<Effective>, GitHubError> {
    // On the heap: it is seldom run, and would else be part of every future that asks.
    let found = house.known.try_get_with(id, Box::pin(read(house, repository))).await;
    found.map_err(|error: Arc<GitHubError>| (*error).clone())
}

/// Takes up what holds in a session's repository, with the model that its request asks for.
///
/// # Errors
/// Any of [`GitHubError`].
pub(super) async fn take_up(parts: &mut Parts, state: &State) -> Result<(), GitHubError> {
    let holds = of(&parts.house, &parts.repository(state), state.facts.repo.id).await?;
    let model = state.facts.request.options.model.clone().or_else(|| holds.model.clone());
    let house = &mut parts.house;
    if !Arc::ptr_eq(&holds, &house.holds) || model != house.model {
        parts.settings = Arc::new(house.narrowed(&holds, model.as_deref()));
        (house.holds, house.model) = (holds, model);
    }
    Ok(())
}

async fn read(house: &House, repository: &Repository) -> Result<Arc<Effective>, GitHubError> {
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
    let bounds = bounds(&house.operator, &house.models, repository.may_write_workflows().await?);
    Ok(Arc::new(Effective::of(read, &bounds, !info.private)))
}

fn bounds(settings: &Settings, models: &[String], app_may: bool) -> Operator {
    Operator {
        limits: settings.limits.clone(),
        day_micros: settings.daily.repository,
        ask_first: settings.ask_first,
        deny: settings.rules.deny.clone(),
        workflows: app_may,
        models: models.to_vec(),
        images: settings.images.clone(),
        services: settings.services.clone(),
        reachable: settings.allow.clone(),
    }
}

impl House {
    /// The operator's settings where a repository narrows them, and where another model than their own is asked.
    fn narrowed(&self, holds: &Effective, model: Option<&str>) -> Settings {
        let mut settings = Settings::clone(&self.operator);
        settings.limits = holds.limits.clone();
        settings.daily.repository = holds.day_micros;
        settings.rules = holds.rules.clone();
        settings.ask_first = holds.ask == Ask::Always;
        if let Some(image) = &holds.image {
            settings.sandbox.image = Some(image.clone());
        }
        if settings.allow != holds.reachable {
            settings.allow = holds.reachable.clone();
            settings.sandbox_words = settings.allow.words();
        }
        if let (Some(model), Some(own)) = (model, self.models.first()) {
            settings.engine = settings.engine.replace(own.as_str(), model);
        }
        settings
    }
}
