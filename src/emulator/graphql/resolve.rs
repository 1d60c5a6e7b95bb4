//! Where the data of a GraphQL answer comes from.

use super::Trouble;
use super::parse::Field;
use crate::emulator::auth::{Need, TALK, read, write};
use crate::emulator::render::{from_node_id, node_id};
use crate::emulator::reply::{Call, Refusal};
use crate::emulator::state::{Comment, Id, Kind, ReviewComment, World, stamp};
use serde_json::{Value, json};

const READ: Need = read(&["pull_requests"]);
const WRITE: Need = write(&["pull_requests"]);
/// A page of threads or comments; GitHub refuses more.
const MOST: u64 = 100;

pub(super) fn top(world: &mut World, call: &Call, mutation: bool, field: &Field) -> Result<Value, Trouble> {
    if mutation {
        return change(world, call, field);
    }
    match field.name.as_str() {
        "viewer" => Ok(actor(world, call.actor()?)),
        "rateLimit" => {
            let rate = &world.rate;
            Ok(json!({
                "limit": rate.limit, "remaining": rate.remaining(), "used": rate.used, "cost": 1,
                "resetAt": stamp(rate.reset),
            }))
        }
        "repository" => {
            let text = |name: &str| field.arguments.get(name).and_then(Value::as_str).unwrap_or_default();
            let repo = world.reach(call, text("owner"), text("name"), READ)?;
            repository(world, repo, field)
        }
        "node" => {
            let id = field.arguments.get("id").and_then(Value::as_str).unwrap_or_default();
            node(world, call, id)
        }
        other => Err(unknown(other)),
    }
}

fn unknown(name: &str) -> Trouble {
    Trouble { kind: "undefinedField", message: format!("the emulator does not know the field '{name}'") }
}

fn change(world: &mut World, call: &Call, field: &Field) -> Result<Value, Trouble> {
    let input = field.arguments.get("input").cloned().unwrap_or(Value::Null);
    let id = |name: &str| input[name].as_str().unwrap_or_default().to_owned();
    let by = call.actor()?;
    let mut payload = match field.name.as_str() {
        "markPullRequestReadyForReview" => draft(world, call, &id("pullRequestId"), by, false)?,
        "convertPullRequestToDraft" => draft(world, call, &id("pullRequestId"), by, true)?,
        "resolveReviewThread" => resolved(world, call, &id("threadId"), Some(by))?,
        "unresolveReviewThread" => resolved(world, call, &id("threadId"), None)?,
        "minimizeComment" => minimize(world, call, &id("subjectId"), input["classifier"].as_str())?,
        "unminimizeComment" => minimize(world, call, &id("subjectId"), None)?,
        other => return Err(unknown(other)),
    };
    payload["clientMutationId"] = input["clientMutationId"].clone();
    Ok(payload)
}

fn missing(id: &str) -> Trouble {
    Trouble {
        kind: "NOT_FOUND",
        message: format!("Could not resolve to a node with the global id of '{id}'"),
    }
}

/// The pull request of a node id, if the caller may do that to it.
fn pull_of(world: &World, call: &Call, node: &str, need: Need) -> Result<(Id, u64), Trouble> {
    let wanted = from_node_id(node)
        .filter(|(kind, _)| *kind == "PR")
        .map(|(_, id)| id)
        .ok_or_else(|| missing(node))?;
    for repo in world.repositories.values() {
        let found =
            repo.issues.values().find(|issue| issue.pull.as_ref().is_some_and(|pull| pull.id == wanted));
        if let Some(issue) = found {
            world.may(&call.caller, repo.id, need)?;
            return Ok((repo.id, issue.number));
        }
    }
    Err(missing(node))
}

fn draft(world: &mut World, call: &Call, node: &str, by: Id, draft: bool) -> Result<Value, Trouble> {
    let (repo, number) = pull_of(world, call, node, WRITE)?;
    world.set_draft(repo, number, by, draft)?;
    Ok(json!({ "__typename": "Payload", "pullRequest": pull(world, repo, number)? }))
}

fn resolved(world: &mut World, call: &Call, node: &str, by: Option<Id>) -> Result<Value, Trouble> {
    let first = from_node_id(node)
        .filter(|(kind, _)| *kind == "PRRT")
        .map(|(_, id)| id)
        .ok_or_else(|| missing(node))?;
    let repo = world
        .repositories
        .values()
        .find(|repo| repo.review_comments.contains_key(&first))
        .map(|repo| repo.id);
    let repo = repo.ok_or_else(|| missing(node))?;
    world.may(&call.caller, repo, WRITE)?;
    if let Some(comment) = world.repo_mut(repo).review_comments.get_mut(&first) {
        comment.resolved_by = by;
    }
    let comment = world.repositories[&repo].review_comments.get(&first).ok_or_else(|| missing(node))?;
    Ok(json!({ "__typename": "Payload", "thread": thread(world, repo, comment) }))
}

fn minimize(world: &mut World, call: &Call, node: &str, classifier: Option<&str>) -> Result<Value, Trouble> {
    let id = from_node_id(node)
        .filter(|(kind, _)| *kind == "IC")
        .map(|(_, id)| id)
        .ok_or_else(|| missing(node))?;
    let repo = world.repositories.values().find(|repo| repo.comments.contains_key(&id)).map(|repo| repo.id);
    let repo = repo.ok_or_else(|| missing(node))?;
    world.may(&call.caller, repo, write(TALK))?;
    let Some(comment) = world.repo_mut(repo).comments.get_mut(&id) else { return Err(missing(node)) };
    comment.minimized = classifier.map(String::from);
    let comment = comment.clone();
    let shown = issue_comment(world, &comment);
    let name = if classifier.is_some() { "minimizedComment" } else { "unminimizedComment" };
    Ok(json!({ "__typename": "Payload", name: shown }))
}

fn actor(world: &World, id: Id) -> Value {
    let bot = world.users.get(&id).is_some_and(|user| user.kind == Kind::Bot);
    // GraphQL writes a bot's login without `[bot]`.
    let login = world.login(id).trim_end_matches("[bot]");
    json!({
        "__typename": if bot { "Bot" } else { "User" },
        "id": node_id("U", id), "login": login, "databaseId": id, "url": format!("{}/{login}", world.web),
    })
}

fn repository(world: &World, repo: Id, field: &Field) -> Result<Value, Trouble> {
    let here = &world.repositories[&repo];
    let mut shown = json!({
        "__typename": "Repository",
        "id": node_id("R", repo),
        "databaseId": repo,
        "name": here.name,
        "nameWithOwner": world.full_name(here),
        "isPrivate": here.private,
        "isArchived": here.archived,
    });
    for inner in &field.selection {
        let super::parse::Selected::Field(inner) = inner else { continue };
        let number = inner.arguments.get("number").and_then(Value::as_u64).unwrap_or_default();
        if inner.name == "pullRequest" {
            shown["pullRequest"] = pull(world, repo, number)?;
        }
    }
    Ok(shown)
}

fn pull(world: &World, repo: Id, number: u64) -> Result<Value, Trouble> {
    let issue = world.issue(repo, number)?;
    let pull = issue.pull.as_ref().ok_or_else(Refusal::not_found)?;
    let state = match (&pull.merged, issue.open) {
        (Some(_), _) => "MERGED",
        (None, true) => "OPEN",
        (None, false) => "CLOSED",
    };
    let firsts = world.repositories[&repo].review_comments.values();
    let threads = firsts.filter(|comment| comment.pull == number && comment.in_reply_to.is_none());
    let threads: Vec<Value> = threads.map(|comment| thread(world, repo, comment)).collect();
    Ok(json!({
        "__typename": "PullRequest",
        "id": node_id("PR", pull.id),
        "databaseId": pull.id,
        "number": number,
        "title": issue.title,
        "body": issue.body,
        "state": state,
        "isDraft": pull.draft,
        "merged": pull.merged.is_some(),
        "closed": !issue.open,
        "locked": issue.locked,
        "url": format!("{}/pull/{number}", world.web_of(repo)),
        "headRefName": pull.head.branch,
        "headRefOid": pull.head.sha,
        "baseRefName": pull.base.branch,
        "baseRefOid": pull.base.sha,
        "isInMergeQueue": pull.queued,
        "mergeQueueEntry": null,
        "author": actor(world, issue.author),
        "reviewThreads": connection(threads),
    }))
}

fn connection(nodes: Vec<Value>) -> Value {
    let total = nodes.len();
    let nodes: Vec<Value> = nodes.into_iter().take(usize::try_from(MOST).unwrap_or(usize::MAX)).collect();
    json!({
        "__typename": "Connection",
        "totalCount": total,
        "nodes": nodes,
        "pageInfo": {
            "__typename": "PageInfo", "hasNextPage": false, "hasPreviousPage": false,
            "endCursor": null, "startCursor": null,
        },
    })
}

fn thread(world: &World, repo: Id, first: &ReviewComment) -> Value {
    let all = world.repositories[&repo].review_comments.values();
    let inside = all.filter(|comment| comment.id == first.id || comment.in_reply_to == Some(first.id));
    let comments: Vec<Value> = inside.map(|comment| review_comment(world, repo, comment)).collect();
    let head = world.pull(repo, first.pull).map(|pull| pull.head.sha.clone()).unwrap_or_default();
    json!({
        "__typename": "PullRequestReviewThread",
        "id": node_id("PRRT", first.id),
        "isResolved": first.resolved_by.is_some(),
        "isOutdated": head != first.commit,
        "isCollapsed": false,
        "path": first.path,
        "line": first.line,
        "startLine": first.start_line,
        "originalLine": first.line,
        "diffSide": if first.left { "LEFT" } else { "RIGHT" },
        "resolvedBy": first.resolved_by.map(|id| actor(world, id)),
        "comments": connection(comments),
    })
}

fn review_comment(world: &World, repo: Id, comment: &ReviewComment) -> Value {
    json!({
        "__typename": "PullRequestReviewComment",
        "id": node_id("PRRC", comment.id),
        "databaseId": comment.id,
        "fullDatabaseId": comment.id.to_string(),
        "body": comment.body,
        "path": comment.path,
        "line": comment.line,
        "diffHunk": comment.hunk,
        "createdAt": stamp(comment.created),
        "author": actor(world, comment.author),
        "authorAssociation": world.association(&world.repositories[&repo], comment.author),
        "isMinimized": false,
    })
}

fn issue_comment(world: &World, comment: &Comment) -> Value {
    json!({
        "__typename": "IssueComment",
        "id": node_id("IC", comment.id),
        "databaseId": comment.id,
        "body": comment.body,
        "author": actor(world, comment.author),
        "isMinimized": comment.minimized.is_some(),
        "minimizedReason": comment.minimized.as_ref().map(|reason| reason.to_lowercase()),
    })
}

fn node(world: &World, call: &Call, id: &str) -> Result<Value, Trouble> {
    match from_node_id(id) {
        Some(("PR", _)) => {
            let (repo, number) = pull_of(world, call, id, READ)?;
            pull(world, repo, number)
        }
        Some(("U", user)) if world.users.contains_key(&user) => Ok(actor(world, user)),
        _ => Err(missing(id)),
    }
}
