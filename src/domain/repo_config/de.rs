//! From the tree to typed settings: serde's deserializer over it, whose errors carry a path and speak to people.

use super::{
    shown,
    tree::{Entry, Kind, Node},
};
use crate::domain::text::meant;
use serde::de::{
    self, DeserializeSeed, Deserializer, Expected, IntoDeserializer, Unexpected, Visitor,
    value::StrDeserializer,
};
use std::fmt;

/// So many names are told where none is alike; the whole list of settings would not be read.
const FEW: usize = 6;

/// What is wrong, and where in the tree.
#[derive(Debug)]
pub(super) struct Error {
    /// Which entry of which entry, innermost first: pushed on the way out.
    upwards: Vec<usize>,
    /// The key is meant, not its value.
    pub on_key: bool,
    pub message: String,
}

impl Error {
    fn new(message: String) -> Self {
        Self { upwards: Vec::new(), on_key: false, message }
    }

    fn below(mut self, entry: usize) -> Self {
        self.upwards.push(entry);
        self
    }

    /// From the root down.
    pub(super) fn path(&self) -> Vec<usize> {
        self.upwards.iter().rev().copied().collect()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let hint = match (found, expected.to_string().as_str()) {
            (Unexpected::Bool(_) | Unexpected::Signed(_) | Unexpected::Float(_), "a string") => {
                ": put it in quotes"
            }
            _ => "",
        };
        Self::new(format!("{} is expected, not {}{hint}", words(expected), seen(found)))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(format!("{} is expected, not {}", words(expected), seen(found)))
    }

    fn unknown_variant(given: &str, known: &'static [&'static str]) -> Self {
        Self::new(format!("\"{}\" is none of {}{}", shown(given), listed(known, "and"), meant(given, known)))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(format!("\"{field}\" is missing here"))
    }

    fn unknown_field(given: &str, known: &'static [&'static str]) -> Self {
        let meant = meant(given, known);
        let here = match known.len() <= FEW && meant.is_empty() {
            true => format!(": here can stand {}", listed(known, "and")),
            false => String::new(),
        };
        Self::new(format!("\"{}\" is not a setting{meant}{here}", shown(given)))
    }
}

/// What is expected, in words for people who write settings and not programs.
fn words(expected: &dyn Expected) -> String {
    match expected.to_string().as_str() {
        "a string" => "a text".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list".to_owned(),
        other => other.to_owned(),
    }
}

fn seen(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Unsigned(value) => value.to_string(),
        Unexpected::Signed(value) => value.to_string(),
        Unexpected::Float(value) => value.to_string(),
        Unexpected::Str(text) => format!("\"{}\"", shown(text)),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "settings of its own".to_owned(),
        _ => "nothing".to_owned(),
    }
}

/// `"off", "label" and "writers"`.
fn listed(names: &[&str], join: &str) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} {join} {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.kind {
            Kind::Nothing => visitor.visit_unit(),
            Kind::Bool(value) => visitor.visit_bool(*value),
            Kind::Whole(value) => visitor.visit_i64(*value),
            Kind::Number(value) => visitor.visit_f64(*value),
            Kind::Text(text) => visitor.visit_borrowed_str(text),
            Kind::List(items) => visitor.visit_seq(Items { items, at: 0 }),
            Kind::Map(entries) => visitor.visit_map(Entries { entries, at: 0 }),
        }
    }

    /// A key without a value is as good as absent: people comment out what stood under it.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.kind {
            Kind::Nothing => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match &self.kind {
            Kind::Text(text) => {
                visitor.visit_enum(IntoDeserializer::<Error>::into_deserializer(text.as_str()))
            }
            _ => Err(Error::new(format!("{} is expected", listed(variants, "or")))),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    /// Serde would also take a list for a struct's fields in their order.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.kind {
            Kind::List(_) => Err(de::Error::invalid_type(Unexpected::Seq, &visitor)),
            _ => self.deserialize_any(visitor),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map identifier ignored_any
    }
}

struct Items<'a> {
    items: &'a [Node],
    at: usize,
}

impl<'de> de::SeqAccess<'de> for Items<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let Some(item) = self.items.get(self.at) else { return Ok(None) };
        self.at += 1;
        seed.deserialize(item).map(Some).map_err(|error| error.below(self.at - 1))
    }
}

struct Entries<'a> {
    entries: &'a [Entry],
    at: usize,
}

impl<'de> de::MapAccess<'de> for Entries<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some(entry) = self.entries.get(self.at) else { return Ok(None) };
        let key = StrDeserializer::<Error>::new(&entry.key);
        seed.deserialize(key).map(Some).map_err(|error| Error { on_key: true, ..error.below(self.at) })
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let Some(entry) = self.entries.get(self.at) else {
            return Err(Error::new("a value is expected".to_owned()));
        };
        self.at += 1;
        seed.deserialize(&entry.value).map_err(|error| error.below(self.at - 1))
    }
}
