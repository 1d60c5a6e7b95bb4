//! The OpenAI Chat Completions wire: plain and streaming.

use super::{ToolCall, pieces, tokens};
use crate::emulator::reply::{Body, Reply};
use http::StatusCode;
use serde_json::{Value, json};

/// Conversations that the real endpoint refuses: tool calls without an answer, answers without a call.
pub(super) fn problem(body: &Value) -> Option<String> {
    let messages = body["messages"].as_array().filter(|messages| !messages.is_empty());
    let Some(messages) = messages else { return Some("'messages' must not be empty".into()) };
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            if !open.contains(&id) {
                return Some(
                    "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'"
                        .into(),
                );
            }
            open.retain(|waiting| *waiting != id);
            continue;
        }
        if let Some(id) = open.first() {
            return Some(format!(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id': {id}"
            ));
        }
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        open = calls.filter_map(|call| call["id"].as_str()).collect();
    }
    None
}

fn tool_calls(number: u64, calls: &[ToolCall]) -> Vec<Value> {
    let one = |(at, call): (usize, &ToolCall)| {
        let function = json!({ "name": call.tool, "arguments": call.arguments.to_string() });
        json!({ "id": format!("call_{number}_{at}"), "type": "function", "function": function })
    };
    calls.iter().enumerate().map(one).collect()
}

fn usage(body: &Value, text: &str, calls: &[Value]) -> Value {
    let prompt = tokens(body["messages"].to_string().len() + body["tools"].to_string().len());
    let completion = tokens(text.len() + calls.iter().map(|call| call.to_string().len()).sum::<usize>());
    let turns = body["messages"].as_array().map_or(0, Vec::len);
    let cached = if turns > 2 { prompt / 2 } else { 0 };
    json!({
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": { "cached_tokens": cached, "audio_tokens": 0 },
        "completion_tokens_details": { "reasoning_tokens": 0 },
    })
}

pub(super) fn reply(body: &Value, number: u64, text: &str, calls: &[ToolCall]) -> Reply {
    let calls = tool_calls(number, calls);
    let finish = if calls.is_empty() { "stop" } else { "tool_calls" };
    let usage = usage(body, text, &calls);
    let head = json!({
        "id": format!("chatcmpl-{number}"),
        "created": chrono::Utc::now().timestamp(),
        "model": body["model"],
        "system_fingerprint": "fp_emulator",
    });
    if body["stream"] == true {
        let include_usage = body["stream_options"]["include_usage"] == true;
        let events = events(&head, text, &calls, finish, include_usage.then_some(&usage));
        let headers = vec![("content-type".into(), "text/event-stream; charset=utf-8".into())];
        return Reply { status: StatusCode::OK, headers, body: Body::Events(events) };
    }
    let mut message = json!({ "role": "assistant", "content": if text.is_empty() { Value::Null } else { text.into() }, "refusal": null });
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    let mut whole = head;
    whole["object"] = "chat.completion".into();
    whole["choices"] = json!([{ "index": 0, "message": message, "logprobs": null, "finish_reason": finish }]);
    whole["usage"] = usage;
    Reply::ok(whole)
}

fn events(head: &Value, text: &str, calls: &[Value], finish: &str, usage: Option<&Value>) -> Vec<String> {
    let chunk = |choices: Value| {
        let mut chunk = head.clone();
        chunk["object"] = "chat.completion.chunk".into();
        chunk["choices"] = choices;
        chunk
    };
    let delta = |delta: Value, finish: Value| {
        chunk(json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish }]))
    };
    let mut chunks = vec![delta(json!({ "role": "assistant", "content": "" }), Value::Null)];
    chunks.extend(pieces(text).into_iter().map(|piece| delta(json!({ "content": piece }), Value::Null)));
    for (index, call) in calls.iter().enumerate() {
        let mut first = call.clone();
        first["index"] = index.into();
        let arguments = first["function"]["arguments"].take();
        first["function"]["arguments"] = "".into();
        chunks.push(delta(json!({ "tool_calls": [first] }), Value::Null));
        for piece in pieces(arguments.as_str().unwrap_or_default()) {
            let part = json!({ "index": index, "function": { "arguments": piece } });
            chunks.push(delta(json!({ "tool_calls": [part] }), Value::Null));
        }
    }
    chunks.push(delta(json!({}), finish.into()));
    if let Some(usage) = usage {
        let mut last = chunk(json!([]));
        last["usage"] = usage.clone();
        chunks.push(last);
    }
    let lines = chunks.iter().map(|chunk| format!("data: {chunk}\n\n"));
    lines.chain(["data: [DONE]\n\n".to_owned()]).collect()
}

pub(super) fn error(status: StatusCode, message: &str) -> Value {
    let kind = match status.as_u16() {
        401 => "invalid_api_key",
        429 => "rate_limit_exceeded",
        _ => "invalid_request_error",
    };
    json!({ "error": { "message": message, "type": kind, "param": null, "code": kind } })
}
