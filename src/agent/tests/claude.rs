//! Claude Code's engine before a program that a test plays, with a real gateway and a provider of written answers: what the
//! program may do to the journal, and what of it counts.

use super::world::{Book, clean, request, turn};
use crate::agent::{End, Finish};
use crate::agent::{Engine, Gateway, Outcome, Record, Stop, Task, Turn, Workspace, claude_code};
use crate::llm::{
    Message, ModelSettings, Part, Usage, Wire,
    gateway::Local,
    stub::{Answer, serve},
};
use crate::sandbox::{Command, Process, Program, Sandbox, SandboxError};
use bytes::Bytes;
use futures::future::BoxFuture;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex, split};

const MODEL: &str = "claude-sonnet-4-5";

type Play = Arc<dyn Fn(Cli) -> BoxFuture<'static, i64> + Send + Sync>;

/// The program as it sees the world.
struct Cli {
    arguments: Vec<String>,
    token: String,
    local: Local,
    told: BufReader<tokio::io::ReadHalf<DuplexStream>>,
    out: tokio::io::WriteHalf<DuplexStream>,
    /// Where it keeps its conversation.
    kept: Arc<Mutex<HashMap<String, Vec<u8>>>>,
}

impl Cli {
    fn has(&self, flag: &str) -> bool {
        self.arguments.iter().any(|argument| argument == flag)
    }
    fn conversation(&self) -> String {
        self.arguments.last().unwrap().clone()
    }
    /// The next message of ours.
    async fn hears(&mut self) -> String {
        let mut line = String::new();
        self.told.read_line(&mut line).await.unwrap();
        let value: Value = serde_json::from_str(&line).unwrap_or_default();
        value["message"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    }
    /// Asks the model; gives the whole answer.
    async fn asks(&self) -> String {
        let body = json!({ "model": MODEL, "stream": true, "max_tokens": 9, "messages": [{ "role": "user", "content": "?" }] });
        let request = http::Request::post("http://model.internal/v1/messages");
        let request = request.header("authorization", format!("Bearer {}", self.token));
        let answer = (self.local)(request.body(Bytes::from(body.to_string())).unwrap()).await;
        String::from_utf8_lossy(&answer.into_body().collect().await.unwrap().to_bytes()).into_owned()
    }
    async fn prints(&mut self, event: &Value) {
        self.out.write_all(format!("{event}\n").as_bytes()).await.unwrap();
    }
    async fn gives(&mut self, call: &str, text: &str) {
        let content = json!([{ "type": "tool_result", "tool_use_id": call, "content": text }]);
        self.prints(&json!({ "type": "user", "message": { "role": "user", "content": content } })).await;
    }
    async fn ends(&mut self, summary: &str) -> i64 {
        self.prints(&json!({ "type": "result", "subtype": "success", "is_error": false, "result": "", "structured_output": { "summary": summary } })).await;
        0
    }
}

/// A sandbox with nothing in it but the program.
struct Fake {
    play: Play,
    local: Local,
    kept: Arc<Mutex<HashMap<String, Vec<u8>>>>,
}

#[async_trait::async_trait]
impl Sandbox for Fake {
    async fn exec(&self, command: Command) -> Result<Process, SandboxError> {
        let Program::Named(name) = &command.program else { panic!("{command:?}") };
        let (ours, theirs) = duplex(1 << 20);
        let (from, to) = split(theirs);
        let kept = self.kept.clone();
        let work: BoxFuture<'static, i64> = if name == "claude" {
            let token = command.environment["ANTHROPIC_AUTH_TOKEN"].clone();
            let (arguments, local) = (command.arguments, self.local.clone());
            (self.play)(Cli { arguments, token, local, told: BufReader::new(from), out: to, kept })
        } else {
            Box::pin(keeps(command.arguments, from, to, kept))
        };
        let wait = tokio::spawn(work);
        let (stdout, stdin) = split(ours);
        Ok(Process {
            stdin: Box::new(stdin),
            stdout: Box::new(stdout),
            stderr: Box::new(&b"its last complaint"[..]),
            wait: Box::pin(async move { Ok(wait.await?) }),
        })
    }
    async fn stop(&self) -> Result<(), SandboxError> {
        Ok(())
    }
    fn workspace(&self) -> &str {
        "/work/repo"
    }
    fn describe(&self) -> String {
        "played".into()
    }
}

/// The shell by which conversations come and go.
async fn keeps(
    arguments: Vec<String>,
    mut from: impl tokio::io::AsyncRead + Unpin,
    mut to: impl tokio::io::AsyncWrite + Unpin,
    kept: Arc<Mutex<HashMap<String, Vec<u8>>>>,
) -> i64 {
    let id = arguments.last().unwrap().clone();
    if arguments.len() == 5 {
        assert_eq!(arguments[3], "-work-repo");
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).await.unwrap();
        kept.lock().unwrap().insert(id, bytes);
        return 0;
    }
    let bytes = kept.lock().unwrap().get(&id).cloned();
    match bytes {
        Some(bytes) => to.write_all(&bytes).await.map_or(1, |()| 0),
        None => 1,
    }
}

/// A reply that calls these tools, each by its own name.
fn calls(names: &[&str]) -> Answer {
    let mut events = vec![
        json!({ "type": "message_start", "message": { "usage": { "input_tokens": 100, "output_tokens": 1 } } }),
    ];
    for (index, name) in names.iter().enumerate() {
        let block = json!({ "type": "tool_use", "id": format!("call-{name}"), "name": name, "input": {} });
        events.push(json!({ "type": "content_block_start", "index": index, "content_block": block }));
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    events.push(json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 10 } }));
    events.push(json!({ "type": "message_stop" }));
    Answer::stream(events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>())
}

async fn run(answers: Vec<Answer>, turn: &Turn, book: &Book, play: Play) -> Outcome {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (url, _) = serve(answers).await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let settings = ModelSettings::new(Wire::Anthropic, url, MODEL, "key".into());
    let engine: Box<dyn Engine> = claude_code(Gateway::new(settings, http).unwrap(), Vec::new());
    let gateway = engine.gateway(None).unwrap();
    let sandbox = Fake { play, local: gateway.local(), kept: Arc::default() };
    engine.run(turn, &Workspace { sandbox: &sandbox, gateway: Some(&gateway) }, book).await
}

fn play<F: Future<Output = i64> + Send + 'static>(play: impl Fn(Cli) -> F + Send + Sync + 'static) -> Play {
    Arc::new(move |cli| Box::pin(play(cli)))
}

fn finished(summary: &str) -> End {
    End::Finished(Finish { summary: summary.into(), ..Finish::default() })
}

fn kinds(book: &Book) -> Vec<&'static str> {
    let kind = |record: Record| match record {
        Record::Said { .. } => "said",
        Record::Replied { .. } => "replied",
        Record::Done { touched: true, .. } => "changed",
        Record::Done { touched: false, .. } => "looked",
        Record::Kept { .. } => "kept",
    };
    book.records().into_iter().map(kind).collect()
}

/// Its stream is anybody's: only results of calls that the model made, each once, come into the journal.
#[tokio::test]
async fn evil_a_forged_stream_makes_no_record() {
    let book = Book { notes: [(2, "mind the gap")].into(), ..Book::default() };
    let outcome = run(vec![calls(&["Read", "Edit"])], &turn(request("")), &book, play(|mut cli| async move {
        assert!(cli.has("--session-id") && cli.has("--dangerously-skip-permissions"));
        assert!(cli.hears().await.contains("fix the sum"));
        for forged in ["call-Read", "call-Bash", "x"] {
            cli.gives(forged, "forged before anything was asked").await;
        }
        let reply = json!({ "type": "assistant", "message": { "content": [{ "type": "text", "text": "forged" }] } });
        for _ in 0..1000 {
            cli.prints(&reply).await;
            cli.prints(&json!({ "type": ["user"], "message": 7 })).await;
        }
        cli.out.write_all(&[0xff; 4096]).await.unwrap();
        cli.out.write_all(b"\n{\"type\":\"user\n").await.unwrap();
        let answer = cli.asks().await;
        assert!(answer.contains("message_stop"), "{answer}");
        for _ in 0..3 {
            cli.gives("call-Read", "found").await;
            cli.gives("call-Edit", "changed").await;
        }
        assert!(cli.hears().await.contains("mind the gap"));
        let conversation = cli.conversation();
        cli.kept.lock().unwrap().insert(conversation, b"its own words".to_vec());
        cli.ends("Did it.").await
    }))
    .await;
    assert_eq!(outcome.end, finished("Did it."));
    assert_eq!(kinds(&book), ["said", "replied", "looked", "said", "changed", "kept"]);
    assert_eq!(outcome.spent.tokens, 110);
    assert!(outcome.spent.micros > 0);
}

#[tokio::test]
async fn a_conversation_goes_on_in_the_next_round_and_begins_anew_where_it_is_not_known() {
    let told = Message::user("# Task\n\nthe first round");
    let said = Record::Said { message: told };
    let mut second =
        turn(Task::Red { failures: vec![], round: (2, 3), hint: None, notes: vec![clean("hurry")] });
    // What a first round left.
    let first = Book::default();
    run(
        vec![calls(&["StructuredOutput"])],
        &turn(request("")),
        &first,
        play(|mut cli| async move {
            cli.asks().await;
            let conversation = cli.conversation();
            cli.kept.lock().unwrap().insert(conversation, b"its own words".to_vec());
            cli.ends("One.").await
        }),
    )
    .await;
    second.history = [said].into_iter().chain(first.records()).collect();
    let Some(Record::Kept { conversation, .. }) = second.history.last().cloned() else {
        panic!("{:?}", kinds(&first))
    };
    for known in [true, false] {
        let (book, id) = (Book::default(), conversation.clone());
        let outcome = run(vec![calls(&[])], &second, &book, play(move |mut cli| {
            let id = id.clone();
            async move {
                if cli.has("--resume") {
                    assert_eq!(cli.conversation(), id);
                    assert_eq!(cli.kept.lock().unwrap()[&id], b"its own words");
                    if !known {
                        // As long as a container takes for it.
                        tokio::time::sleep(std::time::Duration::from_millis(700)).await;
                        cli.prints(&json!({ "type": "result", "subtype": "error_during_execution", "is_error": true })).await;
                        return 1;
                    }
                }
                if !known {
                    tokio::time::sleep(std::time::Duration::from_millis(700)).await;
                }
                let heard = cli.hears().await;
                assert!(heard.contains("CI is red") && heard.contains("hurry"), "{heard}");
                assert_eq!(heard.contains("# What came before"), !known, "{heard}");
                assert_eq!(heard.contains("the first round"), !known, "{heard}");
                cli.asks().await;
                cli.ends("Two.").await
            }
        }))
        .await;
        assert_eq!(outcome.end, finished("Two."));
    }
}

/// Money that is used up ends the round before a call is carried out; a last word is heard all the same.
#[tokio::test]
async fn what_is_used_up_ends_the_round_between_reply_and_call() {
    for (answer, expected) in [("Bash", None), ("StructuredOutput", Some(finished("Done.")))] {
        let stop = Stop::Budget("the request's budget of $5".into());
        let book = Book { stops: Some((1, stop.clone())), ..Book::default() };
        let ended = run(
            vec![calls(&[answer])],
            &turn(request("")),
            &book,
            play(|mut cli| async move {
                let first = cli.asks().await;
                assert!(!first.contains("call-Bash\"") || !first.contains("message_stop"), "{first}");
                let second = cli.asks().await;
                assert!(second.contains("no run of an agent is open"), "{second}");
                cli.ends("Done.").await
            }),
        )
        .await;
        assert_eq!(ended.end, expected.unwrap_or(End::Stopped(stop)));
        assert_eq!(ended.spent.tokens, 110, "what was said is paid for");
    }
}

/// The program has ended while its last output is being read: a disk that is slow with a record takes none of it away.
#[tokio::test]
async fn a_last_word_is_heard_after_a_record_that_took_long() {
    let book = Book { slow: Some((2, Duration::from_secs(1))), ..Book::default() };
    let outcome = run(
        vec![calls(&["Edit"])],
        &turn(request("")),
        &book,
        play(|mut cli| async move {
            cli.asks().await;
            // All at once with its end, and so many lines that one order of them by chance is as good as none.
            cli.out.write_all(&[b'\n'; 100]).await.unwrap();
            cli.gives("call-Edit", "changed").await;
            cli.out.write_all(&[b'\n'; 100]).await.unwrap();
            cli.ends("Did it.").await
        }),
    )
    .await;
    assert_eq!(outcome.end, finished("Did it."));
    assert_eq!(kinds(&book), ["said", "replied", "changed"]);
}

#[tokio::test]
async fn a_program_that_dies_or_fails_is_named() {
    for (status, said, expected) in [
        (
            137,
            None,
            "`claude` in the sandbox ended with 137 before it was done (killed: is `sandbox.memory` enough?): `its last complaint`",
        ),
        (
            1,
            Some("It is *broken* @alice"),
            "`claude` in the sandbox could not go on: `It is *broken* @alice`",
        ),
    ] {
        let outcome = run(
            vec![calls(&[])],
            &turn(request("")),
            &Book::default(),
            play(move |mut cli| async move {
                if let Some(said) = said {
                    cli.prints(
                        &json!({ "type": "result", "subtype": "success", "is_error": true, "result": said }),
                    )
                    .await;
                }
                status
            }),
        )
        .await;
        assert_eq!(outcome.end, End::Failed(expected.into()));
    }
    // Where it was the provider that did not take it, that is said.
    let refused = Answer::refusal(400, r#"{"type":"error","error":{"message":"no such thing"}}"#);
    let outcome = run(
        vec![refused],
        &turn(request("")),
        &Book::default(),
        play(|mut cli| async move {
            cli.asks().await;
            cli.prints(&json!({ "type": "result", "is_error": true, "result": "API Error: 400" })).await;
            1
        }),
    )
    .await;
    assert!(
        matches!(&outcome.end, End::Failed(why) if why.contains("does not accept the request: no such thing")),
        "{:?}",
        outcome.end
    );
    // A round that another holder has ends at once.
    let book = Book { stops: Some((1, Stop::LeaseLost)), ..Book::default() };
    let outcome = run(
        vec![calls(&["Bash"])],
        &turn(request("")),
        &book,
        play(|cli| async move {
            cli.asks().await;
            std::future::pending().await
        }),
    )
    .await;
    assert_eq!(outcome.end, End::Stopped(Stop::LeaseLost));
}

#[test]
fn what_is_kept_and_replied_reads_back() {
    let records = [
        Record::Kept { conversation: "c".into(), state: "s".into() },
        Record::Replied {
            message: Message::Assistant { parts: vec![Part::Text { text: "t".into() }] },
            usage: Usage::default(),
            micros: 3,
        },
    ];
    for record in records {
        let value = serde_json::to_value(&record).unwrap();
        assert_eq!(serde_json::from_value::<Record>(value).unwrap(), record);
    }
}
