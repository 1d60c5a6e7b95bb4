//! A session in a line, and how it ended in words.

use super::find::{Found, Home};
use crate::{
    app::AuditLine,
    domain::{State, session::Outcome, text},
};
use serde_json::{Value, json};

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

/// A line of the audit: when, whose doing, what.
pub(super) fn audited(line: &AuditLine) -> String {
    let by = line.by.as_ref().map_or("fixpoint", |by| by.login.as_str());
    let kind = line.what.kind().replace('_', " ");
    text::terminal(&format!("{}  {by:<16}  {kind:<14}  {}", line.at.rfc3339(), line.what))
}

/// The same for a program: the account's id beside its name of the moment.
pub(super) fn audited_json(line: &AuditLine) -> Value {
    let mut told = json!({ "at": line.at.rfc3339(), "session": line.session, "by": line.by });
    if let (Value::Object(told), Ok(Value::Object(fact))) = (&mut told, serde_json::to_value(&line.what)) {
        told.extend(fact);
    }
    told
}
