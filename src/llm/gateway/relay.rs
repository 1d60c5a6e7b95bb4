//! One question to the provider, as often as makes sense, and its reply to the program.

use super::{
    Body, Desk, Heard,
    answer::{self, Refused},
    ask::{self, Asked},
    passage::Passage,
};
use crate::llm::{
    ModelError, Reply, Usage, anthropic,
    remote::{BYTES_A_TOKEN, REPLY, Remote, Said, innermost, json, refusal},
    retry::Attempts,
    sort::{Failure, refused_midway},
    sse::Events,
};
use bytes::Bytes;
use futures::StreamExt;
use http::{HeaderValue, Request, Response, StatusCode, header::CONTENT_TYPE};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use serde_json::Value;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Bytes of a reply: tens of times what a model may say.
const LONGEST: usize = 16 << 20;

type Answered = Result<Response<Body>, Refused>;

/// A reply's beginning.
enum Begun {
    Pieces { first: Value, events: Box<Events> },
    Whole(Value),
}

/// Reads a question whose turn it is (before, it is bytes that wait), asks it, and brings the answer to the program.
pub(super) async fn serve(
    remote: &Remote,
    desk: &Desk,
    request: &Request<Bytes>,
    head: oneshot::Sender<Answered>,
) {
    let asked = match ask::read(request, &remote.name) {
        Ok(asked) => asked,
        Err(refused) => return drop(head.send(Err(refused))),
    };
    if asked.counts {
        let counted = match desk.counts() {
            Ok(()) => count(remote, asked).await,
            Err(refused) => Err(refused),
        };
        return drop(head.send(counted));
    }
    match begin(remote, &asked).await {
        Err(error) => {
            let _ = head.send(Err(Refused::of(&error)));
            let heard = match error {
                ModelError::TooLong(_) | ModelError::Invalid(_) if desk.refuses() => Heard::Refused(error),
                error => Heard::Failed(error),
            };
            let _ = desk.tell.send(heard).await;
        }
        Ok(Begun::Whole(reply)) => {
            let said = anthropic::whole(&reply);
            let answered = match paid(remote, desk, said, asked.bytes).await {
                true => Ok(answer::json(StatusCode::OK, &reply)),
                false => Err(Refused::closed()),
            };
            let _ = head.send(answered);
        }
        Ok(Begun::Pieces { first, events }) => {
            let (out, pieces) = mpsc::unbounded_channel();
            let _ = head.send(Ok(streaming(pieces)));
            pass(remote, desk, asked.bytes, Passage::new(out), (first, events)).await;
        }
    }
}

/// Asks how many tokens a question has. Costs nothing and is tried once.
async fn count(remote: &Remote, asked: Asked) -> Answered {
    let said = match tokio::time::timeout(remote.patience, attempt(remote, &asked, remote.patience)).await {
        Ok(Ok(Begun::Whole(said))) => said,
        Ok(Ok(Begun::Pieces { .. })) | Err(_) => {
            return Err(Refused::busy("the provider does not count now"));
        }
        Ok(Err(failure)) => return Err(uncounted(remote.without_key(failure))),
    };
    match said["input_tokens"].as_u64() {
        Some(tokens) => Ok(answer::json(StatusCode::OK, &serde_json::json!({ "input_tokens": tokens }))),
        None => Err(Refused::busy("the provider does not count")),
    }
}

fn uncounted(failure: Failure) -> Refused {
    match failure {
        Failure::Final(error) => Refused::of(&error),
        Failure::Busy { why, .. } | Failure::Lost(why) | Failure::Nonsense(why) => Refused::busy(&why),
    }
}

/// A reply's beginning, waited for as long as a model of the native engine is.
async fn begin(remote: &Remote, asked: &Asked) -> Result<Begun, ModelError> {
    let mut attempts = Attempts::new(remote.patience);
    loop {
        let silence = attempts.left().max(remote.patience / 4);
        let failure = match tokio::time::timeout(REPLY, attempt(remote, asked, silence)).await {
            Ok(Ok(begun)) => return Ok(begun),
            Ok(Err(failure)) => remote.without_key(failure),
            Err(_) => Failure::Lost(format!("no reply came within {} minutes", REPLY.as_secs() / 60)),
        };
        tracing::debug!(model = %remote.name, host = %remote.host, ?failure, "the model was asked in vain");
        let wait = attempts.next(failure)?;
        tokio::time::sleep(wait).await;
    }
}

async fn attempt(remote: &Remote, asked: &Asked, silence: Duration) -> Result<Begun, Failure> {
    let mut url = remote.url.clone();
    if asked.counts {
        url.set_path(&format!("{}/count_tokens", url.path()));
    }
    if asked.beta {
        url.query_pairs_mut().append_pair("beta", "true");
    }
    // Ours last: nothing that the program sends stands in their place.
    let request = remote.http.post(url).headers(asked.headers.clone()).headers(remote.headers.clone());
    let response = match tokio::time::timeout(silence, request.json(&asked.body).send()).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => return Err(Failure::Lost(innermost(&error))),
        Err(_) => return Err(Failure::Lost(format!("no answer within {} s", silence.as_secs()))),
    };
    if !response.status().is_success() {
        return Err(refusal(response, silence).await);
    }
    if asked.stream && !asked.counts {
        let mut events = Events::new(response, silence);
        let first = events.next().await?.map(|data| told(remote, &data)).transpose()?;
        let first = first.ok_or_else(|| remote.incomplete(&events, false))?;
        return if first["type"] == "error" {
            Err(refused_midway(&first))
        } else {
            Ok(Begun::Pieces { first, events: Box::new(events) })
        };
    }
    whole(response, silence).await.and_then(|text| told(remote, &text)).map(Begun::Whole)
}

async fn whole(mut response: reqwest::Response, silence: Duration) -> Result<String, Failure> {
    let mut body = Vec::new();
    loop {
        match tokio::time::timeout(silence, response.chunk()).await {
            Ok(Ok(Some(bytes))) if body.len() + bytes.len() <= LONGEST => body.extend_from_slice(&bytes),
            Ok(Ok(Some(_))) => return Err(Failure::Nonsense("its answer has no end".to_owned())),
            Ok(Ok(None)) => return Ok(String::from_utf8_lossy(&body).into_owned()),
            Ok(Err(error)) => return Err(Failure::Lost(innermost(&error))),
            Err(_) => return Err(Failure::Lost(format!("it fell silent for {} s", silence.as_secs()))),
        }
    }
}

/// What the provider says, where it does not repeat the key.
fn told(remote: &Remote, text: &str) -> Result<Value, Failure> {
    if remote.is_told(text) {
        return Err(Failure::Nonsense("its answer repeats the key".to_owned()));
    }
    json(text)
}

/// Passes the events on as they come, reads them along, and has the reply written down before its end is handed over.
async fn pass(
    remote: &Remote,
    desk: &Desk,
    asked: usize,
    mut passage: Passage,
    (first, mut events): (Value, Box<Events>),
) {
    let mut stream = anthropic::Stream::default();
    let reading = async {
        let (mut event, mut bytes) = (first, 0);
        while !stream.take(&event)? {
            passage.take(&event);
            let data = events.next().await?;
            let data = data.ok_or_else(|| Failure::Lost("its answer ended before its end".to_owned()))?;
            bytes += data.len();
            if bytes > LONGEST {
                return Err(Failure::Nonsense("its answer has no end".to_owned()));
            }
            event = told(remote, &data)?;
        }
        passage.take(&event);
        Ok::<(), Failure>(())
    };
    let read = tokio::time::timeout(REPLY, reading).await;
    let mut failure = match read {
        Ok(Ok(())) if stream.is_whole() => None,
        Ok(Ok(())) => Some(Failure::Nonsense("its answer ended without a reason".to_owned())),
        Ok(Err(failure)) => Some(remote.without_key(failure)),
        Err(_) => Some(Failure::Lost("its answer took too long".to_owned())),
    };
    // What was said before it broke off is paid for too.
    let said = match failure {
        None => stream.whole(),
        Some(_) => stream.so_far(),
    };
    let goes_on = paid(remote, desk, said, asked).await;
    match failure.as_mut() {
        Some(failure) => passage.break_off(failure.words_mut()),
        None if goes_on => passage.release(),
        None => passage.break_off("this run is over"),
    }
}

/// Has a reply written down and charged; gives whether the program may have its end.
async fn paid(remote: &Remote, desk: &Desk, said: Said, asked: usize) -> bool {
    let Said { parts, usage, cut, .. } = said;
    let usage = usage.unwrap_or_else(|| Usage {
        input: asked as u64 / BYTES_A_TOKEN,
        output: serde_json::to_string(&parts).map_or(0, |text| text.len() as u64 / BYTES_A_TOKEN),
        ..Usage::default()
    });
    let micros = remote.prices.map_or(0, |prices| prices.of(&usage));
    desk.paid(Reply { parts, usage, cut }, micros).await
}

fn streaming(pieces: mpsc::UnboundedReceiver<Bytes>) -> Response<Body> {
    let frames = futures::stream::unfold(pieces, |mut pieces: mpsc::UnboundedReceiver<Bytes>| async move {
        let piece = pieces.recv().await?;
        Some((piece, pieces))
    });
    let frames = frames.map(|piece| Ok(Frame::data(piece)));
    let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
    let kind = HeaderValue::from_static("text/event-stream; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
