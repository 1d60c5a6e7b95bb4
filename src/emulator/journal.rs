//! Every request in order, for tests to look at; and, for `--log`, whatever else can be seen from outside: webhooks and
//! how they were answered, branches that moved. `scripts/check_story.py` reads that file.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::{Value, json};
use std::fs::File;
use std::io::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Longer bodies are noted by their size only: packs and logs are not for reading.
const LONGEST_BODY: usize = 4 * 1024 * 1024;

/// One request and its answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Request {
    /// In order of arrival, from 1.
    pub number: u64,
    /// When it had been read.
    pub at: DateTime<Utc>,
    /// `app`, a login, or `nobody`; never a secret.
    pub caller: String,
    /// HTTP method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// The body: JSON, else text, else its size.
    pub body: Value,
    /// HTTP status; 0 where the connection was closed instead, with no effect.
    pub status: u16,
    /// The answer, like `body`.
    pub answer: Value,
    /// The effect took place, but the connection was closed before the caller knew.
    pub lost: bool,
}

/// One line of the log; `log` says of what kind.
#[derive(Debug, Serialize)]
#[serde(tag = "log", rename_all = "snake_case")]
pub(crate) enum Line<'a> {
    /// GitHub, git or the model was asked.
    Request(&'a Request),
    /// A webhook is put on its way.
    Hook { at: DateTime<Utc>, guid: &'a str, event: &'a str, payload: &'a Value },
    /// A webhook was answered with this status; 0: not at all.
    Delivered { at: DateTime<Utc>, guid: &'a str, status: u16 },
    /// A branch was made, moved or deleted; forty zeros stand for a commit that is not there.
    Branch {
        at: DateTime<Utc>,
        repository: &'a str,
        login: &'a str,
        branch: &'a str,
        before: &'a str,
        after: &'a str,
        forced: bool,
    },
}

impl Request {
    /// The path without its query.
    pub fn bare_path(&self) -> &str {
        self.path.split('?').next().unwrap_or_default()
    }

    /// Neither GET nor HEAD.
    pub fn is_write(&self) -> bool {
        !matches!(self.method.as_str(), "GET" | "HEAD")
    }
}

#[derive(Debug, Default)]
struct Inner {
    requests: Vec<Request>,
    arrived: u64,
    log: Option<File>,
}

impl Inner {
    fn write(&mut self, line: &Line<'_>) {
        let Some(log) = &mut self.log else { return };
        if let Err(error) = log.write_all((json!(line).to_string() + "\n").as_bytes()) {
            tracing::warn!(%error, "the emulator's log could not be written; it ends here");
            self.log = None;
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Journal(Mutex<Inner>);

impl Journal {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn log_to(&self, file: File) {
        self.inner().log = Some(file);
    }

    pub(crate) fn arrival(&self) -> u64 {
        let mut inner = self.inner();
        inner.arrived += 1;
        inner.arrived
    }

    /// Notes a request once its answer is known; the file is written in that order.
    pub(crate) fn note(&self, request: Request) {
        let mut inner = self.inner();
        inner.write(&Line::Request(&request));
        inner.requests.push(request);
    }

    /// Writes a line of the log, where there is one.
    pub(crate) fn line(&self, line: &Line<'_>) {
        self.inner().write(line);
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        let mut requests = self.inner().requests.clone();
        requests.sort_by_key(|request| request.number);
        requests
    }
}

/// A body as the journal keeps it.
pub(crate) fn readable(bytes: &[u8]) -> Value {
    if bytes.is_empty() {
        return Value::Null;
    }
    if bytes.len() > LONGEST_BODY {
        return format!("({} bytes)", bytes.len()).into();
    }
    serde_json::from_slice(bytes).unwrap_or_else(|_| match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => format!("({} bytes)", bytes.len()).into(),
    })
}
