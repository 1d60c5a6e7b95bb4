//! The wires of both providers, against a stub that speaks them byte by byte.

use super::stub::{Answer, Seen, serve};
use super::{Ask, Message, Model, ModelError, ModelSettings, Part, Reply, Tool, Usage, Wire, model};
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

const KEY: &str = "sk-canary-5f0c";
const SPAN: Duration = Duration::from_secs(30);

struct Provider {
    model: Box<dyn Model>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Provider {
    async fn new(wire: Wire, name: &str, answers: Vec<Answer>) -> Self {
        let (url, seen) = serve(answers).await;
        Self { model: at(url, wire, name), seen }
    }
    async fn ask(&self, messages: &[Message]) -> Result<Reply, ModelError> {
        let tools = [Tool {
            name: "read".into(),
            description: "Reads a file.".into(),
            schema: json!({"type": "object"}),
        }];
        self.model.ask(&Ask { system: "Be brief.", messages, tools: &tools, max_tokens: 1000 }).await
    }
    fn asked(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
    fn body(&self, at: usize) -> Value {
        self.seen.lock().unwrap()[at].body.clone()
    }
}

fn at(url: url::Url, wire: Wire, name: &str) -> Box<dyn Model> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    model(ModelSettings { patience: SPAN, ..ModelSettings::new(wire, url, name, KEY.into()) }, http).unwrap()
}

fn hello() -> Vec<Message> {
    vec![Message::user("Hello.")]
}

/// A stream of the Anthropic wire: each event's type is its name too.
fn anthropic(events: &[Value]) -> Answer {
    Answer::stream(
        events
            .iter()
            .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
            .collect::<String>(),
    )
}

fn openai(chunks: &[Value]) -> Answer {
    Answer::stream(
        chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect::<String>() + "data: [DONE]\n\n",
    )
}

fn block(index: u32, start: &Value, deltas: &[Value]) -> Vec<Value> {
    let deltas =
        deltas.iter().map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta}));
    [json!({"type": "content_block_start", "index": index, "content_block": start})]
        .into_iter()
        .chain(deltas)
        .chain([json!({"type": "content_block_stop", "index": index})])
        .collect()
}

/// Signed reasoning before and after the text, a sealed block, two calls; the usage in two parts, as the provider sends it.
fn thoughtful() -> Answer {
    let usage = json!({"input_tokens": 12, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 2048, "output_tokens": 1});
    let thinking = json!({"type": "thinking", "thinking": "", "signature": ""});
    let mut events =
        vec![json!({"type": "message_start", "message": {"usage": usage}}), json!({"type": "ping"})];
    let sealed = |seal: &str| json!({"type": "signature_delta", "signature": seal});
    let thought = |text: &str| json!({"type": "thinking_delta", "thinking": text});
    let text = json!({"type": "text", "text": ""});
    events.extend(block(
        0,
        &thinking,
        &[thought("First "), thought("thought"), sealed("c2ln"), sealed("MQ==")],
    ));
    events.extend(block(1, &json!({"type": "redacted_thinking", "data": "c2VhbGVk"}), &[]));
    events.extend(block(2, &text, &[text_delta("I will "), text_delta("read.")]));
    events.extend(block(3, &thinking, &[thought("second"), sealed("c2lnMg==")]));
    let call = |id: &str, tool: &str| json!({"type": "tool_use", "id": id, "name": tool, "input": {}});
    let piece = |json: &str| json!({"type": "input_json_delta", "partial_json": json});
    events.extend(block(4, &call("toolu_1", "read"), &[piece("{\"path\":"), piece("\"a.rs\"}")]));
    events.extend(block(5, &call("toolu_2", "list"), &[]));
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 42}}));
    events.push(json!({"type": "message_stop"}));
    anthropic(&events)
}

fn text_delta(text: &str) -> Value {
    json!({"type": "text_delta", "text": text})
}

fn said(text: &str) -> Answer {
    let mut events =
        vec![json!({"type": "message_start", "message": {"usage": {"input_tokens": 5, "output_tokens": 1}}})];
    events.extend(block(0, &json!({"type": "text", "text": ""}), &[text_delta(text)]));
    events.push(
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
    );
    events.push(json!({"type": "message_stop"}));
    anthropic(&events)
}

#[tokio::test]
async fn anthropic_gives_all_its_blocks_and_gets_them_back_unchanged() {
    let provider =
        Provider::new(Wire::Anthropic, "claude-sonnet-5-5", vec![thoughtful(), said("Done.")]).await;
    let reply = provider.ask(&hello()).await.unwrap();
    assert_eq!(reply.usage, Usage { input: 12, output: 42, cache_read: 2048, cache_write: 100 });
    assert!(!reply.cut);
    assert_eq!(reply.parts.len(), 6);
    assert_eq!(
        reply.parts[0],
        Part::Thinking { text: "First thought".into(), signature: Some("c2lnMQ==".into()) }
    );
    assert_eq!(
        reply.parts[4],
        Part::Call { id: "toolu_1".into(), tool: "read".into(), arguments: json!({"path": "a.rs"}) }
    );
    assert_eq!(
        reply.parts[5],
        Part::Call { id: "toolu_2".into(), tool: "list".into(), arguments: json!({}) }
    );

    // As it is stored and read again.
    let stored = serde_json::to_string(&Message::Assistant { parts: reply.parts }).unwrap();
    let mut messages = hello();
    messages.push(serde_json::from_str(&stored).unwrap());
    messages.push(Message::Tool { call: "toolu_1".into(), text: "fn a() {}".into(), error: false });
    messages.push(Message::Tool { call: "toolu_2".into(), text: "no such folder".into(), error: true });
    messages.push(Message::user("A note."));
    assert_eq!(provider.ask(&messages).await.unwrap().parts, [Part::Text { text: "Done.".into() }]);

    let mark = json!({"type": "ephemeral"});
    let body = provider.body(1);
    assert_eq!(body["model"], "claude-sonnet-5-5");
    assert_eq!(body["max_tokens"], 1000);
    assert_eq!(body["system"], json!([{"type": "text", "text": "Be brief.", "cache_control": mark}]));
    assert_eq!(
        body["messages"],
        json!([
            {"role": "user", "content": [{"type": "text", "text": "Hello.", "cache_control": mark}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "First thought", "signature": "c2lnMQ=="},
                {"type": "redacted_thinking", "data": "c2VhbGVk"},
                {"type": "text", "text": "I will read."},
                {"type": "thinking", "thinking": "second", "signature": "c2lnMg=="},
                {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a.rs"}},
                {"type": "tool_use", "id": "toolu_2", "name": "list", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "fn a() {}", "is_error": false},
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": "no such folder", "is_error": true},
                {"type": "text", "text": "A note.", "cache_control": mark},
            ]},
        ])
    );
    let head = provider.seen.lock().unwrap()[1].head.clone();
    assert!(head.starts_with("post /v1/messages ") && head.contains(&format!("x-api-key: {KEY}")), "{head}");
}

#[tokio::test]
async fn openai_gives_text_reasoning_and_calls_in_pieces() {
    let delta = |delta: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
    let call = |index: u32, id: Option<&str>, name: Option<&str>, arguments: &str| {
        delta(
            json!({"tool_calls": [{"index": index, "id": id, "function": {"name": name, "arguments": arguments}}]}),
        )
    };
    let answer = openai(&[
        delta(json!({"role": "assistant", "reasoning_content": "Hm."})),
        delta(json!({"content": "I will"})),
        delta(json!({"content": " read."})),
        call(0, Some("c1"), Some("read"), "{\"pa"),
        call(0, None, None, "th\":\"a\"}"),
        call(1, Some("c1"), Some("read"), "{\"path\":"),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}),
        json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15, "prompt_tokens_details": {"cached_tokens": 8}}}),
    ]);
    let provider = Provider::new(Wire::OpenAi, "house/qwen3-max", vec![answer]).await;
    let reply = provider.ask(&hello()).await.unwrap();
    assert_eq!(reply.usage, Usage { input: 2, output: 5, cache_read: 8, cache_write: 0 });
    assert!(reply.cut);
    let call = |id: &str, arguments: Value| Part::Call { id: id.into(), tool: "read".into(), arguments };
    assert_eq!(
        reply.parts,
        [
            Part::Thinking { text: "Hm.".into(), signature: None },
            Part::Text { text: "I will read.".into() },
            call("c1", json!({"path": "a"})),
            call("call_2_of_reply", json!("{\"path\":")),
        ]
    );

    let results = ["c1", "call_2_of_reply"].map(|call| Message::Tool {
        call: call.into(),
        text: call.into(),
        error: call != "c1",
    });
    let messages = [hello(), vec![Message::Assistant { parts: reply.parts }], results.to_vec()].concat();
    provider.ask(&messages).await.unwrap();
    let body = provider.body(1);
    assert_eq!(body["model"], "house/qwen3-max");
    assert_eq!(body["stream_options"], json!({"include_usage": true}));
    assert_eq!(body["messages"][0], json!({"role": "system", "content": "Be brief."}));
    assert_eq!(body["messages"][2]["reasoning_content"], "Hm.");
    assert_eq!(
        body["messages"][2]["tool_calls"][0]["function"],
        json!({"name": "read", "arguments": "{\"path\":\"a\"}"})
    );
    assert_eq!(
        body["messages"][2]["tool_calls"][1]["function"]["arguments"],
        "{\"unreadable\":\"{\\\"path\\\":\"}"
    );
    assert_eq!(
        body["messages"][4],
        json!({"role": "tool", "content": "error: call_2_of_reply", "tool_call_id": "call_2_of_reply"})
    );
    assert!(!body.to_string().contains("cache"), "no marks that other servers would refuse: {body}");
}

/// What compatible servers make of the wire: every call with index 0 or with none, whole at once, no `[DONE]`.
#[tokio::test]
async fn openai_is_read_from_odd_servers_too() {
    let call = |index: Value, id: &str, path: &str| json!({"index": index, "id": id, "function": {"name": "read", "arguments": format!("{{\"path\":\"{path}\"}}")}});
    for index in [json!(0), Value::Null] {
        let delta =
            json!({"content": "", "tool_calls": [call(index.clone(), "x", "a"), call(index, "y", "b")]});
        let chunk = json!({"choices": [{"delta": delta, "finish_reason": "stop"}], "usage": null});
        let provider =
            Provider::new(Wire::OpenAi, "m", vec![Answer::stream(format!(": hello\r\ndata:{chunk}\r\n"))])
                .await;
        let parts = provider.ask(&hello()).await.unwrap().parts;
        let called = |id: &str, path: &str| Part::Call {
            id: id.into(),
            tool: "read".into(),
            arguments: json!({ "path": path }),
        };
        assert_eq!(parts, [called("x", "a"), called("y", "b")]);
    }
}

#[tokio::test]
async fn reasoning_that_is_refused_is_left_out() {
    let refusal = Answer::refusal(
        400,
        r#"{"error":{"message":"messages.1.content.0: Invalid `signature` in `thinking` block"}}"#,
    );
    let provider = Provider::new(Wire::Anthropic, "m", vec![refusal.clone(), said("On.")]).await;
    let thought = Part::Thinking { text: "Hm.".into(), signature: Some("of another model".into()) };
    let messages = [
        hello(),
        vec![
            Message::Assistant { parts: vec![thought, Part::Text { text: "So.".into() }] },
            Message::user("On."),
        ],
    ]
    .concat();
    provider.ask(&messages).await.unwrap();
    assert_eq!(provider.body(0)["messages"][1]["content"][0]["type"], "thinking");
    assert_eq!(provider.body(1)["messages"][1]["content"], json!([{"type": "text", "text": "So."}]));
    let provider = Provider::new(Wire::Anthropic, "m", vec![refusal]).await;
    assert!(matches!(provider.ask(&messages).await, Err(ModelError::Invalid(_))));
    assert_eq!(provider.asked(), 2);
}

#[tokio::test]
async fn an_overload_is_waited_for_as_long_as_the_provider_says() {
    let busy = Answer {
        headers: "retry-after: 1\r\n",
        ..Answer::refusal(
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        )
    };
    let midway = anthropic(&[
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
    ]);
    let provider = Provider::new(Wire::Anthropic, "m", vec![busy, midway, said("Here.")]).await;
    let begun = Instant::now();
    assert_eq!(provider.ask(&hello()).await.unwrap().parts, [Part::Text { text: "Here.".into() }]);
    assert!(begun.elapsed() >= Duration::from_secs(1));
    assert_eq!(provider.asked(), 3);
}

#[tokio::test]
async fn an_overload_beyond_all_patience_is_said_at_once() {
    let busy = Answer {
        headers: "retry-after: 3600\r\n",
        ..Answer::refusal(429, r#"{"error":{"message":"slow down"}}"#)
    };
    let provider = Provider::new(Wire::OpenAi, "m", vec![busy]).await;
    let error = provider.ask(&hello()).await.unwrap_err();
    assert!(
        matches!(&error, ModelError::Overloaded(why) if why.starts_with("slow down (HTTP 429)")),
        "{error}"
    );
    assert_eq!(provider.asked(), 1);
}

#[tokio::test]
async fn f60_a_key_or_quota_refused_is_not_tried_again_and_the_key_not_repeated() {
    let key =
        Answer::refusal(401, format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}."}}}}"#));
    let quota = Answer::refusal(
        429,
        r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#,
    );
    for (answer, refused_key) in [(key, true), (quota, false)] {
        let provider = Provider::new(Wire::OpenAi, "m", vec![answer]).await;
        let error = provider.ask(&hello()).await.unwrap_err();
        assert_eq!(matches!(error, ModelError::Key(_)), refused_key);
        assert_eq!(matches!(error, ModelError::Quota(_)), !refused_key);
        assert_eq!(provider.asked(), 1);
        assert!(!format!("{error} {error:?}").contains("canary"), "{error}");
    }
}

#[tokio::test]
async fn an_answer_that_makes_no_sense_is_asked_for_once_more_and_then_said() {
    let nonsense = [
        Answer::stream("<html>Welcome to nginx!</html>"),
        Answer::stream("data: {\"choices\": [\n\n"),
        Answer::stream("data: [DONE]\n\n"),
        Answer::stream(""),
        Answer::stream(String::from_utf8_lossy(&[0x7f; 300])),
    ];
    for answer in nonsense {
        let shown = answer.body.clone();
        let provider = Provider::new(Wire::OpenAi, "m", vec![answer]).await;
        let error = provider.ask(&hello()).await.unwrap_err();
        assert!(matches!(error, ModelError::Invalid(_)), "{shown:?}: {error}");
        assert_eq!(provider.asked(), 2, "{shown:?}");
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_asked_for_again() {
    let whole = thoughtful();
    let half = Answer { body: whole.body[..whole.body.len() / 2].to_owned(), cut: true, ..whole.clone() };
    let provider = Provider::new(Wire::Anthropic, "m", vec![half, whole]).await;
    assert_eq!(provider.ask(&hello()).await.unwrap().parts.len(), 6);
    assert_eq!(provider.asked(), 2);
}

#[tokio::test]
async fn nobody_there_is_unreachable_without_the_address_twice() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1?token=canary", listener.local_addr().unwrap()).parse().unwrap();
    drop(listener);
    let tools = [];
    let messages = hello();
    let error = at(url, Wire::OpenAi, "m")
        .ask(&Ask { system: "", messages: &messages, tools: &tools, max_tokens: 1 })
        .await
        .unwrap_err();
    assert!(matches!(&error, ModelError::Unreachable(why) if why.contains("3 attempts")), "{error}");
    assert!(!error.to_string().contains("canary"), "{error}");
}

#[tokio::test]
async fn a_server_that_does_not_count_is_counted() {
    let answer = openai(&[
        json!({"choices": [{"index": 0, "delta": {"content": "x".repeat(300)}, "finish_reason": "stop"}]}),
    ]);
    let provider = Provider::new(Wire::OpenAi, "m", vec![answer]).await;
    let usage = provider.ask(&[Message::user("y".repeat(3000))]).await.unwrap().usage;
    assert!(usage.input >= 1000 && usage.output >= 100, "{usage:?}");
}

#[test]
fn settings_that_cannot_work_are_refused_and_show_no_key() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let refused = |url: &str, key: &str| {
        let settings = ModelSettings::new(Wire::OpenAi, url.parse().unwrap(), "m", key.into());
        assert!(!format!("{settings:?}").contains(key));
        model(settings, reqwest::Client::new()).err().unwrap()
    };
    assert!(matches!(refused("https://api.example.com/v1", "sk with\nline"), ModelError::Key(_)));
    assert!(matches!(refused("https://user:pass@api.example.com/v1", "sk-1"), ModelError::Invalid(_)));
    assert!(matches!(refused("ftp://api.example.com/", "sk-1"), ModelError::Invalid(_)));
}
