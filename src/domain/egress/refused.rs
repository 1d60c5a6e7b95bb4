//! What was refused: for the log, the audit and the pull request.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Different refusals that are kept of a round: past these, somebody tries names one after the other, and the number says so.
const KEPT: usize = 40;

/// Characters of what was asked for.
const ASKED: usize = 120;

/// Why something was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The allow-list does not name it.
    NotAllowed,
    /// The allow-list names it, but not for this method.
    Method,
    /// The allow-list names it, but not this path.
    Path,
    /// The host that was connected to, the one of the TLS greeting and the one of the request are not the same.
    Mismatch,
    /// What was sent was not TLS.
    NotTls,
    /// The name leads to an address that is not public.
    Address,
    /// A cap on bytes or on connections.
    TooMuch,
    /// The answer showed the credential that the host had added.
    Credential,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAllowed => "not on the allow-list",
            Self::Method => "only GET and HEAD are allowed there",
            Self::Path => "that path is not allowed there",
            Self::Mismatch => "the hosts of connection, TLS and request differ",
            Self::NotTls => "no TLS",
            Self::Address => "its address is not public",
            Self::TooMuch => "too much",
            Self::Credential => "its answer shows the credential that it was asked with",
        })
    }
}

/// Something refused, and how often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// `host:port`, or the beginning of what was asked for where it was none.
    pub to: String,
    /// Why.
    pub why: Reason,
    /// How often.
    pub count: u32,
}

/// What was refused so far, each once; capped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusals {
    /// In the order of their first time.
    pub all: Vec<Refused>,
    /// Refusals that found no place in the list.
    pub more: u32,
}

impl Refusals {
    /// Takes note of one. Gives whether it is new, and worth a line in a log.
    pub fn note(&mut self, to: &str, why: Reason) -> bool {
        self.add(Refused { to: shown(to), why, count: 1 })
    }

    /// Takes note of what another round had refused.
    pub fn extend(&mut self, other: Self) {
        self.more = self.more.saturating_add(other.more);
        for refused in other.all {
            self.add(refused);
        }
    }

    /// Nothing was refused.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty() && self.more == 0
    }

    fn add(&mut self, refused: Refused) -> bool {
        let known = self.all.iter_mut().find(|known| known.to == refused.to && known.why == refused.why);
        if let Some(known) = known {
            known.count = known.count.saturating_add(refused.count);
            return false;
        }
        if self.all.len() == KEPT {
            self.more = self.more.saturating_add(refused.count);
            return false;
        }
        self.all.push(refused);
        true
    }
}

/// The sandbox's own words, made harmless: printable ASCII, cut.
fn shown(asked: &str) -> String {
    asked.chars().take(ASKED).map(|c| if c.is_ascii_graphic() { c } else { '?' }).collect()
}
