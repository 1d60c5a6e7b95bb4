//! What well-known models cost and hold. Makers change both without notice: the operator's own figures win, and a name
//! that is not here has no price: a server refuses to start with it until one is set, a run of the terminal counts its
//! budget in tokens.

use super::Usage;
use serde::{Deserialize, Serialize};

/// Millionths of a dollar for a million tokens, so `3_000_000` is $3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// Read, not from a cache.
    pub input: u64,
    /// Written.
    pub output: u64,
    /// Read from the provider's cache.
    pub cache_read: u64,
    /// Written into the provider's cache.
    pub cache_write: u64,
}

impl Prices {
    /// What a usage costs, in millionths of a dollar, rounded up: a budget must never be undercounted.
    pub fn of(&self, usage: &Usage) -> u64 {
        let part = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        let sum = part(usage.input, self.input)
            + part(usage.output, self.output)
            + part(usage.cache_read, self.cache_read)
            + part(usage.cache_write, self.cache_write);
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

/// What is known of one model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// Its price.
    pub(super) prices: Prices,
    /// Tokens it holds.
    pub(super) context: u64,
    /// Tokens of one reply; providers refuse a question that allows more.
    pub(super) reply: u32,
}

/// What is assumed of an unknown model: what most models people run themselves are served with at least.
pub(super) const UNKNOWN_CONTEXT: u64 = 128_000;
/// The same for one reply.
pub(super) const UNKNOWN_REPLY: u32 = 8_192;

/// The model of that name, also with a vendor before it (`anthropic/…`) or a date behind it (`…-20250929`, `…-latest`).
/// A longer name is another model, with another price.
pub(super) fn known(name: &str) -> Option<Known> {
    let name = name.rsplit('/').next().unwrap_or(name);
    let dated = |rest: &str| {
        rest.is_empty()
            || rest == "-latest"
            || (rest.len() > 8 && rest[1..].bytes().all(|b| b.is_ascii_digit() || b == b'-'))
    };
    let row = TABLE
        .iter()
        .find(|row| name.strip_prefix(row.0).is_some_and(|rest| rest.is_ascii() && dated(rest)))?;
    let (_, context, reply, input, output, cache_read, cache_write) = *row;
    // The table is in thousandths of a dollar for a million tokens, to be read at a glance.
    let [input, output, cache_read, cache_write] =
        [input, output, cache_read, cache_write].map(|price| price * 1000);
    Some(Known { prices: Prices { input, output, cache_read, cache_write }, context, reply })
}

/// Name, tokens held, tokens of one reply, then thousandths of a dollar for a million tokens: input, output, cache read,
/// cache write. Source: the makers' public price lists of November 2026; where a price depends on a question's length it is the
/// one for the lengths that the agent comes to, where a maker does not charge for writing the cache it is the input's.
type Row = (&'static str, u64, u32, u64, u64, u64, u64);
const TABLE: &[Row] = &[
    ("claude-fable-5-1", 1_000_000, 128_000, 10_000, 50_000, 250, 12_500),
    ("claude-fable-5", 1_000_000, 128_000, 10_000, 50_000, 1_000, 12_500),
    ("claude-opus-5-5", 1_000_000, 128_000, 4_000, 20_000, 200, 5_000),
    ("claude-opus-5", 1_000_000, 128_000, 5_000, 25_000, 500, 6_250),
    ("claude-opus-4-8", 200_000, 64_000, 5_000, 25_000, 500, 6_250),
    ("claude-opus-4-7", 200_000, 64_000, 5_000, 25_000, 500, 6_250),
    ("claude-opus-4-6", 200_000, 64_000, 5_000, 25_000, 500, 6_250),
    ("claude-opus-4-5", 200_000, 64_000, 5_000, 25_000, 500, 6_250),
    ("claude-sonnet-5-5", 1_000_000, 128_000, 2_000, 10_000, 100, 2_500),
    ("claude-sonnet-5", 1_000_000, 128_000, 2_000, 10_000, 200, 2_500),
    ("claude-sonnet-4-6", 200_000, 64_000, 3_000, 15_000, 300, 3_750),
    ("claude-sonnet-4-5", 200_000, 64_000, 3_000, 15_000, 300, 3_750),
    ("claude-haiku-5-5", 1_000_000, 128_000, 500, 2_500, 50, 625),
    ("claude-haiku-4-5", 200_000, 64_000, 1_000, 5_000, 100, 1_250),
    ("gpt-6.1-terra", 1_050_000, 128_000, 1_000, 5_000, 50, 1_250),
    ("gpt-6-astra", 1_050_000, 128_000, 10_000, 50_000, 1_000, 12_500),
    ("gpt-6-sol", 1_050_000, 128_000, 2_000, 10_000, 200, 2_500),
    ("gpt-6-luna", 1_050_000, 128_000, 100, 500, 10, 125),
    ("gpt-5", 400_000, 128_000, 1_250, 10_000, 125, 1_250),
    ("gpt-5-mini", 400_000, 128_000, 250, 2_000, 25, 250),
    ("gpt-4.1", 1_000_000, 32_768, 2_000, 8_000, 500, 2_000),
    ("gpt-4.1-mini", 1_000_000, 32_768, 400, 1_600, 100, 400),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dated_name_is_the_model_and_a_longer_name_is_another() {
        let input = |name: &str| known(name).map(|k| k.prices.input);
        assert_eq!(input("claude-sonnet-4-5-20250929"), Some(3_000_000));
        assert_eq!(input("anthropic/claude-opus-5-5"), Some(4_000_000));
        assert_eq!(input("claude-opus-5-20260724"), Some(5_000_000));
        assert_eq!(input("gpt-4.1-2025-04-14"), Some(2_000_000));
        assert_eq!(input("gpt-5-mini"), Some(250_000));
        assert_eq!(input("gpt-5-pro"), None);
        assert_eq!(input("claude-opus-4-9"), None);
        assert_eq!(input("llama-é"), None);
    }

    #[test]
    fn a_cost_is_never_rounded_down() {
        let prices = known("claude-sonnet-4-5").expect("in the table").prices;
        let usage = Usage { input: 1, output: 1_000_000, cache_read: 1_000_000, cache_write: 0 };
        assert_eq!(prices.of(&usage), 3 + 15_000_000 + 300_000);
        assert_eq!(prices.of(&Usage { cache_read: 1, ..Usage::default() }), 1);
    }
}
