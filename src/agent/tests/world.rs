//! A round's surroundings in a few lines: a model that plays a script, a sandbox that is an MCP server in this process over
//! files in memory, and a journal that can be read, that can stop a round and behind which a process can die.

use crate::agent::{
    About, Engine, Journal, Note, Outcome, Record, RedCheck, Stop, Task, Turn, Workspace, native,
};
use crate::domain::{Limits, text::Clean};
use crate::llm::{Ask, Message, Model, ModelError, Part, Reply, Usage};
use crate::sandbox::{Command, Process, Sandbox, SandboxError};
use rmcp::{
    ServerHandler, ServiceExt, handler::server::wrapper::Parameters, tool, tool_handler, tool_router,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncWriteExt, DuplexStream, duplex},
    sync::Notify,
};

pub(super) type Files = BTreeMap<String, String>;

/// Plays replies: the n-th to a conversation in which the model spoke n times before.
#[derive(Clone, Default)]
pub(super) struct Script {
    pub(super) replies: Arc<Vec<Reply>>,
    /// Every question, as it came.
    pub(super) asked: Arc<Mutex<Vec<Asked>>>,
    /// Questions with more bytes than this are too long.
    pub(super) holds: Option<usize>,
}

#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) system: String,
    pub(super) messages: Vec<Message>,
    pub(super) tools: Vec<String>,
}

impl Script {
    pub(super) fn new(replies: Vec<Reply>) -> Self {
        Self { replies: Arc::new(replies), ..Self::default() }
    }
    /// How often each reply was asked for.
    pub(super) fn counts(&self) -> Vec<usize> {
        let asked = self.asked.lock().unwrap();
        (0..self.replies.len())
            .map(|n| asked.iter().filter(|asked| spoken(&asked.messages) == n).count())
            .collect()
    }
    pub(super) fn last(&self) -> Asked {
        self.asked.lock().unwrap().last().cloned().unwrap()
    }
}

fn spoken(messages: &[Message]) -> usize {
    messages.iter().filter(|message| matches!(message, Message::Assistant { .. })).count()
}

#[async_trait::async_trait]
impl Model for Script {
    async fn ask(&self, ask: &Ask<'_>) -> Result<Reply, ModelError> {
        paired(ask.messages);
        let tools = ask.tools.iter().map(|tool| tool.name.clone()).collect();
        let size = serde_json::to_string(ask.messages).unwrap().len();
        self.asked.lock().unwrap().push(Asked {
            system: ask.system.to_owned(),
            messages: ask.messages.to_vec(),
            tools,
        });
        if self.holds.is_some_and(|holds| size > holds) {
            return Err(ModelError::TooLong(format!("{size} bytes")));
        }
        let reply = self.replies.get(spoken(ask.messages)).cloned();
        reply.ok_or_else(|| ModelError::Invalid("the script is at its end".into()))
    }
    fn name(&self) -> &str {
        "script"
    }
    fn host(&self) -> &str {
        "model.test"
    }
    fn price(&self, usage: &Usage) -> Option<u64> {
        Some(usage.output * 7)
    }
    fn context(&self) -> u64 {
        self.holds.map_or(200_000, |holds| holds as u64 / 3)
    }
}

/// What providers demand: every call's result directly behind the reply, once, in order.
fn paired(messages: &[Message]) {
    for (at, message) in messages.iter().enumerate() {
        let Message::Assistant { parts } = message else { continue };
        let calls = parts.iter().filter_map(|part| match part {
            Part::Call { id, .. } => Some(id),
            _ => None,
        });
        let results = messages[at + 1..].iter().map_while(|message| match message {
            Message::Tool { call, .. } => Some(call),
            _ => None,
        });
        assert!(calls.eq(results), "calls and results differ behind message {at}: {messages:#?}");
    }
}

/// A reply of these parts.
pub(super) fn reply(parts: impl IntoIterator<Item = Part>) -> Reply {
    let usage = Usage { input: 100, output: 10, cache_read: 1000, cache_write: 1 };
    Reply { parts: parts.into_iter().collect(), usage, cut: false }
}

pub(super) fn says(text: &str) -> Reply {
    reply([Part::Text { text: text.into() }])
}

pub(super) fn call(id: &str, tool: &str, arguments: Value) -> Part {
    Part::Call { id: id.into(), tool: tool.into(), arguments }
}

pub(super) fn finish(summary: &str) -> Part {
    call("end", "finish", json!({ "summary": summary }))
}

/// A sandbox over files in memory.
#[derive(Clone, Default)]
pub(super) struct Memory {
    pub(super) files: Arc<Mutex<Files>>,
    pub(super) ran: Arc<Mutex<Vec<String>>>,
    /// What its toolbox writes instead of MCP.
    pub(super) instead: Option<&'static str>,
    pub(super) dies: Arc<Notify>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Edit {
    path: String,
    old: String,
    new: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Read {
    path: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Shell {
    command: String,
}

#[tool_router]
impl Memory {
    #[tool(description = "Reads a file.")]
    fn read(&self, Parameters(Read { path }): Parameters<Read>) -> Result<String, String> {
        self.ran.lock().unwrap().push(format!("read {path}"));
        self.files.lock().unwrap().get(&path).cloned().ok_or(format!("no file {path}"))
    }
    #[tool(description = "Replaces a text.")]
    fn edit(&self, Parameters(Edit { path, old, new }): Parameters<Edit>) -> Result<String, String> {
        self.ran.lock().unwrap().push(format!("edit {path}"));
        let mut files = self.files.lock().unwrap();
        let text = files.get_mut(&path).ok_or(format!("no file {path}"))?;
        if text.matches(&old).count() != 1 {
            return Err(format!("{old:?} does not stand there once"));
        }
        *text = text.replace(&old, &new);
        Ok("edited".into())
    }
    #[tool(description = "Runs a command.")]
    async fn shell(&self, Parameters(Shell { command }): Parameters<Shell>) -> Result<String, String> {
        self.ran.lock().unwrap().push(format!("shell {command}"));
        match command.as_str() {
            "hang" => std::future::pending().await,
            "flood" => Ok("x".repeat(300_000)),
            "die" => {
                self.dies.notify_one();
                std::future::pending().await
            }
            _ => Ok(format!("ran {command}")),
        }
    }
}

#[tool_handler(router = Self::tool_router())]
impl ServerHandler for Memory {}

#[async_trait::async_trait]
impl Sandbox for Memory {
    async fn exec(&self, command: Command) -> Result<Process, SandboxError> {
        assert_eq!(command.arguments, ["mcp"]);
        let (ours, theirs): (DuplexStream, DuplexStream) = duplex(1 << 16);
        let toolbox = self.clone();
        tokio::spawn(async move {
            let (reader, mut writer) = tokio::io::split(theirs);
            if let Some(text) = toolbox.instead {
                writer.write_all(text.as_bytes()).await.unwrap();
                return std::future::pending().await;
            }
            let dies = Arc::clone(&toolbox.dies);
            let server = toolbox.serve((reader, writer)).await.unwrap();
            tokio::select! {
                _ = server.waiting() => {}
                () = dies.notified() => {}
            }
        });
        let (stdout, stdin) = tokio::io::split(ours);
        Ok(Process {
            stdin: Box::new(stdin),
            stdout: Box::new(stdout),
            stderr: Box::new(tokio::io::empty()),
            wait: Box::pin(std::future::pending()),
        })
    }
    async fn stop(&self) -> Result<(), SandboxError> {
        Ok(())
    }
    fn workspace(&self) -> &str {
        "/workspace"
    }
    fn describe(&self) -> String {
        "in memory".into()
    }
}

/// A journal, with the files as they were at each record.
#[derive(Default)]
pub(super) struct Book {
    pub(super) records: Mutex<Vec<(Record, Files)>>,
    pub(super) files: Arc<Mutex<Files>>,
    /// After that many records the process dies.
    pub(super) dies_after: Option<usize>,
    pub(super) died: Notify,
    /// A record that is not taken any more, and why.
    pub(super) stops: Option<(usize, Stop)>,
    /// Notes that come in with a record.
    pub(super) notes: BTreeMap<usize, &'static str>,
    /// A record that the disk takes this long for.
    pub(super) slow: Option<(usize, Duration)>,
}

impl Book {
    pub(super) fn records(&self) -> Vec<Record> {
        self.records.lock().unwrap().iter().map(|(record, _)| record.clone()).collect()
    }
    pub(super) fn touched(&self) -> Vec<bool> {
        let touched = |record: Record| match record {
            Record::Done { touched, .. } => Some(touched),
            _ => None,
        };
        self.records().into_iter().filter_map(touched).collect()
    }
}

#[async_trait::async_trait]
impl Journal for Book {
    async fn save(&self, entry: Record) -> Result<Vec<Note>, Stop> {
        let at = {
            let mut records = self.records.lock().unwrap();
            if let Some((_, stop)) = self.stops.as_ref().filter(|(at, _)| *at == records.len()) {
                return Err(stop.clone());
            }
            let files = self.files.lock().unwrap().clone();
            records.push((entry, files));
            records.len()
        };
        if self.dies_after == Some(at) {
            self.died.notify_one();
            std::future::pending::<()>().await;
        }
        if let Some((_, time)) = self.slow.filter(|(slow, _)| *slow == at - 1) {
            tokio::time::sleep(time).await;
        }
        Ok(self.notes.get(&(at - 1)).map(|text| Note { text: (*text).into() }).into_iter().collect())
    }
}

pub(super) fn clean(text: &str) -> Clean {
    Clean::new(text)
}

pub(super) fn turn(task: Task) -> Turn {
    Turn {
        repository: "octo/sums".into(),
        instructions: Some(clean("Use tabs.")),
        task,
        history: vec![],
        resumed: false,
        model: None,
        template: None,
        reachable: Vec::new(),
        limits: Limits::default(),
        services: vec![],
    }
}

pub(super) fn request(body: &str) -> Task {
    let about = About { is_pull: false, title: clean("Sums are wrong"), body: clean(body), trusted: false };
    Task::Request { about, instruction: clean("fix the sum"), plan: None, notes: vec![] }
}

pub(super) fn red(name: &str) -> RedCheck {
    RedCheck {
        name: clean(name),
        line: clean("attempt to add with overflow"),
        excerpt: clean("thread panicked at src/lib.rs:3"),
        tests: vec![clean("sums::big")],
    }
}

/// Files with a bug in them.
pub(super) fn buggy() -> Files {
    Files::from([("src/lib.rs".into(), "a - b".into())])
}

/// Runs a turn in a sandbox of these files.
pub(super) async fn run(script: &Script, turn: &Turn, files: Files, book: &mut Book) -> (Outcome, Memory) {
    let sandbox = Memory { files: Arc::new(Mutex::new(files)), ..Memory::default() };
    let outcome = run_in(&sandbox, script, turn, book).await;
    (outcome, sandbox)
}

/// The same in a given sandbox.
pub(super) async fn run_in(sandbox: &Memory, script: &Script, turn: &Turn, book: &mut Book) -> Outcome {
    book.files = Arc::clone(&sandbox.files);
    let engine: Box<dyn Engine> = native(Box::new(script.clone()), vec![]);
    engine.run(turn, &Workspace { sandbox, gateway: None }, book).await
}
