//! The commit a round makes and the branch it goes to.

use super::Context;
use crate::domain::{Number, State, text};

/// Longest subject: what `git log --oneline` and GitHub show whole.
const SUBJECT: usize = 72;
/// Longest body, in characters: the pull request tells the rest.
const BODY: usize = 2_000;
/// Longest slug: a branch is typed now and then.
const SLUG: usize = 40;

/// The message of the commit a round makes: subject, body, trailers.
///
/// Words of the agent are made inert: they close no issue, skip no CI and sign for nobody.
pub fn commit(state: &State, summary: &str, context: &Context<'_>) -> String {
    let facts = &state.facts;
    let clean = text::harmless_plain(summary);
    let words: Vec<&str> = clean.lines().filter(|line| !is_trailer(line)).collect();
    let words = words.join("\n");
    let (first, rest) = match words.trim().split_once('\n') {
        Some((first, rest)) => (first.trim(), rest.trim()),
        None => (words.trim(), ""),
    };
    let fallback = format!("Work on #{}", facts.thread.number);
    let subject = first.trim_start_matches('#').trim().trim_end_matches('.');
    let subject = if subject.is_empty() { fallback.as_str() } else { subject };
    let mut paragraphs = vec![text::shorten(subject, SUBJECT)];
    if subject.chars().count() > SUBJECT {
        paragraphs.push(text::shorten(subject, BODY));
    }
    if !rest.is_empty() {
        paragraphs.push(text::shorten(rest, BODY));
    }
    paragraphs.push(format!("For #{}", facts.thread.number));
    paragraphs.push(format!(
        "Requested-by: {}\nAssisted-by: {}\nFixpoint-Session: {}\nFixpoint-Round: {}",
        value(&facts.request.asker.login),
        value(context.engine),
        value(context.session),
        facts.round
    ));
    paragraphs.join("\n\n") + "\n"
}

/// A trailer's value on its line.
fn value(text: &str) -> String {
    let text = text::line(&text::harmless_plain(&text.replace('@', "")));
    if text.is_empty() { "unknown".to_owned() } else { text }
}

/// A line that a program would take for a signature or an order.
fn is_trailer(line: &str) -> bool {
    let Some((key, _)) = line.trim().split_once(':') else { return false };
    let key = key.to_ascii_lowercase();
    key.ends_with("-by")
        || matches!(key.as_str(), "change-id" | "skip-checks" | "fixpoint-session" | "fixpoint-round")
}

/// Our branch for a thread: `fixpoint/<issue>-<slug>`, lower-case ASCII, digits and hyphens.
pub fn branch(number: Number, title: &str) -> String {
    let mut slug = String::new();
    for word in title.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        let room = SLUG - slug.len().min(SLUG);
        if word.len() + usize::from(!slug.is_empty()) > room {
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.push_str(&word.to_ascii_lowercase());
    }
    if slug.is_empty() { format!("fixpoint/{number}-change") } else { format!("fixpoint/{number}-{slug}") }
}
