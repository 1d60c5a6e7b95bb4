//! What a program asks, taken down to what a conversation with the one model needs.
//!
//! Left out or refused is whatever would have the provider turn to somebody else for the sandbox (servers of tools, searches,
//! files by address), and whatever costs more than the price list says.

use super::answer::Refused;
use crate::domain::text::is_crowded;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode,
    header::{AUTHORIZATION, CONTENT_ENCODING},
};
use serde_json::{Map, Value, json};
use subtle::ConstantTimeEq;

/// The fields of a question that pass. Among those that do not: `mcp_servers` and `container`, by which the provider asks
/// others; `service_tier`, `speed` and `inference_geo`, which have prices of their own; `metadata`, which names the machine.
const FIELDS: [&str; 16] = [
    "messages",
    "system",
    "tools",
    "tool_choice",
    "max_tokens",
    "stream",
    "stop_sequences",
    "temperature",
    "top_p",
    "top_k",
    "thinking",
    "context_management",
    "output_config",
    "output_format",
    "cache_control",
    "effort",
];

/// Kinds of tools that the program itself carries out, besides those without a kind. All others run at the provider's.
const TOOLS: [&str; 5] = ["custom", "bash_", "text_editor_", "memory_", "tool_search_tool_"];

/// Marks of trial features that do not pass, by their beginning: they let the provider reach out, or change the price.
const MARKS: [&str; 8] =
    ["mcp-client", "code-execution", "files-api", "web-", "skills", "fast-mode", "context-1m", "compact-"];

/// Values in a question, counted as [`is_crowded`] does: a conversation of a million tokens of code has fewer.
const VALUES: usize = 1 << 21;

/// The one header that passes.
const BETA: HeaderName = HeaderName::from_static("anthropic-beta");

/// Parts of a question that are nobody's instruction to the provider: what a tool takes, and what it was given.
const OPAQUE: [&str; 2] = ["input", "input_schema"];

/// A question as it goes on.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
    /// Of the question, for a provider that counts nothing.
    pub(super) bytes: usize,
    /// The reply is wanted in pieces.
    pub(super) stream: bool,
    /// Only the question's tokens are asked for.
    pub(super) counts: bool,
    /// The trial form of the wire.
    pub(super) beta: bool,
}

/// Does whoever asks have the run's token? Compared without telling how much of it is right.
pub(super) fn prove(headers: &HeaderMap, token: &str) -> Result<(), Refused> {
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = text(&AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
    let given = bearer.or_else(|| text(&HeaderName::from_static("x-api-key"))).unwrap_or_default();
    match bool::from(given.as_bytes().ct_eq(token.as_bytes())) {
        true => Ok(()),
        false => Err(Refused::new(StatusCode::UNAUTHORIZED, "the token is not this run's")),
    }
}

/// Reads a question to `model`.
pub(super) fn read<B: AsRef<[u8]>>(request: &Request<B>, model: &str) -> Result<Asked, Refused> {
    let counts = match (request.method(), request.uri().path()) {
        (&Method::POST, "/v1/messages") => false,
        (&Method::POST, "/v1/messages/count_tokens") => true,
        (_, path) => {
            let path: String = path.chars().take(80).collect();
            return Err(Refused::new(StatusCode::NOT_FOUND, format!("{path} is not served here")));
        }
    };
    let headers = request.headers();
    if headers.contains_key(CONTENT_ENCODING) {
        return Err(Refused::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "a question in plain JSON is expected"));
    }
    let bytes = request.body().as_ref();
    let invalid = |why: &str| Refused::new(StatusCode::BAD_REQUEST, why);
    if is_crowded(bytes, VALUES) {
        return Err(Refused::new(StatusCode::PAYLOAD_TOO_LARGE, "a question of so many parts is not asked"));
    }
    let Ok(Value::Object(given)) = serde_json::from_slice(bytes) else {
        return Err(invalid("a question is a JSON object"));
    };
    let stream = given.get("stream").and_then(Value::as_bool).unwrap_or_default();
    let body = taken_down(given, model)?;
    let beta = request.uri().query().is_some_and(|query| query.split('&').any(|pair| pair == "beta=true"));
    Ok(Asked { headers: onward(headers), body, bytes: bytes.len(), stream, counts, beta })
}

fn taken_down(given: Map<String, Value>, model: &str) -> Result<Value, Refused> {
    match given.get("model").and_then(Value::as_str) {
        Some(name) if name == model => {}
        name => {
            // In the model's own words a program says what to set.
            let name: String = name.unwrap_or_default().chars().take(80).collect();
            let why =
                format!("model: {name:?} is not the one of this run, {model:?}; no other has a price here");
            return Err(Refused::new(StatusCode::NOT_FOUND, why));
        }
    }
    for tool in given.get("tools").and_then(Value::as_array).into_iter().flatten() {
        let kind = tool.get("type").and_then(Value::as_str).unwrap_or("custom");
        if !TOOLS.iter().any(|known| kind.starts_with(known)) {
            let kind: String = kind.chars().take(40).collect();
            let why =
                format!("tools: {kind:?} runs at the provider's; only what runs in the sandbox is allowed");
            return Err(Refused::new(StatusCode::FORBIDDEN, why));
        }
    }
    let mut body = Map::from_iter([("model".to_owned(), json!(model))]);
    body.extend(given.into_iter().filter(|(name, _)| FIELDS.contains(&name.as_str())));
    let mut body = Value::Object(body);
    if let Some(edits) = body.pointer_mut("/context_management/edits").and_then(Value::as_array_mut) {
        // Summaries that the provider writes by itself are charged beside what a reply says it used.
        edits.retain(|edit| edit["type"].as_str().is_some_and(|kind| kind.starts_with("clear_")));
    }
    tidy(&mut body)?;
    Ok(body)
}

/// Takes every mark for the cache down to the usual one (one that holds for an hour costs more than the price list says), and
/// refuses content that the provider would have to fetch.
fn tidy(value: &mut Value) -> Result<(), Refused> {
    match value {
        Value::Array(items) => items.iter_mut().try_for_each(tidy),
        Value::Object(fields) => {
            if fields.get("source").and_then(|source| source.get("type")).is_some_and(is_elsewhere) {
                let why = "content by address or by file is not passed on; put it into the question";
                return Err(Refused::new(StatusCode::FORBIDDEN, why));
            }
            if let Some(mark) = fields.get_mut("cache_control").filter(|mark| mark.is_object()) {
                *mark = json!({ "type": "ephemeral" });
            }
            let told = fields.iter_mut().filter(|(name, _)| !OPAQUE.contains(&name.as_str()));
            told.map(|(_, value)| value).try_for_each(tidy)
        }
        _ => Ok(()),
    }
}

/// Anything but what is in the question itself.
fn is_elsewhere(kind: &Value) -> bool {
    !matches!(kind.as_str(), Some("base64" | "text" | "content"))
}

/// Whatever proves who asks stays behind, as does all that tells of the machine.
fn onward(given: &HeaderMap) -> HeaderMap {
    let marks = given.get_all(BETA);
    let marks = marks.iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    let marks: Vec<&str> =
        marks.map(str::trim).filter(|mark| !MARKS.iter().any(|begin| mark.starts_with(begin))).collect();
    let mut headers = HeaderMap::new();
    if let Ok(value) = HeaderValue::try_from(marks.join(","))
        && !value.is_empty()
    {
        headers.insert(BETA, value);
    }
    headers
}
