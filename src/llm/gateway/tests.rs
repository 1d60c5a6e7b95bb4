//! The gateway between a program that may be anybody's and a provider that is played byte by byte.

use super::{Gateway, Heard, Local, Open, REFUSALS, ask};
use crate::llm::{
    ModelError, ModelSettings, Part, Prices, Usage, Wire,
    stub::{Answer, Seen, serve},
};
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

const KEY: &str = "sk-ant-canary-77f1";
const MODEL: &str = "claude-sonnet-4-5";

/// An open gateway before a provider that plays answers.
struct World {
    gateway: Arc<Gateway>,
    open: Open,
    local: Local,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl World {
    async fn new(answers: Vec<Answer>) -> Self {
        Self::patient(answers, Duration::from_secs(60)).await
    }

    async fn patient(answers: Vec<Answer>, patience: Duration) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (url, seen) = serve(answers).await;
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let settings = ModelSettings::new(Wire::Anthropic, url, MODEL, KEY.into());
        let settings = ModelSettings { patience, ..settings };
        let gateway = Gateway::new(settings, http).unwrap();
        Self { open: gateway.open(), local: gateway.local(), gateway, seen }
    }

    fn asked(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    fn question(&self, body: &Value) -> Request<Bytes> {
        question("/v1/messages?beta=true", &self.open.token, body)
    }

    /// The whole answer, every reply paid for.
    async fn answer(&mut self, request: Request<Bytes>) -> (StatusCode, String, Vec<Heard>) {
        let mut heard = Vec::new();
        let mut answer = std::pin::pin!(read((self.local)(request)));
        loop {
            tokio::select! {
                (status, text) = &mut answer => return (status, text, heard),
                told = self.open.heard() => heard.push(match told {
                    Heard::Reply { reply, micros, go_on } => {
                        go_on.send(()).unwrap();
                        Heard::Reply { reply, micros, go_on: tokio::sync::oneshot::channel().0 }
                    }
                    other => other,
                }),
            }
        }
    }

    /// A question that must be refused before anybody is asked.
    async fn refuses(&mut self, request: Request<Bytes>) -> (StatusCode, String) {
        let (status, text, heard) = self.answer(request).await;
        assert!(heard.is_empty() && self.asked() == 0, "{status} {text}: somebody was asked");
        assert!(!status.is_success(), "{text}");
        (status, text)
    }
}

async fn read(answer: impl Future<Output = Response<super::Body>>) -> (StatusCode, String) {
    let answer = answer.await;
    let status = answer.status();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8_lossy(&body).into_owned())
}

fn question(path: &str, token: &str, body: &Value) -> Request<Bytes> {
    let request = Request::post(format!("http://model.internal{path}"));
    let request = request.header("authorization", format!("Bearer {token}"));
    request.body(body.to_string().into()).unwrap()
}

fn hello() -> Value {
    json!({ "model": MODEL, "max_tokens": 100, "stream": true, "messages": [{ "role": "user", "content": "Hello." }] })
}

fn stream(events: &[Value]) -> Answer {
    let written =
        events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()));
    Answer::stream(written.collect::<String>())
}

/// A word and a call, and what they used.
fn reply() -> Vec<Value> {
    let usage = json!({ "input_tokens": 10, "cache_creation_input_tokens": 4, "cache_read_input_tokens": 100, "output_tokens": 1 });
    vec![
        json!({ "type": "message_start", "message": { "id": "msg_1", "role": "assistant", "content": [], "usage": usage } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "Looking." } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {} } }),
        json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "input_json_delta", "partial_json": "{\"command\":\"ls\"}" } }),
        json!({ "type": "content_block_stop", "index": 1 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 20 } }),
        json!({ "type": "message_stop" }),
    ]
}

const USED: Usage = Usage { input: 10, output: 20, cache_read: 100, cache_write: 4 };

/// What the table says of the model, so that a test needs no figure of its own.
fn price(usage: &Usage) -> u64 {
    Prices { input: 3_000_000, output: 15_000_000, cache_read: 300_000, cache_write: 3_750_000 }.of(usage)
}

#[tokio::test]
async fn a_question_goes_on_with_the_key_and_nothing_that_it_brought_along() {
    let mut world = World::new(vec![stream(&reply())]).await;
    let mut body = hello();
    body["mcp_servers"] = json!([{ "type": "url", "url": "https://collector.example/" }]);
    body["metadata"] = json!({ "user_id": "machine" });
    body["service_tier"] = json!("auto");
    // A summary that the provider writes is charged beside what the reply says it used.
    let clear = json!({ "type": "clear_tool_uses_20250919" });
    body["context_management"] =
        json!({ "edits": [{ "type": "compact_20260112", "instructions": "Work." }, clear] });
    body["system"] = json!([{ "type": "text", "text": "Be brief.", "cache_control": { "type": "ephemeral", "ttl": "1h" } }]);
    let mut request = world.question(&body);
    for (name, value) in [
        ("cookie", "session=1"),
        ("anthropic-beta", "claude-code-1, mcp-client-2025-04-04,context-1m-2025-08-07,compact-2026-01-12"),
        ("x-forwarded-for", "10.0.0.1"),
        ("proxy-authorization", "Basic eDp5"),
    ] {
        request.headers_mut().insert(name, value.parse().unwrap());
    }
    let (status, text, heard) = world.answer(request).await;
    assert_eq!(status, StatusCode::OK);
    let events: String = reply()
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
        .collect();
    assert_eq!(text, events);
    let Seen { head, body } = world.seen.lock().unwrap().remove(0);
    assert!(head.starts_with("post /v1/messages?beta=true http"), "{head}");
    assert!(head.contains(&format!("x-api-key: {KEY}\r\n")), "{head}");
    assert!(head.contains("anthropic-beta: claude-code-1\r\n"), "{head}");
    for strange in ["authorization", "cookie", "forwarded", &world.open.token] {
        assert!(!head.contains(strange), "{strange}: {head}");
    }
    assert_eq!(body["system"][0]["cache_control"], json!({ "type": "ephemeral" }));
    assert_eq!(body["context_management"], json!({ "edits": [clear] }));
    let fields: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["model", "max_tokens", "stream", "messages", "context_management", "system"]);
    let [Heard::Reply { reply, micros, .. }] = &heard[..] else { panic!("{heard:?}") };
    assert_eq!((reply.usage, *micros), (USED, price(&USED)));
    let call =
        Part::Call { id: "toolu_1".into(), tool: "Bash".into(), arguments: json!({ "command": "ls" }) };
    assert_eq!(reply.parts, [Part::Text { text: "Looking.".into() }, call]);
}

#[tokio::test]
async fn a_reply_in_one_piece_is_paid_for_too() {
    let message = json!({ "type": "message", "content": [{ "type": "text", "text": "Hi." }], "stop_reason": "end_turn",
        "usage": { "input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 4 } });
    let whole = Answer {
        status: 200,
        headers: "content-type: application/json\r\n",
        body: message.to_string(),
        cut: false,
    };
    let mut world = World::new(vec![whole]).await;
    let mut body = hello();
    body["stream"] = false.into();
    let (status, text, heard) = world.answer(world.question(&body)).await;
    assert_eq!((status, text), (StatusCode::OK, message.to_string()));
    assert!(matches!(&heard[..], [Heard::Reply { reply, .. }] if reply.usage == USED), "{heard:?}");
}

#[tokio::test]
async fn evil_t14_nothing_but_questions_to_the_one_model_passes() {
    let mut world = World::new(vec![stream(&reply())]).await;
    let token = world.open.token.clone();
    for path in [
        "/v1/models",
        "/v1/files",
        "/v1/messages/batches",
        "/v1/messages/",
        "/v1//messages",
        "/v1/complete",
        "/",
        "/v1/messages/../files",
    ] {
        let (status, _) = world.refuses(question(path, &token, &hello())).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{path}");
    }
    for method in [Method::GET, Method::PUT, Method::DELETE, Method::HEAD] {
        let mut request = world.question(&hello());
        *request.method_mut() = method;
        world.refuses(request).await;
    }
    for wrong in ["", "fixpoint-", KEY, &token[1..], &format!("{token}0"), &token.to_uppercase()] {
        let (status, _) = world.refuses(question("/v1/messages", wrong, &hello())).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{wrong}");
    }
    let with = |field: &str, value: Value| {
        let mut body = hello();
        body[field] = value;
        body
    };
    let content = |block: Value| with("messages", json!([{ "role": "user", "content": [block] }]));
    let elsewhere = json!({ "type": "url", "url": "https://collector.example/?secret" });
    let result = json!({ "type": "tool_result", "tool_use_id": "t", "content": [{ "type": "image", "source": elsewhere }] });
    for (body, why) in [
        (with("model", "claude-opus-4-1".into()), "not the one of this run"),
        (with("model", "no-such-model-without-a-price".into()), "no other has a price here"),
        (with("model", Value::Null), "not the one of this run"),
        (
            with("tools", json!([{ "type": "web_search_20250305", "name": "web_search" }])),
            "runs at the provider",
        ),
        (with("tools", json!([{ "type": "code_execution_20250825", "name": "x" }])), "runs at the provider"),
        (with("tools", json!([{ "type": "mcp_toolset", "mcp_server_name": "x" }])), "runs at the provider"),
        (content(json!({ "type": "image", "source": elsewhere })), "by address or by file"),
        (
            content(json!({ "type": "document", "source": { "type": "file", "file_id": "f" } })),
            "by address or by file",
        ),
        (content(result), "by address or by file"),
        (json!([1, 2]), "JSON object"),
        (with("messages", vec![0; 1 << 22].into()), "of so many parts"),
    ] {
        let (_, told) = world.refuses(world.question(&body)).await;
        assert!(told.contains(why), "{why}: {told}");
    }
    let twice = format!("{{\"model\":\"{MODEL}\",\"model\":\"dearer\",\"messages\":[]}}");
    let mut request = world.question(&hello());
    *request.body_mut() = twice.into();
    world.refuses(request).await;
}

#[tokio::test]
async fn evil_a_token_is_worth_nothing_before_after_and_elsewhere() {
    let mut world = World::new(vec![stream(&reply())]).await;
    let other = World::new(vec![stream(&reply())]).await;
    let (status, _) = world.refuses(question("/v1/messages", &other.open.token, &hello())).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    // Closed for what is new, open for what is under way: then over.
    world.open.close();
    world.refuses(world.question(&hello())).await;
    let (gateway, local, request) = (world.gateway.clone(), world.local.clone(), world.question(&hello()));
    drop(world.open);
    let (status, told) = read(local(request)).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED, "{told}");
    let next = gateway.open();
    assert_ne!(next.token, other.open.token);
    assert_eq!(world.seen.lock().unwrap().len(), 0);
}

/// What the program acts on comes once the reply is written down, and never where it is not.
#[tokio::test]
async fn the_end_of_a_reply_waits_for_the_account() {
    for goes_on in [true, false] {
        let mut world = World::new(vec![stream(&reply())]).await;
        let answer = (world.local)(world.question(&hello()));
        let mut body = answer.await.into_body();
        let Heard::Reply { go_on, .. } = world.open.heard().await else { panic!("no reply") };
        let mut before = String::new();
        while !before.contains("partial_json") {
            let frame = body.frame().await.expect("more comes").unwrap();
            before.push_str(&String::from_utf8_lossy(frame.data_ref().unwrap()));
        }
        while let Ok(Some(Ok(frame))) = tokio::time::timeout(Duration::from_millis(200), body.frame()).await {
            before.push_str(&String::from_utf8_lossy(frame.data_ref().unwrap()));
        }
        assert!(before.contains("Looking.") && before.contains("partial_json"), "{before}");
        assert!(
            !before.contains("\"content_block_stop\",\"index\":1") && !before.contains("message_stop"),
            "{before}"
        );
        match goes_on {
            true => go_on.send(()).unwrap(),
            false => drop(go_on),
        }
        let rest = String::from_utf8_lossy(&body.collect().await.unwrap().to_bytes()).into_owned();
        assert_eq!(rest.contains("message_stop"), goes_on, "{rest}");
        assert_eq!(rest.contains("this run is over"), !goes_on, "{rest}");
    }
}

/// Hanging up early is no way to think for nothing.
#[tokio::test]
async fn evil_who_hangs_up_pays_all_the_same() {
    let mut world = World::new(vec![stream(&reply())]).await;
    let answer = (world.local)(world.question(&hello())).await;
    drop(answer);
    let Heard::Reply { micros, .. } = world.open.heard().await else { panic!("no reply") };
    assert_eq!(micros, price(&USED));
    let mut world = World::new(vec![stream(&reply())]).await;
    let asking = (world.local)(world.question(&hello()));
    // Gone before there is any answer.
    let _ = tokio::time::timeout(Duration::ZERO, asking).await;
    assert!(matches!(world.open.heard().await, Heard::Reply { .. }));
}

/// So that a budget is overrun by one reply at most.
#[tokio::test]
async fn one_question_is_asked_at_a_time() {
    let mut world = World::new(vec![stream(&reply())]).await;
    let [first, second] = [(); 2].map(|()| tokio::spawn(read((world.local)(world.question(&hello())))));
    let Heard::Reply { go_on, .. } = world.open.heard().await else { panic!("no reply") };
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(world.asked(), 1);
    go_on.send(()).unwrap();
    let Heard::Reply { go_on, .. } = world.open.heard().await else { panic!("no reply") };
    go_on.send(()).unwrap();
    for asked in [first, second] {
        assert!(asked.await.unwrap().1.contains("message_stop"));
    }
}

/// Who waits for a turn has it only while there is somebody to pay.
#[tokio::test]
async fn evil_a_closed_gateway_asks_for_nobody_who_waited() {
    let mut world = World::new(vec![stream(&reply())]).await;
    let [first, second] = [(); 2].map(|()| tokio::spawn(read((world.local)(world.question(&hello())))));
    let Heard::Reply { go_on, .. } = world.open.heard().await else { panic!("no reply") };
    assert!(world.open.is_asking());
    world.open.close();
    go_on.send(()).unwrap();
    let said = [first.await.unwrap(), second.await.unwrap()];
    assert_eq!(said.iter().filter(|(status, _)| status.is_success()).count(), 1, "{said:?}");
    assert_eq!(world.asked(), 1);
}

/// It costs nothing to be refused, but it stands against the operator's key.
#[tokio::test]
async fn evil_what_the_provider_refuses_is_not_asked_for_ever() {
    let refusal = json!({ "type": "error", "error": { "type": "invalid_request_error", "message": "no" } });
    let mut world = World::new(vec![Answer::refusal(400, refusal.to_string())]).await;
    for n in 0..=REFUSALS {
        let asking = read((world.local)(world.question(&hello())));
        let (_, heard) = tokio::join!(asking, world.open.heard());
        assert_eq!(matches!(heard, Heard::Failed(_)), n == REFUSALS, "{n}: {heard:?}");
    }
}

#[tokio::test]
async fn a_reply_that_ends_without_a_reason_is_paid_for_and_broken_off() {
    let events: Vec<Value> = reply().into_iter().filter(|event| event["type"] != "message_delta").collect();
    let mut world = World::new(vec![stream(&events)]).await;
    let (_, text, heard) = world.answer(world.question(&hello())).await;
    assert!(text.contains("without a reason") && !text.contains("message_stop"), "{text}");
    assert!(matches!(&heard[..], [Heard::Reply { micros: 1.., .. }]), "{heard:?}");
}

#[tokio::test]
async fn what_breaks_off_is_paid_for_as_far_as_it_came() {
    let half = Answer { cut: true, ..stream(&reply()[..5]) };
    let mut world = World::new(vec![half]).await;
    let (status, text, heard) = world.answer(world.question(&hello())).await;
    assert!(status.is_success() && text.contains("event: error") && !text.contains("message_stop"), "{text}");
    let [Heard::Reply { reply, micros, .. }] = &heard[..] else { panic!("{heard:?}") };
    assert_eq!(reply.parts, [Part::Text { text: "Looking.".into() }], "no half call");
    assert!(*micros > 0 && reply.usage.input == 10, "{reply:?}");
}

/// Of each refusal: what the program hears, and whether the round goes on.
#[tokio::test]
async fn a_provider_s_refusal_is_sorted_and_never_repeats_the_key() {
    let body = |kind: &str, why: &str| json!({ "type": "error", "error": { "type": kind, "message": format!("{why} {KEY}") } });
    for (status, kind, why, goes_on) in [
        (401, "authentication_error", "invalid x-api-key", false),
        (400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.", false),
        (529, "overloaded_error", "Overloaded", false),
        (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", true),
        (400, "invalid_request_error", "messages.1: something", true),
    ] {
        // An overload is waited for until it is clear that it stays.
        let patience = if status == 529 { Duration::from_millis(900) } else { Duration::from_secs(60) };
        let refusal = Answer::refusal(status, body(kind, why).to_string());
        let mut world = World::patient(vec![refusal], patience).await;
        let (_, text, mut heard) = world.answer(world.question(&hello())).await;
        if heard.is_empty() {
            heard.push(world.open.heard().await);
        }
        assert!(!text.contains(KEY) && !format!("{heard:?}").contains(KEY), "{text} {heard:?}");
        assert_eq!(matches!(heard[0], Heard::Refused(_)), goes_on, "{heard:?}");
        assert_eq!(text.contains("\"message\":\"prompt is too long"), why.contains("too long"), "{text}");
    }
    // The first event of a stream may be the refusal; a stream may repeat the key in the middle.
    let mut world =
        World::new(vec![stream(&[body("overloaded_error", "Overloaded")]), stream(&reply())]).await;
    let (status, _, _) = world.answer(world.question(&hello())).await;
    assert_eq!((status, world.asked()), (StatusCode::OK, 2), "asked again");
    let mut leaky = reply();
    leaky[2]["delta"]["text"] = KEY.into();
    let mut world = World::new(vec![stream(&leaky)]).await;
    let (_, text, heard) = world.answer(world.question(&hello())).await;
    assert!(!text.contains(KEY) && !format!("{heard:?}").contains(KEY), "{text}");
}

#[tokio::test]
async fn tokens_are_counted_for_nothing_and_not_for_ever() {
    let counted = Answer {
        status: 200,
        headers: "content-type: application/json\r\n",
        body: r#"{"input_tokens": 12, "x": 1}"#.into(),
        cut: false,
    };
    let mut world = World::new(vec![counted]).await;
    let token = world.open.token.clone();
    let ask = || question("/v1/messages/count_tokens", &token, &hello());
    let (status, text, heard) = world.answer(ask()).await;
    assert_eq!((status, text.as_str(), heard.len()), (StatusCode::OK, "{\"input_tokens\":12}", 0));
    assert!(world.seen.lock().unwrap()[0].head.starts_with("post /v1/messages/count_tokens http"));
    world.open.desk.counts.store(super::COUNTS, std::sync::atomic::Ordering::Relaxed);
    let (status, _, _) = world.answer(ask()).await;
    assert_eq!((status, world.asked()), (StatusCode::TOO_MANY_REQUESTS, 1));
}

#[tokio::test]
async fn a_key_or_a_wire_that_cannot_be_is_refused_at_once() {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let url: url::Url = "https://user:secret@model.example/v1".parse().unwrap();
    let settings = ModelSettings::new(Wire::Anthropic, url.clone(), MODEL, KEY.into());
    let error = Gateway::new(settings, http.clone()).unwrap_err().to_string();
    assert!(error.contains("user name or password") && !error.contains("secret"), "{error}");
    let settings =
        ModelSettings::new(Wire::OpenAi, "https://model.example/v1".parse().unwrap(), MODEL, KEY.into());
    assert!(matches!(Gateway::new(settings, http), Err(ModelError::Invalid(_))));
}

/// Any JSON, with the names that matter more often than chance would have it.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop_oneof!["url", "file", "base64", MODEL, ".{0,8}"].prop_map(Value::from),
    ];
    let names = prop_oneof![
        "source",
        "type",
        "cache_control",
        "tools",
        "model",
        "messages",
        "input",
        "mcp_servers",
        "[a-z]{0,4}"
    ];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec((names.clone(), inner), 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_is_asked_only_what_is_known_goes_on(mut body in anything()) {
        if let Value::Object(fields) = &mut body {
            fields.insert("model".into(), MODEL.into());
        }
        let request = Request::post("/v1/messages").body(body.to_string()).unwrap();
        let Ok(asked) = ask::read(&request, MODEL) else { return Ok(()) };
        let fields = asked.body.as_object().unwrap();
        prop_assert_eq!(&fields["model"], MODEL);
        prop_assert!(!fields.contains_key("mcp_servers") && !fields.contains_key("source"));
        prop_assert!(!reaches_out(&asked.body), "{}", asked.body);
    }

    #[test]
    fn bytes_that_are_no_question_are_refused(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        let request = Request::post("/v1/messages").body(body).unwrap();
        prop_assert!(ask::read(&request, MODEL).is_err());
    }
}

fn reaches_out(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(reaches_out),
        Value::Object(fields) => {
            matches!(value["source"]["type"].as_str(), Some("url" | "file"))
                || fields.iter().any(|(name, inner)| {
                    !matches!(name.as_str(), "input" | "input_schema") && reaches_out(inner)
                })
        }
        _ => false,
    }
}
