//! What the program is told: each message a line, for as long as it listens.

use super::{brief, events};
use crate::{agent::Record, llm::Message};
use std::time::Duration;
use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    time::timeout,
};

/// The longest wait for it to take a message.
const TAKES: Duration = Duration::from_secs(10);

/// To the program; closed, it ends after its last word.
pub(super) type Input = Option<Box<dyn AsyncWrite + Send + Unpin>>;

/// What the program is told first.
pub(super) fn told(task: &str, before: &[Record], notes: &[Message]) -> String {
    let notes = notes.iter().filter_map(|message| match message {
        Message::User { text } => Some(text.clone()),
        _ => None,
    });
    let parts = [task.to_owned()].into_iter().chain(brief::of(before)).chain(notes);
    parts.collect::<Vec<_>>().join("\n\n")
}

/// Says something to the program. One that does not listen will be seen by its end.
pub(super) async fn say(input: &mut Input, text: &str) {
    let Some(stdin) = input else { return };
    let line = events::message(text);
    let write = async {
        stdin.write_all(line.as_bytes()).await?;
        stdin.flush().await
    };
    let _ = timeout(TAKES, write).await;
}
