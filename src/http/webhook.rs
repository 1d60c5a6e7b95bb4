//! `POST /webhooks`: verify, store, commit, and only then answer 202. What a delivery means is decided later.
//!
//! The sentences are for the operator, who reads them in the App's list of deliveries at GitHub.

use super::{HttpState, body, crowd::Seat};
use crate::{
    domain::{Fault, seeded},
    store::{DiskMark, Kept},
};
use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, Request, StatusCode, header},
    response::{IntoResponse, Response},
};

/// GitHub's ids are UUIDs and its event names short; more would only be kept for nothing.
const LONGEST_NAME: usize = 100;
/// Seconds after which a delivery that could not be stored may be sent again.
const AGAIN: &str = "30";

type Refusal = (StatusCode, &'static str);

/// Answers a delivery.
pub(super) async fn receive(State(state): State<HttpState>, request: Request<Body>) -> Response {
    match keep(&state, request).await {
        Ok(answer) => answer.into_response(),
        Err(refusal @ (StatusCode::SERVICE_UNAVAILABLE, _)) => {
            ([(header::RETRY_AFTER, AGAIN)], refusal.into_response()).into_response()
        }
        Err(refusal) => refusal.into_response(),
    }
}

async fn keep(state: &HttpState, request: Request<Body>) -> Result<Refusal, Refusal> {
    let Some(secrets) = &state.secrets else {
        return Err((StatusCode::NOT_FOUND, "no webhooks are taken here: they are read from GitHub's list"));
    };
    // Before anything is read: a disk this full may still take the row, but not what would follow from it.
    if let Some(problem) = state.disk.as_ref().and_then(DiskMark::problem) {
        tracing::warn!(problem, "a delivery is refused");
        return Err((StatusCode::SERVICE_UNAVAILABLE, "the disk is full, send it again later"));
    }
    let (parts, body) = request.into_parts();
    let headers = Headers::read(&parts.headers)?;
    let body = body::read(body, state).await.map_err(body::Unread::answer)?;
    if !secrets.verify(&body.bytes, headers.signature) {
        return Err((
            StatusCode::UNAUTHORIZED,
            "the signature does not match: compare the App's webhook secret with `github.webhook_secret`",
        ));
    }
    if let Some(seat) = parts.extensions.get::<Seat>() {
        seat.proved();
    }
    if headers.event == "ping" {
        return Ok((StatusCode::OK, "pong"));
    }
    if seeded(Fault::AnsweredFirst) {
        let (store, guid, event) = (state.store.clone(), headers.guid.to_owned(), headers.event.to_owned());
        tokio::spawn(async move { store.keep_delivery(&guid, &event, &body.bytes).await });
        return Ok((StatusCode::ACCEPTED, "stored"));
    }
    match state.store.keep_delivery(headers.guid, headers.event, &body.bytes).await {
        Ok(Kept::New) => Ok((StatusCode::ACCEPTED, "stored")),
        Ok(Kept::Duplicate) => Ok((StatusCode::ACCEPTED, "stored before")),
        Err(error) => {
            tracing::error!(%error, guid = headers.guid, "a delivery cannot be stored and is refused");
            Err((StatusCode::SERVICE_UNAVAILABLE, "it cannot be stored now, send it again later"))
        }
    }
}

/// The headers a delivery must have.
struct Headers<'a> {
    guid: &'a str,
    event: &'a str,
    signature: &'a str,
}

impl<'a> Headers<'a> {
    fn read(headers: &'a HeaderMap) -> Result<Self, Refusal> {
        if headers.contains_key(header::CONTENT_ENCODING) {
            return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "a body is taken as it is, not encoded"));
        }
        let form = "application/x-www-form-urlencoded";
        if headers.get(header::CONTENT_TYPE).is_some_and(|t| t.as_bytes().starts_with(form.as_bytes())) {
            return Err((
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "set the webhook's content type to application/json",
            ));
        }
        let guid = name(headers, "x-github-delivery", "X-GitHub-Delivery is missing or unreadable")?;
        let event = name(headers, "x-github-event", "X-GitHub-Event is missing or unreadable")?;
        let signature = headers.get("x-hub-signature-256").and_then(|s| s.to_str().ok());
        let signature = signature.ok_or((
            StatusCode::UNAUTHORIZED,
            "X-Hub-Signature-256 is missing: set a secret for the App's webhook",
        ))?;
        Ok(Self { guid, event, signature })
    }
}

fn name<'a>(headers: &'a HeaderMap, header: &str, refusal: &'static str) -> Result<&'a str, Refusal> {
    let value = headers.get(header).and_then(|v| v.to_str().ok());
    value.filter(|v| !v.is_empty() && v.len() <= LONGEST_NAME).ok_or((StatusCode::BAD_REQUEST, refusal))
}
