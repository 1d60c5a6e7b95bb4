//! The OpenAI Chat Completions wire, as its many servers speak it. Source: its API reference, "Chat completions" and
//! "Streaming"; where servers differ (indices left out or all zero, no `[DONE]`, reasoning under two names) all are read.

use super::{
    Ask, Message, Part, Tool, Usage,
    anthropic::{object, parsed},
    remote::Said,
    sort::{Failure, refused_midway},
};
use serde_json::{Value, json};

/// A question's body. Without `thinking` the reasoning in the conversation is left out.
pub(super) fn body(ask: &Ask<'_>, name: &str, max_tokens: u32, thinking: bool) -> Value {
    let system = json!({ "role": "system", "content": ask.system });
    let messages: Vec<_> = [system]
        .into_iter()
        .chain(ask.messages.iter().filter_map(|message| told(message, thinking)))
        .collect();
    json!({
        "model": name,
        cap_name(name): max_tokens,
        "stream": true,
        "stream_options": { "include_usage": true },
        "tools": ask.tools.iter().map(tool).collect::<Vec<_>>(),
        "messages": messages,
    })
}

/// OpenAI's reasoning models refuse the old name of the cap, most other servers know no other.
fn cap_name(name: &str) -> &'static str {
    let name = name.rsplit('/').next().unwrap_or(name);
    let numbered = |prefix: &str, from: u8| {
        name.strip_prefix(prefix)
            .and_then(|rest| rest.bytes().next())
            .is_some_and(|b| (from..=b'9').contains(&b))
    };
    if numbered("gpt-", b'5') || numbered("o", b'1') { "max_completion_tokens" } else { "max_tokens" }
}

fn tool(tool: &Tool) -> Value {
    json!({ "type": "function", "function": { "name": tool.name, "description": tool.description, "parameters": tool.schema } })
}

fn told(message: &Message, thinking: bool) -> Option<Value> {
    Some(match message {
        Message::User { text } => json!({ "role": "user", "content": text }),
        Message::Tool { call, text, error: false } => {
            json!({ "role": "tool", "tool_call_id": call, "content": text })
        }
        Message::Tool { call, text, error: true } => {
            json!({ "role": "tool", "tool_call_id": call, "content": format!("error: {text}") })
        }
        Message::Assistant { parts } => said(parts, thinking)?,
    })
}

/// A reply as it is given back; `None` where nothing of it can be.
fn said(parts: &[Part], thinking: bool) -> Option<Value> {
    let (mut text, mut reasoning, mut calls) = (String::new(), String::new(), Vec::new());
    for part in parts {
        match part {
            Part::Text { text: more } => text.push_str(more),
            // Some servers want their reasoning back while the model is calling tools; what is signed is another provider's.
            Part::Thinking { text: more, signature: None } if thinking => reasoning.push_str(more),
            Part::Thinking { .. } | Part::Sealed { .. } => {}
            Part::Call { id, tool, arguments } => {
                let arguments = object(arguments).to_string();
                calls.push(json!({ "id": id, "type": "function", "function": { "name": tool, "arguments": arguments } }));
            }
        }
    }
    if text.trim().is_empty() && calls.is_empty() {
        return None;
    }
    let mut message =
        json!({ "role": "assistant", "content": if text.is_empty() { Value::Null } else { text.into() } });
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    if !reasoning.is_empty() {
        message["reasoning_content"] = reasoning.into();
    }
    Some(message)
}

/// A reply as its chunks come.
#[derive(Default)]
pub(super) struct Stream {
    text: String,
    reasoning: String,
    calls: Vec<Call>,
    usage: Option<Usage>,
    stop: Option<String>,
}

struct Call {
    index: Option<u64>,
    id: String,
    tool: String,
    arguments: String,
}

impl Stream {
    /// Takes a chunk.
    pub(super) fn take(&mut self, chunk: &Value) -> Result<(), Failure> {
        if chunk["error"].is_object() || chunk["error"].is_string() {
            return Err(refused_midway(chunk));
        }
        self.count(&chunk["usage"]);
        let choice = &chunk["choices"][0];
        let delta = &choice["delta"];
        self.text.push_str(delta["content"].as_str().unwrap_or_default());
        let reasoning = delta["reasoning_content"].as_str().or(delta["reasoning"].as_str());
        self.reasoning.push_str(reasoning.unwrap_or_default());
        for piece in delta["tool_calls"].as_array().into_iter().flatten() {
            self.call(piece);
        }
        if let Some(stop) = choice["finish_reason"].as_str() {
            self.stop = Some(stop.to_owned());
        }
        Ok(())
    }

    /// A piece of a call belongs to the call of its index, unless it brings another id; without an index to the last one.
    fn call(&mut self, piece: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (index, id) = (piece["index"].as_u64(), text(&piece["id"]));
        let (tool, arguments) = (text(&piece["function"]["name"]), text(&piece["function"]["arguments"]));
        let same =
            |call: &&mut Call| (index.is_none() || call.index == index) && (id.is_empty() || call.id == id);
        match self.calls.iter_mut().rev().find(same) {
            Some(call) => {
                call.tool.push_str(if call.tool == tool { "" } else { &tool });
                call.arguments.push_str(&arguments);
            }
            None => self.calls.push(Call { index, id, tool, arguments }),
        }
    }

    fn count(&mut self, counts: &Value) {
        let Value::Object(_) = counts else { return };
        let count = |value: &Value| value.as_u64().unwrap_or_default();
        let cached = &counts["prompt_tokens_details"];
        let (cache_read, cache_write) =
            (count(&cached["cached_tokens"]), count(&cached["cache_write_tokens"]));
        let input = count(&counts["prompt_tokens"]).saturating_sub(cache_read + cache_write);
        self.usage =
            Some(Usage { input, output: count(&counts["completion_tokens"]), cache_read, cache_write });
    }

    /// What was said; `None` when the stream ended before its end.
    pub(super) fn said(self) -> Option<Said> {
        let stop = self.stop?;
        let mut parts = Vec::new();
        if !self.reasoning.is_empty() {
            parts.push(Part::Thinking { text: self.reasoning, signature: None });
        }
        if !self.text.is_empty() {
            parts.push(Part::Text { text: self.text });
        }
        for Call { id, tool, arguments, .. } in self.calls {
            let arguments = if arguments.trim().is_empty() { json!({}) } else { parsed(arguments) };
            parts.push(Part::Call { id, tool, arguments });
        }
        Some(Said { parts, usage: self.usage, cut: stop == "length", filtered: stop == "content_filter" })
    }
}

#[cfg(test)]
mod tests {
    use super::cap_name;

    #[test]
    fn the_cap_goes_by_the_name_that_the_model_takes() {
        for name in ["gpt-5-mini", "openai/gpt-6-sol", "gpt-5.6-terra", "o3", "o4-mini"] {
            assert_eq!(cap_name(name), "max_completion_tokens", "{name}");
        }
        for name in ["gpt-4.1", "qwen3-max", "house/olmo-2", "o", "deepseek-chat", "gpt-oss-120b"] {
            assert_eq!(cap_name(name), "max_tokens", "{name}");
        }
    }
}
