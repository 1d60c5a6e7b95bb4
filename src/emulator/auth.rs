//! Who is calling, and may they: App JWTs, installation tokens that expire, permissions, the rate limit.

use super::reply::{Call, Refusal};
use super::state::{ACTIONS_APP, App, Id, Permission, Time, Token, World};
use chrono::{TimeDelta, Utc};
use http::{HeaderMap, StatusCode};
use std::collections::BTreeMap;

/// The key pair of the emulated App. It opens nothing but an emulator.
pub(crate) const PRIVATE_KEY: &str = include_str!("app-key-of-the-emulator.pem");
const PUBLIC_KEY: &str = include_str!("app-key-of-the-emulator.pub.pem");

/// GitHub takes App JWTs that end within ten minutes, and forgives clocks a minute of difference.
const LONGEST_JWT: i64 = 600;
const CLOCK_DRIFT: i64 = 60;

#[derive(Debug, Clone)]
pub(crate) enum Caller {
    Nobody,
    /// The App itself, by JWT.
    App,
    Token(Token),
}

/// What an endpoint asks of a token: one of these permissions at that level.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Need {
    pub(crate) any_of: &'static [&'static str],
    pub(crate) write: bool,
}

pub(crate) const fn read(any_of: &'static [&'static str]) -> Need {
    Need { any_of, write: false }
}

pub(crate) const fn write(any_of: &'static [&'static str]) -> Need {
    Need { any_of, write: true }
}

/// Issues and pull requests share their comments, labels and reactions: either permission opens them.
pub(crate) const TALK: &[&str] = &["issues", "pull_requests"];

#[derive(Debug, Clone)]
pub(crate) struct Rate {
    pub(crate) limit: u32,
    pub(crate) used: u32,
    pub(crate) reset: Time,
}

impl Rate {
    pub(crate) fn new(limit: u32) -> Rate {
        Rate { limit, used: 0, reset: Utc::now() + TimeDelta::hours(1) }
    }

    pub(crate) fn remaining(&self) -> u32 {
        self.limit.saturating_sub(self.used)
    }

    /// Counts one request; `false` when the hour's allowance is spent.
    pub(crate) fn spend(&mut self) -> bool {
        if Utc::now() >= self.reset {
            *self = Rate::new(self.limit);
        }
        let left = self.remaining() > 0;
        self.used = self.used.saturating_add(1).min(self.limit);
        left
    }
}

/// The secret part of an `Authorization` header: a bearer, a `token`, or the password of Basic (git).
pub(crate) fn credential(headers: &HeaderMap) -> Option<String> {
    use base64::Engine as _;
    let header = headers.get(http::header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, secret) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return Some(secret.trim().into());
    }
    let plain = base64::engine::general_purpose::STANDARD.decode(secret.trim()).ok()?;
    let plain = String::from_utf8(plain).ok()?;
    plain.split_once(':').map(|(_, password)| password.into())
}

impl World {
    pub(crate) fn identify(&self, headers: &HeaderMap) -> Result<Caller, Refusal> {
        let Some(secret) = credential(headers) else { return Ok(Caller::Nobody) };
        if secret.matches('.').count() == 2 {
            return self.app.check_jwt(&secret).map(|()| Caller::App);
        }
        let token = self.tokens.get(&secret).ok_or_else(Refusal::bad_credentials)?;
        if token.expires <= Utc::now() {
            return Err(Refusal::bad_credentials());
        }
        if token.app == self.app.id && self.app.suspended.is_some() {
            return Err(Refusal::new(StatusCode::FORBIDDEN, "This installation has been suspended"));
        }
        Ok(Caller::Token(token.clone()))
    }

    /// The repository, if the caller may do that there. A private one that is out of reach does not exist.
    ///
    /// Stricter than GitHub in one way: a token needs the permission for public repositories too, so that
    /// a permission missing from the App's manifest is found.
    pub(crate) fn reach(&self, call: &Call, owner: &str, name: &str, need: Need) -> Result<Id, Refusal> {
        let id = self.find_repository(owner, name).ok_or_else(Refusal::not_found)?;
        self.may(&call.caller, id, need).map(|()| id)
    }

    pub(crate) fn may(&self, caller: &Caller, id: Id, need: Need) -> Result<(), Refusal> {
        let repo = &self.repositories[&id];
        let unseen = || if repo.private { Refusal::not_found() } else { Refusal::not_granted() };
        match caller {
            Caller::Nobody if repo.private || need.write => Err(Refusal::not_found()),
            Caller::Nobody => Ok(()),
            Caller::App => Err(Refusal::new(
                StatusCode::UNAUTHORIZED,
                "A JSON web token could not be decoded or is not accepted here: use an installation token",
            )),
            Caller::Token(token) if token.is_installation() => {
                let here = repo.installed || token.app == ACTIONS_APP;
                if !here || !token.covers(id) {
                    return Err(unseen());
                }
                if !token.grants(need) {
                    return Err(Refusal::not_granted());
                }
                self.writable(repo.archived, need)
            }
            Caller::Token(token) => {
                let least = if need.write { Permission::Write } else { Permission::Read };
                let talks = need.any_of == TALK && !repo.private;
                let has = self.permission(repo, token.actor);
                if has == Permission::None {
                    return Err(Refusal::not_found());
                }
                if has < least && !talks {
                    return Err(Refusal::new(StatusCode::FORBIDDEN, "Must have push access to repository"));
                }
                self.writable(repo.archived, need)
            }
        }
    }

    fn writable(&self, archived: bool, need: Need) -> Result<(), Refusal> {
        if archived && need.write {
            return Err(Refusal::new(StatusCode::FORBIDDEN, "Repository was archived so is read-only."));
        }
        Ok(())
    }

    pub(crate) fn mint(&mut self, token: Token) -> String {
        let prefix = if token.is_installation() { "ghs" } else { "ghp" };
        let secret = format!("{prefix}_{}", hex::encode(rand::random::<[u8; 18]>()));
        self.tokens.insert(secret.clone(), token);
        secret
    }
}

impl Token {
    /// A person's token carries no permissions of its own: the person's role decides.
    pub(crate) fn is_installation(&self) -> bool {
        self.app != 0
    }

    pub(crate) fn covers(&self, repository: Id) -> bool {
        self.repositories.as_ref().is_none_or(|some| some.contains(&repository))
    }

    pub(crate) fn grants(&self, need: Need) -> bool {
        let level = |name: &&str| self.permissions.get(*name).map(String::as_str);
        need.any_of.is_empty()
            || need.any_of.iter().any(|name| match level(name) {
                Some("admin" | "write") => true,
                Some("read") => !need.write,
                _ => *name == "metadata" && !need.write,
            })
    }
}

#[derive(serde::Deserialize)]
struct Claims {
    iss: serde_json::Value,
    iat: i64,
    exp: i64,
}

impl App {
    fn check_jwt(&self, jwt: &str) -> Result<(), Refusal> {
        let refuse = |why: &str| Refusal::new(StatusCode::UNAUTHORIZED, why);
        let key = jsonwebtoken::DecodingKey::from_rsa_pem(PUBLIC_KEY.as_bytes()).map_err(Refusal::broken)?;
        let mut rules = jsonwebtoken::Validation::new(jsonwebtoken::Algorithm::RS256);
        rules.leeway = CLOCK_DRIFT.unsigned_abs();
        let claims = jsonwebtoken::decode::<Claims>(jwt, &key, &rules)
            .map_err(|_| refuse("A JSON web token could not be decoded"))?
            .claims;
        let issuer = claims.iss.as_str().map_or_else(|| claims.iss.to_string(), String::from);
        if issuer != self.id.to_string() && issuer != self.client_id {
            return Err(refuse("'Issuer' claim ('iss') must be the App's id or client id"));
        }
        let now = Utc::now().timestamp();
        if claims.exp > now + LONGEST_JWT + CLOCK_DRIFT || claims.exp - claims.iat > LONGEST_JWT + CLOCK_DRIFT
        {
            return Err(refuse("'Expiration time' claim ('exp') is too far in the future"));
        }
        if claims.iat > now + CLOCK_DRIFT {
            return Err(refuse(
                "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
            ));
        }
        Ok(())
    }

    /// What a token may hold: what was asked for, or everything; more than was granted is refused.
    pub(crate) fn narrow(&self, asked: &serde_json::Value) -> Result<BTreeMap<String, String>, Refusal> {
        let Some(asked) = asked.as_object() else { return Ok(self.permissions.clone()) };
        let mut narrowed = BTreeMap::from([("metadata".to_owned(), "read".to_owned())]);
        for (name, level) in asked {
            let level = level.as_str().unwrap_or_default();
            let granted = self.permissions.get(name).map_or("none", String::as_str);
            if !matches!((granted, level), ("read", "read") | ("write", "read" | "write")) {
                return Err(Refusal::unprocessable(
                    "The permissions requested are not granted to this installation.",
                ));
            }
            narrowed.insert(name.clone(), level.into());
        }
        Ok(narrowed)
    }
}

impl Call {
    /// The account that does what this call asks for.
    pub(crate) fn actor(&self) -> Result<Id, Refusal> {
        match &self.caller {
            Caller::Token(token) => Ok(token.actor),
            _ => Err(Refusal::new(StatusCode::UNAUTHORIZED, "Requires authentication")),
        }
    }

    /// Only the App itself, by JWT, comes past here.
    pub(crate) fn app_only(&self) -> Result<(), Refusal> {
        match self.caller {
            Caller::App => Ok(()),
            _ => Err(Refusal::new(StatusCode::UNAUTHORIZED, "A JSON web token could not be decoded")),
        }
    }
}
