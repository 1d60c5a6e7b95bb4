//! A pull request for a branch that a person pushed, opened with a token of theirs.

use crate::{
    domain::{InstallationId, Number, Repo, RepoId},
    github::{self, GitHub, Identity},
};
use secrecy::SecretString;
use url::Url;

/// What is to be opened.
#[derive(Debug)]
pub struct Wish<'a> {
    /// The forge's API.
    pub api: Url,
    /// Where people read.
    pub web: Url,
    /// The person's token.
    pub token: SecretString,
    /// `owner` and `name` of the repository.
    pub repository: (&'a str, &'a str),
    /// The branch, as it was pushed.
    pub branch: &'a str,
    /// Where it goes to; `None`: to the default branch.
    pub base: Option<&'a str>,
    /// The title.
    pub title: &'a str,
    /// The text.
    pub body: &'a str,
}

/// Finds the open pull request of the branch, or opens it; gives its number and address.
///
/// # Errors
/// What GitHub says, such as that the token may not do it.
pub async fn open_pull(http: reqwest::Client, wish: Wish<'_>) -> anyhow::Result<(Number, String)> {
    let identity = Identity::Token { token: wish.token, slug: String::new() };
    let settings = github::Settings { api_url: wish.api, web_url: wish.web, identity };
    let github = GitHub::new(settings, http)?;
    let (owner, name) = (wish.repository.0.to_owned(), wish.repository.1.to_owned());
    let unknown = Repo { id: RepoId(0), owner, name };
    // Its id is what tells its own branches from a fork's.
    let info = github.repository(InstallationId(0), &unknown).named().await?;
    let repository = github.repository(InstallationId(0), &info.repo);
    let base = wish.base.unwrap_or(&info.default_branch);
    let pull = repository.pull_once(wish.branch, base, wish.title, wish.body).await?;
    Ok((pull.number, pull.url))
}

/// Owner and name in a remote's address, over SSH or HTTPS: `git@github.com:acme/calendar.git`.
pub fn repository_of(remote: &str) -> Option<(String, String)> {
    let path = match remote.split_once("://") {
        Some((_, rest)) => rest.split_once('/')?.1,
        None => remote.split_once(':')?.1,
    };
    let path = path.trim_matches('/').trim_end_matches(".git");
    let (owner, name) = path.split_once('/')?;
    let plain = |part: &str| !part.is_empty() && !part.contains('/');
    (plain(owner) && plain(name)).then(|| (owner.to_owned(), name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owner_and_name_are_read_of_any_remote() {
        let acme = Some(("acme".to_owned(), "calendar".to_owned()));
        for remote in [
            "git@github.com:acme/calendar.git",
            "https://github.com/acme/calendar",
            "https://user@github.example.com/acme/calendar.git/",
            "ssh://git@github.com/acme/calendar.git",
        ] {
            assert_eq!(repository_of(remote), acme, "{remote}");
        }
        for remote in ["/srv/git/calendar.git", "https://gitlab.com/a/b/c", "calendar"] {
            assert_eq!(repository_of(remote), None, "{remote}");
        }
    }
}
