//! The REST API: one table from method and path to the handler.

pub(in crate::emulator) mod actions;
mod apps;
mod checks;
mod comments;
mod commits;
mod issues;
mod manifests;
mod pulls;
mod repositories;
mod reviews;
mod statuses;

use super::reply::{Answer, Call, Refusal, Reply};
use super::state::World;
use http::{Method, StatusCode};
use serde_json::json;

/// Answers a REST call.
///
/// The table is one match so that what is spoken can be read in one place.
pub(crate) fn answer(world: &mut World, call: &Call) -> Answer {
    let path: Vec<&str> = call.segments.iter().map(String::as_str).collect();
    match path.as_slice() {
        ["repos", owner, repo, rest @ ..] => match moved(world, call, owner, repo, rest) {
            Some(redirect) => Ok(redirect),
            None => in_repository(world, call, owner, repo, rest),
        },
        ["repositories", id, rest @ ..] if !rest.is_empty() => {
            let repo = world
                .repositories
                .get(&number(id)?)
                .filter(|repo| !repo.gone)
                .ok_or_else(Refusal::not_found)?;
            let (owner, name) = (world.login(repo.owner).to_owned(), repo.name.clone());
            in_repository(world, call, &owner, &name, rest)
        }
        _ => outside(world, call, &path),
    }
}

/// A repository that was renamed is found under its old name by a redirect to its id.
fn moved(world: &World, call: &Call, owner: &str, name: &str, rest: &[&str]) -> Option<Reply> {
    if world.find_repository(owner, name).is_some() {
        return None;
    }
    let former = format!("{owner}/{name}");
    let repo = world.repositories.values().find(|repo| repo.former.contains(&former) && !repo.gone)?;
    let mut url = format!("{}/repositories/{}", world.api, repo.id);
    rest.iter().for_each(|segment| {
        url.push('/');
        url.push_str(segment);
    });
    if let Some((_, query)) = call.target.split_once('?') {
        url.push('?');
        url.push_str(query);
    }
    // What changes something keeps its method over a 307.
    let status = if call.method == Method::GET {
        StatusCode::MOVED_PERMANENTLY
    } else {
        StatusCode::TEMPORARY_REDIRECT
    };
    let body = json!({ "message": "Moved Permanently", "url": url, "documentation_url": "https://docs.github.com/rest" });
    Some(Reply::json(status, body).with("location", &url))
}

fn outside(world: &mut World, call: &Call, path: &[&str]) -> Answer {
    match (call.method.as_str(), path) {
        ("GET", ["app"]) => apps::app(world, call),
        ("GET", ["app", "installations"]) => apps::installations(world, call),
        ("GET", ["app", "installations", id]) => apps::installation(world, call, id),
        ("POST", ["app", "installations", id, "access_tokens"]) => apps::access_token(world, call, id),
        ("GET", ["app", "hook", "config"]) => apps::hook_config(world, call),
        ("PATCH", ["app", "hook", "config"]) => apps::set_hook_config(world, call),
        ("GET", ["app", "hook", "deliveries"]) => apps::deliveries(world, call),
        ("GET", ["app", "hook", "deliveries", id]) => apps::delivery(world, call, id),
        ("POST", ["app", "hook", "deliveries", id, "attempts"]) => apps::redeliver(world, call, id),
        ("POST", ["app-manifests", code, "conversions"]) => manifests::convert(world, code),
        ("POST", ["settings", "apps", "new"]) => manifests::ask(world, call, None),
        ("POST", ["settings", "apps"]) => manifests::create(world, call, None),
        ("POST", ["organizations", org, "settings", "apps", "new"]) => manifests::ask(world, call, Some(org)),
        ("POST", ["organizations", org, "settings", "apps"]) => manifests::create(world, call, Some(org)),
        ("GET", ["installation", "repositories"]) => apps::repositories(world, call),
        ("GET", ["rate_limit"]) => apps::rate_limit(world, call),
        ("GET", ["repositories", id]) => repositories::by_id(world, call, id),
        ("GET", ["users", login]) => repositories::user(world, login),
        ("GET", ["user"]) => repositories::viewer(world, call),
        _ => Err(Refusal::not_found()),
    }
}

fn in_repository(world: &mut World, call: &Call, o: &str, r: &str, rest: &[&str]) -> Answer {
    let at = (o, r);
    match (call.method.as_str(), rest) {
        ("GET", []) => repositories::get(world, call, at),
        ("GET", ["installation"]) => apps::of_repository(world, call, at),
        ("GET", ["branches"]) => repositories::branches(world, call, at),
        ("GET", ["branches", branch @ ..]) => repositories::branch(world, call, at, &branch.join("/")),
        ("GET", ["rules", "branches", branch @ ..]) => {
            repositories::rules(world, call, at, &branch.join("/"))
        }
        ("GET", ["git", "ref", name @ ..]) => commits::reference(world, call, at, &name.join("/")),
        ("GET", ["git", "matching-refs", name @ ..]) => commits::matching(world, call, at, &name.join("/")),
        ("DELETE", ["git", "refs", name @ ..]) => commits::delete_reference(world, call, at, &name.join("/")),
        ("GET", ["compare", between @ ..]) => commits::compare(world, call, at, &between.join("/")),
        ("GET", ["contents", file @ ..]) => commits::contents(world, call, at, &file.join("/")),
        ("GET", ["collaborators", login, "permission"]) => repositories::permission(world, call, at, login),
        ("GET", ["labels"]) => issues::repository_labels(world, call, at),
        ("POST", ["labels"]) => issues::create_label(world, call, at),
        (_, ["issues", ..]) => in_issues(world, call, at, rest),
        (_, ["pulls", ..]) => in_pulls(world, call, at, rest),
        (_, ["check-runs" | "check-suites", ..]) => in_checks(world, call, at, rest),
        (_, ["actions", ..]) => in_actions(world, call, at, rest),
        ("GET", ["commits", name @ .., "check-runs"]) => checks::runs_of(world, call, at, &name.join("/")),
        ("GET", ["commits", name @ .., "check-suites"]) => {
            checks::suites_of(world, call, at, &name.join("/"))
        }
        ("GET", ["commits", name @ .., "status"]) => statuses::combined(world, call, at, &name.join("/")),
        ("GET", ["commits", name @ .., "statuses"]) => statuses::statuses(world, call, at, &name.join("/")),
        ("GET", ["commits", name @ .., "pulls"]) => pulls::of_commit(world, call, at, &name.join("/")),
        ("GET", ["commits", name @ ..]) if !name.is_empty() => commits::get(world, call, at, &name.join("/")),
        ("POST", ["statuses", sha]) => statuses::set_status(world, call, at, sha),
        _ => Err(Refusal::not_found()),
    }
}

/// Owner and name as they stand in the path.
type At<'a> = (&'a str, &'a str);

fn in_issues(world: &mut World, call: &Call, at: At<'_>, rest: &[&str]) -> Answer {
    match (call.method.as_str(), rest) {
        ("GET", ["issues"]) => issues::list(world, call, at),
        ("POST", ["issues"]) => issues::create(world, call, at),
        ("GET", ["issues", "comments"]) => comments::list_all(world, call, at),
        ("GET", ["issues", "comments", id]) => comments::get(world, call, at, id),
        ("PATCH", ["issues", "comments", id]) => comments::edit(world, call, at, id),
        ("DELETE", ["issues", "comments", id]) => comments::delete(world, call, at, id),
        ("GET", ["issues", "comments", id, "reactions"]) => comments::reactions(world, call, at, id),
        ("POST", ["issues", "comments", id, "reactions"]) => comments::react(world, call, at, id),
        ("DELETE", ["issues", "comments", id, "reactions", reaction]) => {
            comments::unreact(world, call, at, id, reaction)
        }
        ("GET", ["issues", number]) => issues::get(world, call, at, number),
        ("PATCH", ["issues", number]) => issues::edit(world, call, at, number),
        ("GET", ["issues", number, "comments"]) => comments::list(world, call, at, number),
        ("POST", ["issues", number, "comments"]) => comments::create(world, call, at, number),
        ("GET", ["issues", number, "reactions"]) => issues::reactions(world, call, at, number),
        ("POST", ["issues", number, "reactions"]) => issues::react(world, call, at, number),
        ("DELETE", ["issues", number, "reactions", reaction]) => {
            issues::unreact(world, call, at, number, reaction)
        }
        ("GET", ["issues", number, "labels"]) => issues::labels(world, call, at, number),
        ("POST", ["issues", number, "labels"]) => issues::add_labels(world, call, at, number),
        ("DELETE", ["issues", number, "labels", name @ ..]) => {
            issues::remove_label(world, call, at, number, &name.join("/"))
        }
        ("POST", ["issues", number, "assignees"]) => issues::assign(world, call, at, number, true),
        ("DELETE", ["issues", number, "assignees"]) => issues::assign(world, call, at, number, false),
        _ => Err(Refusal::not_found()),
    }
}

fn in_pulls(world: &mut World, call: &Call, at: At<'_>, rest: &[&str]) -> Answer {
    match (call.method.as_str(), rest) {
        ("GET", ["pulls"]) => pulls::list(world, call, at),
        ("POST", ["pulls"]) => pulls::create(world, call, at),
        ("GET", ["pulls", "comments", id]) => reviews::comment(world, call, at, id),
        ("PATCH", ["pulls", "comments", id]) => reviews::edit(world, call, at, id),
        ("DELETE", ["pulls", "comments", id]) => reviews::delete(world, call, at, id),
        ("GET", ["pulls", "comments", id, "reactions"]) => reviews::reactions(world, call, at, id),
        ("POST", ["pulls", "comments", id, "reactions"]) => reviews::react(world, call, at, id),
        ("GET", ["pulls", number]) => pulls::get(world, call, at, number),
        ("PATCH", ["pulls", number]) => pulls::edit(world, call, at, number),
        ("GET", ["pulls", number, "files"]) => pulls::files(world, call, at, number),
        ("GET", ["pulls", number, "commits"]) => pulls::commits(world, call, at, number),
        ("PUT", ["pulls", number, "merge"]) => pulls::merge(world, call, at, number),
        ("POST", ["pulls", number, "requested_reviewers"]) => pulls::request_review(world, call, at, number),
        ("DELETE", ["pulls", number, "requested_reviewers"]) => {
            pulls::unrequest_review(world, call, at, number)
        }
        ("GET", ["pulls", number, "requested_reviewers"]) => {
            pulls::requested_reviewers(world, call, at, number)
        }
        ("GET", ["pulls", number, "reviews"]) => reviews::list(world, call, at, number),
        ("POST", ["pulls", number, "reviews"]) => reviews::create(world, call, at, number),
        ("GET", ["pulls", number, "reviews", id]) => reviews::get(world, call, at, number, id),
        ("PUT", ["pulls", number, "reviews", id, "dismissals"]) => {
            reviews::dismiss(world, call, at, number, id)
        }
        ("GET", ["pulls", number, "reviews", id, "comments"]) => {
            reviews::comments_of(world, call, at, number, id)
        }
        ("GET", ["pulls", number, "comments"]) => reviews::comments(world, call, at, number),
        ("POST", ["pulls", number, "comments"]) => reviews::create_comment(world, call, at, number),
        ("POST", ["pulls", number, "comments", id, "replies"]) => reviews::reply(world, call, at, number, id),
        _ => Err(Refusal::not_found()),
    }
}

fn in_checks(world: &mut World, call: &Call, at: At<'_>, rest: &[&str]) -> Answer {
    match (call.method.as_str(), rest) {
        ("POST", ["check-runs"]) => checks::create_run(world, call, at),
        ("GET", ["check-runs", id]) => checks::run(world, call, at, id),
        ("PATCH", ["check-runs", id]) => checks::update_run(world, call, at, id),
        ("GET", ["check-runs", id, "annotations"]) => checks::annotations(world, call, at, id),
        ("POST", ["check-runs", id, "rerequest"]) => checks::rerequest_run(world, call, at, id),
        ("GET", ["check-suites", id]) => checks::suite(world, call, at, id),
        ("GET", ["check-suites", id, "check-runs"]) => checks::runs_of_suite(world, call, at, id),
        ("POST", ["check-suites", id, "rerequest"]) => checks::rerequest_suite(world, call, at, id),
        _ => Err(Refusal::not_found()),
    }
}

fn in_actions(world: &mut World, call: &Call, at: At<'_>, rest: &[&str]) -> Answer {
    match (call.method.as_str(), &rest[1..]) {
        ("GET", ["workflows"]) => actions::workflows(world, call, at),
        ("GET", ["runs"]) => actions::runs(world, call, at),
        ("GET", ["runs", id]) => actions::run(world, call, at, id),
        ("GET", ["runs", id, "jobs"]) => actions::jobs(world, call, at, id, None),
        ("GET", ["runs", id, "attempts", attempt, "jobs"]) => {
            actions::jobs(world, call, at, id, Some(attempt))
        }
        ("GET", ["runs", id, "logs"]) => actions::archive(world, call, at, id, None),
        ("GET", ["runs", id, "attempts", attempt, "logs"]) => {
            actions::archive(world, call, at, id, Some(attempt))
        }
        ("POST", ["runs", id, "rerun"]) => actions::rerun(world, call, at, id, actions::Which::All),
        ("POST", ["runs", id, "rerun-failed-jobs"]) => {
            actions::rerun(world, call, at, id, actions::Which::Failed)
        }
        ("POST", ["runs", id, "approve"]) => actions::approve(world, call, at, id),
        ("POST", ["runs", id, "cancel"]) => actions::cancel(world, call, at, id),
        ("GET", ["jobs", id]) => actions::job(world, call, at, id),
        ("GET", ["jobs", id, "logs"]) => actions::job_log(world, call, at, id),
        ("POST", ["jobs", id, "rerun"]) => actions::rerun_job(world, call, at, id),
        _ => Err(Refusal::not_found()),
    }
}

/// A number in a path; anything else does not exist.
fn number(text: &str) -> Result<u64, Refusal> {
    text.parse().map_err(|_| Refusal::not_found())
}
