//! Says where in the file a mistake is, and what was probably meant.

use super::{Config, ConfigError, ConfigLayer};
use crate::domain::text::meant;
use confique::{
    Config as _,
    meta::{FieldKind, Meta},
};

/// Reads a file's text.
pub(super) fn parse(text: &str, name: &str) -> Result<ConfigLayer, ConfigError> {
    toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let (line, column) = position(text, at);
        ConfigError(format!("{name}:{line}:{column}: {}", say(error.message())))
    })
}

/// Line and column, from one, in characters.
fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

/// Serde's sentence, in ours where it is about a name.
fn say(message: &str) -> String {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match quoted.split_first() {
        Some((given, known)) if message.starts_with("unknown field") => {
            let at_top = Config::META.fields.iter().any(|field| field.name == *given);
            match at_top && !known.contains(given) {
                true => format!(
                    "\"{given}\" is not a setting here: it belongs at the top, before the first [section]"
                ),
                false => format!("\"{given}\" is not a setting{}", meant(given, known)),
            }
        }
        Some((given, known)) if message.starts_with("unknown variant") => {
            let known: Vec<_> = known.iter().map(|k| format!("\"{k}\"")).collect();
            format!("\"{given}\" is none of {}", known.join(", "))
        }
        _ => wanted(message).unwrap_or_else(|| message.trim_end().replace('\n', "; ")),
    }
}

/// Serde's sentence about a value of another kind, without the names that only a program has for them.
fn wanted(message: &str) -> Option<String> {
    let rest = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "))?;
    let (given, kind) = rest.rsplit_once(", expected ")?;
    // A text keeps its quotes, a number loses its own.
    let value = given.split_once('`').and_then(|(_, rest)| rest.split_once('`')).map(|(value, _)| value);
    let text = given.find('"').map(|at| &given[at..]);
    let given = text.or(value).unwrap_or(given);
    Some(format!("{} is expected, not {given}", in_words(kind.trim_end(), given)))
}

fn in_words<'a>(kind: &'a str, given: &str) -> &'a str {
    let whole = given.parse::<i128>().is_ok();
    match kind {
        "u8" if whole => "a whole number from 0 to 255",
        "u16" if whole => "a whole number from 0 to 65535",
        "u32" if whole => "a whole number from 0 to 4294967295",
        "u64" | "usize" if whole => "a whole number from 0 to 18446744073709551615",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number",
        "i64" => "a whole number, also below zero",
        "f32" | "f64" => "a number",
        "a string" => "a text in quotes",
        "a sequence" => "a list like [\"one\", \"two\"]",
        "a boolean" => "true or false",
        "socket address" => "an address like \"127.0.0.1:3000\"",
        kind if kind.starts_with("struct ") => "a [section]",
        other => other,
    }
}

/// Confique's sentence about a variable, which names the variable once and no place in the program.
pub(super) fn of_variable(message: &str) -> String {
    let read = || {
        let (name, why) = message.split_once("environment variable `")?.1.split_once("`: ")?;
        let number = why.strip_prefix("invalid value '").and_then(|rest| rest.split_once("' for type "));
        Some(match number {
            Some((given, kind)) => {
                let kind = in_words(kind.split(':').next().unwrap_or_default(), given);
                format!("{name}: {kind} is expected, not {given:?}")
            }
            None => format!("{name}: {}", say(why)),
        })
    };
    read().unwrap_or_else(|| message.to_owned())
}

/// The environment variables of all settings.
pub(super) fn variables(meta: &'static Meta) -> Vec<&'static str> {
    let of = |field: &'static confique::meta::Field| match field.kind {
        FieldKind::Leaf { env, .. } => env.into_iter().collect(),
        FieldKind::Nested { meta } => variables(meta),
    };
    meta.fields.iter().flat_map(of).collect()
}
