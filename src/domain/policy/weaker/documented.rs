//! Examples in documentation that are run as tests: Python's `>>>`, Rust's fenced blocks.

use super::{
    Moved, Sides,
    demands::{likeness, minus},
    shown, weight,
};
use crate::domain::{policy::paths, text::pattern::pattern};

/// Examples compared with each other in one file.
const EXAMPLES: usize = 200;

/// Examples that promise something else now, or are no longer run. A new or a dropped one is the author's business.
pub(super) fn changed(sides: &Sides<'_>, moved: &Moved) -> Vec<String> {
    if sides.file.new_mode.is_none() || sides.file.old_mode.is_none() {
        return Vec::new();
    }
    let path = &sides.file.path;
    let (before, after) = (examples(path, &sides.old.raw), examples(path, &sides.new.raw));
    let mut new = minus(&after, &before);
    new.truncate(EXAMPLES);
    let became = |gone: &String| {
        let now = new.iter().max_by_key(|now| likeness(gone, now)).filter(|now| likeness(gone, now) >= 40)?;
        (!weight::keeps(gone, now, moved))
            .then(|| format!("the example {} became {}", shown(gone), shown(now)))
    };
    let mut seen: Vec<String> = minus(&before, &after).iter().take(EXAMPLES).filter_map(became).collect();
    let not_run = |text: &str| {
        pattern!(r"(?m)^\s*//[/!]\s*```\s*(?:\w+,)?(?:ignore|no_run|text|should_panic)\b")
            .find_iter(text)
            .count()
    };
    let run = |text: &str| pattern!(r"(?m)^\s*//[/!]\s*```\s*(?:rust)?\s*$").find_iter(text).count();
    if not_run(&sides.new.raw) > not_run(&sides.old.raw) && run(&sides.new.raw) < run(&sides.old.raw) {
        seen.push("an example in the documentation is no longer run".to_owned());
    }
    seen
}

/// What is called and what is promised, a line each.
fn examples(path: &str, text: &str) -> Vec<String> {
    match paths::ending(path).as_str() {
        "rs" => pattern!(r"(?m)^\s*//[/!]\s*(.*\bassert\w*!.*)$")
            .captures_iter(text)
            .map(|found| found[1].to_owned())
            .collect(),
        "py" => pattern!(r"(?m)^\s*>>> (.*)\n\s*([^>\s].*)$")
            .captures_iter(text)
            .map(|found| format!("assert {} == {}", &found[1], &found[2]))
            .collect(),
        _ => Vec::new(),
    }
}
