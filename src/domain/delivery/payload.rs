//! Reading of single values from a payload: what is not there, or is something else, is `None`.

use super::Place;
use crate::domain::{Actor, InstallationId, Number, Repo, RepoId, Sha, UserId, command::On};
use serde_json::Value;

/// A payload, or a part of one.
#[derive(Clone, Copy)]
pub(super) struct Part<'a>(pub &'a Value);

impl<'a> Part<'a> {
    pub(super) fn at(self, field: &str) -> Self {
        Self(self.0.get(field).unwrap_or(&Value::Null))
    }

    pub(super) fn is_there(self) -> bool {
        !self.0.is_null()
    }

    pub(super) fn text(self, field: &str) -> &'a str {
        self.at(field).0.as_str().unwrap_or_default()
    }

    pub(super) fn flag(self, field: &str) -> bool {
        self.at(field).0.as_bool().unwrap_or_default()
    }

    pub(super) fn id(self, field: &str) -> Option<u64> {
        self.at(field).0.as_u64().filter(|id| *id != 0)
    }

    /// A commit; the all-zero name that stands for "none" is none.
    pub(super) fn sha(self, field: &str) -> Option<Sha> {
        Sha::parse(self.text(field)).ok().filter(|sha| sha.as_str().bytes().any(|digit| digit != b'0'))
    }

    pub(super) fn number(self) -> Option<Number> {
        self.id("number").map(Number)
    }

    pub(super) fn actor(self, field: &str) -> Option<Actor> {
        let account = self.at(field);
        let login = Some(account.text("login")).filter(|login| !login.is_empty())?;
        Some(Actor { id: UserId(account.id("id")?), login: login.to_owned() })
    }

    /// Of the account's type alone: a name that ends in `[bot]` proves nothing, nor does one that does not.
    pub(super) fn is_bot(self, field: &str) -> bool {
        self.at(field).text("type").eq_ignore_ascii_case("bot")
    }

    pub(super) fn installation(self) -> Option<InstallationId> {
        self.at("installation").id("id").map(InstallationId)
    }

    pub(super) fn place(self) -> Option<Place> {
        let repository = self.at("repository");
        let (owner, name) = repository.text("full_name").split_once('/').unwrap_or((
            // Old payloads of pushes name the owner otherwise.
            [repository.at("owner").text("login"), repository.at("owner").text("name")]
                .into_iter()
                .find(|name| !name.is_empty())?,
            repository.text("name"),
        ));
        let named = !owner.is_empty() && !name.is_empty();
        let repo = Repo { id: RepoId(repository.id("id")?), owner: owner.to_owned(), name: name.to_owned() };
        named.then_some(Place { installation: self.installation(), repo })
    }

    /// The title and text of an issue or pull request; an empty text may come as `null`.
    pub(super) fn words(self) -> Option<(String, String)> {
        let title = self.at("title").0.as_str()?;
        Some((title.to_owned(), self.text("body").to_owned()))
    }

    /// An issue's number, and whether it is a pull request.
    pub(super) fn thread(self) -> Option<(Number, On)> {
        let issue = self.at("issue");
        let on = if issue.at("pull_request").is_there() { On::Pull } else { On::Issue };
        Some((issue.number()?, on))
    }
}
