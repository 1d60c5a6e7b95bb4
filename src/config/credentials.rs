//! Credentials for destinations of the allow-list: always in files, checked against the list.

use super::{ConfigError, secrets};
use crate::domain::egress::{AllowList, Destination, Manner};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use std::path::PathBuf;

/// Shorter ones can be guessed by trying, and are found by chance where answers are searched for them.
const SHORTEST: usize = 8;

/// Headers that are about the connection or the request itself.
const NOT_CREDENTIALS: [&str; 8] = [
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "te",
    "trailer",
    "upgrade",
    "proxy-authorization",
];

/// A credential that the host adds to requests for one destination.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Credential {
    /// `HOST:PORT`, one that `egress.allow` names.
    pub host: String,
    /// A file with the token of `Authorization: Bearer`.
    pub bearer_file: Option<PathBuf>,
    /// A file with the `user:password` of `Authorization: Basic`.
    pub basic_file: Option<PathBuf>,
    /// The name of another header.
    pub header: Option<String>,
    /// A file with that header's value.
    pub value_file: Option<PathBuf>,
    /// The repositories whose sandboxes it is used for, `owner/name` or `owner/*`; without: all.
    #[serde(default)]
    pub repositories: Vec<String>,
    #[serde(skip)]
    value: SecretString,
}

impl Credential {
    /// What was in its file.
    pub fn value(&self) -> &SecretString {
        &self.value
    }

    /// What must be seen nowhere: all of it, and a password also by itself.
    pub fn secrets(&self) -> impl Iterator<Item = SecretString> {
        let password = self.basic_file.as_ref().and_then(|_| self.value.expose_secret().split_once(':'));
        let password = password.map(|(_, password)| password).filter(|password| password.len() >= SHORTEST);
        [self.value.clone()].into_iter().chain(password.map(SecretString::from))
    }

    /// Reads its file.
    pub(super) fn read(&mut self) -> Result<(), ConfigError> {
        let files = [
            ("bearer_file", &self.bearer_file),
            ("basic_file", &self.basic_file),
            ("value_file", &self.value_file),
        ];
        let mut given = files.into_iter().filter_map(|(name, file)| Some((name, file.as_ref()?)));
        let (Some((name, file)), None) = (given.next(), given.next()) else {
            return Err(self.wrong("one of bearer_file, basic_file and value_file is expected"));
        };
        if (name == "value_file") != self.header.is_some() {
            return Err(self.wrong("`header` and `value_file` belong together"));
        }
        self.value = secrets::read(&format!("egress.credentials: {}: {name}", self.host), file)?;
        Ok(())
    }

    /// Whether it can be used with what is allowed.
    pub(super) fn check(&self, allow: &AllowList) -> Result<(), ConfigError> {
        let to: Destination = self.host.parse().map_err(|error| self.wrong(&format!("{error}")))?;
        match allow.connect(&to) {
            Ok(Manner::Opened) => {}
            Ok(Manner::Opaque) => {
                return Err(self.wrong("it is opaque: nothing can be added to what passes unopened"));
            }
            Err(_) => return Err(self.wrong("egress.allow does not name it")),
        }
        let value = self.value.expose_secret();
        if value.len() < SHORTEST || value.chars().any(char::is_control) {
            return Err(self.wrong("a value of one line, at least 8 characters, is expected"));
        }
        if self.basic_file.is_some() && !value.contains(':') {
            return Err(self.wrong("basic_file: `user:password` is expected"));
        }
        if let Some(header) = &self.header {
            let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_".contains(&b);
            let closed = NOT_CREDENTIALS.iter().any(|name| header.eq_ignore_ascii_case(name));
            if closed || header.is_empty() || !header.bytes().all(plain) {
                return Err(self.wrong("`header` is not the name of a header for credentials"));
            }
        }
        let named = |pattern: &String| {
            let parts: Vec<&str> = pattern.split('/').collect();
            parts.len() == 2
                && parts.iter().all(|part| !part.is_empty())
                && !parts[0].contains('*')
                && (parts[1] == "*" || !parts[1].contains('*'))
        };
        match self.repositories.iter().all(named) {
            true => Ok(()),
            false => Err(self.wrong("repositories are written `owner/name` or `owner/*`")),
        }
    }

    fn wrong(&self, what: &str) -> ConfigError {
        ConfigError(format!("egress.credentials: {}: {what}", self.host))
    }
}
