//! The identities everything else is keyed by. Newtypes, so that a comment's number can never be taken for an issue's.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u64);
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number!(/// A GitHub App installation.
    InstallationId);
number!(/// A repository; stays the same when it is renamed or moved.
    RepoId);
number!(/// A user, organisation or bot account; stays the same when the login changes.
    UserId);
number!(/// An issue's or pull request's number within its repository.
    Number);
number!(/// A comment on an issue or on a pull request's conversation.
    CommentId);

/// One session. Version 7 of RFC 9562, so that ids sort by age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(pub uuid::Uuid);

impl SessionId {
    /// The few characters people see: enough to tell sessions of a day apart, short enough to type.
    pub fn short(&self) -> String {
        let all = self.0.simple().to_string();
        // The head of a version 7 id is its time, the same for neighbours; its tail is random.
        format!("{}{}", &all[6..12], &all[26..32])
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.simple().fmt(f)
    }
}

/// The fencing number of a session's lease: raised by every claim, compared by every write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub i64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A git object's name in lower-case hexadecimal: 40 digits (SHA-1) or 64 (SHA-256).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sha(String);

/// A text that is not a git object's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a git object name: 40 or 64 hexadecimal digits are expected")]
pub struct NotASha(String);

impl Sha {
    /// Takes 40 or 64 hexadecimal digits, in any case.
    ///
    /// # Errors
    /// [`NotASha`] for anything else.
    pub fn parse(text: &str) -> Result<Self, NotASha> {
        let fits = matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit());
        if fits { Ok(Self(text.to_ascii_lowercase())) } else { Err(NotASha(text.chars().take(80).collect())) }
    }

    /// All digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The seven digits people see.
    pub fn short(&self) -> &str {
        &self.0[..7]
    }
}

impl TryFrom<String> for Sha {
    type Error = NotASha;
    fn try_from(text: String) -> Result<Self, NotASha> {
        Self::parse(&text)
    }
}

impl From<Sha> for String {
    fn from(sha: Sha) -> Self {
        sha.0
    }
}

impl fmt::Display for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A repository as one is addressed: the id that stays, and the names of the moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Repo {
    /// Stays when the repository is renamed or moved.
    pub id: RepoId,
    /// The account that holds it.
    pub owner: String,
    /// Its name without the owner.
    pub name: String,
}

impl fmt::Display for Repo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

/// A person or program as GitHub names it. Decisions use the id, sentences the login.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Actor {
    /// Stays when the login changes.
    pub id: UserId,
    /// The name people see, without the `@`.
    pub login: String,
}
