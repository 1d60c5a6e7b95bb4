//! Does a change make the tests see less? Every finding names a file and what was seen; a person decides.
//!
//! The rules are general: what a test demanded before must be demanded after it, word for word or more strictly, in the
//! same file or in another test file; nothing may switch a test off that was on; what is not a test must not know that
//! it is being tested; what CI runs is named whenever it changes.

mod cases;
mod ci;
mod code;
mod demands;
mod documented;
mod signs;
mod special;
mod weight;

use super::{FileDiff, Flag, Orders, paths};
use std::collections::HashMap;

/// Findings named for one file: more would not be read.
const PER_FILE: usize = 4;
/// Findings in all.
const IN_ALL: usize = 50;

/// What in a change wants a person's look.
pub(super) fn flags(files: &[FileDiff], orders: &Orders) -> Vec<Flag> {
    let sides: Vec<Sides> = files.iter().map(Sides::of).collect();
    let moved = Moved::of(&sides);
    let mut flags = Vec::new();
    for sides in &sides {
        let mut seen = Vec::new();
        seen.extend(cases::gone(sides, &moved));
        seen.extend(demands::fewer(sides, &moved));
        seen.extend(signs::off(sides, &moved));
        seen.extend(documented::changed(sides, &moved));
        seen.extend(special::cases(sides));
        seen.extend(ci::softer(sides, orders));
        seen.dedup();
        let path = &sides.file.path;
        flags.extend(
            seen.into_iter().take(PER_FILE).map(|what| Flag::WeakerTests { path: path.clone(), what }),
        );
        if ci::is_run(sides, orders) {
            flags.push(Flag::RunByCi { path: path.clone() });
        }
    }
    flags.truncate(IN_ALL);
    flags
}

/// A changed file as text, reduced to what runs, with its test part and the rest apart.
pub(super) struct Sides<'a> {
    file: &'a FileDiff,
    /// The path it had before.
    old_path: &'a str,
    /// It was text before and after, as far as it was there.
    is_text: bool,
    old: Side,
    new: Side,
}

/// One side of it.
#[derive(Default)]
pub(super) struct Side {
    /// All of it, with comments.
    raw: String,
    /// Tests: what runs of them.
    test: String,
    /// The rest: what runs of it.
    code: String,
}

impl<'a> Sides<'a> {
    fn of(file: &'a FileDiff) -> Self {
        let old_path = file.old_path.as_deref().unwrap_or(&file.path);
        let is_binary = |bytes: &Option<Vec<u8>>| bytes.as_deref().is_some_and(|bytes| bytes.contains(&0));
        Self {
            file,
            old_path,
            is_text: !is_binary(&file.old) && !is_binary(&file.new),
            old: Side::of(old_path, file.old.as_deref()),
            new: Side::of(&file.path, file.new.as_deref()),
        }
    }

    /// Was there anything of tests before?
    fn had_tests(&self) -> bool {
        !self.old.test.trim().is_empty()
    }
}

impl Side {
    fn of(path: &str, bytes: Option<&[u8]>) -> Self {
        let raw = String::from_utf8_lossy(bytes.unwrap_or_default()).replace("\r\n", "\n");
        if !paths::is_code(path) {
            return Self { raw, ..Self::default() };
        }
        let running = code::running(path, &raw);
        let start = if paths::is_test(path) { Some(0) } else { inline_tests(path, &running) };
        let start = start.unwrap_or(running.len());
        Self { raw, code: running[..start].to_owned(), test: running[start..].to_owned() }
    }
}

/// Where the tests begin that stand in the file they test: Rust's `#[cfg(test)] mod`.
fn inline_tests(path: &str, text: &str) -> Option<usize> {
    if paths::ending(path) != "rs" {
        return None;
    }
    let module = crate::domain::text::pattern::pattern!(
        r"#\[cfg\((?:all\()?test\b[^\]]*\]\s*(?:#\[[^\n]*\]\s*)*(?:pub\s+)?mod\s+\w+\s*\{"
    );
    module.find(text).map(|found| found.start())
}

/// What the change's test files hold now that they did not hold before, file borders aside: a moved test is no lost one.
#[derive(Default)]
pub(super) struct Moved {
    /// Names of tests, how often more than before.
    tests: HashMap<String, i64>,
    /// Demands, how often more than before.
    demands: HashMap<String, i64>,
    /// Lines without white space, how often more than before.
    lines: HashMap<String, i64>,
    /// Names that the code outside tests lost.
    lost_names: std::collections::HashSet<String>,
    /// Names that it gained.
    new_names: std::collections::HashSet<String>,
}

impl Moved {
    fn of(all: &[Sides<'_>]) -> Self {
        let mut moved = Self::default();
        let (mut before, mut after) = (std::collections::HashSet::new(), std::collections::HashSet::new());
        for sides in all {
            for (side, path, sign) in
                [(&sides.old, sides.old_path, -1), (&sides.new, sides.file.path.as_str(), 1)]
            {
                cases::names(path, &side.test)
                    .into_iter()
                    .for_each(|name| *moved.tests.entry(name).or_default() += sign);
                demands::all(path, &side.test)
                    .into_iter()
                    .for_each(|demand| *moved.demands.entry(demand).or_default() += sign);
                side.test
                    .lines()
                    .chain(side.code.lines())
                    .for_each(|line| *moved.lines.entry(squeezed(line)).or_default() += sign);
            }
            before.extend(demands::names(&sides.old.code));
            after.extend(demands::names(&sides.new.code));
        }
        moved.lost_names = before.difference(&after).cloned().collect();
        moved.new_names = after.difference(&before).cloned().collect();
        moved
    }
}

/// Without white space.
pub(super) fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Lines of `new` that `old` has not, with their place; a line that only moved is not among them.
pub(in crate::domain::policy) fn added<'a>(old: &str, new: &'a str) -> Vec<(usize, &'a str)> {
    let mut left: HashMap<String, usize> = HashMap::new();
    old.lines().for_each(|line| *left.entry(squeezed(line)).or_default() += 1);
    new.lines()
        .enumerate()
        .filter(|(_, line)| match left.get_mut(&squeezed(line)) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        })
        .collect()
}

/// A piece of code in a finding.
pub(super) fn shown(code: &str) -> String {
    let line = crate::domain::text::line(code).replace('`', "'");
    format!("`{}`", crate::domain::text::shorten(&line, 80))
}

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod more;
#[cfg(test)]
mod tests;
