//! What a repository's past comes to, for a terminal and for the parts of a page.

use crate::domain::{
    observe::{Observed, Report},
    text,
};
use std::{collections::BTreeSet, fmt::Write as _};

/// Names shown of a list; the JSON has them all.
const NAMED: usize = 10;

/// The kinds of red, what can be mended first: the word of [`Report::by_kind`], and what it means.
pub const KINDS: [(&str, &str); 5] = [
    ("change", "red because of the change"),
    ("base", "red on the base too"),
    ("flaky", "flaky: passed on the same commit"),
    ("infrastructure", "the machine, the network or the service"),
    ("not_started", "did not start: billing, no runner, a bad file"),
];

/// The report for a terminal.
pub fn observed(repository: &str, days: u32, seen: &Observed) -> String {
    let Report { red, by_kind, .. } = &seen.report;
    let repository = text::terminal(repository);
    let mut said = format!("{repository}, {days} days: {} workflow runs, {red} red\n\n", seen.runs);
    for (kind, meaning) in KINDS {
        let _ = writeln!(said, "  {meaning:<45} {:>6}", by_kind.get(kind).unwrap_or(&0));
    }
    said.push('\n');
    for sentence in upshot(seen) {
        said.push_str(&sentence);
        said.push('\n');
    }
    said
}

/// What stands below the table, a sentence each.
pub fn upshot(seen: &Observed) -> Vec<String> {
    let Report { flaky, base_red, sessions, ci_minutes, .. } = &seen.report;
    let mut said = vec![
        format!("Flaky: {}", listed(flaky)),
        format!("Red on the base: {}", listed(base_red)),
        format!(
            "Sessions that would have started: {sessions}; their rounds would have taken {ci_minutes} minutes of CI."
        ),
    ];
    if seen.unread > 0 {
        said.push(format!(
            "{} failed jobs could not be read (logs are kept for a while only) and count as the change's.",
            seen.unread
        ));
    }
    said
}

fn listed(names: &BTreeSet<String>) -> String {
    if names.is_empty() {
        return "nothing".to_owned();
    }
    let shown: Vec<String> = names.iter().take(NAMED).map(|name| text::terminal(name)).collect();
    let more = names.len() - shown.len();
    let rest = if more == 0 { String::new() } else { format!(" and {more} more (see --json)") };
    format!("{}{rest}", shown.join(", "))
}
