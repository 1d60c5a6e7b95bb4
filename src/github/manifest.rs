//! Making an App from a manifest: what GitHub is asked for, and what it gives for the code it sends back.
//!
//! Source: GitHub, "Registering a GitHub App from a manifest".

use super::wire::{self, Outgoing, Wire};
use super::{GitHubError, limits::Limits};
use crate::domain::access::Profile;
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, header};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::time::Duration;
use url::Url;

/// GitHub makes a key pair before it answers.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where the webhook of an App without one would go. GitHub demands an address even of one that is switched off.
const NOWHERE: &str = "https://example.com/webhooks";

/// An App to be made.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// Its name: unique on the whole of GitHub; people can still change it on GitHub's page.
    pub name: String,
    /// The page that GitHub links as its home.
    pub homepage: Url,
    /// Where webhooks go; `None`: the webhook is switched off.
    pub webhook: Option<Url>,
    /// Where GitHub sends the browser with the code.
    pub redirect: Url,
    /// What it may do.
    pub profile: Profile,
}

/// The App that GitHub made.
#[derive(Clone, Debug, Deserialize)]
pub struct Created {
    /// Its id.
    pub id: u64,
    /// Its slug.
    pub slug: String,
    /// Its page.
    pub html_url: Url,
    /// The private key, PEM. GitHub gives it this once.
    pub pem: SecretString,
    /// What its webhooks are signed with, where GitHub made one.
    pub webhook_secret: Option<SecretString>,
}

impl Manifest {
    /// As GitHub takes it.
    pub fn json(&self) -> Value {
        let permissions: Map<String, Value> = self
            .profile
            .permissions()
            .map(|(permission, level)| (permission.name.to_owned(), level.to_string().into()))
            .collect();
        let events: Vec<&str> = self.profile.events().iter().map(|event| event.name).collect();
        json!({
            "name": self.name,
            "url": self.homepage,
            "hook_attributes": {
                "url": self.webhook.as_ref().map_or(NOWHERE, Url::as_str),
                "active": self.webhook.is_some(),
            },
            "redirect_url": self.redirect,
            "description": "Turns a comment into a pull request and stays with it until CI is green.",
            "public": false,
            "default_events": events,
            "default_permissions": permissions,
        })
    }
}

/// The page that takes a manifest, as a form's field of that name: the person's own Apps, or an organisation's.
pub fn new_app_url(web: &Url, organization: Option<&str>, state: &str) -> Url {
    let mut url = web.clone();
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty();
        if let Some(organization) = organization {
            path.extend(["organizations", organization]);
        }
        path.extend(["settings", "apps", "new"]);
    }
    url.query_pairs_mut().append_pair("state", state);
    url
}

/// Gives a code for the App's key and secret: once, within an hour.
///
/// # Errors
/// [`GitHubError::NotFound`] when the code is used up, too old or none; any other of [`GitHubError`]. None of them
/// holds the code.
pub async fn convert(http: &reqwest::Client, api: &Url, code: &str) -> Result<Created, GitHubError> {
    let request = http
        .post(conversion_url(api, code))
        .header(header::ACCEPT, "application/vnd.github+json")
        .header(header::USER_AGENT, wire::AGENT)
        .timeout(PATIENCE);
    let response = request.send().await.map_err(GitHubError::network)?;
    if response.status() != StatusCode::CREATED {
        let wire = Wire { api: api.clone(), http: http.clone(), limits: Limits::default() };
        let url = conversion_url(api, "CODE");
        let out =
            Outgoing { who: None, method: Method::POST, url, headers: HeaderMap::new(), body: Bytes::new() };
        return Err(wire.refused(&out, response).await);
    }
    let body = wire::read(response).await?;
    serde_json::from_slice(&body).map_err(|e| GitHubError::Unreadable(format!("the App it made: {e}")))
}

fn conversion_url(api: &Url, code: &str) -> Url {
    let mut url = api.clone();
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(["app-manifests", code, "conversions"]);
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checked_in_manifest_is_what_set_up_asks_for_by_default() {
        let url = |text: &str| Url::parse(text).unwrap();
        let asked = Manifest {
            name: "fixpoint".into(),
            homepage: url("https://example.com/fixpoint"),
            webhook: Some(url("https://example.com/webhooks")),
            redirect: url("https://example.com/setup"),
            profile: Profile::Fix,
        };
        let kept: Value = serde_json::from_str(include_str!("../../app-manifest.json")).unwrap();
        assert_eq!(asked.json(), kept);
    }

    #[test]
    fn an_organisations_apps_have_a_page_of_their_own() {
        let web = Url::parse("https://github.example.com/base/").unwrap();
        let shown = |organization| new_app_url(&web, organization, "a b").to_string();
        assert_eq!(shown(None), "https://github.example.com/base/settings/apps/new?state=a+b");
        assert_eq!(
            shown(Some("a/cme")),
            "https://github.example.com/base/organizations/a%2Fcme/settings/apps/new?state=a+b"
        );
    }
}
