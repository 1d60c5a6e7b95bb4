//! YAML as a tree in which every key and value knows its place, so that a mistake can be pointed at.

use super::Mistake;
use crate::domain::yaml::bounded;
use serde::{Deserialize, Deserializer, de};
use serde_saphyr::{Error, MergeKeyPolicy, MessageFormatter, Spanned, UserMessageFormatter};
use std::fmt;

/// Values in one file, whatever aliases make of it: a bomb of aliases is refused long before it fills memory, and the
/// longest lists that are sensible fit ten times.
const MOST_NODES: usize = 5_000;

/// Settings within settings: three are what the longest path needs.
const DEEPEST: usize = 12;

/// A value and where it stands, from one, in characters.
#[derive(Debug)]
pub(super) struct Node {
    pub line: u64,
    pub column: u64,
    pub kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Nothing,
    Bool(bool),
    Whole(i64),
    Number(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key with its place, and its value.
#[derive(Debug)]
pub(super) struct Entry {
    pub line: u64,
    pub column: u64,
    pub key: String,
    pub value: Node,
}

/// Reads a text; `None`: there is nothing in it but white space and comments.
pub(super) fn parse(text: &str) -> Result<Option<Node>, Mistake> {
    let mut options = bounded(MOST_NODES, DEEPEST);
    // As a key like any other it is told to be no setting, with its place.
    options.merge_keys = MergeKeyPolicy::AsOrdinary;
    match serde_saphyr::from_str_with_options(text, options) {
        Ok(root) => Ok(root),
        Err(Error::Eof { .. }) => Ok(None),
        Err(error) => Err(mistake(&error)),
    }
}

/// What the reader of YAML did not like, in our words where one may expect it.
fn mistake(error: &Error) -> Mistake {
    let (line, column) = error.location().map_or((1, 1), |at| (at.line().max(1), at.column().max(1)));
    let message = match error.without_snippet() {
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            format!("\"{}\" stands here a second time", super::shown(key))
        }
        Error::MultipleDocuments { .. } => "a second document begins here; only one is read".to_owned(),
        Error::Budget { .. } => "this is larger or deeper than any configuration".to_owned(),
        other => super::shown_long(&UserMessageFormatter.format_message(other)),
    };
    Mistake { line, column, message }
}

impl Node {
    /// Where the value at this path begins; the path's numbers count entries.
    pub(super) fn at(&self, path: &[usize]) -> Option<&Node> {
        let Some((first, rest)) = path.split_first() else { return Some(self) };
        let child = match &self.kind {
            Kind::List(items) => items.get(*first)?,
            Kind::Map(entries) => &entries.get(*first)?.value,
            _ => return None,
        };
        child.at(rest)
    }

    /// The value under these keys.
    pub(super) fn under(&self, keys: &[&str]) -> Option<&Node> {
        let Some((first, rest)) = keys.split_first() else { return Some(self) };
        match &self.kind {
            Kind::Map(entries) => entries.iter().find(|entry| entry.key == *first)?.value.under(rest),
            Kind::List(items) => items.get(first.parse::<usize>().ok()?)?.under(rest),
            _ => None,
        }
    }

    /// The keys of a group of settings.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        let entries: &[Entry] = if let Kind::Map(entries) = &self.kind { entries } else { &[] };
        entries.iter().map(|entry| entry.key.as_str())
    }

    /// Where the key of the entry at this path stands.
    pub(super) fn key_at(&self, path: &[usize]) -> Option<&Entry> {
        let (last, map) = path.split_last()?;
        match &self.at(map)?.kind {
            Kind::Map(entries) => entries.get(*last),
            _ => None,
        }
    }

    /// Takes out what stands at this path, with its key.
    pub(super) fn remove(&mut self, path: &[usize]) {
        let (first, rest) = match path.split_first() {
            None => {
                self.kind = Kind::Map(Vec::new());
                return;
            }
            Some(split) => split,
        };
        match &mut self.kind {
            Kind::List(items) if rest.is_empty() && *first < items.len() => drop(items.remove(*first)),
            Kind::Map(entries) if rest.is_empty() && *first < entries.len() => drop(entries.remove(*first)),
            Kind::List(items) => items.get_mut(*first).into_iter().for_each(|item| item.remove(rest)),
            Kind::Map(entries) => entries.get_mut(*first).into_iter().for_each(|e| e.value.remove(rest)),
            _ => {}
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Spanned { value, referenced, .. } = Spanned::<Kind>::deserialize(from)?;
        Ok(Self { line: referenced.line(), column: referenced.column(), kind: value })
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Any)
    }
}

struct Any;

impl<'de> de::Visitor<'de> for Any {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Kind, E> {
        Ok(Kind::Nothing)
    }

    fn visit_none<E>(self) -> Result<Kind, E> {
        Ok(Kind::Nothing)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Kind, E> {
        Ok(Kind::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Kind, E> {
        Ok(Kind::Whole(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Kind, E> {
        // Past every limit of ours in either form.
        Ok(i64::try_from(value).map_or(Kind::Number(f64::MAX), Kind::Whole))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Kind, E> {
        Ok(Kind::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Kind, E> {
        Ok(Kind::Text(value.to_owned()))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Kind, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Kind::List(items))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Kind, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            let (line, column) = (key.referenced.line(), key.referenced.column());
            entries.push(Entry { line, column, key: key.value, value: map.next_value()? });
        }
        Ok(Kind::Map(entries))
    }
}
