//! The router: every event GitHub knows, and what it is to us.

use super::{Asked, Delivery, Fact, Place, Trigger, Us, payload::Part};
use crate::domain::{
    Actor, CommentId, Number, RepoId,
    command::{self, On, Read, Reading},
};
use serde_json::Value;

const NO_REPOSITORY: &str = "it names no repository";
const NO_THREAD: &str = "it names no issue or pull request";
const NO_SENDER: &str = "it does not say who sent it";
const NO_COMMIT: &str = "it names no commit";
const BY_BOT: &str = "written by a bot or through an App";
const EDITED: &str = "edits start nothing";
const OWN_CHECK: &str = "our own check";
const NOTHING: &str = "nothing here depends on this";

/// Sorts the delivery of `event` (the header `X-GitHub-Event`).
pub fn sort(event: &str, payload: &Value, us: &Us<'_>) -> Delivery {
    if !payload.is_object() {
        return Delivery::Ignore("its payload is not an object");
    }
    let hook = Part(payload);
    let sorted = match event {
        "issue_comment" => comment(hook, us),
        "issues" => issue(hook, us),
        "pull_request_review" => review(hook, us),
        "pull_request" => pull(hook, us),
        "push" => push(hook),
        "delete" => deleted(hook),
        "check_run" => check_run(hook, us),
        "check_suite" if is_own(hook.at("check_suite"), us) => Err(OWN_CHECK),
        "check_suite" => checks(hook, hook.at("check_suite"), "head_sha"),
        "workflow_run" => checks(hook, hook.at("workflow_run"), "head_sha"),
        "workflow_job" => checks(hook, hook.at("workflow_job"), "head_sha"),
        "status" => checks(hook, hook, "sha"),
        "installation" => installation(hook),
        "installation_repositories" => repositories(hook),
        "repository" => repository(hook),
        "public" => place(hook).map(|place| Delivery::Fact(Fact::RepositoryChanged { place })),
        other => Err(passed_over(other)),
    };
    sorted.unwrap_or_else(Delivery::Ignore)
}

type Sorted = Result<Delivery, &'static str>;

/// Why an event that is neither read nor awaited is none of ours.
fn passed_over(event: &str) -> &'static str {
    match event {
        "ping" => "GitHub's greeting",
        "create" => "the push of the new branch tells",
        "merge_group" => "the pull request's own events tell",
        "pull_request_review_comment" => "its review tells",
        "pull_request_review_thread" => "threads are their people's to resolve",
        "commit_comment" | "discussion" | "discussion_comment" => {
            "commands stand on issues and pull requests"
        }
        "branch_protection_configuration" | "branch_protection_rule" | "repository_ruleset" => {
            "rules are read when they are needed"
        }
        "member" | "membership" | "organization" | "org_block" | "team" | "team_add" => {
            "permissions are asked when they are needed"
        }
        "github_app_authorization" | "installation_target" => "installations tell of access",
        "deployment" | "deployment_protection_rule" | "deployment_review" | "deployment_status" => {
            "a deployment is no check"
        }
        "workflow_dispatch" | "repository_dispatch" => "its workflow runs tell",
        "code_scanning_alert"
        | "dependabot_alert"
        | "repository_vulnerability_alert"
        | "secret_scanning_alert"
        | "security_advisory" => "an alert is no check",
        "label" | "milestone" | "project" | "project_card" | "project_column" | "projects_v2_item" => {
            "planning is people's"
        }
        "deploy_key"
        | "fork"
        | "gollum"
        | "marketplace_purchase"
        | "meta"
        | "package"
        | "page_build"
        | "release"
        | "repository_import"
        | "sponsorship"
        | "star"
        | "watch" => NOTHING,
        _ => "an event that is not known here",
    }
}

fn comment(hook: Part<'_>, us: &Us<'_>) -> Sorted {
    let comment = hook.at("comment");
    match hook.text("action") {
        "created" => {}
        "edited" => return Err(EDITED),
        "deleted" => return Err("a deleted comment changes nothing"),
        _ => return Err(NOTHING),
    }
    let by = author(hook, comment, us)?;
    let place = place(hook)?;
    let (number, on) = hook.thread().ok_or(NO_THREAD)?;
    let id = CommentId(comment.id("id").ok_or("it names no comment")?);
    let text = comment.text("body").to_owned();
    Ok(if commands(&text, on, us) {
        trigger(place, (number, on), Asked::Comment(id), by, text, hook.at("issue"))
    } else {
        Delivery::Fact(Fact::Comment { place, number, on, comment: id, by, text })
    })
}

fn issue(hook: Part<'_>, us: &Us<'_>) -> Sorted {
    match hook.text("action") {
        "opened" => {
            let by = author(hook, hook.at("issue"), us)?;
            let (number, on) = hook.thread().ok_or(NO_THREAD)?;
            let text = hook.at("issue").text("body").to_owned();
            let place = place(hook)?;
            let commands = commands(&text, on, us);
            commands
                .then(|| trigger(place, (number, on), Asked::Body, by, text, hook.at("issue")))
                .ok_or("no command in its text")
        }
        "labeled" => {
            let by = sender(hook, us)?;
            let (number, on) = hook.thread().ok_or(NO_THREAD)?;
            let label = hook.at("label").text("name").to_owned();
            let place = place(hook)?;
            let ours = !us.label.is_empty() && label.eq_ignore_ascii_case(us.label);
            ours.then(|| trigger(place, (number, on), Asked::Label, by, label, hook.at("issue")))
                .ok_or("not a label of ours")
        }
        // Whoever closed it: that it is closed is a fact.
        "closed" | "deleted" | "transferred" => {
            let (number, _) = hook.thread().ok_or(NO_THREAD)?;
            Ok(Delivery::Fact(Fact::IssueClosed { place: place(hook)?, number }))
        }
        "edited" => Err(EDITED),
        "reopened" => Err("a reopened issue waits for a command"),
        _ => Err(NOTHING),
    }
}

fn review(hook: Part<'_>, us: &Us<'_>) -> Sorted {
    let review = hook.at("review");
    if hook.text("action") == "edited" {
        return Err(EDITED);
    }
    let number = hook.at("pull_request").number().ok_or(NO_THREAD)?;
    match hook.text("action") {
        "submitted" => {}
        _ => return Ok(Delivery::Fact(Fact::Approvals { place: place(hook)?, number })),
    }
    let by = author(hook, review, us)?;
    let place = place(hook)?;
    let text = review.text("body").to_owned();
    // Somebody who approves is content: what they say besides is for the next time, unless it is a command.
    if review.text("state").eq_ignore_ascii_case("approved") && !commands(&text, On::Pull, us) {
        return Ok(Delivery::Fact(Fact::Approvals { place, number }));
    }
    let id = review.id("id").ok_or("it names no review")?;
    Ok(trigger(place, (number, On::Pull), Asked::Review(id), by, text, hook.at("pull_request")))
}

fn pull(hook: Part<'_>, us: &Us<'_>) -> Sorted {
    let action = hook.text("action");
    if matches!(action, "labeled" | "unlabeled") {
        // A label may ask for something; then it matters who set it.
        sender(hook, us)?;
    }
    let pull = hook.at("pull_request");
    let (head, base) = (pull.at("head"), pull.at("base"));
    Ok(Delivery::Fact(Fact::Pull {
        place: place(hook)?,
        number: pull.number().or(hook.number()).ok_or(NO_THREAD)?,
        action: action.to_owned(),
        head: head.sha("sha"),
        head_branch: head.text("ref").to_owned(),
        head_repo: head.at("repo").id("id").map(RepoId),
        base_branch: base.text("ref").to_owned(),
        merged: pull.flag("merged"),
        by: hook.actor("sender"),
    }))
}

fn push(hook: Part<'_>) -> Sorted {
    let branch = hook.text("ref").strip_prefix("refs/heads/").ok_or("not a branch")?;
    let after = if hook.flag("deleted") { None } else { Some(hook.sha("after").ok_or(NO_COMMIT)?) };
    Ok(Delivery::Fact(Fact::Push {
        place: place(hook)?,
        branch: branch.to_owned(),
        before: hook.sha("before"),
        after,
        by: hook.actor("sender"),
    }))
}

/// The deletion's push says the same; the branch is gone twice, and one of the two may be lost.
fn deleted(hook: Part<'_>) -> Sorted {
    let branch = Some(hook.text("ref")).filter(|name| !name.is_empty());
    let branch = branch.filter(|_| hook.text("ref_type") == "branch").ok_or("not a branch")?.to_owned();
    let place = place(hook)?;
    Ok(Delivery::Fact(Fact::Push { place, branch, before: None, after: None, by: hook.actor("sender") }))
}

fn check_run(hook: Part<'_>, us: &Us<'_>) -> Sorted {
    let run = hook.at("check_run");
    let own = is_own(run, us);
    let pressed = match hook.text("action") {
        "requested_action" => hook.at("requested_action").text("identifier"),
        "rerequested" => "rerequested",
        _ if own => return Err(OWN_CHECK),
        _ => return checks(hook, run, "head_sha"),
    };
    if !own {
        return checks(hook, run, "head_sha");
    }
    let by = sender(hook, us)?;
    let place = place(hook)?;
    let number = run.at("pull_requests").0.get(0).and_then(|pull| Part(pull).number()).ok_or(NO_THREAD)?;
    let check_run = run.id("id").ok_or("it names no check run")?;
    // The event tells no more of the pull request than its number.
    let asked = Asked::Button { check_run };
    Ok(trigger(place, (number, On::Pull), asked, by, pressed.to_owned(), Part(&Value::Null)))
}

fn checks(hook: Part<'_>, subject: Part<'_>, field: &str) -> Sorted {
    let head = subject.sha(field).ok_or(NO_COMMIT)?;
    let failed = matches!(subject.text("conclusion"), "failure" | "timed_out")
        || matches!(subject.text("state"), "failure" | "error");
    Ok(Delivery::Fact(Fact::Checks { place: place(hook)?, head, failed }))
}

fn installation(hook: Part<'_>) -> Sorted {
    match hook.text("action") {
        "deleted" | "suspend" => {
            let installation = hook.installation().ok_or("it names no installation")?;
            Ok(Delivery::Fact(Fact::InstallationGone { installation }))
        }
        _ => Err("new access waits for a command"),
    }
}

fn repositories(hook: Part<'_>) -> Sorted {
    if hook.text("action") != "removed" {
        return Err("new access waits for a command");
    }
    let installation = hook.installation().ok_or("it names no installation")?;
    let removed = hook.at("repositories_removed").0.as_array().into_iter().flatten();
    let repos = removed.filter_map(|repo| Part(repo).id("id").map(RepoId)).collect();
    Ok(Delivery::Fact(Fact::RepositoriesRemoved { installation, repos }))
}

fn repository(hook: Part<'_>) -> Sorted {
    let place = place(hook)?;
    match hook.text("action") {
        "deleted" | "archived" => Ok(Delivery::Fact(Fact::RepositoryGone { place })),
        "renamed" | "transferred" | "publicized" | "privatized" => {
            Ok(Delivery::Fact(Fact::RepositoryChanged { place }))
        }
        _ => Err(NOTHING),
    }
}

fn place(hook: Part<'_>) -> Result<Place, &'static str> {
    hook.place().ok_or(NO_REPOSITORY)
}

/// The person behind an event that may ask for something.
fn sender(hook: Part<'_>, us: &Us<'_>) -> Result<Actor, &'static str> {
    let by = hook.actor("sender").ok_or(NO_SENDER)?;
    if hook.is_bot("sender") && !us.bots.contains(&by.id) { Err(BY_BOT) } else { Ok(by) }
}

/// The person who both wrote `text` and sent it. A bot's text is dropped whoever sends it, and a person's that came
/// through an App too: it is the App that speaks.
fn author(hook: Part<'_>, text: Part<'_>, us: &Us<'_>) -> Result<Actor, &'static str> {
    let by = hook.actor("sender").ok_or(NO_SENDER)?;
    let by_bot =
        hook.is_bot("sender") || text.is_bot("user") || text.at("performed_via_github_app").is_there();
    if by_bot && !us.bots.contains(&by.id) {
        return Err(BY_BOT);
    }
    let writer = text.actor("user").ok_or("it does not say who wrote it")?;
    if writer.id == by.id { Ok(by) } else { Err("sent by another than its author") }
}

fn is_own(check: Part<'_>, us: &Us<'_>) -> bool {
    us.app != 0 && check.at("app").id("id") == Some(us.app)
}

/// Is there a command, right or wrong? Whether a session is live does not decide that.
fn commands(text: &str, on: On, us: &Us<'_>) -> bool {
    let reading = Reading { word: us.word, app: us.slug, on, live: false };
    !matches!(command::read(text, &reading), Read::Nothing(_))
}

/// `thread`: the issue or pull request as the event tells of it.
fn trigger(
    place: Place,
    (number, on): (Number, On),
    asked: Asked,
    by: Actor,
    text: String,
    thread: Part<'_>,
) -> Delivery {
    Delivery::Trigger(Box::new(Trigger { place, number, on, asked, by, text, thread: thread.words() }))
}
