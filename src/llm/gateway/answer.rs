//! What the gateway answers by itself, in the words and the form of the wire: a program shows the sentence to nobody but the
//! model and its log.

use super::Body;
use crate::llm::ModelError;
use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header::CONTENT_TYPE};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};

/// A question that is not asked.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) status: StatusCode,
    pub(super) why: String,
}

impl Refused {
    pub(super) fn new(status: StatusCode, why: impl Into<String>) -> Self {
        Self { status, why: why.into() }
    }

    /// Nobody is at work, or the work is over.
    pub(super) fn closed() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "no run of an agent is open here")
    }

    pub(super) fn busy(why: &str) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, why)
    }

    /// What a provider refused with. Of a conversation that is too long programs know only by these words.
    pub(super) fn of(error: &ModelError) -> Self {
        let (status, why) = match error {
            ModelError::TooLong(why) => (StatusCode::BAD_REQUEST, format!("prompt is too long: {why}")),
            ModelError::Invalid(why) => (StatusCode::BAD_REQUEST, why.clone()),
            error => (StatusCode::FORBIDDEN, error.to_string()),
        };
        Self { status, why }
    }

    pub(super) fn response(&self) -> Response<Body> {
        let mut response = json(self.status, &error(kind(self.status), &self.why));
        // Whether it is worth another try was decided here.
        response.headers_mut().insert("x-should-retry", HeaderValue::from_static("false"));
        response
    }
}

/// The wire's own word for a status. Source: Anthropic, API reference, "Errors".
fn kind(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        _ => "invalid_request_error",
    }
}

/// An error as an answer's body, or as an event of a stream.
pub(super) fn error(kind: &str, why: &str) -> Value {
    json!({ "type": "error", "error": { "type": kind, "message": why } })
}

/// An answer in one piece.
pub(super) fn json(status: StatusCode, body: &Value) -> Response<Body> {
    let body = Full::new(Bytes::from(body.to_string())).map_err(|never| match never {}).boxed_unsync();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
