//! A session in a line, and how it ended in words.

use super::find::{Found, Home};
use crate::domain::{State, session::Outcome, text};

/// A session in a list.
pub(super) fn row(found: &Found) -> String {
    let (id, state) = (found.short(), &found.session.state);
    let facts = &state.facts;
    match &found.home {
        Home::Server(_) => {
            let pull = facts.pull.as_ref().map_or_else(|| "-".to_owned(), |p| format!("#{}", p.number));
            let (word, repo, number) = (state.phase_word(), &facts.repo, facts.thread.number);
            format!("{id}  {word:<10}  {repo}#{number}  {pull}  {}", facts.branch)
        }
        Home::Run(_) => {
            let note = found.note();
            let outcome = note.as_ref().and_then(|note| note.outcome.clone());
            let word = match outcome {
                Some(outcome) => outcome.replace('_', " "),
                None if found.home.is_over() => "broken off".to_owned(),
                None => state.phase_word().to_owned(),
            };
            let branch = note.and_then(|note| note.branch).unwrap_or_else(|| "-".to_owned());
            format!("{id}  {word:<10}  run in {}  {branch}", facts.repo.name)
        }
    }
}

/// How it ended, and why, where that is known.
pub(in crate::cli) fn ended(outcome: &Outcome) -> String {
    let value = serde_json::to_value(outcome).unwrap_or_default();
    let word = value["outcome"].as_str().unwrap_or_default().replace('_', " ");
    let why = ["why", "which"].iter().find_map(|key| value[*key].as_str()).unwrap_or_default();
    if why.is_empty() { word } else { text::terminal(&format!("{word}: {why}")) }
}

/// What was asked, in a line.
pub(super) fn instruction(state: &State) -> String {
    let text = &state.facts.request.instruction;
    let text = if text.is_empty() { &state.facts.thread.title } else { text };
    text::terminal(text.lines().next().unwrap_or_default())
}
