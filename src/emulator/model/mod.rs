//! A model that plays a script and remembers everything it was shown.

mod anthropic;
mod openai;

use super::reply::{Body, Call, Reply};
use http::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// One reply of the script.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Play {
    /// Text, and the turn ends.
    Say(String),
    /// Tool calls, perhaps after some text.
    Calls {
        /// What is said first; may be empty.
        say: String,
        /// The calls of this one reply.
        calls: Vec<ToolCall>,
    },
    /// An error in the provider's own form.
    Error {
        /// HTTP status: 401, 429, 500, 529 …
        status: u16,
        /// The message.
        message: String,
        /// Seconds in `Retry-After`.
        retry_after: Option<u64>,
    },
    /// 200 and a body that is no answer.
    Nonsense(String),
    /// The inner reply after this many milliseconds.
    Slow(u64, Box<Play>),
}

/// A call of one tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The tool's name.
    pub tool: String,
    /// Its arguments, as an object.
    pub arguments: Value,
}

impl Play {
    /// One tool call.
    pub fn call(tool: &str, arguments: Value) -> Play {
        Play::calls([(tool, arguments)])
    }

    /// Several tool calls in one reply.
    pub fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Play {
        let call = |(tool, arguments): (&str, Value)| ToolCall { tool: tool.into(), arguments };
        Play::Calls { say: String::new(), calls: calls.into_iter().map(call).collect() }
    }

    /// Text that ends the turn.
    pub fn say(text: &str) -> Play {
        Play::Say(text.into())
    }

    /// An error of that status.
    pub fn error(status: u16, message: &str) -> Play {
        Play::Error { status, message: message.into(), retry_after: None }
    }

    /// The same, later.
    #[must_use]
    pub fn after(self, time: Duration) -> Play {
        Play::Slow(u64::try_from(time.as_millis()).unwrap_or(u64::MAX), Box::new(self))
    }
}

/// What the model was shown, once.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shown {
    /// `/v1/messages` or `/v1/chat/completions`.
    pub path: String,
    /// The request as it was sent.
    pub body: Value,
}

impl Shown {
    /// Whether a text stands anywhere in what was shown; compared with JSON escapes undone.
    pub fn holds(&self, text: &str) -> bool {
        any_text(&self.body, &|shown| shown.contains(text))
    }
}

fn any_text(value: &Value, test: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => test(text),
        Value::Array(items) => items.iter().any(|item| any_text(item, test)),
        Value::Object(fields) => fields.values().any(|field| any_text(field, test)),
        _ => false,
    }
}

#[derive(Debug, Default)]
struct Inner {
    /// A queue for each key; the key is a text that must stand in the request, empty: any request.
    scripts: Vec<(String, VecDeque<Play>)>,
    shown: Vec<Shown>,
    replies: u64,
    unscripted: u64,
}

/// The scripted model.
#[derive(Debug, Default)]
pub struct Model(Mutex<Inner>);

impl Model {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends replies to the script.
    pub fn plays(&self, plays: impl IntoIterator<Item = Play>) {
        self.plays_where("", plays);
    }

    /// Appends replies that are only for requests in which `key` stands; asked before the general script.
    pub fn plays_where(&self, key: &str, plays: impl IntoIterator<Item = Play>) {
        let mut inner = self.inner();
        match inner.scripts.iter_mut().find(|(there, _)| there == key) {
            Some((_, queue)) => queue.extend(plays),
            None => inner.scripts.push((key.into(), plays.into_iter().collect())),
        }
    }

    /// Everything the model was shown so far, in order.
    pub fn shown(&self) -> Vec<Shown> {
        self.inner().shown.clone()
    }

    /// How many replies were not asked for yet.
    pub fn left(&self) -> usize {
        self.inner().scripts.iter().map(|(_, queue)| queue.len()).sum()
    }

    /// How many requests found no reply in the script.
    pub fn unscripted(&self) -> u64 {
        self.inner().unscripted
    }

    /// Forgets the script, not what was shown.
    pub fn clear(&self) {
        self.inner().scripts.clear();
    }

    fn next(&self, path: &str, body: &Value) -> (u64, Option<Play>) {
        let mut inner = self.inner();
        inner.shown.push(Shown { path: path.into(), body: body.clone() });
        inner.replies += 1;
        let number = inner.replies;
        let mut fitting: Vec<&mut (String, VecDeque<Play>)> = inner
            .scripts
            .iter_mut()
            .filter(|(key, queue)| {
                !queue.is_empty() && (key.is_empty() || any_text(body, &|text| text.contains(key.as_str())))
            })
            .collect();
        fitting.sort_by_key(|(key, _)| std::cmp::Reverse(key.len()));
        let play = fitting.first_mut().and_then(|(_, queue)| queue.pop_front());
        if play.is_none() {
            inner.unscripted += 1;
        }
        (number, play)
    }
}

/// The wire formats.
#[derive(Debug, Clone, Copy)]
enum Wire {
    Anthropic,
    OpenAi,
}

/// Answers a call to a model, if it is one.
pub(crate) fn answer(model: &Model, call: &Call) -> Option<Reply> {
    let path: Vec<&str> = call.segments.iter().map(String::as_str).collect();
    let wire = match (&call.method, path.as_slice()) {
        (&Method::POST, [.., "v1", "messages"]) => Wire::Anthropic,
        (&Method::POST, [.., "chat", "completions"]) => Wire::OpenAi,
        (&Method::POST, [.., "v1", "messages", "count_tokens"]) => {
            return Some(Reply::ok(json!({ "input_tokens": tokens(call.body.len()) })));
        }
        _ => return None,
    };
    let Ok(body) = serde_json::from_slice::<Value>(&call.body) else {
        return Some(fail(wire, StatusCode::BAD_REQUEST, "the request body is not JSON"));
    };
    if let Some(problem) = wire.problem(&body) {
        return Some(fail(wire, StatusCode::BAD_REQUEST, &problem));
    }
    let (number, play) = model.next(call.target.split('?').next().unwrap_or_default(), &body);
    let Some(play) = play else {
        let words = format!("the emulator's script is empty: request {number} found no reply to play");
        return Some(fail(wire, StatusCode::BAD_REQUEST, &words));
    };
    Some(perform(wire, play, &body, number))
}

fn perform(wire: Wire, play: Play, body: &Value, number: u64) -> Reply {
    match play {
        Play::Say(text) => wire.reply(body, number, &text, &[]),
        Play::Calls { say, calls } => wire.reply(body, number, &say, &calls),
        Play::Error { status, message, retry_after } => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let reply = fail(wire, status, &message);
            retry_after.map_or_else(
                || fail(wire, status, &message),
                |after| reply.with("retry-after", &after.to_string()),
            )
        }
        Play::Nonsense(text) => Reply::bytes(StatusCode::OK, "application/json", text.into()),
        Play::Slow(milliseconds, inner) => {
            let reply = perform(wire, *inner, body, number);
            let body = Body::Later(Duration::from_millis(milliseconds), Box::new(reply.body));
            Reply { body, ..reply }
        }
    }
}

fn fail(wire: Wire, status: StatusCode, message: &str) -> Reply {
    Reply::json(status, wire.error(status, message))
}

impl Wire {
    /// What the real provider would refuse.
    fn problem(self, body: &Value) -> Option<String> {
        match self {
            Wire::Anthropic => anthropic::problem(body),
            Wire::OpenAi => openai::problem(body),
        }
    }

    fn reply(self, body: &Value, number: u64, text: &str, calls: &[ToolCall]) -> Reply {
        match self {
            Wire::Anthropic => anthropic::reply(body, number, text, calls),
            Wire::OpenAi => openai::reply(body, number, text, calls),
        }
    }

    fn error(self, status: StatusCode, message: &str) -> Value {
        match self {
            Wire::Anthropic => anthropic::error(status, message),
            Wire::OpenAi => openai::error(status, message),
        }
    }
}

/// About four characters make a token; good enough for budgets to have something to count.
fn tokens(characters: usize) -> usize {
    characters.div_ceil(4)
}

/// Cuts a text into the pieces of a stream.
fn pieces(text: &str) -> Vec<String> {
    const PIECE: usize = 24;
    let signs: Vec<char> = text.chars().collect();
    signs.chunks(PIECE).map(|piece| piece.iter().collect()).collect()
}
