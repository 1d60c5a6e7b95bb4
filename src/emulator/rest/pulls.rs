//! Pull requests.

use super::issues::is_listed;
use super::{At, number};
use crate::emulator::auth::{Need, read, write};
use crate::emulator::pulls::NewPull;
use crate::emulator::reply::{Answer, Call, Refusal, Reply, optional, required, strings};
use crate::emulator::state::{Id, Pull, World};
use http::StatusCode;
use serde_json::{Value, json};

pub(super) const READ: Need = read(&["pull_requests"]);
pub(super) const WRITE: Need = write(&["pull_requests"]);

pub(super) fn list(world: &mut World, call: &Call, (owner, name): At<'_>) -> Answer {
    let repo = world.reach(call, owner, name, READ)?;
    let state = call.asks("state").unwrap_or("open");
    let head = call.asks("head");
    let logins: Vec<(Id, String)> =
        world.repositories.values().map(|repo| (repo.id, world.login(repo.owner).to_owned())).collect();
    let owner_of = |id: Id| logins.iter().find(|(repo, _)| *repo == id).map_or("", |(_, login)| login);
    // GitHub ignores a head without an owner.
    let from_head = |pull: &Pull| match head.and_then(|head| head.split_once(':')) {
        Some((owner, branch)) => {
            owner_of(pull.head.repository).eq_ignore_ascii_case(owner) && pull.head.branch == branch
        }
        None => true,
    };
    let into_base = |pull: &Pull| call.asks("base").is_none_or(|base| pull.base.branch == base);
    let mut numbers: Vec<u64> = world
        .repo_mut(repo)
        .issues
        .values_mut()
        .filter(|issue| state == "all" || (state == "open") == issue.open)
        .filter(|issue| issue.pull.as_ref().is_some_and(|pull| from_head(pull) && into_base(pull)))
        .filter_map(|issue| is_listed(&mut issue.lag).then_some(issue.number))
        .collect();
    if call.asks("sort") == Some("updated") {
        numbers.sort_by_key(|number| world.issue(repo, *number).map(|issue| issue.updated).ok());
    }
    if call.asks("direction") != Some("asc") {
        numbers.reverse();
    }
    Ok(call.page(&world.api, numbers.into_iter().map(|number| world.show_pull(repo, number)).collect()))
}

pub(super) fn create(world: &mut World, call: &Call, (owner, name): At<'_>) -> Answer {
    let repo = world.reach(call, owner, name, WRITE)?;
    let body = call.json()?;
    let new = NewPull {
        title: required(&body, "PullRequest", "title")?,
        body: optional(&body, "body"),
        head: required(&body, "PullRequest", "head")?,
        base: required(&body, "PullRequest", "base")?,
        draft: body["draft"].as_bool().unwrap_or(false),
        maintainer_can_modify: body["maintainer_can_modify"].as_bool().unwrap_or(false),
    };
    let number = world.open_pull(repo, call.actor()?, new)?;
    Ok(Reply::created(world.show_full_pull(repo, number)))
}

pub(super) fn get(world: &mut World, call: &Call, (owner, name): At<'_>, text: &str) -> Answer {
    let repo = world.reach(call, owner, name, READ)?;
    let number = number(text)?;
    let pull = world.pull(repo, number)?;
    if call.header("accept").is_some_and(|accept| accept.contains("diff") || accept.contains("patch")) {
        let files = world.difference(repo, &pull.base.sha, &pull.head.sha)?.files;
        let text: String = files
            .iter()
            .map(|file| {
                format!("diff --git a/{0} b/{0}\n{1}\n", file.path, file.patch.as_deref().unwrap_or_default())
            })
            .collect();
        return Ok(Reply::text(StatusCode::OK, text));
    }
    world.judge(repo, number);
    Ok(Reply::ok(world.show_full_pull(repo, number)))
}

pub(super) fn edit(world: &mut World, call: &Call, (owner, name): At<'_>, text: &str) -> Answer {
    let repo = world.reach(call, owner, name, WRITE)?;
    let (number, body, actor) = (number(text)?, call.json()?, call.actor()?);
    world.pull(repo, number)?;
    world.edit_thread(repo, number, actor, optional(&body, "title"), optional(&body, "body"))?;
    if let Some(base) = optional(&body, "base") {
        world.retarget(repo, number, actor, &base)?;
    }
    match body["state"].as_str() {
        Some("closed") => world.set_open(repo, number, actor, false)?,
        Some("open") => world.set_open(repo, number, actor, true)?,
        _ => {}
    }
    Ok(Reply::ok(world.show_full_pull(repo, number)))
}

pub(super) fn files(world: &World, call: &Call, (owner, name): At<'_>, text: &str) -> Answer {
    let repo = world.reach(call, owner, name, READ)?;
    let pull = world.pull(repo, number(text)?)?;
    let files = world.difference(repo, &pull.base.sha, &pull.head.sha)?.files;
    Ok(call.page(&world.api, files.iter().map(|file| world.show_file(repo, &pull.head.sha, file)).collect()))
}

pub(super) fn commits(world: &World, call: &Call, (owner, name): At<'_>, text: &str) -> Answer {
    let repo = world.reach(call, owner, name, READ)?;
    let pull = world.pull(repo, number(text)?)?;
    let git = world.open_git(repo)?;
    let mut walk = git.revwalk()?;
    walk.set_sorting(git2::Sort::TOPOLOGICAL | git2::Sort::REVERSE)?;
    walk.push(git2::Oid::from_str(&pull.head.sha)?)?;
    walk.hide(git2::Oid::from_str(&pull.base.sha)?)?;
    let commits = walk.flatten().filter_map(|id| git.find_commit(id).ok());
    Ok(call.page(&world.api, commits.map(|commit| world.show_commit(repo, &commit)).collect()))
}

/// Pull requests whose head or history holds the commit; the head is what matters here. Those from forks are missing, as
/// on GitHub.
pub(super) fn of_commit(world: &World, call: &Call, (owner, name): At<'_>, reference: &str) -> Answer {
    let repo = world.reach(call, owner, name, READ)?;
    let sha = world.resolve(repo, reference)?;
    let with_head = world.repositories[&repo].issues.values().filter(|issue| {
        issue.pull.as_ref().is_some_and(|pull| pull.head.sha == sha && pull.head.repository == repo)
    });
    Ok(call.page(&world.api, with_head.map(|issue| world.show_pull(repo, issue.number)).collect()))
}

pub(super) fn merge(world: &mut World, call: &Call, (owner, name): At<'_>, text: &str) -> Answer {
    let repo = world.reach(call, owner, name, write(&["contents"]))?;
    let number = number(text)?;
    let wanted = call.json()?["sha"].as_str().map(String::from);
    if wanted.is_some_and(|sha| world.pull(repo, number).is_ok_and(|pull| pull.head.sha != sha)) {
        return Err(Refusal::new(
            StatusCode::CONFLICT,
            "Head branch was modified. Review and try the merge again.",
        ));
    }
    let sha = world.merge(repo, number, call.actor()?)?;
    Ok(Reply::ok(json!({ "sha": sha, "merged": true, "message": "Pull Request successfully merged" })))
}

pub(super) fn request_review(world: &mut World, call: &Call, (owner, name): At<'_>, text: &str) -> Answer {
    let repo = world.reach(call, owner, name, WRITE)?;
    let (number, actor) = (number(text)?, call.actor()?);
    world.pull(repo, number)?;
    for login in strings(&call.json()?["reviewers"]) {
        let unknown = || Refusal::unprocessable("Could not resolve to a node with the given login.");
        let whom = world.find_user(&login).ok_or_else(unknown)?;
        world.request_review(repo, number, actor, whom)?;
    }
    Ok(Reply::created(world.show_pull(repo, number)))
}

pub(super) fn unrequest_review(world: &mut World, call: &Call, (owner, name): At<'_>, text: &str) -> Answer {
    let repo = world.reach(call, owner, name, WRITE)?;
    let (number, actor) = (number(text)?, call.actor()?);
    for login in strings(&call.json()?["reviewers"]) {
        let whom = world.find_user(&login);
        world.pull_mut(repo, number)?.reviewers.retain(|id| Some(*id) != whom);
        let mut parts = world.pull_parts(repo, number);
        parts["requested_reviewer"] = whom.map_or(Value::Null, |id| world.show_user(id));
        world.hook("pull_request", Some("review_request_removed"), Some(repo), actor, parts);
    }
    Ok(Reply::ok(world.show_pull(repo, number)))
}

pub(super) fn requested_reviewers(world: &World, call: &Call, (owner, name): At<'_>, text: &str) -> Answer {
    let repo = world.reach(call, owner, name, READ)?;
    let users = world.show_users(&world.pull(repo, number(text)?)?.reviewers);
    Ok(Reply::ok(json!({ "users": users, "teams": [] })))
}
