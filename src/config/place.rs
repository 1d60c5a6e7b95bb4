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
        _ => message.trim_end().replace('\n', "; "),
    }
}

/// The environment variables of all settings.
pub(super) fn variables(meta: &'static Meta) -> Vec<&'static str> {
    let of = |field: &'static confique::meta::Field| match field.kind {
        FieldKind::Leaf { env, .. } => env.into_iter().collect(),
        FieldKind::Nested { meta } => variables(meta),
    };
    meta.fields.iter().flat_map(of).collect()
}
