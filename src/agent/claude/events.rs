//! The program's stream of events, read as far as it is needed and not an inch further: what is not understood is passed
//! over. Source: Claude Code's documentation, "Output formats"; tried with 2.1.332.

use crate::{agent::caps, domain::text::is_crowded};
use serde_json::{Value, json};

/// Results in one event: as many as a reply has calls, and more.
const RESULTS: usize = 64;

/// Values in an event, counted as [`is_crowded`] does: a long file that was read has fewer.
const VALUES: usize = 1 << 20;

/// What an event tells.
#[derive(Debug, PartialEq)]
pub(super) enum Event {
    /// Calls have been carried out.
    Results(Vec<CallResult>),
    /// It says it is done.
    Last(Last),
    /// Nothing that is needed.
    Other,
}

/// What a call gave, by the program's word.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CallResult {
    pub(super) call: String,
    pub(super) text: String,
    pub(super) error: bool,
}

/// The program's last word.
#[derive(Debug, PartialEq)]
pub(super) struct Last {
    /// It could not work.
    pub(super) error: bool,
    /// In its words.
    pub(super) text: String,
    /// In the form it was asked for.
    pub(super) said: Option<Value>,
}

/// Reads a line.
pub(super) fn read(line: &[u8]) -> Event {
    if is_crowded(line, VALUES) {
        return Event::Other;
    }
    let Ok(event) = serde_json::from_slice::<Value>(line) else { return Event::Other };
    match event["type"].as_str() {
        Some("user") => {
            let blocks = event["message"]["content"].as_array().into_iter().flatten();
            let results: Vec<_> = blocks.filter_map(result).take(RESULTS).collect();
            if results.is_empty() { Event::Other } else { Event::Results(results) }
        }
        Some("result") => Event::Last(Last {
            error: event["is_error"] == true
                || event["subtype"].as_str().is_some_and(|kind| kind != "success"),
            text: caps::middle(event["result"].as_str().unwrap_or_default().trim(), caps::SUMMARY)
                .into_owned(),
            said: Some(event["structured_output"].clone()).filter(Value::is_object),
        }),
        _ => Event::Other,
    }
}

fn result(block: &Value) -> Option<CallResult> {
    if block["type"] != "tool_result" {
        return None;
    }
    let text = match &block["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().map(|part| part["text"].as_str().unwrap_or("[not text]"));
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    };
    Some(CallResult {
        call: block["tool_use_id"].as_str()?.to_owned(),
        text: caps::middle(&text, caps::RESULT).into_owned(),
        error: block["is_error"] == true,
    })
}

/// A message of ours, as the program takes it: one line.
pub(super) fn message(text: &str) -> String {
    let content = json!([{ "type": "text", "text": text }]);
    json!({ "type": "user", "message": { "role": "user", "content": content } }).to_string() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As 2.1.332 writes them, without what is not read.
    #[test]
    fn what_the_program_writes_is_understood() {
        let result = br#"{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_1","type":"tool_result","content":"1\thello","is_error":false},{"type":"tool_result","content":[{"type":"text","text":"a"},{"type":"image"}],"is_error":true,"tool_use_id":"toolu_2"}]},"parent_tool_use_id":null,"session_id":"s"}"#;
        let call = |call: &str, text: &str, error| CallResult { call: call.into(), text: text.into(), error };
        let expected = [call("toolu_1", "1\thello", false), call("toolu_2", "a\n[not text]", true)];
        assert_eq!(read(result), Event::Results(expected.into()));
        let last = br#"{"stop_reason":"tool_use","is_error":false,"num_turns":5,"subtype":"success","result":" Done. ","structured_output":{"summary":"did it"},"type":"result"}"#;
        let said = Some(json!({ "summary": "did it" }));
        assert_eq!(read(last), Event::Last(Last { error: false, text: "Done.".into(), said }));
        let failed = br#"{"type":"result","subtype":"error_during_execution","is_error":true}"#;
        assert_eq!(read(failed), Event::Last(Last { error: true, text: String::new(), said: None }));
        let init = br#"{"type":"system","subtype":"init","tools":["Bash"],"model":"claude-sonnet-4-5"}"#;
        assert_eq!(read(init), Event::Other);
    }

    proptest! {
        #[test]
        fn whatever_comes_is_read_or_passed_over(line in proptest::collection::vec(any::<u8>(), 0..300)) {
            read(&line);
        }

        #[test]
        fn a_message_is_one_line(text in "(?s).{0,200}") {
            let line = message(&text);
            prop_assert!(line.ends_with('\n') && line.matches('\n').count() == 1);
            let value: Value = serde_json::from_str(&line).unwrap();
            prop_assert_eq!(value["message"]["content"][0]["text"].as_str(), Some(text.as_str()));
        }
    }
}
