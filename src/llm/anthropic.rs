//! The Anthropic Messages wire. Source: its API reference, "Messages" and "Streaming messages".
//!
//! A reply's blocks are kept in their order and given back unchanged: the provider has signed its reasoning and refuses a
//! conversation in which a signed block is different or elsewhere.

use super::{
    Ask, Message, Part, Tool, Usage,
    remote::{BYTES_A_TOKEN, Said},
    sort::{Failure, refused_midway},
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The version of the wire that this file speaks.
pub(super) const VERSION: &str = "2023-06-01";

/// A question's body. Without `thinking` the reasoning in the conversation is left out.
pub(super) fn body(ask: &Ask<'_>, name: &str, max_tokens: u32, thinking: bool) -> Value {
    json!({
        "model": name,
        "max_tokens": max_tokens,
        "stream": true,
        "system": [{ "type": "text", "text": ask.system, "cache_control": mark() }],
        "tools": ask.tools.iter().map(tool).collect::<Vec<_>>(),
        "messages": messages(ask.messages, thinking),
    })
}

/// What came up to a marked block is read from the provider's cache by the next question that begins with it.
fn mark() -> Value {
    json!({ "type": "ephemeral" })
}

fn tool(tool: &Tool) -> Value {
    json!({ "name": tool.name, "description": tool.description, "input_schema": tool.schema })
}

/// The conversation in turns: results and words of ours that follow each other are one. The last two turns of ours are
/// marked, so that a step reads what the step before it wrote.
fn messages(messages: &[Message], thinking: bool) -> Vec<Value> {
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages {
        let (role, blocks) = match message {
            Message::User { text } => ("user", vec![json!({ "type": "text", "text": text })]),
            Message::Assistant { parts } => {
                ("assistant", parts.iter().filter_map(|part| said(part, thinking)).collect())
            }
            Message::Tool { call, text, error } => (
                "user",
                vec![
                    json!({ "type": "tool_result", "tool_use_id": call, "content": text, "is_error": error }),
                ],
            ),
        };
        match turns.last_mut() {
            Some((last, before)) if *last == role => before.extend(blocks),
            _ if blocks.is_empty() => {}
            _ => turns.push((role, blocks)),
        }
    }
    for (_, blocks) in turns.iter_mut().rev().filter(|(role, _)| *role == "user").take(2) {
        if let Some(Value::Object(block)) = blocks.last_mut() {
            block.insert("cache_control".to_owned(), mark());
        }
    }
    turns.into_iter().map(|(role, content)| json!({ "role": role, "content": content })).collect()
}

/// A part as it is given back; `None` where the provider would refuse it.
fn said(part: &Part, thinking: bool) -> Option<Value> {
    match part {
        Part::Text { text } => (!text.trim().is_empty()).then(|| json!({ "type": "text", "text": text })),
        Part::Thinking { text, signature: Some(seal) } => {
            thinking.then(|| json!({ "type": "thinking", "thinking": text, "signature": seal }))
        }
        Part::Thinking { signature: None, .. } => None,
        Part::Sealed { block } => thinking.then(|| block.clone()),
        Part::Call { id, tool, arguments } => {
            Some(json!({ "type": "tool_use", "id": id, "name": tool, "input": object(arguments) }))
        }
    }
}

/// Arguments that are no object are refused, also when it was the model itself that broke them off.
pub(super) fn object(arguments: &Value) -> Value {
    match arguments {
        Value::Object(_) => arguments.clone(),
        other => json!({ "unreadable": other }),
    }
}

/// A reply as its events come.
#[derive(Default)]
pub(super) struct Stream {
    blocks: BTreeMap<u64, Block>,
    usage: Option<Usage>,
    stop: Option<String>,
}

/// A block as it began, and its arguments as far as they came.
struct Block {
    block: Value,
    json: String,
}

impl Stream {
    /// Takes an event; true when it is the last one.
    pub(super) fn take(&mut self, event: &Value) -> Result<bool, Failure> {
        let index = event["index"].as_u64().unwrap_or_default();
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => self.count(&event["message"]["usage"]),
            "content_block_start" => {
                let block = Block { block: event["content_block"].clone(), json: String::new() };
                self.blocks.insert(index, block);
            }
            "content_block_delta" => {
                if let Some(block) = self.blocks.get_mut(&index) {
                    block.grow(&event["delta"]);
                }
            }
            "message_delta" => {
                self.count(&event["usage"]);
                self.stop = event["delta"]["stop_reason"].as_str().map(str::to_owned).or(self.stop.take());
            }
            "message_stop" => return Ok(true),
            "error" => return Err(refused_midway(event)),
            // `ping`, and what will be added.
            _ => {}
        }
        Ok(false)
    }

    /// Later counts replace earlier ones; a field that is left out stays.
    fn count(&mut self, counts: &Value) {
        let Value::Object(counts) = counts else { return };
        let usage = self.usage.get_or_insert_default();
        let set =
            |field: &mut u64, name: &str| *field = counts.get(name).and_then(Value::as_u64).unwrap_or(*field);
        set(&mut usage.input, "input_tokens");
        set(&mut usage.output, "output_tokens");
        set(&mut usage.cache_read, "cache_read_input_tokens");
        set(&mut usage.cache_write, "cache_creation_input_tokens");
    }

    /// What was said of a reply that broke off, paid for as far as it came. What it called is left out: no call is whole.
    pub(super) fn so_far(self) -> Said {
        let parts: Vec<Part> = self.blocks.into_values().filter_map(Block::part).collect();
        let size = serde_json::to_string(&parts).map_or(0, |text| text.len() as u64 / BYTES_A_TOKEN);
        let usage = self.usage.map(|usage| Usage { output: usage.output.max(size), ..usage });
        let parts = parts.into_iter().filter(|part| matches!(part, Part::Text { .. })).collect();
        Said { parts, usage, cut: true, filtered: false }
    }

    /// Was it said why it ended?
    pub(super) fn is_whole(&self) -> bool {
        self.stop.is_some()
    }

    /// What was said; `None` when the stream ended before its end.
    pub(super) fn said(self) -> Option<Said> {
        self.is_whole().then(|| self.whole())
    }

    /// What was said in a reply that [is whole](Self::is_whole).
    pub(super) fn whole(self) -> Said {
        let stop = self.stop.unwrap_or_default();
        let parts = self.blocks.into_values().filter_map(Block::part).collect();
        let cut = matches!(stop.as_str(), "max_tokens" | "model_context_window_exceeded");
        Said { parts, usage: self.usage, cut, filtered: stop == "refusal" }
    }
}

impl Block {
    fn grow(&mut self, delta: &Value) {
        self.json.push_str(delta["partial_json"].as_str().unwrap_or_default());
        let Value::Object(block) = &mut self.block else { return };
        for field in ["text", "thinking", "signature"] {
            let Some(more) = delta[field].as_str() else { continue };
            match block.get_mut(field) {
                Some(Value::String(so_far)) => so_far.push_str(more),
                _ => drop(block.insert(field.to_owned(), more.into())),
            }
        }
    }

    fn part(self) -> Option<Part> {
        let Self { block, json } = self;
        let text = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
        Some(match block["type"].as_str()? {
            "text" => Part::Text { text: text("text") },
            "thinking" => Part::Thinking {
                text: text("thinking"),
                signature: Some(text("signature")).filter(|seal| !seal.is_empty()),
            },
            "tool_use" => {
                let arguments = if json.is_empty() { block["input"].clone() } else { parsed(json) };
                Part::Call { id: text("id"), tool: text("name"), arguments }
            }
            _ => Part::Sealed { block },
        })
    }
}

/// A reply that came in one piece.
pub(super) fn whole(reply: &Value) -> Said {
    let mut stream = Stream::default();
    stream.count(&reply["usage"]);
    let blocks = reply["content"].as_array().into_iter().flatten().cloned();
    let parts = blocks.filter_map(|block| Block { block, json: String::new() }.part()).collect();
    let cut = reply["stop_reason"] == "max_tokens";
    Said { parts, usage: stream.usage, cut, filtered: false }
}

/// Arguments as JSON, or the text as it came where they are none.
pub(super) fn parsed(text: String) -> Value {
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}
