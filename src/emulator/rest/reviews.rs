//! Reviews and the comments on lines.

use super::issues::{add_reaction, is_listed, show_reactions};
use super::pulls::{READ, WRITE};
use super::{At, number};
use crate::emulator::issues::Reacted;
use crate::emulator::reply::{Answer, Call, Refusal, Reply, required};
use crate::emulator::reviewers::LineComment;
use crate::emulator::reviews::NewReview;
use crate::emulator::state::{Id, World};
use serde_json::Value;

pub(super) fn list(world: &mut World, call: &Call, (owner, name): At<'_>, text: &str) -> Answer {
    let repo = world.reach(call, owner, name, READ)?;
    let number = number(text)?;
    world.pull(repo, number)?;
    let reviews = world.repo_mut(repo).reviews.values_mut().filter(|review| review.pull == number);
    let listed: Vec<_> =
        reviews.filter_map(|review| is_listed(&mut review.lag).then(|| review.clone())).collect();
    Ok(call.page(&world.api, listed.iter().map(|review| world.show_review(repo, review)).collect()))
}

pub(super) fn get(world: &World, call: &Call, (owner, name): At<'_>, text: &str, id: &str) -> Answer {
    let repo = world.reach(call, owner, name, READ)?;
    let (of, id) = (number(text)?, number(id)?);
    let review = world.repositories[&repo].reviews.get(&id).filter(|review| review.pull == of);
    Ok(Reply::ok(world.show_review(repo, review.ok_or_else(Refusal::not_found)?)))
}

fn line_of(value: &Value) -> Result<LineComment, Refusal> {
    Ok(LineComment {
        path: required(value, "PullRequestReviewComment", "path")?,
        line: value["line"].as_u64().or(value["position"].as_u64()).unwrap_or(1),
        start_line: value["start_line"].as_u64(),
        left: value["side"] == "LEFT",
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
    let new = NewReview { state, body: words, commit: body["commit_id"].as_str(), lines: &lines };
    let id = world.review(repo, number, call.actor()?, new)?;
    Ok(Reply::ok(world.show_review(repo, &world.repositories[&repo].reviews[&id])))
}

pub(super) fn dismiss(world: &mut World, call: &Call, at: At<'_>, text: &str, id: &str) -> Answer {
    let repo = world.reach(call, at.0, at.1, WRITE)?;
    required(&call.json()?, "PullRequestReview", "message")?;
    world.dismiss(repo, number(text)?, number(id)?, call.actor()?)?;
    get(world, call, at, text, id)
}

fn shown(world: &mut World, repo: Id, number: u64, review: Option<Id>) -> Vec<Value> {
    let comments = world.repo_mut(repo).review_comments.values_mut();
    let wanted =
        comments.filter(|comment| comment.pull == number && review.is_none_or(|id| comment.review == id));
    let listed: Vec<_> =
        wanted.filter_map(|comment| is_listed(&mut comment.lag).then(|| comment.clone())).collect();
    listed.iter().map(|comment| world.show_review_comment(repo, comment)).collect()
}

/// Those of one review come by position in the difference only, without their lines and sides.
pub(super) fn comments_of(
    world: &mut World,
    call: &Call,
    (owner, name): At<'_>,
    text: &str,
    id: &str,
) -> Answer {
    let repo = world.reach(call, owner, name, READ)?;
    let mut comments = shown(world, repo, number(text)?, Some(number(id)?));
    for comment in comments.iter_mut().filter_map(Value::as_object_mut) {
        for name in [
            "line",
            "original_line",
            "start_line",
            "original_start_line",
            "side",
            "start_side",
            "subject_type",
        ] {
            comment.remove(name);
        }
    }
    Ok(call.page(&world.api, comments))
}

pub(super) fn comments(world: &mut World, call: &Call, (owner, name): At<'_>, text: &str) -> Answer {
    let repo = world.reach(call, owner, name, READ)?;
    let comments = shown(world, repo, number(text)?, None);
    Ok(call.page(&world.api, comments))
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
    let id = world.comment_on_line(repo, number, actor, &line, body["commit_id"].as_str())?;
    Ok(Reply::created(world.show_review_comment(repo, &world.repositories[&repo].review_comments[&id])))
}

pub(super) fn edit(world: &mut World, call: &Call, at: At<'_>, id: &str) -> Answer {
    let repo = world.reach(call, at.0, at.1, WRITE)?;
    let body = required(&call.json()?, "PullRequestReviewComment", "body")?;
    world.edit_line_comment(repo, number(id)?, call.actor()?, &body)?;
    comment(world, call, at, id)
}

pub(super) fn delete(world: &mut World, call: &Call, (owner, name): At<'_>, id: &str) -> Answer {
    let repo = world.reach(call, owner, name, WRITE)?;
    world.delete_line_comment(repo, number(id)?, call.actor()?)?;
    Ok(Reply::nothing())
}

/// GitHub takes answers to the comment that began a thread only.
pub(super) fn reply(world: &mut World, call: &Call, (owner, name): At<'_>, text: &str, to: &str) -> Answer {
    let repo = world.reach(call, owner, name, WRITE)?;
    let (body, to) = (required(&call.json()?, "PullRequestReviewComment", "body")?, number(to)?);
    let first = world.repositories[&repo].review_comments.get(&to).ok_or_else(Refusal::not_found)?;
    if first.in_reply_to.is_some() {
        return Err(Refusal::not_found());
    }
    let id = world.reply(repo, number(text)?, call.actor()?, to, &body)?;
    Ok(Reply::created(world.show_review_comment(repo, &world.repositories[&repo].review_comments[&id])))
}

pub(super) fn reactions(world: &mut World, call: &Call, at: At<'_>, id: &str) -> Answer {
    show_reactions(world, call, at, Reacted::ReviewComment(number(id)?))
}

pub(super) fn react(world: &mut World, call: &Call, at: At<'_>, id: &str) -> Answer {
    add_reaction(world, call, at, Reacted::ReviewComment(number(id)?))
}
