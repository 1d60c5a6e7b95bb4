//! The App as GitHub has it registered: what it asks for, who granted it, and where its webhooks go.

use super::auth::Auth;
use super::client::Client;
use super::repository::AccountRow;
use super::service::{self, Service};
use super::{GitHub, GitHubError};
use crate::domain::{InstallationId, Repo, RepoId};
use http::Method;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use url::Url;

/// Permissions by name, with GitHub's word for the level.
pub type Grants = BTreeMap<String, String>;

/// The App's registration.
#[derive(Clone, Debug)]
pub struct Registration {
    /// Its id.
    pub id: u64,
    /// Its slug.
    pub slug: String,
    /// Its public page.
    pub html_url: String,
    /// Whose it is.
    pub owner: String,
    /// Where its settings are changed.
    pub settings_url: Url,
    /// What it asks of those who install it.
    pub permissions: Grants,
    /// What its webhook tells of.
    pub events: Vec<String>,
}

/// Where the App is installed.
#[derive(Clone, Debug)]
pub struct Installation {
    /// GitHub's id.
    pub id: InstallationId,
    /// The account it is installed on.
    pub account: String,
    /// Its page, for the account's owners.
    pub html_url: String,
    /// What that account granted.
    pub permissions: Grants,
    /// An owner has suspended it.
    pub suspended: bool,
    /// Every repository of the account, those to come included.
    pub everywhere: bool,
}

/// Where webhooks go and how.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Hook {
    /// The address; empty where none was ever set.
    pub url: String,
    /// `json` or `form`.
    pub content_type: String,
    /// "1" where the receiver's certificate is not checked. A number on some hosts.
    insecure_ssl: serde_json::Value,
}

impl Hook {
    /// The receiver's certificate is checked.
    pub fn is_verified(&self) -> bool {
        self.insecure_ssl != "1" && self.insecure_ssl != 1
    }
}

#[derive(Deserialize)]
struct RegistrationRow {
    id: u64,
    #[serde(default)]
    slug: String,
    #[serde(default)]
    html_url: String,
    #[serde(default)]
    owner: AccountRow,
    #[serde(default)]
    permissions: Grants,
    #[serde(default)]
    events: Vec<String>,
}

#[derive(Deserialize)]
struct InstallationRow {
    id: InstallationId,
    #[serde(default)]
    account: AccountRow,
    #[serde(default)]
    html_url: String,
    #[serde(default)]
    permissions: Grants,
    suspended_at: Option<String>,
    #[serde(default)]
    repository_selection: String,
}

#[derive(Deserialize)]
struct MintedRow {
    token: SecretString,
}

#[derive(Deserialize)]
struct RepositoryRow {
    id: RepoId,
    name: String,
    owner: AccountRow,
    #[serde(default)]
    archived: bool,
}

/// Accounts that one self-hosted App serves; more are no self-hosted App any more.
const MOST_INSTALLATIONS: usize = 10_000;
/// Repositories of one account: at a hundred a page some hundred requests.
const MOST_REPOSITORIES: usize = 10_000;

impl GitHub {
    /// The App the key belongs to, with what it asks for; asked anew each time.
    ///
    /// # Errors
    /// [`GitHubError::Unauthorized`] when GitHub does not know the App or its key.
    pub async fn registration(&self) -> Result<Registration, GitHubError> {
        let row: RegistrationRow = self.as_app.get(&self.as_app.url(["app"])).await?;
        let mut settings_url = self.web.clone();
        if let Ok(mut path) = settings_url.path_segments_mut() {
            path.pop_if_empty();
            if row.owner.kind == "Organization" {
                path.extend(["organizations", &row.owner.login]);
            }
            path.extend(["settings", "apps", &row.slug]);
        }
        Ok(Registration {
            id: row.id,
            slug: row.slug,
            html_url: row.html_url,
            owner: row.owner.login,
            settings_url,
            permissions: row.permissions,
            events: row.events,
        })
    }

    /// Where the App is installed.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn installations(&self) -> Result<Vec<Installation>, GitHubError> {
        let url = self.as_app.url(["app", "installations"]);
        let rows: Vec<InstallationRow> = self.as_app.list(&url, None, MOST_INSTALLATIONS).await?;
        Ok(rows.into_iter().map(Installation::from).collect())
    }

    /// The repositories that an installation reaches, without those that are archived: nothing runs there any more.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn reached(&self, installation: InstallationId) -> Result<Vec<Repo>, GitHubError> {
        let url = self.as_app.url(["app", "installations", &installation.to_string(), "access_tokens"]);
        let body = json!({ "permissions": { "metadata": "read" } });
        let minted: MintedRow = self.as_app.write(Method::POST, &url, &body).await?;
        // The one list that no token of a single repository can read.
        let auth = std::sync::Arc::new(Auth::Given(minted.token));
        let all = Service { auth, answers: service::answers(), ..self.as_app.service.clone() };
        let client = Client::new(all);
        let url = client.url(["installation", "repositories"]);
        let rows: Vec<RepositoryRow> = client.list(&url, Some("repositories"), MOST_REPOSITORIES).await?;
        let open = rows.into_iter().filter(|row| !row.archived);
        Ok(open.map(|row| Repo { id: row.id, owner: row.owner.login, name: row.name }).collect())
    }

    /// Where the App's webhooks go. Whether they are switched on GitHub does not tell.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn hook(&self) -> Result<Hook, GitHubError> {
        self.as_app.get(&self.as_app.url(["app", "hook", "config"])).await
    }

    /// Sets what webhooks are signed with.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn set_hook_secret(&self, secret: &SecretString) -> Result<(), GitHubError> {
        let url = self.as_app.url(["app", "hook", "config"]);
        let body = json!({ "secret": secret.expose_secret(), "content_type": "json" });
        self.as_app.tell(Method::PATCH, &url, Some(&body)).await
    }
}

impl From<InstallationRow> for Installation {
    fn from(row: InstallationRow) -> Self {
        Self {
            id: row.id,
            account: row.account.login,
            html_url: row.html_url,
            permissions: row.permissions,
            suspended: row.suspended_at.is_some(),
            everywhere: row.repository_selection == "all",
        }
    }
}
