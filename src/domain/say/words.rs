//! The small change of sentences: code spans, quotes, folds, amounts.

pub(super) use crate::domain::money::dollars;
use crate::domain::text::{harmless, line, shorten, terminal};

/// Longest first sentence: what a phone's notification shows.
pub(super) const SENTENCE: usize = 110;

/// A name or a line of others in a code span, where it mentions, closes and starts nothing.
pub(super) fn code(text: &str, limit: usize) -> String {
    let text = line(&terminal(text)).replace('`', "'");
    let text = shorten(&text, limit);
    if text.is_empty() { "(no name)".to_owned() } else { format!("`{text}`") }
}

/// Stands for our words before those of others.
const BEFORE: &str = "x ";

/// A few words of others inside a sentence of ours, on one line.
pub(super) fn inline(text: &str, limit: usize) -> String {
    let text = shorten(&line(&terminal(text)), limit).replace("```", "'''");
    let text = if text.matches('`').count() % 2 == 1 { text.replace('`', "'") } else { text };
    // Read where it will stand, in the middle of a line: at its start the same words could open a block or be a
    // definition, in which nothing is made harmless.
    let text = harmless(&format!("{BEFORE}{}", text.trim()));
    text.strip_prefix(BEFORE).unwrap_or(&text).to_owned()
}

/// What others said, as their words.
pub(super) fn quote(text: &str, limit: usize) -> String {
    harmless(&shorten(text.trim(), limit)).lines().map(|line| format!("> {line}\n")).collect()
}

/// What is there for those who want to know more.
pub(super) fn fold(summary: &str, body: &str) -> String {
    format!("<details><summary>{summary}</summary>\n\n{}\n\n</details>", body.trim())
}

/// A block of text that stays as it is: the fence is longer than any in it.
pub(super) fn block(language: &str, text: &str) -> String {
    let text = terminal(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end())
}

/// `1 file`, `2 files`.
pub(super) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Tokens as people read them: `940`, `212k`, `1.4M`.
pub(super) fn tokens(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => format!("{}k", number / 1_000),
        _ => format!("{}.{}M", number / 1_000_000, number % 1_000_000 / 100_000),
    }
}

/// `3 h`, `45 min`, `7 days`, `20 s`.
pub(super) fn span(duration: std::time::Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        s if s >= 48 * 3600 => format!("{} days", s / 86_400),
        s if s >= 3600 => format!("{} h", s / 3600),
        s if s >= 60 => format!("{} min", s / 60),
        s => format!("{s} s"),
    }
}

/// Does a reason speak of money? Public repositories are not told.
pub(super) fn is_about_money(text: &str) -> bool {
    const WORDS: [&str; 14] = [
        "billing",
        "payment",
        "spending",
        "invoice",
        "budget",
        "credit",
        "quota",
        "plan",
        "price",
        "cost",
        "usd",
        "dollar",
        "subscription",
        "minutes",
    ];
    let text = text.to_lowercase();
    text.contains(['$', '€', '£']) || WORDS.iter().any(|word| text.contains(word))
}
