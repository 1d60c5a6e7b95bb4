//! Looking at a repository's past: needs the App's key and nothing else.

use crate::{
    config::Config,
    domain::{Timestamp, observe::Observed},
    github::{self, GitHub, GitHubError},
    work,
};
use anyhow::Context;
use futures::FutureExt as _;

/// Reads the last `days` days of CI of `OWNER/NAME`. Writes nothing and asks no model.
///
/// # Errors
/// A sentence for the operator: the App's id or key is missing, or the App is not installed on the repository.
pub async fn observe(
    config: &Config,
    http: reqwest::Client,
    repository: &str,
    days: u32,
) -> anyhow::Result<Observed> {
    let name = repository
        .split_once('/')
        .filter(|(owner, name)| !owner.is_empty() && !name.is_empty() && !name.contains('/'))
        .with_context(|| format!("{repository:?} is no repository: OWNER/NAME is expected"))?;
    let github = forge(config, http)?;
    let (_, observed) = past(&github, name, days, config.limits.session().rounds).await;
    observed.with_context(|| format!("the history of {repository} cannot be read"))
}

/// The forge, with what a configuration needs for it at the least.
pub(super) fn forge(config: &Config, http: reqwest::Client) -> anyhow::Result<GitHub> {
    let settings = &config.github;
    let identity = github::Identity::App {
        id: settings.app_id.clone().context("github.app_id is not set")?,
        private_key: settings.private_key.clone().context("github.private_key_file is not set")?,
    };
    let (api_url, web_url) = (settings.api_url.clone(), settings.web_url.clone());
    Ok(GitHub::new(github::Settings { api_url, web_url, identity }, http)?)
}

/// The last days of a repository, as they are at the moment that is given along.
pub(super) async fn past(
    github: &GitHub,
    name: (&str, &str),
    days: u32,
    rounds: u32,
) -> (Timestamp, Result<Observed, GitHubError>) {
    let now = Timestamp(chrono::Utc::now().timestamp_millis());
    // Its type named no further: as a part of the futures above it, it is more than the compiler unfolds.
    (now, work::past(github, name, (now, days), rounds).boxed().await)
}
