//! The App itself: who it is, and what GitHub says it has delivered to it.

use super::repository::AccountRow;
use super::{GitHub, GitHubError, Identity, Repository};
use crate::domain::{Actor, InstallationId, Repo, RepoId, Timestamp};
use http::Method;
use serde::Deserialize;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// The App itself.
#[derive(Clone, Debug)]
pub struct App {
    /// Its id; checks made by it are ours. 0 where a given token speaks: whose checks they are cannot be told then.
    pub id: u64,
    /// Its slug; its bot's login is `slug[bot]`.
    pub slug: String,
}

/// A failed delivery of a webhook, or any delivery in the App's list.
#[derive(Clone, Debug)]
pub struct HookDelivery {
    /// GitHub's id of this attempt.
    pub id: u64,
    /// `X-GitHub-Delivery`.
    pub guid: String,
    /// The event.
    pub event: String,
    /// When, RFC 3339.
    pub delivered_at: String,
    /// Whether the answer was a success.
    pub ok: bool,
    /// It was sent again, by hand or because it was asked for.
    pub again: bool,
}

#[derive(Deserialize)]
struct AppRow {
    id: u64,
    #[serde(default)]
    slug: String,
}

#[derive(Deserialize)]
struct InstallationRow {
    id: InstallationId,
}

#[derive(Deserialize)]
struct MintedRow {
    #[serde(default)]
    repositories: Vec<NamedRow>,
}

#[derive(Deserialize)]
struct NamedRow {
    id: RepoId,
    name: String,
}

#[derive(Deserialize)]
struct FullRow {
    id: RepoId,
    name: String,
    owner: AccountRow,
}

/// What stands for the installation where a given token speaks: it has one, but does not say which.
const NO_INSTALLATION: InstallationId = InstallationId(1);

#[derive(Clone, Deserialize)]
struct DeliveryRow {
    id: u64,
    guid: String,
    #[serde(default)]
    event: String,
    #[serde(default)]
    delivered_at: String,
    /// 0 where no answer came.
    #[serde(default)]
    status_code: u16,
    #[serde(default)]
    redelivery: bool,
}

#[derive(Deserialize)]
struct SentRow {
    request: RequestRow,
}

#[derive(Deserialize)]
struct RequestRow {
    payload: Box<serde_json::value::RawValue>,
}

/// GitHub keeps three days of deliveries; a hundred pages of a hundred are more than a host that was down is asked
/// to read at once.
const DELIVERY_PAGES: usize = 100;

impl GitHub {
    /// GitHub's clock, to the second.
    ///
    /// # Errors
    /// When GitHub cannot be reached, or does not know the App.
    pub async fn clock(&self) -> Result<Timestamp, GitHubError> {
        self.as_app.service.clock().await
    }

    /// The App the key belongs to, asked once; with a given token, what was said of it.
    ///
    /// # Errors
    /// [`GitHubError::Unauthorized`] when GitHub does not know the App or its key.
    pub async fn app(&self) -> Result<App, GitHubError> {
        if let Identity::Token { slug, .. } = &*self.identity {
            return Ok(App { id: 0, slug: slug.clone() });
        }
        let own = self.own.get_or_try_init(|| async {
            let row: AppRow = self.as_app.get(&self.as_app.url(["app"])).await?;
            Ok(App { id: row.id, slug: row.slug })
        });
        own.await.cloned()
    }

    /// The login of the App's bot. No person can have it, for theirs hold no brackets.
    pub(super) async fn bot_login(&self) -> Result<String, GitHubError> {
        Ok(format!("{}[bot]", self.app().await?.slug))
    }

    /// Deliveries of the App's webhook, newest first, as far back as `since` reaches.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn deliveries(&self, since: Timestamp) -> Result<Vec<HookDelivery>, GitHubError> {
        let url = self.as_app.url(["app", "hook", "deliveries"]);
        let old = |row: &DeliveryRow| {
            chrono::DateTime::parse_from_rfc3339(&row.delivered_at)
                .is_ok_and(|at| at.timestamp_millis() < since.0)
        };
        let mut rows = self.as_app.list_until(&url, None, DELIVERY_PAGES, old).await?;
        rows.retain(|row| !old(row));
        Ok(rows.into_iter().map(HookDelivery::from).collect())
    }

    /// The repository of that name, with the installation it is reached through.
    ///
    /// # Errors
    /// [`GitHubError::NotFound`] where the App is not installed on it.
    pub async fn installed(&self, owner: &str, name: &str) -> Result<(InstallationId, Repo), GitHubError> {
        if matches!(&*self.identity, Identity::Token { .. }) {
            let found: FullRow = self.as_app.get(&self.as_app.url(["repos", owner, name])).await?;
            return Ok((NO_INSTALLATION, Repo { id: found.id, owner: found.owner.login, name: found.name }));
        }
        let url = self.as_app.url(["repos", owner, name, "installation"]);
        let installation: InstallationRow = self.as_app.get(&url).await?;
        // An App may not read a repository itself; what it mints a token for, however, is named in the answer.
        let id = installation.id;
        let url = self.as_app.url(["app", "installations", &id.to_string(), "access_tokens"]);
        let body = json!({ "repositories": [name], "permissions": { "metadata": "read" } });
        let minted: MintedRow = self.as_app.write(Method::POST, &url, &body).await?;
        let row = minted.repositories.into_iter().next();
        let row = row.ok_or_else(|| GitHubError::NotFound(format!("{owner}/{name}")))?;
        Ok((id, Repo { id: row.id, owner: owner.to_owned(), name: row.name }))
    }

    /// The payload of a delivery, as it was sent (or could not be).
    ///
    /// # Errors
    /// [`GitHubError::NotFound`] where GitHub does not keep it any more.
    pub async fn delivered(&self, id: u64) -> Result<Vec<u8>, GitHubError> {
        let url = self.as_app.url(["app", "hook", "deliveries", &id.to_string()]);
        let row: SentRow = self.as_app.get_as_it_is(&url).await?;
        Ok(row.request.payload.get().as_bytes().to_vec())
    }

    /// Has a delivery sent again.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn redeliver(&self, id: u64) -> Result<(), GitHubError> {
        let url = self.as_app.url(["app", "hook", "deliveries", &id.to_string(), "attempts"]);
        self.as_app.tell(Method::POST, &url, None).await
    }
}

impl Repository {
    /// The bot that acts here, an account with an id of its own: what is ours is known by it, and an author's address
    /// holds it so that GitHub shows the bot beside a commit (`ID+slug[bot]@users.noreply.github.com`). Asked once.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn bot(&self) -> Result<Actor, GitHubError> {
        // As the installation: GitHub takes the App's own credential for the App's own addresses only.
        let bot = self.github.bot.get_or_try_init(|| async {
            let login = self.github.bot_login().await?;
            let row: AccountRow = self.client.get(&self.client.url(["users", &login])).await?;
            Ok(Actor::from(row))
        });
        bot.await.cloned()
    }

    /// The person whose own token was given, if it is one: an App's token is refused there.
    ///
    /// # Errors
    /// Any of [`GitHubError`] but that refusal.
    pub async fn token_owner(&self) -> Result<Option<Actor>, GitHubError> {
        match self.client.get::<AccountRow>(&self.client.url(["user"])).await {
            Ok(row) => Ok(Some(row.into())),
            Err(GitHubError::Forbidden(_) | GitHubError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl HookDelivery {
    /// When it was sent, by GitHub's clock.
    pub fn at(&self) -> Option<Timestamp> {
        let at = chrono::DateTime::parse_from_rfc3339(&self.delivered_at).ok()?;
        Some(Timestamp(at.timestamp_millis()))
    }

    /// The newest attempt of each delivery of which none came through; newest first, as the list is.
    pub fn lost(all: &[Self]) -> Vec<&Self> {
        let mut came: BTreeMap<&str, bool> = BTreeMap::new();
        for attempt in all {
            *came.entry(&attempt.guid).or_default() |= attempt.ok;
        }
        let mut seen = BTreeSet::new();
        all.iter()
            .filter(|attempt| !came[attempt.guid.as_str()] && seen.insert(attempt.guid.as_str()))
            .collect()
    }
}

impl From<DeliveryRow> for HookDelivery {
    fn from(row: DeliveryRow) -> Self {
        Self {
            id: row.id,
            guid: row.guid,
            event: row.event,
            delivered_at: row.delivered_at,
            ok: (200..300).contains(&row.status_code),
            again: row.redelivery,
        }
    }
}
