//! The conversation out of the journal. The journal is the only memory: what is asked next depends on nothing else, so a
//! round that was interrupted goes on exactly where it was, and no journalled reply is asked for again.

use super::{Record, prompt};
use crate::llm::{Message, Part};

/// The name of the tool that ends a round. It is ours: the sandbox does not have it.
pub(super) const FINISH: &str = "finish";

/// A call of the model's.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) arguments: serde_json::Value,
}

/// A reply of the model with everything that followed until its next one. Before the first reply there is none.
pub(super) struct Block<'a>(&'a [Record]);

/// The journal in blocks.
fn blocks(records: &[Record]) -> impl DoubleEndedIterator<Item = Block<'_>> {
    records.chunk_by(|_, next| !matches!(next, Record::Replied { .. })).map(Block)
}

impl<'a> Block<'a> {
    fn reply(&self) -> Option<&'a Message> {
        match self.0.first() {
            Some(Record::Replied { message, .. }) => Some(message),
            _ => None,
        }
    }

    fn parts(&self) -> &'a [Part] {
        match self.reply() {
            Some(Message::Assistant { parts }) => parts,
            _ => &[],
        }
    }

    /// What the model called.
    pub(super) fn calls(&self) -> Vec<Call> {
        let call = |part: &Part| match part {
            Part::Call { id, tool, arguments } => {
                Some(Call { id: id.clone(), tool: tool.clone(), arguments: arguments.clone() })
            }
            _ => None,
        };
        self.parts().iter().filter_map(call).collect()
    }

    /// What the model said.
    pub(super) fn text(&self) -> String {
        let text = |part: &'a Part| match part {
            Part::Text { text } => Some(text.as_str()),
            _ => None,
        };
        self.parts().iter().filter_map(text).collect::<Vec<_>>().join("\n").trim().to_owned()
    }

    /// The result of a call, where there is one.
    fn result(&self, id: &str) -> Option<&'a Message> {
        self.0.iter().find_map(|record| match record {
            Record::Done { message: message @ Message::Tool { call, .. }, .. } if call == id => Some(message),
            _ => None,
        })
    }

    /// The call was carried out, and what came of it is journalled.
    pub(super) fn is_done(&self, id: &str) -> bool {
        self.result(id).is_some()
    }

    /// A call of it failed.
    pub(super) fn has_failed(&self) -> bool {
        self.0
            .iter()
            .any(|record| matches!(record, Record::Done { message: Message::Tool { error: true, .. }, .. }))
    }

    fn said(&self) -> impl Iterator<Item = &'a Message> {
        self.0.iter().filter_map(|record| match record {
            Record::Said { message } => Some(message),
            _ => None,
        })
    }

    /// We spoke after it.
    pub(super) fn is_followed(&self) -> bool {
        self.said().next().is_some()
    }
}

/// The messages as a model is asked with them. Providers want every call's result directly behind its reply: a note that
/// came in between stands after them, and a call that a round's end left open is told as not carried out.
pub(super) fn messages(records: &[Record]) -> Vec<Message> {
    let mut messages = Vec::new();
    for block in blocks(records) {
        messages.extend(block.reply().cloned());
        for call in block.calls() {
            let open = || Message::Tool {
                call: call.id.clone(),
                text: unanswered(&call).to_owned(),
                error: call.tool != FINISH,
            };
            messages.push(block.result(&call.id).cloned().unwrap_or_else(open));
        }
        messages.extend(block.said().cloned());
    }
    messages
}

fn unanswered(call: &Call) -> &'static str {
    if call.tool == FINISH {
        "Noted; see the next message."
    } else {
        "Not carried out: the round ended before it."
    }
}

/// Where the present round begins: its task, the last one said.
pub(super) fn start(records: &[Record]) -> Option<usize> {
    records.iter().rposition(|record| matches!(record, Record::Said { message } if prompt::is_task(message)))
}

/// The last reply of these records.
pub(super) fn last(records: &[Record]) -> Option<Block<'_>> {
    blocks(records).next_back().filter(|block| block.reply().is_some())
}

/// The last reply where it still wants an act of ours: a call not carried out, an end not heeded, no call at all.
pub(super) fn open(records: &[Record]) -> Option<Block<'_>> {
    let block = last(records)?;
    let calls = block.calls();
    let waits = |call: &Call| !block.is_done(&call.id) && (call.tool != FINISH || !block.is_followed());
    let open = if calls.is_empty() { !block.is_followed() } else { calls.iter().any(waits) };
    open.then_some(block)
}

/// How many replies were given.
pub(super) fn steps(records: &[Record]) -> u32 {
    let replies = records.iter().filter(|record| matches!(record, Record::Replied { .. })).count();
    u32::try_from(replies).unwrap_or(u32::MAX)
}

/// How many replies at the end called nothing.
pub(super) fn idle(records: &[Record]) -> usize {
    blocks(records).rev().take_while(|block| block.reply().is_some() && block.calls().is_empty()).count()
}
