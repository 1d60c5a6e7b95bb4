//! A reply on its way to the program, event by event: it flows as it comes, but what the program acts on waits until the reply
//! is written down.

use super::answer;
use bytes::Bytes;
use serde_json::Value;
use std::{
    collections::HashSet,
    time::{Duration, Instant},
};
use tokio::sync::mpsc;

/// While a part is held back the program hears this often that somebody is there.
const SIGN: Duration = Duration::from_secs(5);

/// The way to the program. Where it does not listen any more nothing is lost but time.
pub(super) struct Passage {
    // Without a bound of its own: a reply has one.
    out: mpsc::UnboundedSender<Bytes>,
    held: Vec<Bytes>,
    holding: bool,
    /// Blocks that are calls.
    calls: HashSet<u64>,
    spoke: Instant,
}

impl Passage {
    pub(super) fn new(out: mpsc::UnboundedSender<Bytes>) -> Self {
        let (held, calls) = (Vec::new(), HashSet::new());
        Self { out, held, holding: false, calls, spoke: Instant::now() }
    }

    /// An event comes by. From the end of the first call on, and from the reply's own, all is held back.
    pub(super) fn take(&mut self, event: &Value) {
        let kind = event["type"].as_str().unwrap_or_default();
        let index = event["index"].as_u64();
        if kind == "content_block_start" && event["content_block"]["type"] == "tool_use" {
            self.calls.extend(index);
        }
        let ends_call = kind == "content_block_stop" && index.is_some_and(|at| self.calls.contains(&at));
        self.holding |= ends_call || kind == "message_delta";
        if !self.holding || kind == "ping" {
            return self.say(written(event));
        }
        self.held.push(written(event));
        if self.spoke.elapsed() >= SIGN {
            self.say(Bytes::from_static(b"event: ping\ndata: {\"type\":\"ping\"}\n\n"));
        }
    }

    /// Hands over what was held back.
    pub(super) fn release(mut self) {
        for event in std::mem::take(&mut self.held) {
            self.say(event);
        }
    }

    /// Ends the reply where it is.
    pub(super) fn break_off(mut self, why: &str) {
        self.say(written(&answer::error("api_error", why)));
    }

    fn say(&mut self, event: Bytes) {
        self.spoke = Instant::now();
        let _ = self.out.send(event);
    }
}

/// Written anew: nothing passes that is not an event.
fn written(event: &Value) -> Bytes {
    let kind = event["type"].as_str().unwrap_or_default();
    let kind: String = kind.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    format!("event: {kind}\ndata: {event}\n\n").into()
}
