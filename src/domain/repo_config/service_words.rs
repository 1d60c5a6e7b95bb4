//! The single values of services and of a set-up, each checked as it is read.

use super::{services::SANDBOX_USER, shown, words::schema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};
use std::{borrow::Cow, fmt};

/// Characters of a service's name: it is part of a container's.
const LONGEST_WORD: usize = 32;

/// Characters of a command: a longer one belongs in a script.
const LONGEST_LINE: usize = 1_000;

/// Bytes of a variable's value.
const LONGEST_VALUE: usize = 4 << 10;

/// Characters of a folder's path.
const LONGEST_FOLDER: usize = 200;

/// Folders that the kernel fills.
const KERNELS: [&str; 3] = ["/proc", "/sys", "/dev"];

/// The name of a service, or of whatever else becomes part of a container's name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Word(String);

impl TryFrom<String> for Word {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let fits = text.starts_with(|c: char| c.is_ascii_lowercase()) && text.bytes().all(inner);
        match fits && text.len() <= LONGEST_WORD {
            true => Ok(Self(text)),
            false => Err(format!(
                "\"{}\" is not a name of lower-case letters, digits and dashes, at most {LONGEST_WORD}",
                shown(&text)
            )),
        }
    }
}

/// A command, or one word of it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Line(String);

impl TryFrom<String> for Line {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let line = text.trim();
        if line.is_empty() || line.chars().count() > LONGEST_LINE || line.contains('\0') {
            return Err(format!("a command, at most {LONGEST_LINE} characters, is expected"));
        }
        Ok(Self(line.to_owned()))
    }
}

/// The name of an environment variable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Variable(String);

impl TryFrom<String> for Variable {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let fits = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            && !text.is_empty()
            && !text.starts_with(|c: char| c.is_ascii_digit())
            && text.len() <= LONGEST_FOLDER;
        match fits {
            true => Ok(Self(text)),
            false => Err(format!("\"{}\" is not the name of an environment variable", shown(&text))),
        }
    }
}

/// The value of an environment variable.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Value(String);

impl TryFrom<String> for Value {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.len() <= LONGEST_VALUE && !text.contains('\0') {
            true => Ok(Self(text)),
            false => Err(format!("a value of at most {LONGEST_VALUE} bytes is expected")),
        }
    }
}

/// A folder of a service: `/var/lib/data`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Folder(String);

impl TryFrom<String> for Folder {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let path = text.trim_end_matches('/');
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
        let parts = path.strip_prefix('/').map(|rest| rest.split('/'));
        let good = parts.is_some_and(|mut parts| parts.all(|part| !matches!(part, "" | "." | "..")));
        let kernels =
            KERNELS.iter().any(|k| path.strip_prefix(k).is_some_and(|r| r.is_empty() || r.starts_with('/')));
        match good && path.chars().all(plain) && !kernels && path.len() <= LONGEST_FOLDER {
            true => Ok(Self(path.to_owned())),
            false => Err(format!("\"{}\" is not a folder like \"/var/lib/data\"", shown(&text))),
        }
    }
}

macro_rules! text {
    ($($word:ident)*) => {$(
        impl $word {
            pub(super) fn get(&self) -> &str {
                &self.0
            }
        }
    )*};
}

text! { Word Line Variable Value Folder }

/// Whole numbers, each with its bounds.
macro_rules! whole {
    ($($(#[$doc:meta])* $word:ident($of:ty) $from:literal to $to:literal, $what:literal)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $word($of);

        impl $word {
            pub(super) fn get(self) -> $of {
                self.0
            }
        }

        impl<'de> Deserialize<'de> for $word {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Visitor;

                impl de::Visitor<'_> for Visitor {
                    type Value = $word;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(concat!($what, " from ", $from, " to ", $to))
                    }

                    fn visit_i64<E: de::Error>(self, number: i64) -> Result<$word, E> {
                        match <$of>::try_from(number) {
                            Ok(fits) if ($from..=$to).contains(&number) => Ok($word(fits)),
                            _ => Err(E::invalid_value(de::Unexpected::Signed(number), &self)),
                        }
                    }
                }

                from.deserialize_any(Visitor)
            }
        }

        schema! { $word { "type": "integer", "minimum": $from, "maximum": $to } }
    )*};
}

whole! {
    /// A port that a service listens on.
    Port(u16) 1 to 65535, "a port"
    /// Seconds between two tries.
    Seconds(u16) 1 to 60, "a whole number of seconds"
    /// How often something is tried.
    Tries(u32) 1 to 300, "a whole number"
}

/// The number of a service's user: neither root nor the sandbox's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserNumber(u32);

impl UserNumber {
    pub(super) fn get(self) -> u32 {
        self.0
    }
}

impl<'de> Deserialize<'de> for UserNumber {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(UserVisitor)
    }
}

struct UserVisitor;

impl de::Visitor<'_> for UserVisitor {
    type Value = UserNumber;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the number of a user, from 1 to 65533 and not the sandbox's {SANDBOX_USER},")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<UserNumber, E> {
        match u32::try_from(number) {
            Ok(fits) if (1..=65_533).contains(&number) && fits != SANDBOX_USER => Ok(UserNumber(fits)),
            _ => Err(E::invalid_value(de::Unexpected::Signed(number), &self)),
        }
    }
}

schema! {
    Word { "type": "string", "pattern": "^[a-z][a-z0-9-]*$", "maxLength": LONGEST_WORD }
    Line { "type": "string", "minLength": 1, "maxLength": LONGEST_LINE }
    Variable { "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" }
    Value { "type": "string", "maxLength": LONGEST_VALUE }
    Folder { "type": "string", "pattern": "^/[A-Za-z0-9/._-]+$", "maxLength": LONGEST_FOLDER }
    UserNumber { "type": "integer", "minimum": 1, "maximum": 65_533 }
}
