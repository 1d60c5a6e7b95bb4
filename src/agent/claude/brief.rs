//! What came before, told in text: for a program whose own conversation of it is gone.

use crate::{
    agent::{Message, Part, Record, caps, fence::Fence},
    domain::text::Clean,
};

/// All of it: an outline to go on from; the files themselves tell the rest.
const ALL: usize = 24_000;
/// A message of ours, or what the model said.
const SAID: usize = 4_000;
/// What tells a call from another, and what came of it.
const CALL: usize = 300;

/// The records as data; `None` where there is nothing to tell.
pub(super) fn of(records: &[Record]) -> Option<String> {
    let told: Vec<String> = records.iter().filter_map(line).collect();
    if told.is_empty() {
        return None;
    }
    // Cleaned as a whole: results of tools may hold anything.
    let told = Clean::plain(&told.join("\n\n"));
    let told = caps::middle(told.as_str(), ALL);
    let fence = Fence::around(&[&told]);
    Some(format!(
        "# What came before\n\nYou worked on this before; that conversation is not at hand any more, what follows is an outline \
         of it. {}\n\n{}",
        fence.explained(),
        fence.data("the work so far", &told)
    ))
}

fn line(record: &Record) -> Option<String> {
    match record {
        Record::Said { message: Message::User { text } } => {
            Some(format!("You were told:\n{}", caps::middle(text, SAID)))
        }
        Record::Replied { message: Message::Assistant { parts }, .. } => {
            let parts: Vec<String> = parts.iter().filter_map(part).collect();
            (!parts.is_empty()).then(|| parts.join("\n"))
        }
        Record::Done { message: Message::Tool { text, error, .. }, .. } => {
            let how = if *error { "It failed" } else { "It gave" };
            Some(format!("{how}: {}", caps::middle(text.trim(), CALL)))
        }
        _ => None,
    }
}

fn part(part: &Part) -> Option<String> {
    match part {
        Part::Text { text } if !text.trim().is_empty() => {
            Some(format!("You said:\n{}", caps::middle(text.trim(), SAID)))
        }
        Part::Call { tool, arguments, .. } => {
            Some(format!("You called {tool}: {}", caps::middle(&arguments.to_string(), CALL)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outline_tells_what_was_asked_done_and_found() {
        let reply = [
            Part::Text { text: "Looking.".into() },
            Part::Call {
                id: "1".into(),
                tool: "Bash".into(),
                arguments: serde_json::json!({ "command": "make" }),
            },
        ];
        let records = [
            Record::Said { message: Message::user("# Task\n\nFix it.") },
            Record::Replied {
                message: Message::Assistant { parts: reply.into() },
                usage: Default::default(),
                micros: 1,
            },
            Record::Done {
                message: Message::Tool { call: "1".into(), text: "x".repeat(90_000), error: true },
                touched: true,
            },
        ];
        let told = of(&records).unwrap();
        for part in
            ["Fix it.", "You said:\nLooking.", "You called Bash: {\"command\":\"make\"}", "It failed: xxx"]
        {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert!(told.len() < 2_000);
        assert_eq!(of(&[]), None);
    }
}
