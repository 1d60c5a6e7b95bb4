//! The single values of a configuration, each checked as it is read: what is wrong is then pointed at by itself.

use super::shown;
use crate::domain::money;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};
use std::{borrow::Cow, collections::BTreeMap, fmt};

/// Characters of a name: GitHub's longest (a check's) are far below.
const LONGEST_NAME: usize = 200;

/// Characters of a pattern of paths.
const LONGEST_GLOB: usize = 300;

/// Bytes of the instructions: about four thousand tokens, which every round pays for.
const LONGEST_INSTRUCTIONS: usize = 16 << 10;

/// Entries of a list: a longer one is better said with patterns.
const LONGEST_LIST: usize = 100;

/// Rounds that anybody may ask for; the operator's own cap is asked besides.
const MOST_ROUNDS: i64 = 20;

/// A name: of a check, a model, an image, a label. One line, not empty.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Name(String);

impl TryFrom<String> for Name {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let name = text.trim();
        if name.is_empty() || name.chars().count() > LONGEST_NAME || name.contains(char::is_control) {
            return Err(format!("a name of one line, at most {LONGEST_NAME} characters, is expected"));
        }
        Ok(Self(name.to_owned()))
    }
}

impl Name {
    pub(super) fn get(&self) -> &str {
        &self.0
    }
}

/// A bot's login, with or without the `[bot]` that GitHub shows behind it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Login(String);

impl TryFrom<String> for Login {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let login = text.trim().trim_start_matches('@').trim_end_matches("[bot]").to_ascii_lowercase();
        let fits = login.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        match fits && !login.is_empty() {
            true => Ok(Self(login)),
            false => Err(format!("\"{}\" is not a login like \"renovate[bot]\"", shown(&text))),
        }
    }
}

impl Login {
    pub(super) fn get(&self) -> &str {
        &self.0
    }
}

/// A pattern of paths from the repository's root: `docs/**`, `*.md`, `src/generated`. One that names a folder means all in it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Glob(String);

impl TryFrom<String> for Glob {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let rooted = text.trim();
        let rooted = rooted.strip_prefix("./").or_else(|| rooted.strip_prefix('/')).unwrap_or(rooted);
        let rooted = rooted.trim_end_matches('/');
        if rooted.is_empty() || rooted.chars().count() > LONGEST_GLOB || rooted.contains(char::is_control) {
            return Err(format!("a pattern of paths, at most {LONGEST_GLOB} characters, is expected"));
        }
        // A negation would turn a list of what is closed into one of what is open.
        if rooted.starts_with('!') {
            return Err(format!("\"{}\": patterns cannot be turned round with \"!\"", shown(&text)));
        }
        match globset::Glob::new(rooted) {
            Ok(_) => Ok(Self(rooted.to_owned())),
            Err(error) => Err(format!("\"{}\" is not a pattern of paths: {}", shown(&text), error.kind())),
        }
    }
}

impl Glob {
    /// The pattern, and what lies in a folder of that name.
    pub(super) fn patterns(&self) -> impl Iterator<Item = String> + use<> {
        let inside = (!self.0.ends_with("**")).then(|| format!("{}/**", self.0));
        std::iter::once(self.0.clone()).chain(inside)
    }
}

/// How a pull request's title is made: text with `{summary}` (needed) and `{issue}`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Title(String);

impl TryFrom<String> for Title {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let title = text.trim();
        let bare = title.replace("{summary}", "").replace("{issue}", "");
        if bare.contains(['{', '}']) {
            return Err("a title knows \"{summary}\" and \"{issue}\", and no other braces".to_owned());
        }
        if !title.contains("{summary}") {
            return Err("a title without \"{summary}\" would be the same for every change".to_owned());
        }
        if title.chars().count() > LONGEST_NAME || title.contains(char::is_control) {
            return Err(format!("a title of one line, at most {LONGEST_NAME} characters, is expected"));
        }
        Ok(Self(title.to_owned()))
    }
}

impl fmt::Display for Title {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Title {
    /// The title of one change. What is put in is not read for braces again.
    pub fn of(&self, summary: &str, issue: u64) -> String {
        let issue = issue.to_string();
        let parts = self.0.split("{summary}").map(|part| part.replace("{issue}", &issue));
        parts.collect::<Vec<_>>().join(summary.trim())
    }
}

/// Text for the agent.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Instructions(String);

impl TryFrom<String> for Instructions {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.len() <= LONGEST_INSTRUCTIONS {
            true => Ok(Self(text.trim().to_owned())),
            false => Err(format!(
                "the instructions have {} bytes and may have {LONGEST_INSTRUCTIONS}: longer ones belong in AGENTS.md",
                text.len()
            )),
        }
    }
}

impl Instructions {
    pub(super) fn get(&self) -> &str {
        &self.0
    }
}

/// Rounds of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounds(u32);

impl Rounds {
    pub(super) fn get(self) -> u32 {
        self.0
    }
}

impl<'de> Deserialize<'de> for Rounds {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(RoundsVisitor)
    }
}

struct RoundsVisitor;

impl de::Visitor<'_> for RoundsVisitor {
    type Value = Rounds;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from 1 to {MOST_ROUNDS}")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Rounds, E> {
        match u32::try_from(number) {
            Ok(fits) if (1..=MOST_ROUNDS).contains(&number) => Ok(Rounds(fits)),
            _ => Err(E::invalid_value(de::Unexpected::Signed(number), &self)),
        }
    }
}

/// Money: `$2.50`, or a plain number of dollars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Money(u64);

impl Money {
    /// Millionths of a dollar.
    pub(super) fn micros(self) -> u64 {
        self.0
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(MoneyVisitor)
    }
}

struct MoneyVisitor;

impl de::Visitor<'_> for MoneyVisitor {
    type Value = Money;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("money like \"$2.50\"")
    }

    fn visit_i64<E: de::Error>(self, dollars: i64) -> Result<Money, E> {
        self.visit_str(&dollars.to_string())
    }

    fn visit_f64<E: de::Error>(self, dollars: f64) -> Result<Money, E> {
        self.visit_str(&dollars.to_string())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Money, E> {
        let micros = money::micros(text);
        micros.map(Money).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

/// What the schema says of a value: the same that is checked above, as far as a schema can.
macro_rules! schema {
    ($($word:ident $schema:tt)*) => {$(
        impl JsonSchema for $word {
            fn schema_name() -> Cow<'static, str> {
                stringify!($word).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )*};
}

pub(super) use schema;

schema! {
    Name { "type": "string", "minLength": 1, "maxLength": LONGEST_NAME }
    Login { "type": "string", "pattern": r"^@?[A-Za-z0-9_-]+(\[bot\])?$" }
    Glob { "type": "string", "pattern": r"^[^!]", "maxLength": LONGEST_GLOB }
    Title { "type": "string", "pattern": r"\{summary\}", "maxLength": LONGEST_NAME }
    Instructions { "type": "string", "maxLength": LONGEST_INSTRUCTIONS }
    Rounds { "type": "integer", "minimum": 1, "maximum": MOST_ROUNDS }
    Money { "type": ["number", "string"], "minimum": 0, "pattern": r"^\$?[0-9]+(\.[0-9]{1,6})?$" }
}

/// A list that is no longer than is sensible.
pub(super) fn list<'de, D, T>(from: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    at_most(Option::deserialize(from)?, LONGEST_LIST, Vec::len)
}

/// A group of as many names as are sensible.
pub(super) fn map<'de, D, K, V>(from: D) -> Result<Option<BTreeMap<K, V>>, D::Error>
where
    D: Deserializer<'de>,
    K: Deserialize<'de> + Ord,
    V: Deserialize<'de>,
{
    at_most(Option::deserialize(from)?, LONGEST_LIST, BTreeMap::len)
}

/// What there are few of.
pub(super) fn at_most<T, E: de::Error>(
    found: Option<T>,
    most: usize,
    len: impl Fn(&T) -> usize,
) -> Result<Option<T>, E> {
    match found.as_ref().map_or(0, len) {
        fits if fits <= most => Ok(found),
        long => Err(E::custom(format_args!("{long} entries are too many: at most {most}"))),
    }
}
