//! The App's own credential, and the short-lived tokens it mints: one a repository and scope, kept in memory only.

use super::errors::GitHubError;
use super::wire::{Outgoing, Wire};
use crate::domain::{InstallationId, RepoId};
use http::{HeaderMap, HeaderValue, Method, header};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Read everything the App may read.
    Read,
    /// Issues, pull requests, checks: write; actions: write where granted.
    Talk,
    /// Contents: write; workflows: write where granted (the policy decides whether it is used).
    Push,
    /// Pull requests and contents: write. GitHub demands both to make a draft of a pull request, or a draft ready.
    Draft,
}

/// Which token: of what installation, for what repository, to do what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) installation: InstallationId,
    pub(super) repo: RepoId,
    pub(super) scope: Scope,
}

/// Tokens are renewed this long before their end, so that no push begins with one that dies on the way.
const MARGIN: Duration = Duration::from_secs(600);
/// What an installation was granted changes when an owner accepts a new permission; a refusal reads it again at once.
const GRANTS_KEPT: Duration = Duration::from_secs(600);
/// GitHub takes JWTs that end within ten minutes, and forgives a clock that is a minute ahead when `iat` lies in the past.
/// Source: GitHub Apps, "Generating a JSON Web Token".
const JWT_SINCE: i64 = -60;
const JWT_UNTIL: i64 = 540;
const JWT_KEPT: Duration = Duration::from_secs(400);

type Grants = BTreeMap<String, String>;

/// Mints and keeps.
pub(super) struct Tokens {
    app_id: String,
    key: jsonwebtoken::EncodingKey,
    jwt: Mutex<Option<(Instant, SecretString)>>,
    minted: moka::future::Cache<Key, Token>,
    grants: moka::future::Cache<InstallationId, Arc<Grants>>,
}

#[derive(Clone)]
struct Token {
    secret: SecretString,
    /// How long it is used from now on.
    good_for: Duration,
}

#[derive(Serialize)]
struct Claims<'a> {
    iss: &'a str,
    iat: i64,
    exp: i64,
}

#[derive(Deserialize)]
struct Minted {
    token: SecretString,
    expires_at: chrono::DateTime<chrono::Utc>,
}

#[derive(Deserialize)]
struct Installation {
    #[serde(default)]
    permissions: Grants,
}

impl Tokens {
    pub(super) fn new(app_id: &str, private_key: &SecretString) -> Result<Self, GitHubError> {
        let key = jsonwebtoken::EncodingKey::from_rsa_pem(private_key.expose_secret().as_bytes())
            .map_err(|e| GitHubError::Unauthorized(format!("the private key is no RSA key in PEM: {e}")))?;
        Ok(Self {
            app_id: app_id.to_owned(),
            key,
            jwt: Mutex::new(None),
            // Three scopes of a thousand busy repositories.
            minted: moka::future::Cache::builder().max_capacity(4_000).expire_after(Life).build(),
            grants: moka::future::Cache::builder().max_capacity(1_000).time_to_live(GRANTS_KEPT).build(),
        })
    }

    /// The App's own JWT: signed anew when the last one is some minutes old.
    pub(super) fn jwt(&self) -> Result<SecretString, GitHubError> {
        let mut kept = self.jwt.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, jwt)) = kept.as_ref().filter(|(since, _)| since.elapsed() < JWT_KEPT) {
            return Ok(jwt.clone());
        }
        let now = chrono::Utc::now().timestamp();
        let claims = Claims { iss: &self.app_id, iat: now + JWT_SINCE, exp: now + JWT_UNTIL };
        let header = jsonwebtoken::Header::new(jsonwebtoken::Algorithm::RS256);
        let jwt = jsonwebtoken::encode(&header, &claims, &self.key)
            .map_err(|e| GitHubError::Unauthorized(format!("cannot sign as the App: {e}")))?;
        let jwt = SecretString::from(jwt);
        *kept = Some((Instant::now(), jwt.clone()));
        Ok(jwt)
    }

    /// Forgets the JWT, if it is still the one that was refused.
    pub(super) fn refuse_jwt(&self, refused: &SecretString) {
        let mut kept = self.jwt.lock().unwrap_or_else(PoisonError::into_inner);
        kept.take_if(|(_, jwt)| jwt.expose_secret() == refused.expose_secret());
    }

    /// A token, minted once however many ask for it.
    pub(super) async fn get(&self, wire: &Wire, key: Key) -> Result<SecretString, GitHubError> {
        let token = self.minted.try_get_with(key, self.mint(wire, key)).await;
        token.map(|token| token.secret).map_err(|error: Arc<GitHubError>| (*error).clone())
    }

    /// Forgets a token; with `refused`, only if it is still the one that was refused.
    pub(super) async fn forget(&self, key: Key, refused: Option<&SecretString>) {
        let Some(kept) = self.minted.get(&key).await else { return };
        if refused.is_none_or(|refused| refused.expose_secret() == kept.secret.expose_secret()) {
            self.minted.invalidate(&key).await;
        }
    }

    async fn mint(&self, wire: &Wire, key: Key) -> Result<Token, GitHubError> {
        match self.mint_within(wire, key).await {
            // The grants that were read have changed since.
            Err(GitHubError::Invalid(_) | GitHubError::Forbidden(_)) => {
                self.grants.invalidate(&key.installation).await;
                self.mint_within(wire, key).await
            }
            other => other,
        }
    }

    async fn mint_within(&self, wire: &Wire, key: Key) -> Result<Token, GitHubError> {
        let grants = self.grants(wire, key.installation).await?;
        let permissions = permissions(key.scope, &grants)
            .map_err(|missing| GitHubError::Forbidden(lacking(missing, key.installation)))?;
        let body = serde_json::json!({ "repository_ids": [key.repo], "permissions": permissions });
        let path = format!("app/installations/{}/access_tokens", key.installation);
        let answer = self.as_app(wire, Method::POST, &path, body.to_string()).await?;
        let minted: Minted = serde_json::from_slice(&answer)
            .map_err(|e| GitHubError::Unreadable(format!("POST /{path}: {e}")))?;
        let life = (minted.expires_at - chrono::Utc::now()).to_std().unwrap_or_default();
        // Half of a life too short for the margin, so that even then not every call mints.
        Ok(Token {
            secret: minted.token,
            good_for: life.saturating_sub(MARGIN).max(life.min(2 * MARGIN) / 2),
        })
    }

    /// May the installation write what this permission names?
    pub(super) async fn may_write(
        &self,
        wire: &Wire,
        id: InstallationId,
        permission: &str,
    ) -> Result<bool, GitHubError> {
        let grants = self.grants(wire, id).await?;
        Ok(grants.get(permission).is_some_and(|level| level == "write" || level == "admin"))
    }

    async fn grants(&self, wire: &Wire, id: InstallationId) -> Result<Arc<Grants>, GitHubError> {
        let grants = self.grants.try_get_with(id, self.read_grants(wire, id)).await;
        grants.map_err(|error: Arc<GitHubError>| (*error).clone())
    }

    async fn read_grants(&self, wire: &Wire, id: InstallationId) -> Result<Arc<Grants>, GitHubError> {
        let path = format!("app/installations/{id}");
        let answer = self.as_app(wire, Method::GET, &path, String::new()).await?;
        let installation: Installation = serde_json::from_slice(&answer)
            .map_err(|e| GitHubError::Unreadable(format!("GET /{path}: {e}")))?;
        Ok(Arc::new(installation.permissions))
    }

    async fn as_app(
        &self,
        wire: &Wire,
        method: Method,
        path: &str,
        body: String,
    ) -> Result<bytes::Bytes, GitHubError> {
        let url = wire.api.join(path).map_err(|e| GitHubError::Invalid(format!("{path}: {e}")))?;
        let json = HeaderValue::from_static("application/json");
        let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, json)]);
        let out = Outgoing { who: None, method, url, headers, body: body.into() };
        wire.limits.pass(None, false)?;
        let jwt = self.jwt()?;
        let answer = wire.send(&out, &jwt).await;
        if let Err(GitHubError::Unauthorized(_)) = answer {
            self.refuse_jwt(&jwt);
            return Ok(wire.send(&out, &self.jwt()?).await?.body);
        }
        Ok(answer?.body)
    }
}

/// What a scope asks for: name, level, and whether it is of no use without it.
const fn wanted(scope: Scope) -> &'static [(&'static str, &'static str, bool)] {
    match scope {
        Scope::Read => &[
            ("metadata", "read", false),
            ("contents", "read", true),
            ("issues", "read", false),
            ("pull_requests", "read", false),
            ("checks", "read", false),
            ("statuses", "read", false),
            ("actions", "read", false),
        ],
        Scope::Talk => &[
            ("metadata", "read", false),
            ("contents", "read", false),
            ("issues", "write", true),
            ("pull_requests", "write", true),
            ("checks", "write", false),
            ("actions", "write", false),
        ],
        Scope::Push => {
            &[("metadata", "read", false), ("contents", "write", true), ("workflows", "write", false)]
        }
        Scope::Draft => {
            &[("metadata", "read", false), ("contents", "write", true), ("pull_requests", "write", true)]
        }
    }
}

/// The part of a scope that was granted; an error names what is missing.
fn permissions(
    scope: Scope,
    grants: &Grants,
) -> Result<BTreeMap<&'static str, &'static str>, (&'static str, &'static str)> {
    let mut asked = BTreeMap::new();
    for &(name, level, needed) in wanted(scope) {
        match (grants.get(name).map(String::as_str), level) {
            (Some("write" | "admin"), _) | (Some("read"), "read") => asked.insert(name, level),
            // GitHub refuses to mint more than was granted: less is better than nothing.
            (Some("read"), _) if !needed => asked.insert(name, "read"),
            _ if needed => return Err((name, level)),
            _ => None,
        };
    }
    Ok(asked)
}

fn lacking((name, level): (&str, &str), installation: InstallationId) -> String {
    let name = name.replace('_', " ");
    format!(
        "the App has no \"{name}: {level}\" permission in installation {installation}; set it in the App's \
         settings under Permissions, then an owner accepts it under Installed GitHub Apps"
    )
}

/// Each token lives by its own expiry.
struct Life;

impl moka::Expiry<Key, Token> for Life {
    fn expire_after_create(&self, _: &Key, token: &Token, _: Instant) -> Option<Duration> {
        Some(token.good_for)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_asks_for_no_more_than_was_granted() {
        let grants: Grants = [("contents", "write"), ("issues", "write"), ("pull_requests", "write")]
            .into_iter()
            .chain([("metadata", "read"), ("actions", "read"), ("members", "read")])
            .map(|(k, v)| (k.into(), v.into()))
            .collect();
        let asked = |scope| permissions(scope, &grants).map(|map| format!("{map:?}"));
        insta::assert_snapshot!(asked(Scope::Read).unwrap(), @r#"{"actions": "read", "contents": "read", "issues": "read", "metadata": "read", "pull_requests": "read"}"#);
        insta::assert_snapshot!(asked(Scope::Talk).unwrap(), @r#"{"actions": "read", "contents": "read", "issues": "write", "metadata": "read", "pull_requests": "write"}"#);
        insta::assert_snapshot!(asked(Scope::Push).unwrap(), @r#"{"contents": "write", "metadata": "read"}"#);
        assert_eq!(permissions(Scope::Push, &Grants::new()), Err(("contents", "write")));
    }
}
