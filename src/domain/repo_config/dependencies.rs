//! What the tests of a repository need installed, and under which key it is kept for the next sandbox.
//!
//! Everything that decides what comes of an installation is part of the key, whose files the host reads itself: nothing that
//! runs in a sandbox has a say in where its result is kept, or for whom.

use super::{
    service_words::Line,
    services::MOST_COMMANDS,
    words::{self, Name},
};
use crate::domain::{InstallationId, RepoId};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};
use sha2::{Digest, Sha256};
use std::fmt;

/// Files that decide what is installed: a repository of many packages has a lock file for each at the most.
const MOST_FILES: usize = 20;

/// Changes whenever what is kept, or how, becomes another: what an earlier program kept is then not found any more.
const FORMAT: &str = "fixpoint dependencies 1";

/// What the tests need installed: kept until one of the files changes.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a group of settings")]
#[schemars(inline)]
pub struct DependencySettings {
    /// Commands for `sh` that are run in the checked-out repository.
    #[serde(deserialize_with = "commands")]
    #[schemars(length(min = 1, max = MOST_COMMANDS))]
    pub install: Vec<Line>,
    /// The files that decide what is installed, lock files above all: it is installed again when one of them changes.
    #[serde(deserialize_with = "files")]
    #[schemars(length(min = 1, max = MOST_FILES))]
    pub files: Vec<Name>,
}

fn commands<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Line>, D::Error> {
    some(from, MOST_COMMANDS)
}

fn files<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Name>, D::Error> {
    let names: Vec<Name> = some(from, MOST_FILES)?;
    let is_path = |name: &Name| {
        let plain = !name.get().contains(['*', '?', '[', '\\']);
        plain && name.get().split('/').all(|part| !matches!(part, "" | "." | ".."))
    };
    match names.iter().find(|name| !is_path(name)) {
        None => Ok(names),
        Some(name) => Err(de::Error::custom(format!(
            "{:?} is not the path of a file in the repository; patterns are not taken",
            name.get()
        ))),
    }
}

fn some<'de, D, T>(from: D, most: usize) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let list: Vec<T> = words::at_most(Option::deserialize(from)?, most, Vec::len)?.unwrap_or_default();
    if list.is_empty() {
        return Err(de::Error::custom("at least one entry is expected"));
    }
    Ok(list)
}

/// What is installed before the agent begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// Commands for `sh`, one after another.
    pub install: Vec<String>,
    /// The files that decide what comes of them.
    pub files: Vec<String>,
}

/// For whom, and in what, something is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// No other installation shares it, whatever becomes of a repository.
    pub installation: InstallationId,
    /// No other repository shares it.
    pub repository: RepoId,
    /// The image by its content: a name may be another image tomorrow.
    pub image: &'a str,
}

/// Under what an installation is kept: the repository's id, so that all of a repository's are found, and a hash of everything.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    repository: RepoId,
    hash: String,
}

impl Key {
    /// How all keys of a repository begin.
    pub fn beginning(repository: RepoId) -> String {
        format!("{repository}-")
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", Self::beginning(self.repository), self.hash)
    }
}

impl Dependencies {
    pub(super) fn of(settings: &DependencySettings) -> Self {
        Self {
            install: settings.install.iter().map(|line| line.get().to_owned()).collect(),
            files: settings.files.iter().map(|name| name.get().to_owned()).collect(),
        }
    }

    /// The key of what these commands make of these contents, which are those of `files` in their order.
    pub fn key(&self, place: Place<'_>, contents: &[Vec<u8>]) -> Key {
        let Place { installation, repository, image } = place;
        let mut hasher = Sha256::new();
        // Each with its length before it, and each list with its own: no two different ones run together to the same.
        let mut add = |bytes: &[u8]| {
            hasher.update((bytes.len() as u64).to_be_bytes());
            hasher.update(bytes);
        };
        for part in [FORMAT, &installation.to_string(), &repository.to_string(), image] {
            add(part.as_bytes());
        }
        add(&self.install.len().to_be_bytes());
        self.install.iter().for_each(|command| add(command.as_bytes()));
        for (path, content) in self.files.iter().zip(contents) {
            add(path.as_bytes());
            add(content);
        }
        Key { repository, hash: hex::encode(hasher.finalize()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn wanted(install: &[&str], files: &[&str]) -> Dependencies {
        let owned = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
        Dependencies { install: owned(install), files: owned(files) }
    }

    /// T32: whatever decides what is installed, or for whom, makes another key.
    #[test]
    fn t32_everything_that_matters_makes_another_key() {
        let place = Place { installation: InstallationId(1), repository: RepoId(2), image: "sha256:a" };
        let base = wanted(&["npm ci"], &["a", "b"]);
        let contents = |one: &str, two: &str| [one.as_bytes().to_vec(), two.as_bytes().to_vec()];
        let keys = [
            base.key(place, &contents("1", "2")),
            base.key(place, &contents("12", "")),
            base.key(place, &contents("2", "1")),
            base.key(Place { installation: InstallationId(3), ..place }, &contents("1", "2")),
            base.key(Place { repository: RepoId(3), ..place }, &contents("1", "2")),
            base.key(Place { image: "sha256:b", ..place }, &contents("1", "2")),
            wanted(&["npm ci", "x"], &["a", "b"]).key(place, &contents("1", "2")),
            wanted(&["npm", "ci"], &["a", "b"]).key(place, &contents("1", "2")),
            wanted(&["npm ci"], &["b", "a"]).key(place, &contents("1", "2")),
            wanted(&["npm ci", "a"], &["b"]).key(place, &contents("1", "2")),
        ];
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len(), "{keys:?}");
        assert_eq!(base.key(place, &contents("1", "2")), keys[0]);
        assert!(keys[0].to_string().starts_with(&Key::beginning(RepoId(2))));
    }

    proptest! {
        #[test]
        fn two_keys_are_the_same_only_where_all_is(
            a in (prop::collection::vec("[ab]{0,2}", 1..3), prop::collection::vec(("[ab]{1,2}", "[ab]{0,2}"), 1..3)),
            b in (prop::collection::vec("[ab]{0,2}", 1..3), prop::collection::vec(("[ab]{1,2}", "[ab]{0,2}"), 1..3)),
        ) {
            let key = |(install, files): &(Vec<String>, Vec<(String, String)>)| {
                let (paths, contents): (Vec<_>, Vec<_>) =
                    files.iter().map(|(path, text)| (path.clone(), text.clone().into_bytes())).unzip();
                let place = Place { installation: InstallationId(1), repository: RepoId(1), image: "i" };
                Dependencies { install: install.clone(), files: paths }.key(place, &contents)
            };
            prop_assert_eq!(key(&a) == key(&b), a == b);
        }
    }
}
