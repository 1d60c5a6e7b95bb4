//! Server-sent events out of a response, as far as the model wires use them: the data of each event.
//! Source: the HTML standard, "Server-sent events", 9.2.6.

use super::sort::Failure;
use std::time::Duration;

/// Bytes of one event: a whole file in one piece, and no more of a server that never ends its line.
const EVENT: usize = 16 << 20;
/// Bytes kept of what is no event, to show people what came instead.
const OTHER: usize = 2_000;

/// The events of a response.
pub(super) struct Events {
    response: reqwest::Response,
    silence: Duration,
    /// What came and is not yet a whole line.
    rest: Vec<u8>,
    /// The data of the event that is being read.
    data: String,
    /// The beginning of what was no event.
    other: String,
    ended: bool,
}

impl Events {
    /// Every wait for the next bytes ends after `silence`.
    pub(super) fn new(response: reqwest::Response, silence: Duration) -> Self {
        Self { response, silence, rest: Vec::new(), data: String::new(), other: String::new(), ended: false }
    }

    /// The next event's data; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<String>, Failure> {
        loop {
            while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                if self.take(&line) {
                    return Ok(Some(std::mem::take(&mut self.data)));
                }
            }
            if self.ended {
                return Ok(None);
            }
            self.read().await?;
        }
    }

    /// The beginning of what came and was no event.
    pub(super) fn other(&self) -> &str {
        &self.other
    }

    async fn read(&mut self) -> Result<(), Failure> {
        let chunk = tokio::time::timeout(self.silence, self.response.chunk()).await;
        match chunk.map_err(|_| Failure::Lost(format!("it fell silent for {} s", self.silence.as_secs())))? {
            Ok(Some(bytes)) => self.rest.extend_from_slice(&bytes),
            Ok(None) => {
                // An event without its empty line is complete all the same where the stream ends.
                self.rest.extend_from_slice(b"\n\n");
                self.ended = true;
            }
            Err(error) => {
                return Err(Failure::Lost(format!(
                    "its answer broke off: {}",
                    super::remote::innermost(&error)
                )));
            }
        }
        if self.rest.len() + self.data.len() > EVENT {
            return Err(Failure::Nonsense("its answer has an event without an end".to_owned()));
        }
        Ok(())
    }

    /// Takes a line; true when it ends an event.
    fn take(&mut self, line: &[u8]) -> bool {
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end_matches(['\r', '\n']);
        if line.is_empty() {
            return !self.data.is_empty();
        }
        match line.strip_prefix("data:") {
            Some(data) => {
                self.data.push_str(if self.data.is_empty() { "" } else { "\n" });
                self.data.push_str(data.strip_prefix(' ').unwrap_or(data));
            }
            None if ["event:", "id:", "retry:", ":"].iter().any(|field| line.starts_with(field)) => {}
            None if self.other.len() < OTHER => {
                self.other.push_str(line);
                self.other.push('\n');
            }
            None => {}
        }
        false
    }
}
