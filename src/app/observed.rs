//! Looking at a repository's past: needs the App's key and nothing else.

pub use crate::work::Observed;

use crate::{
    config::Config,
    domain::Timestamp,
    github::{self, GitHub},
    work,
};
use anyhow::Context;

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
    let settings = &config.github;
    let (owner, name) = repository
        .split_once('/')
        .filter(|(owner, name)| !owner.is_empty() && !name.is_empty() && !name.contains('/'))
        .with_context(|| format!("{repository:?} is no repository: OWNER/NAME is expected"))?;
    let private_key = settings.private_key.clone().context("github.private_key_file is not set")?;
    let github = GitHub::new(
        github::Settings {
            api_url: settings.api_url.clone(),
            web_url: settings.web_url.clone(),
            identity: github::Identity::App {
                id: settings.app_id.clone().context("github.app_id is not set")?,
                private_key,
            },
        },
        http,
    )?;
    let now = Timestamp(chrono::Utc::now().timestamp_millis());
    let rounds = config.limits.session().rounds;
    let observed = work::past(&github, (owner, name), (now, days), rounds).await;
    observed.with_context(|| format!("the history of {owner}/{name} cannot be read"))
}
