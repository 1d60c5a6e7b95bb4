//! What may be published, decided on the very tree that would be pushed.

pub mod exposure;
mod lfs;
mod orders;
mod paths;
mod refuse;
mod secrets;
mod survey;
mod weaker;

pub use lfs::{ATTRIBUTES, Tracked};
pub use orders::{MOST_ORDERS, ORDER, Orders, is_order, wants_orders};
pub use secrets::Secrets;
pub use survey::{Survey, Touched, survey};

use crate::domain::{Fault, Limits, seeded};
use serde::{Deserialize, Serialize};

/// Something in a change that wants a person's look; the pull request stays a draft.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "flag", rename_all = "snake_case")]
pub enum Flag {
    /// A test was deleted, skipped or loosened.
    WeakerTests {
        /// Where.
        path: String,
        /// What was seen, in a few words.
        what: String,
    },
    /// A file that CI runs was changed.
    RunByCi {
        /// Which.
        path: String,
    },
}

/// A changed file with both sides, where they are text and within the cap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDiff {
    /// Its path (the new one where it was renamed).
    pub path: String,
    /// Its path before, where it was renamed.
    pub old_path: Option<String>,
    /// Its mode before, in git's octal (0o100644, 0o100755, 0o120000); `None`: it is new.
    pub old_mode: Option<u32>,
    /// Its mode after; `None`: it was removed.
    pub new_mode: Option<u32>,
    /// Its content before; `None` when new.
    pub old: Option<Vec<u8>>,
    /// Its content after; `None` when removed.
    pub new: Option<Vec<u8>>,
}

/// What is known of the repository that a change is made in.
#[derive(Clone, Debug, Default)]
pub struct Around {
    /// What CI is told to run.
    pub orders: Orders,
    /// What is kept in LFS before the change.
    pub lfs_before: Tracked,
    /// What is kept in LFS after it.
    pub lfs_after: Tracked,
}

/// What the operator and the repository allow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rules {
    /// `.github/**` may be changed: the base's configuration allows it and the App may.
    pub workflows: bool,
    /// Globs that alone may be pushed; `None`: everything may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
    /// Globs that are never pushed, also where `allow` has them.
    pub deny: Vec<String>,
}

/// What the policy says of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// It may be pushed.
    Pass {
        /// What wants a person's look.
        flags: Vec<Flag>,
    },
    /// Nothing of it may be pushed.
    Refuse {
        /// Why and what would allow it, one sentence a reason: for the agent first, then for people.
        reasons: Vec<String>,
    },
}

/// Rules on a change. `secrets` are our own, to be found in any usual encoding.
pub fn rule(
    files: &[FileDiff],
    around: &Around,
    rules: &Rules,
    limits: &Limits,
    secrets: &[String],
) -> Ruling {
    let own = Secrets::new(secrets);
    let mut reasons = refuse::reasons(files, rules, limits, &own);
    reasons.extend(files.iter().filter_map(|file| lfs::reason(file, &around.lfs_before, &around.lfs_after)));
    match reasons.is_empty() {
        false => Ruling::Refuse { reasons: refuse::told(reasons, &own) },
        true if seeded(Fault::WeakerUnflagged) => Ruling::Pass { flags: Vec::new() },
        true => Ruling::Pass { flags: weaker::flags(files, &around.orders) },
    }
}

/// Why what an agent says may neither be posted nor stand in a commit; `None`: it may. It is read as one text, so that
/// half of a secret here and half of it there does not pass.
pub fn words(said: &[&str], secrets: &[String]) -> Option<String> {
    if seeded(Fault::WordsUnread) {
        return None;
    }
    let all = said.join("\n");
    let own = Secrets::new(secrets).are_in(all.as_bytes()).then_some("a secret of fixpoint's own");
    let kind = own.or_else(|| secrets::kind(b"", all.as_bytes()))?;
    Some(format!(
        "What is said of the change (a summary, a description, an answer) holds {kind}: take it out, or use a placeholder."
    ))
}

#[cfg(test)]
mod tests;
