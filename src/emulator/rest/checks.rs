//! Check runs and check suites.

use super::{At, number};
use crate::emulator::auth::{Caller, Need, read, write};
use crate::emulator::reply::{Answer, Call, Refusal, Reply, optional, required};
use crate::emulator::state::{
    ACTIONS_APP, Annotation, CheckAction, CheckRun, Id, Progress, Repository, Suite, World,
};
use chrono::Utc;
use http::StatusCode;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const READ: Need = read(&["checks"]);
const WRITE: Need = write(&["checks"]);

/// Of each name in a suite the newest run, newest first; `filter=all` shows the older ones too.
fn shown_runs(world: &World, call: &Call, repo: Id, of: impl Fn(&CheckRun) -> bool) -> Vec<Value> {
    let here = &world.repositories[&repo];
    let runs = here.check_runs.values().filter(|run| of(run));
    let all = call.asks("filter") == Some("all");
    let mut newest: BTreeMap<(Id, &str), &CheckRun> = BTreeMap::new();
    let mut every: Vec<&CheckRun> = Vec::new();
    for run in runs {
        newest.insert((run.suite, &run.name), run);
        every.push(run);
    }
    let mut chosen: Vec<&CheckRun> = if all { every } else { newest.into_values().collect() };
    chosen.sort_by_key(|run| std::cmp::Reverse(run.id));
    chosen
        .into_iter()
        .filter(|run| call.asks("check_name").is_none_or(|name| run.name == name))
        .filter(|run| call.asks("status").is_none_or(|status| run.progress.status() == status))
        .filter(|run| call.asks("app_id").is_none_or(|id| run.app.to_string() == id))
        .map(|run| world.show_check_run(repo, run))
        .collect()
}

pub(super) fn runs_of(world: &World, call: &Call, (owner, name): At<'_>, reference: &str) -> Answer {
    let repo = world.reach(call, owner, name, READ)?;
    let sha = world.resolve(repo, reference)?;
    Ok(call.counted_page(&world.api, "check_runs", shown_runs(world, call, repo, |run| run.head_sha == sha)))
}

pub(super) fn runs_of_suite(world: &World, call: &Call, (owner, name): At<'_>, id: &str) -> Answer {
    let repo = world.reach(call, owner, name, READ)?;
    let id = number(id)?;
    Ok(call.counted_page(&world.api, "check_runs", shown_runs(world, call, repo, |run| run.suite == id)))
}

pub(super) fn suites_of(world: &World, call: &Call, (owner, name): At<'_>, reference: &str) -> Answer {
    let repo = world.reach(call, owner, name, READ)?;
    let sha = world.resolve(repo, reference)?;
    let suites = world.repositories[&repo].suites.values().filter(|suite| suite.head_sha == sha);
    let wanted = suites.filter(|suite| call.asks("app_id").is_none_or(|id| suite.app.to_string() == id));
    let shown = wanted.map(|suite| world.show_full_suite(repo, suite)).collect();
    Ok(call.counted_page(&world.api, "check_suites", shown))
}

fn find_suite<'w>(world: &'w World, repo: Id, id: &str) -> Result<&'w Suite, Refusal> {
    world.repositories[&repo].suites.get(&number(id)?).ok_or_else(Refusal::not_found)
}

pub(super) fn suite(world: &World, call: &Call, (owner, name): At<'_>, id: &str) -> Answer {
    let repo = world.reach(call, owner, name, READ)?;
    Ok(Reply::ok(world.show_full_suite(repo, find_suite(world, repo, id)?)))
}

fn find_run<'w>(world: &'w World, repo: Id, id: &str) -> Result<&'w CheckRun, Refusal> {
    world.repositories[&repo].check_runs.get(&number(id)?).ok_or_else(Refusal::not_found)
}

pub(super) fn run(world: &World, call: &Call, (owner, name): At<'_>, id: &str) -> Answer {
    let repo = world.reach(call, owner, name, READ)?;
    Ok(Reply::ok(world.show_check_run(repo, find_run(world, repo, id)?)))
}

pub(super) fn annotations(world: &World, call: &Call, (owner, name): At<'_>, id: &str) -> Answer {
    let repo = world.reach(call, owner, name, READ)?;
    let run = find_run(world, repo, id)?;
    let html = world.web_of(repo);
    let shown = run.annotations.iter().map(|annotation| {
        json!({
            "path": annotation.path,
            "blob_href": format!("{html}/blob/{}/{}", run.head_sha, annotation.path),
            "start_line": annotation.start_line,
            "start_column": null,
            "end_line": annotation.end_line,
            "end_column": null,
            "annotation_level": annotation.annotation_level,
            "title": annotation.title.as_deref().unwrap_or(""),
            "message": annotation.message,
            "raw_details": "",
        })
    });
    Ok(call.page(&world.api, shown.collect()))
}

/// Only Apps write check runs, each its own.
fn calling_app(call: &Call) -> Result<Id, Refusal> {
    match &call.caller {
        Caller::Token(token) if token.is_installation() => Ok(token.app),
        _ => Err(Refusal::new(StatusCode::FORBIDDEN, "You must authenticate via a GitHub App.")),
    }
}

pub(super) fn create_run(world: &mut World, call: &Call, (owner, name): At<'_>) -> Answer {
    let repo = world.reach(call, owner, name, WRITE)?;
    let (app, body) = (calling_app(call)?, call.json()?);
    let check = required(&body, "CheckRun", "name")?;
    let head = required(&body, "CheckRun", "head_sha")?;
    let sha = world.resolve(repo, &head)?;
    let suite = suite_for(world, repo, app, &sha);
    let id = world.id();
    let run = CheckRun {
        id,
        suite,
        app,
        name: check,
        head_sha: sha,
        progress: Progress::Queued,
        details_url: Some(format!("{}/apps/{}", world.web, world.app.slug)),
        external_id: String::new(),
        title: None,
        summary: None,
        text: None,
        annotations: Vec::new(),
        actions: Vec::new(),
        started: Some(Utc::now()),
        completed: None,
    };
    world.repo_mut(repo).check_runs.insert(id, run);
    change_run(world, repo, id, &body)?;
    world.tell_check(repo, id, "created");
    after_change(world, repo, id);
    Ok(Reply::created(world.show_check_run(repo, &world.repositories[&repo].check_runs[&id])))
}

/// An App's suite of a commit, made when the push did not make it.
fn suite_for(world: &mut World, repo: Id, app: Id, sha: &str) -> Id {
    let here = &world.repositories[&repo];
    let there = here.suites.values().rev().find(|suite| suite.app == app && suite.head_sha == sha);
    match there {
        Some(suite) => suite.id,
        None => {
            let branch = branch_at(world, here, sha);
            world.make_suite(repo, app, branch.as_deref(), None, sha)
        }
    }
}

fn branch_at(world: &World, here: &Repository, sha: &str) -> Option<String> {
    let git = world.open_git(here.id).ok()?;
    let all = crate::emulator::git::push::references(&git);
    all.iter()
        .find(|(name, id)| *id == sha && name.starts_with("refs/heads/"))
        .map(|(name, _)| name["refs/heads/".len()..].into())
}

pub(super) fn update_run(world: &mut World, call: &Call, (owner, name): At<'_>, id: &str) -> Answer {
    let repo = world.reach(call, owner, name, WRITE)?;
    let run = find_run(world, repo, id)?;
    let (id, was) = (run.id, run.progress.clone());
    if run.app != calling_app(call)? {
        return Err(Refusal::new(
            StatusCode::FORBIDDEN,
            "Invalid app_id - check run can only be modified by the GitHub App that created it.",
        ));
    }
    change_run(world, repo, id, &call.json()?)?;
    if world.repositories[&repo].check_runs[&id].progress != was {
        after_change(world, repo, id);
    }
    Ok(Reply::ok(world.show_check_run(repo, &world.repositories[&repo].check_runs[&id])))
}

const CONCLUSIONS: [&str; 8] =
    ["success", "failure", "neutral", "cancelled", "skipped", "timed_out", "action_required", "stale"];

fn change_run(world: &mut World, repo: Id, id: Id, body: &Value) -> Result<(), Refusal> {
    let now = Utc::now();
    let annotations: Vec<Annotation> = body["output"]["annotations"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|annotation| serde_json::from_value(annotation.clone()))
        .collect::<Result<_, _>>()
        .map_err(|_| Refusal::unprocessable("Invalid request.\n\nAn annotation lacks one of its fields."))?;
    if annotations.len() > 50 {
        return Err(Refusal::unprocessable("Invalid request.\n\nNo more than 50 annotations are allowed."));
    }
    let output = &body["output"];
    if !output.is_null() && !output["summary"].is_string() {
        return Err(Refusal::unprocessable("Invalid request.\n\n\"summary\" wasn't supplied."));
    }
    for field in ["summary", "text"] {
        crate::emulator::issues::check_length(output[field].as_str().unwrap_or_default(), "CheckRun")?;
    }
    let conclusion = optional(body, "conclusion");
    if conclusion.as_ref().is_some_and(|conclusion| !CONCLUSIONS.contains(&conclusion.as_str())) {
        return Err(Refusal::unprocessable(
            "Invalid request.\n\nconclusion is not one of the allowed values.",
        ));
    }
    if body["status"] == "completed" && conclusion.is_none() {
        return Err(Refusal::unprocessable("Invalid request.\n\n\"conclusion\" wasn't supplied."));
    }
    let actions = actions_of(body)?;
    let Some(run) = world.repo_mut(repo).check_runs.get_mut(&id) else { return Err(Refusal::not_found()) };
    run.actions = actions.unwrap_or(std::mem::take(&mut run.actions));
    match (conclusion, body["status"].as_str()) {
        (Some(conclusion), _) => {
            run.progress = Progress::Completed(conclusion);
            run.completed = Some(now);
        }
        (None, Some("in_progress")) => run.progress = Progress::Running,
        (None, Some("queued")) => run.progress = Progress::Queued,
        _ => {}
    }
    if let Some(name) = optional(body, "name") {
        run.name = name;
    }
    if let Some(external) = optional(body, "external_id") {
        run.external_id = external;
    }
    if let Some(url) = optional(body, "details_url") {
        run.details_url = Some(url);
    }
    if !output.is_null() {
        run.title = optional(output, "title").or(run.title.take());
        run.summary = optional(output, "summary");
        run.text = optional(output, "text");
    }
    // Annotations add up over several updates.
    run.annotations.extend(annotations);
    Ok(())
}

/// The buttons; `None`: they stay as they are.
fn actions_of(body: &Value) -> Result<Option<Vec<CheckAction>>, Refusal> {
    if body["actions"].is_null() {
        return Ok(None);
    }
    let invalid = |why: &str| Refusal::unprocessable(&format!("Invalid request.\n\n{why}"));
    let actions: Vec<CheckAction> = serde_json::from_value(body["actions"].clone())
        .map_err(|_| invalid("An action lacks one of its fields."))?;
    let long = |text: &str, most| text.chars().count() > most;
    let any_long = actions.iter().any(|action| {
        long(&action.label, 20) || long(&action.description, 40) || long(&action.identifier, 20)
    });
    match () {
        () if actions.len() > 3 => Err(invalid("No more than 3 actions are allowed.")),
        () if any_long => Err(invalid("A text of an action is too long.")),
        () => Ok(Some(actions)),
    }
}

/// A change of status is told, and moves the suite.
fn after_change(world: &mut World, repo: Id, id: Id) {
    let Some(run) = world.repositories[&repo].check_runs.get(&id).cloned() else { return };
    world.happened_to_check(repo, id);
    if run.progress.is_completed() {
        world.tell_check(repo, id, "completed");
    }
    let here = &world.repositories[&repo];
    let of_suite: Vec<&CheckRun> =
        here.check_runs.values().filter(|other| other.suite == run.suite).collect();
    if of_suite.iter().all(|run| run.progress.is_completed()) {
        let bad = of_suite
            .iter()
            .filter_map(|run| run.progress.conclusion())
            .find(|conclusion| !passes(conclusion));
        let conclusion = bad.unwrap_or("success").to_owned();
        world.complete_suite(repo, run.suite, &conclusion);
    } else if let Some(suite) = world.repo_mut(repo).suites.get_mut(&run.suite) {
        suite.progress = Progress::Running;
    }
}

pub(super) fn passes(conclusion: &str) -> bool {
    matches!(conclusion, "success" | "neutral" | "skipped")
}

pub(super) fn rerequest_run(world: &World, call: &Call, (owner, name): At<'_>, id: &str) -> Answer {
    let repo = world.reach(call, owner, name, WRITE)?;
    let run = find_run(world, repo, id)?;
    if run.app == ACTIONS_APP {
        return Err(Refusal::unprocessable("This check run is not rerequestable"));
    }
    world.tell_check(repo, run.id, "rerequested");
    Ok(Reply::created(json!({})))
}

pub(super) fn rerequest_suite(world: &World, call: &Call, (owner, name): At<'_>, id: &str) -> Answer {
    let repo = world.reach(call, owner, name, WRITE)?;
    let suite = find_suite(world, repo, id)?;
    let parts = json!({ "check_suite": world.show_suite(repo, suite) });
    world.hook("check_suite", Some("rerequested"), Some(repo), call.actor()?, parts);
    Ok(Reply::created(json!({})))
}
