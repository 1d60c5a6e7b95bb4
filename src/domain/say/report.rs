//! What is folded: the rounds one by one, what CI said, the kept patch.

use super::{handed, voice::Voice, voice::failure, words};
use crate::domain::session::{Cause, RoundNote};

/// Red checks shown with their excerpt.
const EXCERPTS: usize = 3;
/// Characters of an excerpt.
const EXCERPT: usize = 2_000;
/// Characters of an approved plan.
const PLAN: usize = 4_000;
/// Characters of a patch in a comment: more belongs into a file.
const PATCH: usize = 30_000;
/// Rounds listed: a request has few, a damaged state could have many.
const ROUNDS: usize = 20;

pub(super) fn folds(voice: &Voice<'_>) -> Vec<(String, String)> {
    [rounds(voice), plan(voice), handed::fold(voice), checks(voice), patch(voice)]
        .into_iter()
        .flatten()
        .collect()
}

fn rounds(voice: &Voice<'_>) -> Option<(String, String)> {
    let facts = voice.facts();
    let mut body: String = facts.rounds.iter().take(ROUNDS).map(round).collect();
    let used = used(voice);
    let page = page(voice);
    if body.is_empty() && used.is_none() && page.is_none() {
        return None;
    }
    if let Some(used) = &used {
        body.push_str(&format!("\n{used}\n"));
    }
    if let Some(page) = &page {
        body.push_str(&format!("\n{page}\n"));
    }
    let title = if used.is_some() { "Rounds and cost" } else { "Rounds" };
    Some((title.to_owned(), body))
}

fn round(note: &RoundNote) -> String {
    let cause = match note.cause {
        Cause::Asked => "asked",
        Cause::RedCi => "red CI",
        Cause::Answered => "an answer",
        Cause::Review => "a review",
        Cause::Conflict => "a conflict with the base",
    };
    let commit =
        note.commit.as_ref().map_or("nothing pushed".to_owned(), |commit| format!("`{}`", commit.short()));
    let result = words::inline(note.result.trim_end_matches('.'), 300);
    let result = if result.is_empty() { String::new() } else { format!(": {result}") };
    format!("{}. {cause} → {commit}{result}\n", note.number)
}

/// Where the whole session can be read, where that can be reached.
fn page(voice: &Voice<'_>) -> Option<String> {
    let url =
        format!("{}/sessions/{}", voice.context.public_url?.trim_end_matches('/'), voice.context.session);
    is_address(&url).then(|| format!("[The whole session]({url})"))
}

/// Tokens and money, where the repository is private.
fn used(voice: &Voice<'_>) -> Option<String> {
    let spent = voice.facts().spent;
    if voice.facts().public || spent.tokens == 0 {
        return None;
    }
    let money = match spent.micros {
        0 => String::new(),
        micros => {
            format!(", {} of {}", words::dollars(micros), words::dollars(voice.limits().request_micros))
        }
    };
    Some(format!("Used: {} tokens{money}.", words::tokens(spent.tokens)))
}

/// What was agreed to stays to be read while it is carried out.
fn plan(voice: &Voice<'_>) -> Option<(String, String)> {
    let plan = voice.facts().plan.as_deref()?;
    Some(("The plan that was approved".to_owned(), words::quote(plan, PLAN)))
}

fn checks(voice: &Voice<'_>) -> Option<(String, String)> {
    let failures = &voice.facts().failures;
    if failures.is_empty() {
        return None;
    }
    let parts: Vec<String> = failures.iter().take(EXCERPTS).map(check).collect();
    let more = failures.len().saturating_sub(EXCERPTS);
    let rest =
        if more == 0 { String::new() } else { format!("\n\nAnd {}.", words::count(more, "red check")) };
    Some((
        format!("What CI said on {}", voice.head().replace('`', "")),
        format!("{}{rest}", parts.join("\n\n")),
    ))
}

fn check(red: &crate::domain::Failure) -> String {
    let link = match red.url.as_deref().filter(|url| is_address(url)) {
        Some(url) => format!(" ([log]({url}))"),
        None => String::new(),
    };
    let excerpt = red.excerpt.trim();
    if excerpt.is_empty() {
        return format!("{}{link}", failure(red));
    }
    let excerpt = crate::domain::text::cut(excerpt, EXCERPT);
    format!("{}{link}\n\n{}", failure(red), words::block("text", &excerpt))
}

fn patch(voice: &Voice<'_>) -> Option<(String, String)> {
    let patch = voice.context.patch?;
    if patch.chars().count() > PATCH {
        let body =
            format!("It is too long for a comment: `fixpoint session patch {}`.", voice.context.session);
        return Some(("The patch".to_owned(), body));
    }
    Some(("The patch".to_owned(), words::block("diff", patch)))
}

/// An address that can stand in a link as it is.
pub(super) fn is_address(url: &str) -> bool {
    let fits = url.starts_with("https://") || url.starts_with("http://");
    fits && url.len() <= 500
        && !url.contains(|c: char| c.is_whitespace() || c.is_control() || "()<>\"`@".contains(c))
}
