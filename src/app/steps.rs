//! What an agent did, for people to follow: its journal's lines without what tools answered.

use crate::{
    agent::{Message, Part, Record},
    store::JournalLine,
};

/// One reply of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// In which request.
    pub request: u32,
    /// In which round of it.
    pub round: u32,
    /// What it said beside its calls.
    pub said: String,
    /// What it called.
    pub calls: Vec<Call>,
    /// Tokens of every kind.
    pub tokens: u64,
    /// Millionths of a dollar; 0 where no price is known.
    pub micros: u64,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The tool.
    pub tool: String,
    /// What tells it from another call of the tool: a path, a command, a pattern; one line.
    pub about: String,
}

/// Arguments that tell what a call is about, best first.
const TELLING: [&str; 6] = ["path", "file_path", "command", "pattern", "question", "summary"];

/// The model's replies among the lines of a journal.
pub fn steps(lines: &[JournalLine]) -> Vec<Step> {
    lines.iter().filter_map(step).collect()
}

fn step(line: &JournalLine) -> Option<Step> {
    let record = serde_json::from_value(line.entry.clone()).ok()?;
    let Record::Replied { message: Message::Assistant { parts }, usage, micros } = record else {
        return None;
    };
    let mut step = Step {
        request: line.request,
        round: line.round,
        said: String::new(),
        calls: Vec::new(),
        tokens: usage.input + usage.output + usage.cache_read + usage.cache_write,
        micros,
    };
    for part in parts {
        match part {
            Part::Text { text } => step.said.push_str(&text),
            Part::Call { tool, arguments, .. } => {
                let told =
                    TELLING.iter().find_map(|name| arguments[*name].as_str().filter(|t| !t.is_empty()));
                let about = told.unwrap_or_default().lines().next().unwrap_or_default().to_owned();
                step.calls.push(Call { tool, about });
            }
            _ => {}
        }
    }
    Some(step)
}
