//! `--pr`: the branch is pushed as the person would push it, and a pull request opened with a token of theirs.

use super::{end::End, place::Place};
use crate::{app, config, domain::network::Proxy};
use anyhow::{Context, bail};
use secrecy::SecretString;
use url::Url;

/// Where the pull request is to be opened, known before a model is asked.
pub(super) struct Publish {
    token: SecretString,
    repository: (String, String),
    api: Url,
    web: Url,
    proxy: Option<Proxy>,
}

impl Publish {
    /// Finds out whether it can be done at all.
    ///
    /// # Errors
    /// What is missing.
    pub(super) async fn find(place: &Place, config: &config::Config) -> anyhow::Result<Self> {
        let Some(token) = config::github_token() else {
            bail!("--pr needs a token of yours: set GH_TOKEN or GITHUB_TOKEN (`gh auth token` prints one)");
        };
        let remote = match place.address() {
            Some(address) => Some(address.to_owned()),
            None => place.local.remote_url().await?,
        };
        let remote = remote.context("--pr pushes to the remote `origin`, and there is none here")?;
        let repository = app::repository_of(&remote).with_context(|| {
            // Without the credential that may stand in it.
            let shown = remote.rsplit_once('@').map_or(remote.as_str(), |(_, rest)| rest);
            format!("--pr finds no OWNER/NAME in the address of `origin`, {shown}")
        })?;
        let (api, web) = (config.github.api_url.clone(), config.github.web_url.clone());
        Ok(Self { token, repository, api, web, proxy: config.proxy()? })
    }

    /// Pushes and opens, where there is something to be looked at; gives the address.
    ///
    /// # Errors
    /// What git or GitHub says; the branch is in the person's repository all the same.
    pub(super) async fn publish(self, end: &End, place: &Place) -> anyhow::Result<Option<String>> {
        let Some((branch, title, body)) = end.worth_a_look() else { return Ok(None) };
        place.local.push(branch).await?;
        let wish = app::Wish {
            api: self.api,
            web: self.web,
            token: self.token,
            repository: (&self.repository.0, &self.repository.1),
            branch,
            base: place.head.branch.as_deref(),
            title: &title,
            body: &body,
        };
        let http = app::http_client(self.proxy)?;
        let (_, url) = app::open_pull(http, wish).await.context("the branch is pushed, but")?;
        Ok(Some(url))
    }
}
