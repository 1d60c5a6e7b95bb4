//! Keeps a long conversation within what a model can hold: old tool results become one line each.
//!
//! What is replaced depends on the conversation alone and moves in leaps, not with every step: the beginning stays the same
//! for many questions, so that a provider's cache of it stays good, and a resumed round sees what it saw before.

use crate::llm::Message;

/// Bytes of a token, on the low side: code has short tokens, and an overestimate only compacts earlier.
const BYTES_A_TOKEN: usize = 3;
/// Of the room, in percent: compaction begins above this …
const HIGH: usize = 80;
/// … and leaves about this much.
const LOW: usize = 40;
/// A result shorter than this is not worth its stub.
const SHORT: usize = 200;

/// Bytes of conversation that fit, with `reserved` bytes of instructions and tools and the reply's tokens.
pub(super) fn room(context: u64, reply_tokens: u32, reserved: usize) -> usize {
    let tokens = context.saturating_sub(u64::from(reply_tokens)).max(context / 4);
    usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(BYTES_A_TOKEN).saturating_sub(reserved)
}

/// The conversation with as many old results replaced as it takes to fit into `room` bytes.
pub(super) fn compact(messages: Vec<Message>, room: usize) -> Vec<Message> {
    let kept_from = cutoff(&messages, room);
    let shorten = |(at, message): (usize, Message)| if at < kept_from { stub(message) } else { message };
    messages.into_iter().enumerate().map(shorten).collect()
}

/// Results before this place are replaced. Walking along the conversation as it grew, the place leaps whenever the size
/// passes the high mark.
fn cutoff(messages: &[Message], room: usize) -> usize {
    let (high, low) = (room / 100 * HIGH, room / 100 * LOW);
    let (mut cutoff, mut held) = (0, 0);
    for (end, message) in messages.iter().enumerate() {
        // The results of the last reply are what the model waits for: they are never replaced.
        let before = messages[..=end]
            .iter()
            .rposition(|message| matches!(message, Message::Assistant { .. }))
            .unwrap_or(0);
        held += size(message);
        if held > high {
            while held > low && cutoff < before {
                held -= saved(&messages[cutoff]);
                cutoff += 1;
            }
        }
    }
    cutoff
}

fn size(message: &Message) -> usize {
    match message {
        Message::User { text } | Message::Tool { text, .. } => text.len(),
        Message::Assistant { .. } => serde_json::to_string(message).map_or(0, |json| json.len()),
    }
}

fn saved(message: &Message) -> usize {
    match message {
        Message::Tool { text, .. } => text.len().saturating_sub(SHORT),
        _ => 0,
    }
}

fn stub(message: Message) -> Message {
    match message {
        Message::Tool { call, text, error } if text.len() > SHORT => {
            let text = format!(
                "[{} characters of an old result, left out to save room; call the tool again if you need it]",
                text.chars().count()
            );
            Message::Tool { call, text, error }
        }
        other => other,
    }
}
