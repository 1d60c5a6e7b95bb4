//! Making the App: from what the person at the terminal wants to the key that GitHub hands out.

pub use crate::http::setup::{Door, Made, Visitor};

use crate::{
    domain::access::Profile,
    github::{
        self, GitHub,
        manifest::{self, Manifest},
    },
    http::setup::{Page, Reserved},
};
use anyhow::Context;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

/// Where the browser is sent when it runs on another machine: to its own, where nothing answers. The code stands in the
/// address then, and no third party ever sees it, for it is worth the App's key.
const NOBODY: &str = "http://127.0.0.1:9/created";
/// A shorter secret than GitHub's own would be refused by the configuration.
const LEAST_SECRET: usize = 32;

/// What is wanted.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where people read: `https://github.com`.
    pub web: Url,
    /// The organisation that is to own the App; else the person does.
    pub organization: Option<String>,
    /// Its name.
    pub name: String,
    /// Under which address GitHub reaches fixpoint.
    pub public: Option<Url>,
    /// What it may do.
    pub profile: Profile,
}

/// An App, with all that a configuration needs.
#[derive(Clone, Debug)]
pub struct App {
    /// Its id.
    pub id: String,
    /// Its slug.
    pub slug: String,
    /// Where it is installed on repositories.
    pub install: Url,
    /// Where its settings are.
    pub settings: Option<Url>,
    /// The private key, PEM.
    pub key: SecretString,
    /// What its webhooks are signed with.
    pub secret: SecretString,
    /// GitHub does not know the secret: the person must set it there.
    pub secret_unknown: bool,
    /// It was made just now, rather than taken.
    pub made: bool,
}

impl Plan {
    /// The API that belongs to the pages. GitHub Enterprise has it below them, but for its cloud with data residency.
    pub fn api(&self) -> Url {
        api_of(&self.web)
    }

    /// Where webhooks go.
    pub fn webhook(&self) -> Option<Url> {
        let mut url = self.public.clone()?;
        url.path_segments_mut().ok()?.pop_if_empty().push("webhooks");
        Some(url)
    }

    /// Opens the page on this machine.
    ///
    /// # Errors
    /// When loopback cannot be listened on.
    pub async fn open(&self) -> anyhow::Result<Door> {
        let reserved = Reserved::take().await.context("no port of this machine can be listened on")?;
        let page = self.page(reserved.back());
        Ok(reserved.open(page, &random()))
    }

    /// The page as a file for a browser elsewhere, with the state that the answer must hold.
    ///
    /// # Errors
    /// None that can happen: the address is a constant.
    pub fn file(&self) -> anyhow::Result<(String, String)> {
        let page = self.page(Url::parse(NOBODY)?);
        Ok((page.file(), page.state))
    }

    fn page(&self, redirect: Url) -> Page {
        let state = random();
        let asked = Manifest {
            name: self.name.clone(),
            homepage: self.public.clone().unwrap_or_else(|| self.web.clone()),
            webhook: self.webhook(),
            redirect,
            profile: self.profile,
        };
        Page {
            account: self.organization.clone().unwrap_or_else(|| "your own account".to_owned()),
            action: manifest::new_app_url(&self.web, self.organization.as_deref(), &state),
            manifest: asked.json().to_string(),
            name: self.name.clone(),
            webhook: self.webhook().map(String::from),
            profile: self.profile,
            state,
        }
    }

    /// Gives the code for the App. Where GitHub made no webhook secret, one is made here and told to GitHub.
    ///
    /// # Errors
    /// What GitHub says, as a sentence.
    pub async fn exchange(&self, code: &str, http: reqwest::Client) -> anyhow::Result<App> {
        let created = manifest::convert(&http, &self.api(), code)
            .await
            .context("GitHub did not hand out the App (a code holds an hour, and once)")?;
        let id = created.id.to_string();
        let github = self.github(&id, created.pem.clone(), http)?;
        let given = created.webhook_secret.filter(|secret| secret.expose_secret().len() >= LEAST_SECRET);
        let (secret, secret_unknown) = match given {
            Some(secret) => (secret, false),
            None => {
                let secret = SecretString::from(random());
                // Set-up goes on: the key in hand is given only once.
                let told = github.set_hook_secret(&secret).await;
                (secret, told.is_err())
            }
        };
        // For the address of its settings alone, so a failure is none.
        let settings = github.registration().await.ok().map(|r| r.settings_url);
        let install = install_url(&created.html_url);
        Ok(App {
            id,
            slug: created.slug,
            install,
            settings,
            key: created.pem,
            secret,
            secret_unknown,
            made: true,
        })
    }

    /// Takes an App that is there: GitHub must know it and its key. Its webhook secret cannot be read, so that a new one
    /// is made, which the person sets.
    ///
    /// # Errors
    /// What GitHub says, as a sentence.
    pub async fn existing(&self, id: &str, key: SecretString, http: reqwest::Client) -> anyhow::Result<App> {
        let registration = self.github(id, key.clone(), http)?.registration().await?;
        let page = Url::parse(&registration.html_url).context("GitHub gave no address of the App")?;
        Ok(App {
            id: id.to_owned(),
            slug: registration.slug,
            install: install_url(&page),
            settings: Some(registration.settings_url),
            key,
            secret: SecretString::from(random()),
            secret_unknown: true,
            made: false,
        })
    }

    fn github(&self, id: &str, key: SecretString, http: reqwest::Client) -> anyhow::Result<GitHub> {
        let settings = github::Settings {
            api_url: self.api(),
            web_url: self.web.clone(),
            identity: github::Identity::App { id: id.to_owned(), private_key: key },
        };
        Ok(GitHub::new(settings, http)?)
    }
}

impl From<&App> for Made {
    fn from(app: &App) -> Self {
        Self { slug: app.slug.clone(), install: app.install.clone() }
    }
}

fn install_url(page: &Url) -> Url {
    let mut url = page.clone();
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(["installations", "new"]);
    }
    url
}

/// Source: GitHub Enterprise Server, "Getting started with the REST API"; GitHub Enterprise Cloud with data residency,
/// the same page.
fn api_of(web: &Url) -> Url {
    let mut url = web.clone();
    let host = web.host_str().unwrap_or_default().to_owned();
    if host == "github.com" || host.ends_with(".ghe.com") {
        // A host with a label more is as good a host.
        let _ = url.set_host(Some(&format!("api.{host}")));
        return url;
    }
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(["api", "v3"]);
    }
    url
}

/// 256 bits that nobody guesses.
fn random() -> String {
    hex::encode(rand::random::<[u8; 32]>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_api_is_where_each_kind_of_github_has_it() {
        for (web, api) in [
            ("https://github.com", "https://api.github.com/"),
            ("https://octocorp.ghe.com", "https://api.octocorp.ghe.com/"),
            ("https://git.example.com/", "https://git.example.com/api/v3"),
            ("http://127.0.0.1:8480", "http://127.0.0.1:8480/api/v3"),
        ] {
            assert_eq!(api_of(&Url::parse(web).unwrap()).as_str(), api);
        }
    }
}
