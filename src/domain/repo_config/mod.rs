//! A repository's own configuration, `.github/fixpoint.yml` on its default branch.
//!
//! It is read from the default branch and nowhere else: what a pull request changes in it has no effect before it is
//! merged. It can narrow what spends or publishes, never widen it: [`Effective`] puts it together with what the operator
//! allows. What cannot be read is told with line and column, all mistakes at once.

mod de;
mod dependencies;
mod effective;
mod service_words;
mod services;
mod settings;
mod tree;
mod words;

#[cfg(test)]
mod tests;

pub use dependencies::{Dependencies, DependencySettings, Key, Place};
pub use effective::{Ask, Autofix, Checks, Effective, Labels, Operator};
pub use service_words::{Folder, Line, Port, Seconds, Tries, UserNumber, Value, Variable, Word};
pub use services::{Health, HealthSettings, SANDBOX_USER, SERVICE_USER, Service, ServiceSettings};
pub use settings::{
    AutofixSettings, BudgetSettings, CheckSettings, LabelSettings, PathSettings, People, Publish, RepoConfig,
    Rerun, SecondPerson, Update,
};
pub use words::{Glob, Instructions, Login, Money, Name, Rounds, Title};

use serde::Deserialize;
use std::{collections::BTreeMap, fmt};

/// Where it stands in a repository.
pub const PATH: &str = ".github/fixpoint.yml";

/// Bytes that are read: the longest instructions and lists fit twice.
pub const LARGEST: usize = 64 << 10;

/// Every setting, explained, ready to be edited.
pub const EXAMPLE: &str = include_str!("example.yml");

/// Mistakes that are told at once: past these, the file is something else.
const MOST_MISTAKES: usize = 20;

/// Something in the file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mistake {
    /// Its line, from one.
    pub line: u64,
    /// Its column, from one, in characters.
    pub column: u64,
    /// What is wrong, and what was probably meant; one line, harmless in a terminal and in a code span.
    pub message: String,
}

impl Mistake {
    fn at_start(message: String) -> Self {
        Self { line: 1, column: 1, message }
    }

    /// `.github/fixpoint.yml:3:9: …`, whatever the file is called where it is shown.
    pub fn in_file<'a>(&'a self, file: &'a str) -> impl fmt::Display + 'a {
        fmt::from_fn(move |f| write!(f, "{file}:{}:{}: {}", self.line, self.column, self.message))
    }
}

/// Places of the values that only the operator can judge, by their keys joined with dots.
type Places = BTreeMap<String, (u64, u64)>;

/// What came of reading a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Read {
    /// The settings. Beside a mistake these are the defaults but for what the file closes: see `RepoConfig::closing`.
    pub config: RepoConfig,
    /// What could not be used, from top to bottom.
    pub mistakes: Vec<Mistake>,
}

impl Read {
    /// There is a file, and it cannot be read at all.
    pub fn failed(why: &str) -> Self {
        Self { mistakes: vec![Mistake::at_start(shown_long(why))], ..Self::default() }
    }
}

impl RepoConfig {
    /// Reads a file, as a whole or not at all.
    ///
    /// # Errors
    /// Every mistake in it, from top to bottom.
    pub fn parse(file: &[u8]) -> Result<Self, Vec<Mistake>> {
        let read = read(file);
        if read.mistakes.is_empty() { Ok(read.config) } else { Err(read.mistakes) }
    }

    /// What of a file with mistakes still holds: that it closes something. A slip of the pen in one line must not open
    /// what another line keeps shut, so the off switch, `publish: ask`, `second_person`, `paths` and `egress` stay.
    fn closing(self) -> Self {
        Self {
            enabled: self.enabled.filter(|on| !on),
            publish: self.publish.filter(|publish| *publish == Publish::Ask),
            second_person: self.second_person,
            paths: self.paths,
            egress: self.egress,
            places: self.places,
            ..Self::default()
        }
    }
}

/// Reads a file and all that is wrong with it.
pub fn read(file: &[u8]) -> Read {
    if file.len() > LARGEST {
        return Read::failed(&format!("the file has {} bytes; at most {LARGEST} are read", file.len()));
    }
    let Ok(text) = std::str::from_utf8(file) else { return Read::failed("the file is not UTF-8 text") };
    match tree::parse(text) {
        Ok(Some(root)) => typed(root),
        Ok(None) => Read::default(),
        Err(mistake) => Read { mistakes: vec![mistake], ..Read::default() },
    }
}

/// Reads the tree; what is wrong is told, taken out, and the rest is read again, so that all is told at once.
fn typed(mut root: tree::Node) -> Read {
    let mut mistakes = Vec::new();
    loop {
        match Option::<RepoConfig>::deserialize(&root) {
            Ok(config) => {
                let config = RepoConfig { places: places(&root), ..config.unwrap_or_default() };
                mistakes.sort();
                mistakes.truncate(MOST_MISTAKES);
                let config = if mistakes.is_empty() { config } else { config.closing() };
                return Read { config, mistakes };
            }
            Err(error) => {
                let path = error.path();
                let value = || root.at(&path).map(|node| (node.line, node.column));
                let key = || root.key_at(&path).map(|entry| (entry.line, entry.column));
                let (line, column) = if error.on_key { key() } else { value() }.unwrap_or((1, 1));
                mistakes.push(Mistake { line, column, message: error.message });
                root.remove(&path);
            }
        }
    }
}

/// Where the values stand that [`Effective`] may have to refuse.
fn places(root: &tree::Node) -> Places {
    let lists = ["models", "egress"].into_iter().flat_map(|list| {
        let keys = (0..).map(move |n| format!("{list}.{n}"));
        keys.map_while(|keys| Some((place(root, &keys)?, keys)))
    });
    let single = ["model", "image"].into_iter().map(str::to_owned);
    let single = single.filter_map(|keys| Some((place(root, &keys)?, keys)));
    let services = root.under(&["services"]).into_iter().flat_map(tree::Node::keys);
    let services = services.map(|name| format!("services.{name}.image"));
    let services = services.filter_map(|keys| Some((place(root, &keys)?, keys)));
    single.chain(lists).chain(services).map(|(place, keys)| (keys, place)).collect()
}

fn place(root: &tree::Node, keys: &str) -> Option<(u64, u64)> {
    let keys: Vec<&str> = keys.split('.').collect();
    root.under(&keys).map(|node| (node.line, node.column))
}

/// The schema that editors check the file against, as text.
pub fn schema() -> String {
    // That a setting can stay away shows in nothing required; what holds then, its description says.
    let no_default = schemars::transform::RecursiveTransform(|schema: &mut schemars::Schema| {
        schema.remove("default");
    });
    let settings = schemars::generate::SchemaSettings::draft2020_12().with_transform(no_default);
    let schema = settings.into_generator().into_root_schema_for::<RepoConfig>();
    // A map of strings to JSON is JSON.
    let text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text + "\n"
}

/// A word of the file as it stands in a sentence.
fn shown(text: &str) -> String {
    cut(text, 60)
}

/// A sentence of somebody else's, as one line.
fn shown_long(text: &str) -> String {
    cut(text, 200)
}

fn cut(text: &str, limit: usize) -> String {
    use crate::domain::text::{line, shorten, terminal};
    shorten(&line(&terminal(text)).replace('`', "'"), limit)
}
