//! Whether a workflow starts on the change. Source: "Events that trigger workflows" and "Workflow syntax".

use super::{Place, pattern, yaml};
use serde_json::{Map, Value};

/// What is done to a pull request by fixpoint itself, or by what it does: only these kinds of the event need no decision of
/// anybody with write access. Without `types` GitHub takes the first three.
const TYPES: [&str; 9] = [
    "opened",
    "synchronize",
    "reopened",
    "edited",
    "ready_for_review",
    "converted_to_draft",
    "review_requested",
    "labeled",
    "unlabeled",
];

/// A start of a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Start {
    /// GitHub's name of the event.
    pub(super) event: String,
    /// What of it could not be read.
    pub(super) unread: Option<&'static str>,
}

/// The events by which a push of the change and its pull request start a workflow; those that follow other workflows aside.
pub(super) fn starts(workflow: &Value, place: &Place<'_>) -> Vec<Start> {
    let Some(events) = events(yaml::on(workflow)) else {
        return vec![Start { event: "unknown".to_owned(), unread: Some("what starts it") }];
    };
    let start = |(event, filter): (String, Value)| match does_start(&event, &filter, place) {
        Some(true) => Some(Start { event, unread: None }),
        Some(false) => None,
        None => Some(Start { event, unread: Some("a filter of what starts it") }),
    };
    events.into_iter().filter_map(start).collect()
}

/// The names of workflows whose runs start this one, with whether its filter could be read. `None`: it follows none.
pub(super) fn follows(workflow: &Value, place: &Place<'_>) -> Option<(Vec<String>, Start)> {
    let (event, filter) = events(yaml::on(workflow))?.into_iter().find(|(name, _)| name == "workflow_run")?;
    let names = filter.get("workflows").and_then(yaml::words);
    let unread = match (&names, branch(&filter, place.branch)) {
        (_, Some(false)) => return None,
        (Some(_), Some(true)) => None,
        _ => Some("which workflows it follows"),
    };
    Some((names.unwrap_or_default(), Start { event, unread }))
}

/// The events with their filters, whichever of the three forms was written.
fn events(on: &Value) -> Option<Vec<(String, Value)>> {
    match on {
        Value::String(event) => Some(vec![(event.clone(), Value::Null)]),
        Value::Array(_) => Some(yaml::words(on)?.into_iter().map(|event| (event, Value::Null)).collect()),
        Value::Object(filters) => {
            Some(filters.iter().map(|(event, filter)| (event.clone(), filter.clone())).collect())
        }
        _ => None,
    }
}

/// `None`: it cannot be told.
fn does_start(event: &str, filter: &Value, place: &Place<'_>) -> Option<bool> {
    match event {
        "push" => all([pushes_branches(filter), branch(filter, place.branch), paths(filter, place.paths)]),
        "pull_request" | "pull_request_target" => {
            all([types(filter), branch(filter, place.base), paths(filter, place.paths)])
        }
        // The first push makes the branch.
        "create" => Some(true),
        // Run on the pull request's own code, and anybody who may read a public repository may review.
        "pull_request_review" | "pull_request_review_comment" => Some(true),
        _ => Some(false),
    }
}

/// No beats unknown beats yes.
fn all(answers: [Option<bool>; 3]) -> Option<bool> {
    if answers.contains(&Some(false)) {
        return Some(false);
    }
    answers.iter().all(Option::is_some).then_some(true)
}

/// A filter of tags alone leaves branches out.
fn pushes_branches(filter: &Value) -> Option<bool> {
    let has = |keys: [&str; 2]| keys.iter().any(|key| filter.get(*key).is_some());
    Some(has(["branches", "branches-ignore"]) || !has(["tags", "tags-ignore"]))
}

fn types(filter: &Value) -> Option<bool> {
    match list(filter, "types")? {
        None => Some(true),
        Some(types) if types.iter().any(|name| name.contains("${{")) => None,
        Some(types) => Some(types.iter().any(|name| TYPES.contains(&name.as_str()))),
    }
}

fn branch(filter: &Value, name: &str) -> Option<bool> {
    match (list(filter, "branches")?, list(filter, "branches-ignore")?) {
        (Some(takes), _) => pattern::takes(&takes, name),
        (None, Some(ignored)) => pattern::any(&ignored, name).map(|ignored| !ignored),
        (None, None) => Some(true),
    }
}

fn paths(filter: &Value, touched: Option<&[String]>) -> Option<bool> {
    let (takes, ignored) = (list(filter, "paths")?, list(filter, "paths-ignore")?);
    let Some(touched) = touched else { return Some(true) };
    let each =
        |fits: &dyn Fn(&String) -> Option<bool>| touched.iter().map(fits).collect::<Option<Vec<bool>>>();
    match (takes, ignored) {
        (Some(takes), _) => Some(each(&|path| pattern::takes(&takes, path))?.contains(&true)),
        (None, Some(ignored)) => Some(each(&|path| pattern::any(&ignored, path))?.contains(&false)),
        (None, None) => Some(true),
    }
}

/// A filter's list; the outer `None`: it is none.
fn list(filter: &Value, key: &str) -> Option<Option<Vec<String>>> {
    let empty = Map::new();
    let filter = match filter {
        Value::Null => &empty,
        Value::Object(filter) => filter,
        _ => return None,
    };
    match filter.get(key) {
        None | Some(Value::Null) => Some(None),
        Some(list) => yaml::words(list).map(Some),
    }
}
