//! Comments on issues and pull requests.

use super::issues::{add_reaction, is_listed, remove_reaction, show_reactions};
use super::{At, number};
use crate::emulator::auth::{Caller, TALK, read, write};
use crate::emulator::issues::Reacted;
use crate::emulator::reply::{Answer, Call, Refusal, Reply, required};
use crate::emulator::state::{Comment, Id, Permission, World};
use http::StatusCode;
use serde_json::Value;

fn find(world: &World, repo: Id, id: &str) -> Result<Comment, Refusal> {
    world.repositories[&repo].comments.get(&number(id)?).cloned().ok_or_else(Refusal::not_found)
}

/// `since` compares with the time of the last edit.
fn listed(world: &mut World, call: &Call, repo: Id, of: Option<u64>) -> Vec<Value> {
    let since = call.asks("since").unwrap_or_default().to_owned();
    let comments: Vec<Comment> = world
        .repo_mut(repo)
        .comments
        .values_mut()
        .filter(|comment| of.is_none_or(|number| comment.issue == number))
        .filter(|comment| crate::emulator::state::stamp(comment.updated) >= since)
        .filter_map(|comment| is_listed(&mut comment.lag).then(|| comment.clone()))
        .collect();
    comments.iter().map(|comment| world.show_comment(repo, comment)).collect()
}

pub(super) fn list(world: &mut World, call: &Call, (owner, name): At<'_>, text: &str) -> Answer {
    let repo = world.reach(call, owner, name, read(TALK))?;
    let number = number(text)?;
    world.issue(repo, number)?;
    let shown = listed(world, call, repo, Some(number));
    Ok(call.page(&world.api, shown))
}

pub(super) fn list_all(world: &mut World, call: &Call, (owner, name): At<'_>) -> Answer {
    let repo = world.reach(call, owner, name, read(TALK))?;
    let mut shown = listed(world, call, repo, None);
    if call.asks("direction") == Some("desc") {
        shown.reverse();
    }
    Ok(call.page(&world.api, shown))
}

pub(super) fn get(world: &World, call: &Call, (owner, name): At<'_>, id: &str) -> Answer {
    let repo = world.reach(call, owner, name, read(TALK))?;
    Ok(Reply::ok(world.show_comment(repo, &find(world, repo, id)?)))
}

pub(super) fn create(world: &mut World, call: &Call, (owner, name): At<'_>, text: &str) -> Answer {
    let repo = world.reach(call, owner, name, write(TALK))?;
    let number = number(text)?;
    world.issue(repo, number)?;
    let body = required(&call.json()?, "IssueComment", "body")?;
    let id = world.comment(repo, number, call.actor()?, &body)?;
    Ok(Reply::created(world.show_comment(repo, &world.repositories[&repo].comments[&id])))
}

pub(super) fn edit(world: &mut World, call: &Call, (owner, name): At<'_>, id: &str) -> Answer {
    let repo = world.reach(call, owner, name, write(TALK))?;
    let comment = find(world, repo, id)?;
    may_change(world, call, repo, &comment)?;
    let body = required(&call.json()?, "IssueComment", "body")?;
    world.edit_comment(repo, comment.id, call.actor()?, &body)?;
    Ok(Reply::ok(world.show_comment(repo, &find(world, repo, id)?)))
}

pub(super) fn delete(world: &mut World, call: &Call, (owner, name): At<'_>, id: &str) -> Answer {
    let repo = world.reach(call, owner, name, write(TALK))?;
    let comment = find(world, repo, id)?;
    may_change(world, call, repo, &comment)?;
    world.delete_comment(repo, comment.id, call.actor()?)?;
    Ok(Reply::nothing())
}

/// One's own comments, or anybody's for those who may push; an App with the permission may edit any.
fn may_change(world: &World, call: &Call, repo: Id, comment: &Comment) -> Result<(), Refusal> {
    let Caller::Token(token) = &call.caller else { return Err(Refusal::not_found()) };
    let pushes = world.permission(&world.repositories[&repo], token.actor) >= Permission::Write;
    if token.is_installation() || token.actor == comment.author || pushes {
        return Ok(());
    }
    Err(Refusal::new(StatusCode::FORBIDDEN, "Must have admin rights to Repository."))
}

pub(super) fn reactions(world: &mut World, call: &Call, at: At<'_>, id: &str) -> Answer {
    show_reactions(world, call, at, Reacted::Comment(number(id)?))
}

pub(super) fn react(world: &mut World, call: &Call, at: At<'_>, id: &str) -> Answer {
    add_reaction(world, call, at, Reacted::Comment(number(id)?))
}

pub(super) fn unreact(world: &mut World, call: &Call, at: At<'_>, id: &str, reaction: &str) -> Answer {
    remove_reaction(world, call, at, Reacted::Comment(number(id)?), reaction)
}
