//! Reviews and the comments on lines.

use super::issues::{add_reaction, show_reactions};
use super::pulls::{READ, WRITE};
use super::{At, number};
use crate::emulator::issues::Reacted;
use crate::emulator::pulls::NewLineComment;
use crate::emulator::reply::{Answer, Call, Refusal, Reply, required};
use crate::emulator::state::{Id, World};
use serde_json::Value;

pub(super) fn list(world: &World, call: &Call, (owner, name): At<'_>, text: &str) -> Answer {
    let repo = world.reach(call, owner, name, READ)?;
    let number = number(text)?;
    world.pull(repo, number)?;
    let reviews = world.repositories[&repo].reviews.values().filter(|review| review.pull == number);
    Ok(call.page(&world.api, reviews.map(|review| world.show_review(repo, review)).collect()))
}

pub(super) fn get(world: &World, call: &Call, (owner, name): At<'_>, text: &str, id: &str) -> Answer {
    let repo = world.reach(call, owner, name, READ)?;
    let (of, id) = (number(text)?, number(id)?);
    let review = world.repositories[&repo].reviews.get(&id).filter(|review| review.pull == of);
    Ok(Reply::ok(world.show_review(repo, review.ok_or_else(Refusal::not_found)?)))
}

fn line_of(value: &Value) -> Result<NewLineComment, Refusal> {
    Ok(NewLineComment {
        path: required(value, "PullRequestReviewComment", "path")?,
        line: value["line"].as_u64().or(value["position"].as_u64()).unwrap_or(1),
        body: required(value, "PullRequestReviewComment", "body")?,
    })
}

pub(super) fn create(world: &mut World, call: &Call, (owner, name): At<'_>, text: &str) -> Answer {
    let repo = world.reach(call, owner, name, WRITE)?;
    let (number, body) = (number(text)?, call.json()?);
    let lines =
        body["comments"].as_array().into_iter().flatten().map(line_of).collect::<Result<Vec<_>, _>>()?;
    let state = match body["event"].as_str() {
        Some("APPROVE") => "APPROVED",
        Some("REQUEST_CHANGES") => "CHANGES_REQUESTED",
        Some("COMMENT") => "COMMENTED",
        _ => "PENDING",
    };
    let words = body["body"].as_str().unwrap_or_default();
    let id = world.review(repo, number, call.actor()?, state, words, &lines)?;
    Ok(Reply::ok(world.show_review(repo, &world.repositories[&repo].reviews[&id])))
}

fn shown(world: &World, repo: Id, number: u64, review: Option<Id>) -> Vec<Value> {
    let comments = world.repositories[&repo].review_comments.values();
    comments
        .filter(|comment| comment.pull == number && review.is_none_or(|id| comment.review == id))
        .map(|comment| world.show_review_comment(repo, comment))
        .collect()
}

pub(super) fn comments_of(world: &World, call: &Call, (owner, name): At<'_>, text: &str, id: &str) -> Answer {
    let repo = world.reach(call, owner, name, READ)?;
    Ok(call.page(&world.api, shown(world, repo, number(text)?, Some(number(id)?))))
}

pub(super) fn comments(world: &World, call: &Call, (owner, name): At<'_>, text: &str) -> Answer {
    let repo = world.reach(call, owner, name, READ)?;
    Ok(call.page(&world.api, shown(world, repo, number(text)?, None)))
}

pub(super) fn comment(world: &World, call: &Call, (owner, name): At<'_>, id: &str) -> Answer {
    let repo = world.reach(call, owner, name, READ)?;
    let comment =
        world.repositories[&repo].review_comments.get(&number(id)?).ok_or_else(Refusal::not_found)?;
    Ok(Reply::ok(world.show_review_comment(repo, comment)))
}

pub(super) fn create_comment(world: &mut World, call: &Call, at: At<'_>, text: &str) -> Answer {
    let repo = world.reach(call, at.0, at.1, WRITE)?;
    let (number, body, actor) = (number(text)?, call.json()?, call.actor()?);
    if let Some(to) = body["in_reply_to"].as_u64() {
        return reply(world, call, at, text, &to.to_string());
    }
    let line = line_of(&body)?;
    let review = world.review(repo, number, actor, "COMMENTED", "", &[])?;
    let id = world.line_comment(repo, number, actor, review, &line, None)?;
    Ok(Reply::created(world.show_review_comment(repo, &world.repositories[&repo].review_comments[&id])))
}

pub(super) fn reply(world: &mut World, call: &Call, (owner, name): At<'_>, text: &str, to: &str) -> Answer {
    let repo = world.reach(call, owner, name, WRITE)?;
    let body = required(&call.json()?, "PullRequestReviewComment", "body")?;
    let id = world.reply(repo, number(text)?, call.actor()?, number(to)?, &body)?;
    Ok(Reply::created(world.show_review_comment(repo, &world.repositories[&repo].review_comments[&id])))
}

pub(super) fn reactions(world: &mut World, call: &Call, at: At<'_>, id: &str) -> Answer {
    show_reactions(world, call, at, Reacted::ReviewComment(number(id)?))
}

pub(super) fn react(world: &mut World, call: &Call, at: At<'_>, id: &str) -> Answer {
    add_reaction(world, call, at, Reacted::ReviewComment(number(id)?))
}
