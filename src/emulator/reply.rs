//! What a handler reads and what it answers: [`Call`], [`Reply`] and [`Refusal`].

use super::auth::Caller;
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// GitHub's own cap and default for `per_page`.
const MOST_A_PAGE: usize = 100;
const USUAL_PAGE: usize = 30;

/// One request, read to its end.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) method: Method,
    /// Path and query as they were sent.
    pub(crate) target: String,
    /// The path without `/api/v3`, split at `/` and percent-decoded.
    pub(crate) segments: Vec<String>,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) caller: Caller,
}

impl Call {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The body as JSON; `null` when there is none.
    pub(crate) fn json(&self) -> Result<Value, Refusal> {
        if self.body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&self.body)
            .map_err(|_| Refusal::new(StatusCode::BAD_REQUEST, "Problems parsing JSON"))
    }

    pub(crate) fn asks(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str)
    }

    /// Cuts the asked page out of `items` and says in `Link` where the others are.
    pub(crate) fn page(&self, api: &str, items: Vec<Value>) -> Reply {
        self.page_of(api, items, |_, page| Value::Array(page))
    }

    /// Like [`Call::page`] for answers of the form `{"total_count": n, "<key>": […]}`.
    pub(crate) fn counted_page(&self, api: &str, key: &str, items: Vec<Value>) -> Reply {
        self.page_of(api, items, |total, page| json!({ "total_count": total, key: page }))
    }

    fn page_of(&self, api: &str, items: Vec<Value>, wrap: impl Fn(usize, Vec<Value>) -> Value) -> Reply {
        let number =
            |name, least: usize| self.asks(name).and_then(|n| n.parse().ok()).unwrap_or(least).max(1);
        let (page, size) = (number("page", 1), number("per_page", USUAL_PAGE).min(MOST_A_PAGE));
        let total = items.len();
        let pages = total.div_ceil(size).max(1);
        let cut: Vec<Value> = items.into_iter().skip((page - 1).saturating_mul(size)).take(size).collect();
        let mut links = Vec::new();
        if page > 1 {
            links.push(self.link(api, "prev", page - 1));
            links.push(self.link(api, "first", 1));
        }
        if page < pages {
            links.push(self.link(api, "next", page + 1));
            links.push(self.link(api, "last", pages));
        }
        let reply = Reply::json(StatusCode::OK, wrap(total, cut));
        if links.is_empty() { reply } else { reply.with("link", &links.join(", ")) }
    }

    fn link(&self, api: &str, rel: &str, page: usize) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        self.query.iter().filter(|(name, _)| *name != "page").for_each(|(name, value)| {
            query.append_pair(name, value);
        });
        query.append_pair("page", &page.to_string());
        format!("<{api}/{}?{}>; rel=\"{rel}\"", self.segments.join("/"), query.finish())
    }
}

/// What goes back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Body,
}

#[derive(Debug)]
pub(crate) enum Body {
    Json(Value),
    Bytes(Bytes),
    /// Server-sent events, one chunk each.
    Events(Vec<String>),
    /// The same as the inner body after a pause.
    Later(Duration, Box<Body>),
}

impl Reply {
    pub(crate) fn json(status: StatusCode, body: Value) -> Reply {
        Reply { status, headers: Vec::new(), body: Body::Json(body) }
    }

    pub(crate) fn ok(body: Value) -> Reply {
        Reply::json(StatusCode::OK, body)
    }

    pub(crate) fn created(body: Value) -> Reply {
        Reply::json(StatusCode::CREATED, body)
    }

    pub(crate) fn nothing() -> Reply {
        Reply::bytes(StatusCode::NO_CONTENT, "", Bytes::new())
    }

    pub(crate) fn text(status: StatusCode, body: impl Into<String>) -> Reply {
        Reply::bytes(status, "text/plain; charset=utf-8", body.into().into())
    }

    pub(crate) fn bytes(status: StatusCode, kind: &str, body: Bytes) -> Reply {
        let reply = Reply { status, headers: Vec::new(), body: Body::Bytes(body) };
        if kind.is_empty() { reply } else { reply.with("content-type", kind) }
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Reply {
        self.headers.push((name.into(), value.into()));
        self
    }
}

/// An answer that says no, in GitHub's words.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{status}: {message}")]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
    pub(crate) errors: Vec<Value>,
    pub(crate) headers: Vec<(String, String)>,
}

pub(crate) type Answer = Result<Reply, Refusal>;

impl Refusal {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Refusal {
        Refusal { status, message: message.into(), errors: Vec::new(), headers: Vec::new() }
    }

    pub(crate) fn not_found() -> Refusal {
        Refusal::new(StatusCode::NOT_FOUND, "Not Found")
    }

    pub(crate) fn bad_credentials() -> Refusal {
        Refusal::new(StatusCode::UNAUTHORIZED, "Bad credentials")
    }

    /// What a token without the permission is told.
    pub(crate) fn not_granted() -> Refusal {
        Refusal::new(StatusCode::FORBIDDEN, "Resource not accessible by integration")
    }

    pub(crate) fn unprocessable(message: &str) -> Refusal {
        Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, message)
    }

    /// `Validation Failed` with one error entry.
    pub(crate) fn invalid(error: Value) -> Refusal {
        Refusal { errors: vec![error], ..Refusal::unprocessable("Validation Failed") }
    }

    pub(crate) fn missing(resource: &str, field: &str) -> Refusal {
        Refusal::invalid(json!({ "resource": resource, "code": "missing_field", "field": field }))
    }

    /// Something of the emulator's own broke: git refused, a file is gone.
    pub(crate) fn broken(error: impl std::fmt::Display) -> Refusal {
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, format!("the emulator itself failed: {error}"))
    }
}

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Reply {
        let mut body = json!({
            "message": refusal.message,
            "documentation_url": "https://docs.github.com/rest",
            "status": refusal.status.as_str(),
        });
        if !refusal.errors.is_empty() {
            body["errors"] = Value::Array(refusal.errors);
        }
        Reply { status: refusal.status, headers: refusal.headers, body: Body::Json(body) }
    }
}

impl From<git2::Error> for Refusal {
    fn from(error: git2::Error) -> Refusal {
        if error.code() == git2::ErrorCode::NotFound {
            return Refusal::not_found();
        }
        Refusal::broken(error)
    }
}

/// A string field of a JSON body that must be there and not be empty.
pub(crate) fn required(body: &Value, resource: &str, field: &str) -> Result<String, Refusal> {
    match body[field].as_str() {
        Some(text) if !text.trim().is_empty() => Ok(text.into()),
        _ => Err(Refusal::missing(resource, field)),
    }
}

/// A string field that may be absent.
pub(crate) fn optional(body: &Value, field: &str) -> Option<String> {
    body[field].as_str().map(String::from)
}

/// A list of strings; absent is empty.
pub(crate) fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(|item| item.as_str().map(String::from)).collect()
}
