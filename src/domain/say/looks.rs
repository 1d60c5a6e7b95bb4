//! What a reviewer should look at first: flags, the largest change, tests, dependencies.

use super::{voice::Voice, words};
use crate::domain::policy::Flag;

/// Flags named one by one above the fold.
pub(super) const NAMED_FLAGS: usize = 3;

/// What a reviewer should see before anything else.
pub(super) fn look_first(voice: &Voice<'_>) -> String {
    let looks = looks(voice);
    if looks.is_empty() { String::new() } else { format!("Look here first: {}.", looks.join("; ")) }
}

/// The places, with the reason where there is one.
pub(super) fn looks(voice: &Voice<'_>) -> Vec<String> {
    let mut looks: Vec<String> = voice.facts().flags.iter().take(NAMED_FLAGS).map(named).collect();
    if let Some(survey) = voice.context.survey {
        looks.extend(survey.largest().map(|touched| words::code(&touched.place(), 120)));
        looks.extend(survey.tests_line());
        looks.extend(survey.dependencies_line());
    }
    looks
}

/// A flag in words.
pub(super) fn named(flag: &Flag) -> String {
    match flag {
        Flag::WeakerTests { path, what } => {
            format!("{}: {}", words::code(path, 100), words::inline(what, 160))
        }
        Flag::RunByCi { path } => format!("CI runs {}, which changed", words::code(path, 100)),
    }
}
