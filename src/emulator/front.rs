//! The listener: reads a request, lets faults strike, finds out who is calling, answers, notes it all down.

use super::auth::Caller;
use super::faults::Trouble;
use super::git::http::GitCall;
use super::journal::{Request as Noted, readable};
use super::reply::{Body, Call, Refusal, Reply};
use super::{Hub, control, git, graphql, model, rest};
use axum::body::Body as AxumBody;
use bytes::Bytes;
use chrono::Utc;
use futures::StreamExt as _;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use percent_encoding::percent_decode_str;
use sha2::{Digest as _, Sha256};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Pushes of a test's repository stay far below this.
const LARGEST_BODY: usize = 256 * 1024 * 1024;

/// Which of the two listeners.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Door {
    /// GitHub, git and the model.
    Main,
    /// Where signed log addresses point: another origin.
    Storage,
}

/// Returned instead of an answer to have the connection closed.
#[derive(Debug, thiserror::Error)]
#[error("the emulator closes this connection on purpose")]
struct Dropped;

pub(crate) async fn serve(hub: Arc<Hub>, listener: TcpListener, door: Door, stop: CancellationToken) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => return,
        };
        let Ok((stream, _)) = accepted else { continue };
        let (hub, stop) = (hub.clone(), stop.clone());
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let hub = hub.clone();
                async move {
                    match door {
                        // GitHub finishes what was asked of it, whether or not the caller is still there.
                        Door::Main => {
                            let served = tokio::spawn(async move { main(&hub, request).await });
                            served.await.unwrap_or(Err(Dropped))
                        }
                        Door::Storage => Ok(storage(&hub, &request)),
                    }
                }
            });
            let mut http = hyper::server::conn::http1::Builder::new();
            let connection = http.timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service);
            tokio::select! {
                // Clients come and go as they like; only what they asked for matters here.
                _ = connection => {}
                () = stop.cancelled() => {}
            }
        });
    }
}

async fn read(request: Request<Incoming>) -> Result<Call, Reply> {
    let (parts, body) = request.into_parts();
    let too_large = |_| Reply::text(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large for the emulator");
    let body = Limited::new(body, LARGEST_BODY).collect().await.map_err(too_large)?.to_bytes();
    let target = parts.uri.path_and_query().map_or("/", |target| target.as_str()).to_owned();
    let path = parts.uri.path();
    let path = path.strip_prefix("/api/v3/").or(path.strip_prefix("/")).unwrap_or(path);
    let decode = |segment: &str| percent_decode_str(segment).decode_utf8_lossy().into_owned();
    let query = url::form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
    Ok(Call {
        method: parts.method,
        target,
        segments: path.split('/').filter(|segment| !segment.is_empty()).map(decode).collect(),
        query: query.into_owned().collect(),
        headers: parts.headers,
        body,
        caller: Caller::Nobody,
    })
}

async fn main(hub: &Arc<Hub>, request: Request<Incoming>) -> Result<Response<AxumBody>, Dropped> {
    let mut call = match read(request).await {
        Ok(call) => call,
        Err(reply) => return Ok(wire(reply)),
    };
    if hub.driven && call.segments.first().is_some_and(|first| first == "_emulator") {
        return Ok(wire(control::answer(hub, &call).await));
    }
    let number = hub.journal.arrival();
    let at = Utc::now();
    let query = call.target.split_once('?').map_or(String::new(), |(_, query)| format!("?{query}"));
    let path = format!("/{}{query}", call.segments.join("/"));
    let trouble = hub.faults.strike(call.method.as_str(), &path);
    tokio::time::sleep(trouble.as_ref().map_or(Duration::ZERO, Trouble::pause)).await;
    if trouble == Some(Trouble::Hold) {
        hub.faults.hold().await;
    }
    let reply = match &trouble {
        Some(Trouble::Refuse) => None,
        Some(Trouble::Status { status, retry_after }) => Some(struck(*status, *retry_after)),
        _ => Some(answer(hub, &mut call).await),
    };
    let lost = trouble == Some(Trouble::LoseAnswer);
    note(hub, number, at, &call, reply.as_ref(), lost);
    if trouble == Some(Trouble::HoldAnswer) {
        hub.faults.hold().await;
    }
    reply.filter(|_| !lost).map(wire).ok_or(Dropped)
}

fn struck(status: u16, retry_after: Option<u64>) -> Reply {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let reply: Reply = Refusal::new(status, Trouble::words(status)).into();
    let reply = retry_after
        .map_or_else(|| struck_plainly(status), |after| reply.with("retry-after", &after.to_string()));
    match status {
        StatusCode::TOO_MANY_REQUESTS => reply.with("x-ratelimit-remaining", "0"),
        _ => reply,
    }
}

fn struck_plainly(status: StatusCode) -> Reply {
    Refusal::new(status, Trouble::words(status)).into()
}

async fn answer(hub: &Arc<Hub>, call: &mut Call) -> Reply {
    if let Some(reply) = model::answer(&hub.model, call) {
        return reply;
    }
    let git = GitCall::recognise(call);
    match hub.with(|world| world.identify(&call.headers)) {
        Ok(caller) => call.caller = caller,
        Err(_) if git.is_some() => return git::http::ask_who(),
        Err(refusal) => return with_rate(hub, refusal.into(), false),
    }
    match git {
        Some(git) => git::http::answer(hub, call, &git).await,
        None => api(hub, call).await,
    }
}

/// REST and GraphQL, with the headers that stand on all their answers.
async fn api(hub: &Arc<Hub>, call: &mut Call) -> Reply {
    let counted = call.segments.first().is_some_and(|first| first != "rate_limit");
    if counted && !hub.with(|world| world.rate.spend()) {
        let id = hub.with(|world| world.app.installation);
        let words = format!("API rate limit exceeded for installation ID {id}.");
        return with_rate(hub, Refusal::new(StatusCode::FORBIDDEN, words).into(), false);
    }
    let taken = std::mem::replace(call, empty());
    let shared = hub.clone();
    // git work is done in there: not for the threads that serve.
    let done = tokio::task::spawn_blocking(move || {
        let reply = shared.with(|world| {
            if graphql::is_it(&taken) { graphql::answer(world, &taken) } else { rest::answer(world, &taken) }
        });
        (taken, reply)
    });
    let reply = match done.await {
        Ok((taken, reply)) => {
            *call = taken;
            reply.unwrap_or_else(Reply::from)
        }
        Err(error) => Refusal::broken(error).into(),
    };
    conditional(hub, call, reply)
}

fn empty() -> Call {
    Call {
        method: Method::GET,
        target: String::new(),
        segments: Vec::new(),
        query: std::collections::BTreeMap::new(),
        headers: http::HeaderMap::new(),
        body: Bytes::new(),
        caller: Caller::Nobody,
    }
}

/// ETags: an unchanged answer is a 304, and costs nothing of the rate limit.
fn conditional(hub: &Hub, call: &Call, reply: Reply) -> Reply {
    let Body::Json(value) = &reply.body else { return with_rate(hub, reply, false) };
    if call.method != Method::GET || reply.status != StatusCode::OK {
        return with_rate(hub, reply, false);
    }
    let etag = format!("W/\"{}\"", hex::encode(Sha256::digest(value.to_string())));
    if call.header("if-none-match") == Some(etag.as_str()) {
        let unchanged = Reply::bytes(StatusCode::NOT_MODIFIED, "", Bytes::new()).with("etag", &etag);
        return with_rate(hub, unchanged, true);
    }
    with_rate(hub, reply.with("etag", &etag), false)
}

fn with_rate(hub: &Hub, reply: Reply, free: bool) -> Reply {
    let rate = hub.with(|world| {
        if free {
            world.rate.used = world.rate.used.saturating_sub(1);
        }
        world.rate.clone()
    });
    reply
        .with("x-ratelimit-limit", &rate.limit.to_string())
        .with("x-ratelimit-remaining", &rate.remaining().to_string())
        .with("x-ratelimit-used", &rate.used.to_string())
        .with("x-ratelimit-reset", &rate.reset.timestamp().to_string())
        .with("x-ratelimit-resource", "core")
        .with("x-github-media-type", "github.v3; format=json")
        .with("x-github-request-id", &uuid::Uuid::new_v4().simple().to_string())
}

fn note(hub: &Hub, number: u64, at: chrono::DateTime<Utc>, call: &Call, reply: Option<&Reply>, lost: bool) {
    let caller = match &call.caller {
        Caller::Nobody => "nobody".to_owned(),
        Caller::App => "app".to_owned(),
        Caller::Token(token) => hub.with(|world| world.login(token.actor).to_owned()),
    };
    hub.journal.note(Noted {
        number,
        at,
        caller,
        method: call.method.to_string(),
        path: call.target.clone(),
        body: readable(&call.body),
        status: reply.map_or(0, |reply| reply.status.as_u16()),
        answer: reply.map_or(serde_json::Value::Null, |reply| readable_answer(&reply.body)),
        lost,
    });
}

fn readable_answer(body: &Body) -> serde_json::Value {
    match body {
        Body::Json(value) => hide_token(value.clone()),
        Body::Bytes(bytes) => readable(bytes),
        Body::Events(events) => events.concat().into(),
        Body::Later(_, inner) => readable_answer(inner),
    }
}

/// The journal may be written to a file: no token stands in it.
fn hide_token(mut value: serde_json::Value) -> serde_json::Value {
    for name in ["token", "pem", "webhook_secret", "client_secret"] {
        if value[name].is_string() {
            value[name] = "(hidden)".into();
        }
    }
    value
}

fn wire(reply: Reply) -> Response<AxumBody> {
    let mut response = Response::builder().status(reply.status);
    if matches!(reply.body, Body::Json(_)) {
        response = response.header("content-type", "application/json; charset=utf-8");
    }
    for (name, value) in &reply.headers {
        response = response.header(name, value);
    }
    response.body(wire_body(reply.body)).unwrap_or_else(|_| {
        let mut broken = Response::new(AxumBody::from("the emulator made an invalid header"));
        *broken.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        broken
    })
}

fn wire_body(body: Body) -> AxumBody {
    match body {
        Body::Json(value) => AxumBody::from(value.to_string()),
        Body::Bytes(bytes) => AxumBody::from(bytes),
        Body::Events(events) => {
            let stream = futures::stream::iter(events)
                .map(|event| Ok::<_, std::convert::Infallible>(Bytes::from(event)));
            AxumBody::from_stream(stream)
        }
        Body::Later(pause, inner) => {
            let later = futures::stream::once(async move {
                tokio::time::sleep(pause).await;
                wire_body(*inner).into_data_stream()
            });
            AxumBody::from_stream(later.flatten())
        }
    }
}

/// A signed address: open to whoever has it, and closed to whoever sends a token along.
fn storage(hub: &Hub, request: &Request<Incoming>) -> Response<AxumBody> {
    let id = request.uri().path().trim_start_matches('/').to_owned();
    if request.headers().contains_key(http::header::AUTHORIZATION) {
        hub.leaked.lock().unwrap_or_else(PoisonError::into_inner).push(request.uri().to_string());
        return wire(Reply::text(StatusCode::UNAUTHORIZED, "Server failed to authenticate the request."));
    }
    match hub.with(|world| world.signed.get(&id).cloned()) {
        Some(content) => {
            let kind =
                if content.starts_with(b"PK") { "application/zip" } else { "text/plain; charset=utf-8" };
            wire(Reply::bytes(StatusCode::OK, kind, content.into()))
        }
        None => wire(Reply::text(StatusCode::NOT_FOUND, "The specified blob does not exist.")),
    }
}
