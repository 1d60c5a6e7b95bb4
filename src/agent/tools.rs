//! The sandbox's tools: a client of its MCP server over the stdio of one process.
//!
//! Every byte of that stream may be the agent's own, so nothing it says is believed beyond being a tool's result: lists and
//! results are capped, every wait ends, and a stream that is no longer MCP ends the round.

use super::{caps, history::FINISH};
use crate::llm::Tool;
use crate::sandbox::{Command, Sandbox};
use rmcp::{
    RoleClient, ServiceError, ServiceExt,
    model::{CallToolRequestParams, CallToolResult, ContentBlock, ErrorCode, ErrorData, JsonObject},
    service::RunningService,
};
use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};

/// How long the toolbox may take to start and to name its tools: it has nothing to do before.
const START: Duration = Duration::from_secs(60);
/// The longest call: above what the toolbox itself allows a command, so that its own answer comes first.
const CALL: Duration = Duration::from_secs(20 * 60);
/// Tools that are offered: ours are seven.
const TOOLS: usize = 32;
/// Bytes of one tool's description and schema: they go along with every question.
const DESCRIPTION: usize = 16_000;
/// Tools that change nothing. Any other may have, also one we do not know.
const READ_ONLY: &[&str] = &["read", "list", "glob", "grep"];

/// The tools of one sandbox.
pub(super) struct Toolbox {
    client: RunningService<RoleClient, ()>,
    tools: Vec<Tool>,
    stderr: tokio::task::JoinHandle<()>,
}

/// What became of a call.
#[derive(Debug, PartialEq)]
pub(super) enum Called {
    /// The tool answered; it may have failed.
    Answered { text: String, error: bool },
    /// There is no such tool, or it does not take these arguments.
    Nonsense(String),
    /// The toolbox does not answer any more.
    Dead(String),
}

impl Toolbox {
    /// Starts the toolbox in the sandbox. The error says what was seen.
    pub(super) async fn open(sandbox: &dyn Sandbox) -> Result<Self, String> {
        let process = sandbox.exec(Command::toolbox(["mcp"])).await.map_err(|error| error.to_string())?;
        let mut stderr = process.stderr;
        // Nobody reads it, but a full pipe would stop the toolbox.
        let stderr =
            tokio::spawn(async move { while matches!(stderr.read(&mut [0; 4096]).await, Ok(1..)) {} });
        let started = tokio::time::timeout(START, async {
            let client =
                ().serve((Messages::new(process.stdout), process.stdin))
                    .await
                    .map_err(|error| error.to_string())?;
            let tools = client.list_all_tools().await.map_err(|error| error.to_string())?;
            Ok::<_, String>((client, tools))
        });
        match started.await {
            Ok(Ok((client, tools))) => Ok(Self { client, tools: offered(tools), stderr }),
            Ok(Err(why)) => Err(format!("the toolbox did not start: {}", caps::middle(&why, caps::LINE))),
            Err(_) => Err(format!("the toolbox did not start within {} s", START.as_secs())),
        }
    }

    /// What a model may call, `finish` excepted.
    pub(super) fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// Calls a tool.
    pub(super) async fn call(&self, tool: &str, arguments: &serde_json::Value) -> Called {
        if !self.tools.iter().any(|known| known.name == tool) {
            let names: Vec<_> = self.tools.iter().map(|tool| tool.name.as_str()).chain([FINISH]).collect();
            return Called::Nonsense(format!(
                "there is no tool {:?}; there are {}",
                caps::middle(tool, caps::LINE),
                names.join(", ")
            ));
        }
        let serde_json::Value::Object(arguments) = arguments else {
            return Called::Nonsense("its arguments are no JSON object (were they cut off?)".to_owned());
        };
        let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments.clone());
        match tokio::time::timeout(CALL, self.client.call_tool(request)).await {
            Ok(Ok(result)) => answered(&result),
            Ok(Err(ServiceError::McpError(error))) => refused(&error),
            Ok(Err(error)) => Called::Dead(format!(
                "the toolbox's stream ended: {}",
                caps::middle(&error.to_string(), caps::LINE)
            )),
            Err(_) => {
                Called::Dead(format!("the toolbox did not answer within {} minutes", CALL.as_secs() / 60))
            }
        }
    }
}

impl Drop for Toolbox {
    fn drop(&mut self) {
        self.stderr.abort();
    }
}

/// Whether something in the workspace may be different after a call of this tool.
pub(super) fn touches(tool: &str) -> bool {
    !READ_ONLY.contains(&tool) && tool != FINISH
}

/// The tools as a model is told of them. Providers refuse a whole request for one odd name, so those are left out.
fn offered(tools: Vec<rmcp::model::Tool>) -> Vec<Tool> {
    let plain = |name: &str| {
        (1..=64).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
    };
    let tool = |tool: rmcp::model::Tool| {
        let schema: JsonObject = tool.input_schema.as_ref().clone();
        Tool {
            name: tool.name.into_owned(),
            description: tool.description.unwrap_or_default().into_owned(),
            schema: schema.into(),
        }
    };
    let fits = |tool: &Tool| tool.description.len() + tool.schema.to_string().len() <= DESCRIPTION;
    let mut offered: Vec<Tool> = Vec::new();
    for tool in tools.into_iter().map(tool) {
        let new = tool.name != FINISH && !offered.iter().any(|other| other.name == tool.name);
        if new && plain(&tool.name) && fits(&tool) && offered.len() < TOOLS {
            offered.push(tool);
        }
    }
    offered
}

/// An answer on the protocol's level: arguments that do not fit, or a tool that broke.
fn refused(error: &ErrorData) -> Called {
    let text = caps::middle(&error.message, caps::RESULT).replace('\0', "\u{fffd}");
    match error.code {
        ErrorCode::INVALID_PARAMS | ErrorCode::METHOD_NOT_FOUND => Called::Nonsense(text),
        _ => Called::Answered { text, error: true },
    }
}

fn answered(result: &CallToolResult) -> Called {
    let part = |content: &ContentBlock| match content {
        ContentBlock::Text(text) => text.text.clone(),
        _ => "[something that is no text, left out]".to_owned(),
    };
    let mut text = result.content.iter().map(part).collect::<Vec<_>>().join("\n");
    if let (true, Some(value)) = (text.is_empty(), &result.structured_content) {
        text = value.to_string();
    }
    // A NUL is no text to databases and to some providers.
    let text = caps::middle(&text, caps::RESULT).replace('\0', "\u{fffd}");
    Called::Answered { text, error: result.is_error.unwrap_or(false) }
}

/// The toolbox's output, as long as every line of it begins like a message. The MCP client skips what it cannot read, which
/// would leave a call on a garbled stream waiting for its full time.
struct Messages<R> {
    inner: R,
    at_line_start: bool,
}

impl<R> Messages<R> {
    fn new(inner: R) -> Self {
        Self { inner, at_line_start: true }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Messages<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        std::task::ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        for byte in &buffer.filled()[before..] {
            if self.at_line_start && !b"{\r\n".contains(byte) {
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, "a line is no message")));
            }
            self.at_line_start = *byte == b'\n';
        }
        Poll::Ready(Ok(()))
    }
}
