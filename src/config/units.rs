//! Spans, sizes and money as people write them: `45m`, `5 MiB`, `$5`. A plain number counts seconds, bytes or dollars.

use crate::domain::money;
use serde::{Deserialize, Deserializer, de::Error};
use std::time::Duration;

/// Units and how many of the smallest (milliseconds, bytes) they are.
type Units = &'static [(&'static str, u64)];
const SPANS: Units = &[
    ("", 1000),
    ("ms", 1),
    ("s", 1000),
    ("m", 60_000),
    ("min", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];
const SIZES: Units = &[
    ("", 1),
    ("b", 1),
    ("kb", 1000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
];

/// A number or a text; TOML has both, the environment only texts.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Whole(u64),
    Number(f64),
    Text(String),
}

impl std::fmt::Display for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole(n) => n.fmt(f),
            Self::Number(n) => n.fmt(f),
            Self::Text(text) => text.trim().fmt(f),
        }
    }
}

/// A span of time.
pub(super) fn span<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let text = Written::deserialize(from)?.to_string();
    let millis = count(&text, SPANS);
    millis.map(Duration::from_millis).ok_or_else(|| wrong(&text, "a span of time like \"45m\" or \"3h\""))
}

/// A span of time on a command line.
///
/// # Errors
/// A sentence, where it is none.
pub fn span_of(text: &str) -> Result<Duration, String> {
    let millis = count(text.trim(), SPANS).filter(|millis| *millis > 0);
    millis
        .map(Duration::from_millis)
        .ok_or_else(|| "a span of time like \"45m\" or \"3h\" is expected".to_owned())
}

/// A size in bytes.
pub(super) fn bytes<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let text = Written::deserialize(from)?.to_string();
    count(&text, SIZES).ok_or_else(|| wrong(&text, "a size like \"5 MiB\""))
}

/// Money in millionths of a dollar.
pub(super) fn money<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let text = Written::deserialize(from)?.to_string();
    money::micros(&text).ok_or_else(|| wrong(&text, "dollars like \"$5\" or \"$0.25\""))
}

/// A text that may be all digits, such as an App's id.
pub(super) fn text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(Written::deserialize(from)?.to_string())
}

fn wrong<E: Error>(text: &str, wanted: &str) -> E {
    E::custom(format_args!("\"{text}\" is not {wanted}"))
}

/// Adds up `1h30m`; nothing for a text that is not numbers with units.
fn count(text: &str, units: Units) -> Option<u64> {
    let mut rest = text.trim();
    let mut sum: u64 = 0;
    let mut alone = true;
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        let after = after.trim_start();
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let (_, each) = units.iter().find(|(name, _)| unit.eq_ignore_ascii_case(name))?;
        sum = sum.checked_add(times(number, *each)?)?;
        rest = after.trim_start();
        alone &= rest.is_empty();
        // Of several parts each must have its unit, else `5m 3` would be something.
        if unit.is_empty() && !alone {
            return None;
        }
        if rest.is_empty() {
            return Some(sum);
        }
    }
}

/// A decimal number times a whole one, without the rounding of floating point; at most six decimals.
fn times(number: &str, each: u64) -> Option<u64> {
    let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
    if decimals.is_empty() || decimals.len() > 6 || !decimals.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let scale = 10_u64.pow(u32::try_from(decimals.len()).ok()?);
    let part = decimals.parse::<u64>().ok()?.checked_mul(each)? / scale;
    whole.parse::<u64>().ok()?.checked_mul(each)?.checked_add(part)
}
