//! As whom GitHub is spoken to: as an App that mints its tokens, or with one token that was given.

use super::GitHubError;
use super::tokens::{Key, Tokens};
use super::wire::Wire;
use crate::domain::InstallationId;
use secrecy::SecretString;
use std::fmt;

/// As whom GitHub is spoken to.
#[derive(Clone)]
pub enum Identity {
    /// The App itself: it signs with its key and mints a token for every use.
    App {
        /// The App's id or client id: the JWT's issuer.
        id: String,
        /// The App's private key, PEM.
        private_key: SecretString,
    },
    /// One installation token that somebody else minted, used for everything; `GET /app` is closed to it.
    Token {
        /// The token.
        token: SecretString,
        /// The slug of the App that minted it. Its bot's login is `slug[bot]`, which GitHub keeps for Apps.
        slug: String,
    },
}

/// The slug of the App whose token a workflow gets (`GITHUB_TOKEN`).
pub const ACTIONS: &str = "github-actions";

impl Identity {
    /// Does what it pushes start workflows? What the workflow's own token does starts none, so that no workflow starts
    /// itself for ever. Source: GitHub Actions, "Triggering a workflow from a workflow".
    pub fn starts_workflows(&self) -> bool {
        !matches!(self, Self::Token { slug, .. } if slug == ACTIONS)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::App { id, .. } => write!(f, "App({id})"),
            Self::Token { slug, .. } => write!(f, "Token({slug})"),
        }
    }
}

/// Where bearers come from.
pub(super) enum Auth {
    App(Box<Tokens>),
    Given(SecretString),
}

impl Auth {
    pub(super) fn new(identity: &Identity) -> Result<Self, GitHubError> {
        Ok(match identity {
            Identity::App { id, private_key } => Self::App(Box::new(Tokens::new(id, private_key)?)),
            Identity::Token { token, .. } => Self::Given(token.clone()),
        })
    }

    /// The bearer of the App itself; a given token speaks for itself.
    pub(super) fn jwt(&self) -> Result<SecretString, GitHubError> {
        match self {
            Self::App(tokens) => tokens.jwt(),
            Self::Given(token) => Ok(token.clone()),
        }
    }

    pub(super) fn refuse_jwt(&self, refused: &SecretString) {
        if let Self::App(tokens) = self {
            tokens.refuse_jwt(refused);
        }
    }

    pub(super) async fn get(&self, wire: &Wire, key: Key) -> Result<SecretString, GitHubError> {
        match self {
            // On the heap: it stands within the future of every request.
            Self::App(tokens) => Box::pin(tokens.get(wire, key)).await,
            Self::Given(token) => Ok(token.clone()),
        }
    }

    /// May the installation write what this permission names? What a given token may is not to be learned: then no.
    pub(super) async fn may_write(
        &self,
        wire: &Wire,
        id: InstallationId,
        permission: &str,
    ) -> Result<bool, GitHubError> {
        match self {
            Self::App(tokens) => tokens.may_write(wire, id, permission).await,
            Self::Given(_) => Ok(false),
        }
    }

    /// Forgets a token; a given one cannot be had anew, so it is kept and GitHub's refusal stands.
    pub(super) async fn forget(&self, key: Key, refused: Option<&SecretString>) {
        if let Self::App(tokens) = self {
            tokens.forget(key, refused).await;
        }
    }
}
