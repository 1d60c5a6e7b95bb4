//! The App itself: installations, tokens, deliveries, the rate limit.

use super::number;
use crate::emulator::auth::{Caller, read};
use crate::emulator::reply::{Answer, Call, Refusal, Reply, strings};
use crate::emulator::state::{Delivery, Id, Token, World};
use chrono::SecondsFormat;
use http::StatusCode;
use serde_json::{Value, json};

pub(super) fn app(world: &World, call: &Call) -> Answer {
    call.app_only()?;
    let mut shown = world.show_app(world.app.id);
    shown["installations_count"] = 1.into();
    // What the App asks for; its installation may have granted less.
    if let Some(asked) = &world.app.asked {
        shown["permissions"] = json!(asked);
    }
    Ok(Reply::ok(shown))
}

pub(super) fn installations(world: &World, call: &Call) -> Answer {
    call.app_only()?;
    Ok(call.page(&world.api, vec![world.show_installation()]))
}

fn is_ours(world: &World, id: &str) -> Result<(), Refusal> {
    if number(id)? == world.app.installation { Ok(()) } else { Err(Refusal::not_found()) }
}

pub(super) fn installation(world: &World, call: &Call, id: &str) -> Answer {
    call.app_only()?;
    is_ours(world, id)?;
    Ok(Reply::ok(world.show_installation()))
}

pub(super) fn of_repository(world: &World, call: &Call, (owner, name): (&str, &str)) -> Answer {
    call.app_only()?;
    let repo = world.find_repository(owner, name).ok_or_else(Refusal::not_found)?;
    if !world.repositories[&repo].installed {
        return Err(Refusal::not_found());
    }
    Ok(Reply::ok(world.show_installation()))
}

pub(super) fn access_token(world: &mut World, call: &Call, id: &str) -> Answer {
    call.app_only()?;
    is_ours(world, id)?;
    if world.app.suspended.is_some() {
        return Err(Refusal::new(StatusCode::FORBIDDEN, "This installation has been suspended"));
    }
    let asked = call.json()?;
    let permissions = world.app.narrow(&asked["permissions"])?;
    let repositories = asked_repositories(world, &asked)?;
    let expires = chrono::Utc::now() + world.token_ttl;
    let shown: Option<Vec<Value>> =
        repositories.as_ref().map(|some| some.iter().map(|id| world.show_repository(*id)).collect());
    let token = Token {
        actor: world.app.bot,
        app: world.app.id,
        permissions: permissions.clone(),
        repositories,
        expires,
    };
    let secret = world.mint(token);
    let mut answer = json!({
        "token": secret,
        "expires_at": expires.to_rfc3339_opts(SecondsFormat::Secs, true),
        "permissions": permissions,
        "repository_selection": if shown.is_some() { "selected" } else { "all" },
    });
    if let Some(shown) = shown {
        answer["repositories"] = Value::Array(shown);
    }
    Ok(Reply::created(answer))
}

/// `repository_ids` and `repositories` (names); all of them must be in reach.
fn asked_repositories(world: &World, asked: &Value) -> Result<Option<Vec<Id>>, Refusal> {
    let ids = asked["repository_ids"]
        .as_array()
        .map(|ids| ids.iter().filter_map(Value::as_u64).collect::<Vec<Id>>());
    let named: Vec<Id> = strings(&asked["repositories"])
        .iter()
        .filter_map(|name| world.find_repository(world.login(world.app.owner), name))
        .collect();
    let all = match (ids, named.is_empty()) {
        (None, true) => return Ok(None),
        (ids, _) => ids.unwrap_or_default().into_iter().chain(named).collect::<Vec<Id>>(),
    };
    let reachable = |id: &Id| world.repositories.get(id).is_some_and(|repo| repo.installed && !repo.gone);
    if all.is_empty() || !all.iter().all(reachable) {
        return Err(Refusal::unprocessable(
            "There is at least one repository that does not exist or is not accessible to the parent installation.",
        ));
    }
    Ok(Some(all))
}

fn show_delivery(world: &World, delivery: &Delivery) -> Value {
    json!({
        "id": delivery.id,
        "guid": delivery.guid,
        "delivered_at": delivery.at.to_rfc3339_opts(SecondsFormat::Millis, true),
        "redelivery": delivery.redelivery,
        "duration": delivery.seconds,
        "status": if delivery.status_code == 0 { "failed to connect to host" } else if delivery.status_code < 400 { "OK" } else { "Invalid HTTP Response" },
        "status_code": delivery.status_code,
        "event": delivery.event,
        "action": delivery.action,
        "installation_id": world.app.installation,
        "repository_id": delivery.repository,
    })
}

pub(super) fn deliveries(world: &World, call: &Call) -> Answer {
    call.app_only()?;
    let after = call.asks("cursor").and_then(|cursor| cursor.parse::<Id>().ok()).unwrap_or(Id::MAX);
    let size = call.asks("per_page").and_then(|size| size.parse().ok()).unwrap_or(30).clamp(1, 100);
    let older: Vec<&Delivery> =
        world.deliveries.iter().rev().filter(|delivery| delivery.id < after).collect();
    let page: Vec<Value> = older.iter().take(size).map(|delivery| show_delivery(world, delivery)).collect();
    let last = older.get(size.saturating_sub(1)).map(|delivery| delivery.id).filter(|_| older.len() > size);
    let reply = Reply::ok(Value::Array(page));
    Ok(match last {
        Some(id) => {
            let next =
                format!("<{}/app/hook/deliveries?per_page={size}&cursor={id}>; rel=\"next\"", world.api);
            reply.with("link", &next)
        }
        None => reply,
    })
}

fn find_delivery<'w>(world: &'w World, id: &str) -> Result<&'w Delivery, Refusal> {
    let id = number(id)?;
    world.deliveries.iter().find(|delivery| delivery.id == id).ok_or_else(Refusal::not_found)
}

pub(super) fn delivery(world: &World, call: &Call, id: &str) -> Answer {
    call.app_only()?;
    let delivery = find_delivery(world, id)?;
    let mut shown = show_delivery(world, delivery);
    let headers = json!({ "X-GitHub-Event": delivery.event, "X-GitHub-Delivery": delivery.guid });
    shown["request"] = json!({ "headers": headers, "payload": delivery.payload });
    shown["response"] = json!({ "headers": {}, "payload": delivery.answer });
    Ok(Reply::ok(shown))
}

fn show_config(world: &World) -> Value {
    json!({ "content_type": "json", "insecure_ssl": "0", "secret": "********", "url": world.wires.receiver().unwrap_or_default() })
}

pub(super) fn hook_config(world: &World, call: &Call) -> Answer {
    call.app_only()?;
    Ok(Reply::ok(show_config(world)))
}

pub(super) fn set_hook_config(world: &mut World, call: &Call) -> Answer {
    call.app_only()?;
    let body = call.json()?;
    if let Some(url) = body["url"].as_str() {
        world.wires.deliver_to(url);
    }
    if let Some(secret) = body["secret"].as_str() {
        world.app.webhook_secret = secret.into();
    }
    Ok(Reply::ok(show_config(world)))
}

pub(super) fn redeliver(world: &World, call: &Call, id: &str) -> Answer {
    call.app_only()?;
    world.send_again(find_delivery(world, id)?);
    Ok(Reply::json(StatusCode::ACCEPTED, json!({})))
}

pub(super) fn repositories(world: &World, call: &Call) -> Answer {
    let Caller::Token(token) = &call.caller else { return Err(Refusal::bad_credentials()) };
    if !token.is_installation() {
        return Err(Refusal::new(
            StatusCode::FORBIDDEN,
            "You must authenticate with an installation access token in order to list repositories for an installation.",
        ));
    }
    let seen =
        world.repositories.values().filter(|repo| repo.installed && !repo.gone && token.covers(repo.id));
    let shown: Vec<Value> = seen.map(|repo| world.show_repository(repo.id)).collect();
    let mut reply = call.counted_page(&world.api, "repositories", shown);
    if let crate::emulator::reply::Body::Json(body) = &mut reply.body {
        body["repository_selection"] = if token.repositories.is_some() { "selected" } else { "all" }.into();
    }
    Ok(reply)
}

pub(super) fn rate_limit(world: &World, _call: &Call) -> Answer {
    let rate = &world.rate;
    let shown = json!({
        "limit": rate.limit, "used": rate.used, "remaining": rate.remaining(), "reset": rate.reset.timestamp(),
    });
    Ok(Reply::ok(json!({ "resources": { "core": shown, "search": shown, "graphql": shown }, "rate": shown })))
}

/// The need of endpoints that every token may use.
pub(super) const METADATA: crate::emulator::auth::Need = read(&["metadata"]);
