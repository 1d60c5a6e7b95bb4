//! The Rust API again, as JSON under `/_emulator/`, for a process that drives a separate emulator.
//!
//! `POST /_emulator/<verb>` with the arguments as a JSON object; the answer is what the method gives back, or
//! 422 with a message. There is no secret to keep here: the emulator listens where its user tells it to.

mod verbs;

use super::reply::{Call, Reply};
use super::setup::{AppCredentials, Running};
use super::{Emulator, Error, Hub};
use http::StatusCode;
use serde_json::{Value, json};
use std::sync::Arc;
use verbs::Verb;

pub(crate) async fn answer(hub: &Arc<Hub>, call: &Call) -> Reply {
    let Some(verb) = call.segments.get(1) else {
        return Reply::text(
            StatusCode::OK,
            "fixpoint's emulator of GitHub. POST /_emulator/<verb> drives it.\n",
        );
    };
    let mut arguments = match call.json() {
        Ok(Value::Null) => json!({}),
        Ok(arguments) => arguments,
        Err(refusal) => return refusal.into(),
    };
    arguments["verb"] = verb.clone().into();
    let verb: Verb = match serde_json::from_value(arguments) {
        Ok(verb) => verb,
        Err(error) => return Reply::json(StatusCode::BAD_REQUEST, json!({ "message": error.to_string() })),
    };
    let emulator = Emulator { hub: hub.clone(), running: Arc::new(Running::borrowed(hub)) };
    match perform(&emulator, verb).await {
        Ok(value) => Reply::ok(value),
        Err(error) => Reply::json(StatusCode::UNPROCESSABLE_ENTITY, json!({ "message": error.to_string() })),
    }
}

async fn perform(emulator: &Emulator, verb: Verb) -> Result<Value, Error> {
    match verb {
        Verb::Settled => {
            emulator.settled().await;
            Ok(Value::Null)
        }
        Verb::App
        | Verb::DeliverTo { .. }
        | Verb::CreateRepository(_)
        | Verb::Grant { .. }
        | Verb::Suspend { .. }
        | Verb::Install { .. }
        | Verb::UserToken { .. }
        | Verb::ManifestCode { .. } => arrange(emulator, verb),
        Verb::ModelPlays { .. }
        | Verb::ModelShown
        | Verb::Fault(_)
        | Verb::Astray { .. }
        | Verb::AstrayShare { .. }
        | Verb::ClearFaults
        | Verb::ExpireTokens
        | Verb::ListLag { .. }
        | Verb::Secret { .. }
        | Verb::ReachForks { .. }
        | Verb::MergeLag { .. }
        | Verb::RateRemaining { .. }
        | Verb::CiPlays { .. }
        | Verb::CiEnds { .. }
        | Verb::ApproveRuns { .. }
        | Verb::Status { .. } => direct(emulator, verb),
        Verb::Pull { .. }
        | Verb::Pulls { .. }
        | Verb::Issue { .. }
        | Verb::Comments { .. }
        | Verb::Reviews { .. }
        | Verb::LineComments { .. }
        | Verb::CheckRuns { .. }
        | Verb::Branches { .. }
        | Verb::File { .. }
        | Verb::Notifications
        | Verb::Requests
        | Verb::Deliveries
        | Verb::RedeliverFailed
        | Verb::LeakedAuthorizations => look(emulator, verb),
        doing => act(emulator, doing),
    }
}

fn arrange(emulator: &Emulator, verb: Verb) -> Result<Value, Error> {
    Ok(match verb {
        Verb::App => show_app(&emulator.app()),
        Verb::DeliverTo { url } => json!(emulator.deliver_to(&url)),
        Verb::CreateRepository(wish) => json!(emulator.create_repository(wish.into_new())?),
        Verb::Grant { permission, level } => json!(emulator.grant(&permission, level.as_deref())),
        Verb::Suspend { suspended } => json!(emulator.suspend(suspended)),
        Verb::Install { repo, installed } => json!(emulator.install(&repo, installed)?),
        Verb::UserToken { login } => json!(emulator.user_token(&login)),
        Verb::ManifestCode { manifest } => json!(emulator.manifest_code(manifest)),
        _ => Value::Null,
    })
}

fn direct(emulator: &Emulator, verb: Verb) -> Result<Value, Error> {
    Ok(match verb {
        Verb::ModelPlays { plays, key } => json!(emulator.model().plays_where(&key, plays)),
        Verb::ModelShown => json!(emulator.model().shown()),
        Verb::Fault(fault) => json!(emulator.faults().add(fault)),
        Verb::Astray { event, times, astray } => {
            json!(emulator.faults().astray(event.as_deref(), times, astray))
        }
        Verb::AstrayShare { share, astray } => json!(emulator.faults().astray_share(share, astray)),
        Verb::ClearFaults => json!(emulator.faults().clear()),
        Verb::ExpireTokens => json!(emulator.expire_tokens()),
        Verb::Secret { repo, name, value } => json!(emulator.secret(&repo, &name, &value)?),
        Verb::ReachForks { reached } => json!(emulator.reach_forks(reached)),
        Verb::MergeLag { reads } => json!(emulator.set_merge_lag(reads)),
        Verb::ListLag { reads } => json!(emulator.set_list_lag(reads)),
        Verb::RateRemaining { remaining } => json!(emulator.set_rate_remaining(remaining)),
        Verb::CiPlays { repo, play } => json!(emulator.ci_plays(&repo, play)?),
        Verb::CiEnds { repo, check, play } => json!(emulator.ci_ends(&repo, &check, &play)?),
        Verb::ApproveRuns { repo } => json!(emulator.approve_runs(&repo)?),
        Verb::Status { repo, sha, context, state } => json!(emulator.status(&repo, &sha, &context, &state)?),
        _ => Value::Null,
    })
}

fn act(emulator: &Emulator, verb: Verb) -> Result<Value, Error> {
    Ok(match verb {
        Verb::Collaborator { repo, login, permission, hidden: false } => {
            json!(emulator.collaborator(&repo, &login, permission)?)
        }
        Verb::Collaborator { repo, login, permission, hidden: true } => {
            json!(emulator.hidden_member(&repo, &login, permission)?)
        }
        Verb::Watch { repo, login } => json!(emulator.watch(&repo, &login)?),
        Verb::OpenIssue { repo, login, title, body, labels } => {
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            json!(emulator.open_issue_with(&repo, &login, &title, &body, &labels)?)
        }
        Verb::Comment { repo, number, login, body } => json!(emulator.comment(&repo, number, &login, &body)?),
        Verb::EditComment { repo, id, login, body } => {
            json!(emulator.edit_comment(&repo, id, &login, &body)?)
        }
        Verb::Label { repo, number, login, label } => json!(emulator.label(&repo, number, &login, &label)?),
        Verb::Unlabel { repo, number, login, label } => {
            json!(emulator.unlabel(&repo, number, &login, &label)?)
        }
        Verb::Close { repo, number, login } => json!(emulator.close(&repo, number, &login)?),
        Verb::Reopen { repo, number, login } => json!(emulator.reopen(&repo, number, &login)?),
        Verb::Merge { repo, number, login } => json!(emulator.merge(&repo, number, &login)?),
        Verb::OpenPull { repo, login, wish } => json!(emulator.open_pull_with(&repo, &login, wish)?),
        Verb::Retarget { repo, number, login, base } => {
            json!(emulator.retarget(&repo, number, &login, &base)?)
        }
        Verb::Draft { repo, number, login, draft } => {
            json!(emulator.set_draft(&repo, number, &login, draft)?)
        }
        Verb::UpdateBranch { repo, login, branch } => json!(emulator.update_branch(&repo, &login, &branch)?),
        Verb::Queue { repo, number, login, queued: true } => {
            json!(emulator.queue_for_merge(&repo, number, &login)?)
        }
        Verb::Queue { repo, number, login, queued: false } => {
            json!(emulator.take_from_queue(&repo, number, &login)?)
        }
        Verb::Fork { .. } | Verb::Push { .. } | Verb::DeleteBranch { .. } => branches(emulator, verb)?,
        Verb::Review { .. }
        | Verb::CommentOnLine { .. }
        | Verb::Reply { .. }
        | Verb::Dismiss { .. }
        | Verb::Press { .. }
        | Verb::Rerequest { .. } => review(emulator, verb)?,
        _ => Value::Null,
    })
}

fn branches(emulator: &Emulator, verb: Verb) -> Result<Value, Error> {
    Ok(match verb {
        Verb::Push { repo, login, branch, files } => {
            let files: Vec<(&str, &str)> =
                files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
            json!(emulator.push_as(&repo, &login, &branch, &files)?)
        }
        Verb::DeleteBranch { repo, login, branch } => json!(emulator.delete_branch(&repo, &login, &branch)?),
        Verb::Fork { repo, login } => json!(emulator.fork(&repo, &login)?),
        _ => Value::Null,
    })
}

fn review(emulator: &Emulator, verb: Verb) -> Result<Value, Error> {
    Ok(match verb {
        Verb::Review { repo, number, login, state, body, lines } => {
            json!(emulator.review(&repo, number, &login, &state, &body, &lines)?)
        }
        Verb::Reply { repo, number, login, to, body } => {
            json!(emulator.reply(&repo, number, &login, to, &body)?)
        }
        Verb::CommentOnLine { repo, number, login, line } => {
            json!(emulator.comment_on_line(&repo, number, &login, &line)?)
        }
        Verb::Dismiss { repo, number, login, review } => {
            json!(emulator.dismiss(&repo, number, &login, review)?)
        }
        Verb::Press { repo, login, check, identifier } => {
            json!(emulator.press(&repo, &login, &check, &identifier)?)
        }
        Verb::Rerequest { repo, login, check } => json!(emulator.rerequest(&repo, &login, &check)?),
        _ => Value::Null,
    })
}

fn look(emulator: &Emulator, verb: Verb) -> Result<Value, Error> {
    Ok(match verb {
        Verb::Pull { repo, number } => json!(emulator.pull(&repo, number)?),
        Verb::Pulls { repo } => json!(emulator.pulls(&repo)?),
        Verb::Issue { repo, number } => json!(emulator.issue(&repo, number)?),
        Verb::Comments { repo, number } => json!(emulator.comments(&repo, number)?),
        Verb::Reviews { repo, number } => json!(emulator.reviews(&repo, number)?),
        Verb::LineComments { repo, number } => json!(emulator.line_comments(&repo, number)?),
        Verb::CheckRuns { repo, sha } => json!(emulator.check_runs(&repo, &sha)?),
        Verb::Branches { repo } => json!(emulator.branches(&repo)?),
        Verb::File { repo, reference, path } => {
            let bytes = emulator.file(&repo, &reference, &path)?;
            json!(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
        }
        Verb::Notifications => json!(emulator.notifications()),
        Verb::Requests => json!(emulator.requests()),
        Verb::Deliveries => json!(emulator.deliveries()),
        Verb::RedeliverFailed => json!(emulator.redeliver_failed()),
        Verb::LeakedAuthorizations => json!(emulator.leaked_authorizations()),
        _ => Value::Null,
    })
}

fn show_app(app: &AppCredentials) -> Value {
    json!({
        "app_id": app.app_id,
        "client_id": app.client_id,
        "slug": app.slug,
        "private_key_pem": app.private_key_pem,
        "webhook_secret": app.webhook_secret,
        "installation_id": app.installation_id,
    })
}
