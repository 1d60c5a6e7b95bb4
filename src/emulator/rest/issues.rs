//! Issues, their labels, assignees and reactions.

use super::{At, number};
use crate::emulator::auth::{TALK, read, write};
use crate::emulator::issues::Reacted;
use crate::emulator::reply::{Answer, Call, Refusal, Reply, optional, required, strings};
use crate::emulator::state::{Id, Label, World};
use http::StatusCode;
use serde_json::{Value, json};

/// Counts an item's lag down; `true` once lists show it.
pub(super) fn is_listed(lag: &mut u32) -> bool {
    let listed = *lag == 0;
    *lag = lag.saturating_sub(1);
    listed
}

pub(super) fn list(world: &mut World, call: &Call, (owner, name): At<'_>) -> Answer {
    let repo = world.reach(call, owner, name, read(TALK))?;
    let state = call.asks("state").unwrap_or("open");
    let labels: Vec<&str> = call.asks("labels").map(|labels| labels.split(',').collect()).unwrap_or_default();
    let creator = call.asks("creator").and_then(|login| world.find_user(login));
    let asked_creator = call.asks("creator").is_some();
    let mut numbers: Vec<u64> = world
        .repo_mut(repo)
        .issues
        .values_mut()
        .filter(|issue| state == "all" || (state == "open") == issue.open)
        .filter(|issue| {
            labels.iter().all(|label| issue.labels.iter().any(|has| has.eq_ignore_ascii_case(label)))
        })
        .filter(|issue| !asked_creator || Some(issue.author) == creator)
        .filter_map(|issue| is_listed(&mut issue.lag).then_some(issue.number))
        .collect();
    numbers.reverse();
    Ok(call.page(&world.api, numbers.into_iter().map(|number| world.show_issue(repo, number)).collect()))
}

pub(super) fn create(world: &mut World, call: &Call, (owner, name): At<'_>) -> Answer {
    let repo = world.reach(call, owner, name, write(&["issues"]))?;
    let body = call.json()?;
    let title = required(&body, "Issue", "title")?;
    let number =
        world.open_issue(repo, call.actor()?, &title, optional(&body, "body"), &strings(&body["labels"]))?;
    Ok(Reply::created(world.show_full_issue(repo, number)))
}

pub(super) fn get(world: &World, call: &Call, (owner, name): At<'_>, text: &str) -> Answer {
    let repo = world.reach(call, owner, name, read(TALK))?;
    let number = number(text)?;
    world.issue(repo, number)?;
    Ok(Reply::ok(world.show_full_issue(repo, number)))
}

pub(super) fn edit(world: &mut World, call: &Call, (owner, name): At<'_>, text: &str) -> Answer {
    let repo = world.reach(call, owner, name, write(TALK))?;
    let (number, body, actor) = (number(text)?, call.json()?, call.actor()?);
    world.edit_thread(repo, number, actor, optional(&body, "title"), optional(&body, "body"))?;
    match body["state"].as_str() {
        Some("closed") => world.set_open(repo, number, actor, false)?,
        Some("open") => world.set_open(repo, number, actor, true)?,
        _ => {}
    }
    if body["labels"].is_array() {
        set_labels(world, repo, number, actor, &strings(&body["labels"]))?;
    }
    Ok(Reply::ok(world.show_full_issue(repo, number)))
}

fn set_labels(world: &mut World, repo: Id, number: u64, actor: Id, wanted: &[String]) -> Result<(), Refusal> {
    let has = world.issue(repo, number)?.labels.clone();
    for name in has.iter().filter(|name| !wanted.contains(name)) {
        world.remove_label(repo, number, actor, name)?;
    }
    wanted.iter().try_for_each(|name| world.add_label(repo, number, actor, name))
}

pub(super) fn labels(world: &World, call: &Call, (owner, name): At<'_>, text: &str) -> Answer {
    let repo = world.reach(call, owner, name, read(TALK))?;
    Ok(call.page(&world.api, shown_labels(world, repo, number(text)?)?))
}

fn shown_labels(world: &World, repo: Id, number: u64) -> Result<Vec<Value>, Refusal> {
    Ok(world.issue(repo, number)?.labels.iter().map(|name| world.show_label(repo, name)).collect())
}

pub(super) fn add_labels(world: &mut World, call: &Call, (owner, name): At<'_>, text: &str) -> Answer {
    let repo = world.reach(call, owner, name, write(TALK))?;
    let (number, body, actor) = (number(text)?, call.json()?, call.actor()?);
    let names = if body.is_array() { strings(&body) } else { strings(&body["labels"]) };
    for label in names {
        world.add_label(repo, number, actor, &label)?;
    }
    Ok(Reply::ok(Value::Array(shown_labels(world, repo, number)?)))
}

pub(super) fn remove_label(
    world: &mut World,
    call: &Call,
    (owner, name): At<'_>,
    text: &str,
    label: &str,
) -> Answer {
    let repo = world.reach(call, owner, name, write(TALK))?;
    let number = number(text)?;
    world.remove_label(repo, number, call.actor()?, label)?;
    Ok(Reply::ok(Value::Array(shown_labels(world, repo, number)?)))
}

pub(super) fn repository_labels(world: &World, call: &Call, (owner, name): At<'_>) -> Answer {
    let repo = world.reach(call, owner, name, read(TALK))?;
    let names = world.repositories[&repo].labels.values();
    Ok(call.page(&world.api, names.map(|label| world.show_label(repo, &label.name)).collect()))
}

pub(super) fn create_label(world: &mut World, call: &Call, (owner, name): At<'_>) -> Answer {
    let repo = world.reach(call, owner, name, write(TALK))?;
    let body = call.json()?;
    let label = required(&body, "Label", "name")?;
    if world.repositories[&repo].labels.contains_key(&label.to_lowercase()) {
        return Err(Refusal::invalid(
            json!({ "resource": "Label", "code": "already_exists", "field": "name" }),
        ));
    }
    let id = world.id();
    let color = optional(&body, "color").unwrap_or_else(|| "ededed".into());
    let new = Label { id, name: label.clone(), color, description: optional(&body, "description") };
    world.repo_mut(repo).labels.insert(label.to_lowercase(), new);
    let shown = world.show_label(repo, &label);
    world.hook("label", Some("created"), Some(repo), call.actor()?, json!({ "label": shown }));
    Ok(Reply::created(shown))
}

pub(super) fn assign(world: &mut World, call: &Call, (owner, name): At<'_>, text: &str, on: bool) -> Answer {
    let repo = world.reach(call, owner, name, write(TALK))?;
    let (number, body, actor) = (number(text)?, call.json()?, call.actor()?);
    for login in strings(&body["assignees"]) {
        let Some(id) = world.find_user(&login) else { continue };
        let issue = world.issue_mut(repo, number)?;
        if on == issue.assignees.contains(&id) {
            continue;
        }
        if on {
            issue.assignees.push(id);
        } else {
            issue.assignees.retain(|there| *there != id);
        }
        let (event, mut parts) = world.thread_parts(repo, number);
        parts["assignee"] = world.show_user(id);
        world.hook(event, Some(if on { "assigned" } else { "unassigned" }), Some(repo), actor, parts);
        if on {
            world.notify_one(repo, number, actor, id, "assign", "assigned");
        }
    }
    let shown = world.show_full_issue(repo, number);
    Ok(if on { Reply::created(shown) } else { Reply::ok(shown) })
}

/// The reactions of a thing, as a page.
pub(super) fn show_reactions(world: &mut World, call: &Call, (owner, name): At<'_>, on: Reacted) -> Answer {
    let repo = world.reach(call, owner, name, read(TALK))?;
    let reactions = world.reactions_mut(repo, on)?.1.clone();
    let wanted =
        reactions.iter().filter(|reaction| call.asks("content").is_none_or(|only| only == reaction.content));
    Ok(call.page(&world.api, wanted.map(|reaction| world.show_reaction(reaction)).collect()))
}

/// 201 for a new reaction, 200 for one that was there.
pub(super) fn add_reaction(world: &mut World, call: &Call, (owner, name): At<'_>, on: Reacted) -> Answer {
    let repo = world.reach(call, owner, name, write(TALK))?;
    let content = required(&call.json()?, "Reaction", "content")?;
    let (reaction, new) = world.react(repo, on, call.actor()?, &content)?;
    let status = if new { StatusCode::CREATED } else { StatusCode::OK };
    Ok(Reply::json(status, world.show_reaction(&reaction)))
}

pub(super) fn remove_reaction(
    world: &mut World,
    call: &Call,
    (owner, name): At<'_>,
    on: Reacted,
    id: &str,
) -> Answer {
    let repo = world.reach(call, owner, name, write(TALK))?;
    let (id, actor) = (number(id)?, call.actor()?);
    let reactions = world.reactions_mut(repo, on)?.1;
    let before = reactions.len();
    reactions.retain(|reaction| reaction.id != id || reaction.user != actor);
    if reactions.len() == before { Err(Refusal::not_found()) } else { Ok(Reply::nothing()) }
}

pub(super) fn reactions(world: &mut World, call: &Call, at: At<'_>, text: &str) -> Answer {
    show_reactions(world, call, at, Reacted::Issue(number(text)?))
}

pub(super) fn react(world: &mut World, call: &Call, at: At<'_>, text: &str) -> Answer {
    add_reaction(world, call, at, Reacted::Issue(number(text)?))
}

pub(super) fn unreact(world: &mut World, call: &Call, at: At<'_>, text: &str, reaction: &str) -> Answer {
    remove_reaction(world, call, at, Reacted::Issue(number(text)?), reaction)
}
