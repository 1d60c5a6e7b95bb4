//! The Anthropic Messages wire: plain and streaming.

use super::{ToolCall, pieces, tokens};
use crate::emulator::reply::{Body, Reply};
use http::StatusCode;
use serde_json::{Value, json};

/// Conversations that the real endpoint refuses: no `max_tokens`, empty texts, tool uses without results.
pub(super) fn problem(body: &Value) -> Option<String> {
    if !body["max_tokens"].is_u64() {
        return Some("max_tokens: Field required".into());
    }
    let messages = body["messages"].as_array().filter(|messages| !messages.is_empty());
    let Some(messages) = messages else { return Some("messages: at least one message is required".into()) };
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let blocks: Vec<&Value> = message["content"].as_array().into_iter().flatten().collect();
        if message["content"] == ""
            || blocks.iter().any(|block| block["type"] == "text" && block["text"] == "")
        {
            return Some(format!("messages.{at}: text content blocks must be non-empty"));
        }
        let answered: Vec<&str> = blocks.iter().filter_map(|block| block["tool_use_id"].as_str()).collect();
        if let Some(unanswered) = open.iter().find(|id| !answered.contains(id)) {
            return Some(format!(
                "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {unanswered}"
            ));
        }
        let uses = blocks.iter().filter(|block| block["type"] == "tool_use");
        open = uses.filter_map(|block| block["id"].as_str()).collect();
    }
    None
}

fn content(number: u64, text: &str, calls: &[ToolCall]) -> Vec<Value> {
    let said = (!text.is_empty()).then(|| json!({ "type": "text", "text": text }));
    let used = calls.iter().enumerate().map(|(at, call)| {
        json!({ "type": "tool_use", "id": format!("toolu_{number}_{at}"), "name": call.tool, "input": call.arguments })
    });
    said.into_iter().chain(used).collect()
}

/// The first message of a conversation is written to the cache, later ones read what came before.
fn usage(body: &Value, content: &[Value]) -> Value {
    let sizes: Vec<usize> =
        body["messages"].as_array().into_iter().flatten().map(|m| tokens(m.to_string().len())).collect();
    let fixed = tokens(body["system"].to_string().len() + body["tools"].to_string().len());
    let (last, before) = sizes.split_last().map_or((0, 0), |(last, before)| (*last, before.iter().sum()));
    let caches = body.to_string().contains("\"cache_control\"");
    let (written, read) = match (caches, before) {
        (false, _) => (0, 0),
        (true, 0) => (fixed, 0),
        (true, before) => (0, fixed + before),
    };
    let plain = if caches { last } else { fixed + before + last };
    let output: usize = content.iter().map(|block| tokens(block.to_string().len())).sum();
    json!({
        "input_tokens": plain,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "cache_creation": { "ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0 },
        "output_tokens": output,
        "service_tier": "standard",
    })
}

pub(super) fn reply(body: &Value, number: u64, text: &str, calls: &[ToolCall]) -> Reply {
    let content = content(number, text, calls);
    let stop = if calls.is_empty() { "end_turn" } else { "tool_use" };
    let usage = usage(body, &content);
    let message = json!({
        "id": format!("msg_{number}"),
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
        "stop_reason": stop,
        "stop_sequence": null,
        "usage": usage,
    });
    if body["stream"] != true {
        return Reply::ok(message);
    }
    let body = Body::Events(events(message, &content, stop, &usage));
    Reply {
        status: StatusCode::OK,
        headers: vec![("content-type".into(), "text/event-stream; charset=utf-8".into())],
        body,
    }
}

fn event(kind: &str, mut data: Value) -> String {
    data["type"] = kind.into();
    format!("event: {kind}\ndata: {data}\n\n")
}

fn events(mut message: Value, content: &[Value], stop: &str, usage: &Value) -> Vec<String> {
    message["content"] = json!([]);
    message["stop_reason"] = Value::Null;
    message["usage"]["output_tokens"] = 1.into();
    let mut events = vec![event("message_start", json!({ "message": message })), event("ping", json!({}))];
    for (index, block) in content.iter().enumerate() {
        let (start, deltas) = block_parts(block);
        events.push(event("content_block_start", json!({ "index": index, "content_block": start })));
        for delta in deltas {
            events.push(event("content_block_delta", json!({ "index": index, "delta": delta })));
        }
        events.push(event("content_block_stop", json!({ "index": index })));
    }
    let delta = json!({ "stop_reason": stop, "stop_sequence": null });
    events.push(event("message_delta", json!({ "delta": delta, "usage": usage })));
    events.push(event("message_stop", json!({})));
    events
}

/// A block as it starts, and what is added to it.
fn block_parts(block: &Value) -> (Value, Vec<Value>) {
    if block["type"] == "text" {
        let text = block["text"].as_str().unwrap_or_default();
        let deltas = pieces(text).into_iter().map(|text| json!({ "type": "text_delta", "text": text }));
        return (json!({ "type": "text", "text": "" }), deltas.collect());
    }
    let mut start = block.clone();
    start["input"] = json!({});
    let input = block["input"].to_string();
    let deltas =
        pieces(&input).into_iter().map(|part| json!({ "type": "input_json_delta", "partial_json": part }));
    (start, deltas.collect())
}

pub(super) fn error(status: StatusCode, message: &str) -> Value {
    let kind = match status.as_u16() {
        400 => "invalid_request_error",
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": "req_emulator" })
}
