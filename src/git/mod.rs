//! Host-owned bare mirrors: the git program for the network, libgit2 for every object.
//!
//! No worktree, no repository configuration that anybody else can write, an emptied environment; tokens travel in
//! `GIT_CONFIG_*`, never in an argument or a file.

mod apply;
mod base;
mod checkout;
mod conflicts;
mod diff;
mod fetch;
mod local;
mod log;
mod merge;
mod mirrors;
mod objects;
mod pack;
mod park;
mod paths;
mod program;
mod push;
mod tidy;

pub use checkout::forget_credentials;
pub use diff::Stat;
pub use local::{Given, Head, Local, Objects, Unseen};
pub use log::Logged;
pub use merge::Merged;
pub use mirrors::{Mirror, Mirrors};
pub use objects::Signature;
pub use program::{OLDEST, version};

use crate::domain::Sha;
use secrecy::SecretString;

/// Where to reach the repository, and with what.
#[derive(Clone, Debug)]
pub struct Remote {
    /// `https://HOST/OWNER/NAME.git`; `http` on this machine's loopback only.
    pub url: url::Url,
    /// A token for HTTP basic authentication as `x-access-token`; `None` for a local or public one.
    pub token: Option<SecretString>,
}

/// What git can fail with.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The network or the server failed; trying again can help.
    #[error("git: the server cannot be reached: {0}")]
    Unavailable(String),
    /// The token is refused.
    #[error("git: the token is refused: {0}")]
    Unauthorized(String),
    /// The ref is not there.
    #[error("git: {0} is not there")]
    NotFound(String),
    /// The server does not take the push: a rule, or a permission.
    #[error("the server refused the push: {0}")]
    Refused(String),
    /// The branch is not at what was expected.
    #[error("the branch is at {}, not at what was expected", .0.as_ref().map_or("nothing", |s| s.short()))]
    Moved(Option<Sha>),
    /// A path from the sandbox that no repository may hold.
    #[error("the path {path:?} is refused: {why}")]
    BadPath {
        /// As it came.
        path: String,
        /// Which rule.
        why: &'static str,
    },
    /// A cap on files or bytes is exceeded.
    #[error("{0}")]
    TooMuch(String),
    /// Somebody else writes the same ref, or was killed while writing it.
    #[error("git: {0}")]
    Locked(String),
    /// Anything else.
    #[error("git: {0}")]
    Other(String),
}

impl From<git2::Error> for GitError {
    fn from(error: git2::Error) -> Self {
        match error.code() {
            git2::ErrorCode::NotFound => Self::NotFound(format!("an object ({})", error.message())),
            git2::ErrorCode::Locked => Self::Locked(error.message().to_owned()),
            _ => Self::Other(error.message().to_owned()),
        }
    }
}

#[cfg(test)]
mod tests;
