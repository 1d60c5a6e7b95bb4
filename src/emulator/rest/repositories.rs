//! Repositories, branches, rules, and who may do what.

use super::At;
use super::apps::METADATA;
use super::number;
use crate::emulator::auth::{Caller, read};
use crate::emulator::render::{node_id, permissions};
use crate::emulator::reply::{Answer, Call, Refusal, Reply};
use crate::emulator::state::{Id, Permission, World};
use git2::Oid;
use serde_json::{Value, json};

pub(super) fn get(world: &World, call: &Call, (owner, name): At<'_>) -> Answer {
    let repo = world.reach(call, owner, name, METADATA)?;
    Ok(Reply::ok(world.show_full_repository(repo, viewer_role(world, call, repo))))
}

pub(super) fn by_id(world: &World, call: &Call, id: &str) -> Answer {
    let id = number(id)?;
    let known = world.repositories.get(&id).is_some_and(|repo| !repo.gone);
    if !known {
        return Err(Refusal::not_found());
    }
    world.may(&call.caller, id, METADATA)?;
    Ok(Reply::ok(world.show_full_repository(id, viewer_role(world, call, id))))
}

/// What the caller may do, in the words for people: an installation that may write contents may push.
fn viewer_role(world: &World, call: &Call, repo: Id) -> Option<Permission> {
    match &call.caller {
        Caller::Token(token) if token.is_installation() => {
            let pushes = token.permissions.get("contents").is_some_and(|level| level == "write");
            Some(if pushes { Permission::Write } else { Permission::Read })
        }
        Caller::Token(token) => Some(world.permission(&world.repositories[&repo], token.actor)),
        _ => None,
    }
}

pub(super) fn user(world: &World, login: &str) -> Answer {
    let id = world.find_user(login).ok_or_else(Refusal::not_found)?;
    Ok(Reply::ok(public_user(world, id)))
}

pub(super) fn viewer(world: &World, call: &Call) -> Answer {
    match &call.caller {
        Caller::Token(token) if !token.is_installation() => Ok(Reply::ok(public_user(world, token.actor))),
        Caller::Token(_) => Err(Refusal::not_granted()),
        _ => Err(Refusal::new(http::StatusCode::UNAUTHORIZED, "Requires authentication")),
    }
}

fn public_user(world: &World, id: Id) -> Value {
    let mut shown = world.show_user(id);
    for name in ["name", "company", "location", "email", "hireable", "bio"] {
        shown[name] = Value::Null;
    }
    shown["blog"] = "".into();
    for name in ["public_repos", "public_gists", "followers", "following"] {
        shown[name] = 0.into();
    }
    for name in ["created_at", "updated_at"] {
        shown[name] = "2020-01-01T00:00:00Z".into();
    }
    shown
}

fn contexts(world: &World, repo: Id) -> Value {
    let checks = &world.repositories[&repo].required_checks;
    let with_app: Vec<Value> = checks.iter().map(|name| json!({ "context": name, "app_id": null })).collect();
    json!({ "enforcement_level": "non_admins", "contexts": checks, "checks": with_app })
}

pub(super) fn branches(world: &World, call: &Call, (owner, name): At<'_>) -> Answer {
    let repo = world.reach(call, owner, name, read(&["contents"]))?;
    let here = &world.repositories[&repo];
    let git = world.open_git(repo)?;
    let heads = crate::emulator::git::push::references(&git).into_iter().filter_map(|(name, sha)| {
        let branch = name.strip_prefix("refs/heads/")?;
        let url = format!("{}/commits/{sha}", world.api_of(repo));
        let protected = here.protected.contains(branch);
        Some(json!({ "name": branch, "commit": { "sha": sha, "url": url }, "protected": protected }))
    });
    Ok(call.page(&world.api, heads.collect()))
}

pub(super) fn branch(world: &World, call: &Call, (owner, name): At<'_>, branch: &str) -> Answer {
    let repo = world.reach(call, owner, name, read(&["contents"]))?;
    let sha = world
        .tip(repo, branch)
        .ok_or_else(|| Refusal::new(http::StatusCode::NOT_FOUND, "Branch not found"))?;
    let git = world.open_git(repo)?;
    let commit = git.find_commit(Oid::from_str(&sha)?)?;
    let protected = world.repositories[&repo].protected.contains(branch);
    let url = format!("{}/branches/{branch}", world.api_of(repo));
    let protection = if protected {
        json!({ "enabled": true, "required_status_checks": contexts(world, repo) })
    } else {
        json!({ "enabled": false, "required_status_checks": { "enforcement_level": "off", "contexts": [], "checks": [] } })
    };
    Ok(Reply::ok(json!({
        "name": branch,
        "commit": world.show_commit(repo, &commit),
        "_links": { "self": url, "html": format!("{}/tree/{branch}", world.web_of(repo)) },
        "protected": protected,
        "protection": protection,
        "protection_url": format!("{url}/protection"),
    })))
}

/// The rulesets of a branch: the required checks, where there are any.
pub(super) fn rules(world: &World, call: &Call, (owner, name): At<'_>, branch: &str) -> Answer {
    let repo = world.reach(call, owner, name, METADATA)?;
    let here = &world.repositories[&repo];
    let mut shown = Vec::new();
    if here.protected.contains(branch) && !here.required_checks.is_empty() {
        let checks: Vec<Value> = here.required_checks.iter().map(|name| json!({ "context": name })).collect();
        shown.push(json!({
            "type": "required_status_checks",
            "parameters": { "required_status_checks": checks, "strict_required_status_checks_policy": false },
            "ruleset_source_type": "Repository",
            "ruleset_source": world.full_name(here),
            "ruleset_id": 1,
        }));
    }
    Ok(call.page(&world.api, shown))
}

pub(super) fn permission(world: &World, call: &Call, (owner, name): At<'_>, login: &str) -> Answer {
    let repo = world.reach(call, owner, name, METADATA)?;
    let missing = || Refusal::new(http::StatusCode::NOT_FOUND, format!("{login} is not a user"));
    let id = world.find_user(login).ok_or_else(missing)?;
    let has = world.permission(&world.repositories[&repo], id);
    let mut user = world.show_user(id);
    user["permissions"] = permissions(has);
    user["role_name"] = has.role().into();
    user["node_id"] = node_id("U", id).into();
    Ok(Reply::ok(json!({ "permission": has.legacy(), "role_name": has.role(), "user": user })))
}
