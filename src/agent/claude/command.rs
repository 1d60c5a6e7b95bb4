//! How Claude Code is started. Source: its documentation, "CLI reference" and "Settings"; tried with 2.1.332.

use crate::{domain::egress::GATEWAY, sandbox::Command};
use serde_json::Value;

/// Its name in an image.
pub(super) const PROGRAM: &str = "claude";

/// The tool by which it says its last word in the form it was asked for.
pub(super) const FINISH: &str = "StructuredOutput";

/// Its tools that change nothing. Any other may have, also one that comes with a later version.
pub(super) const READ_ONLY: [&str; 5] = ["Read", "Glob", "Grep", "TodoWrite", FINISH];

/// The tools it has: what works on files and runs commands. Without those that want a network, a clock or a person.
const TOOLS: &str = "Bash,Edit,Write,Read,Glob,Grep,NotebookEdit,Task,TodoWrite";

/// A question may wait for another to end and for an overloaded provider: both are bounded by the round. In milliseconds.
const PATIENCE: &str = "3600000";

/// How often it asks again by itself: overload is waited for by the gateway already.
const RETRIES: &str = "2";

/// Whether a conversation begins or goes on.
#[derive(Clone, Debug)]
pub(super) enum Conversation {
    New(String),
    GoesOn(String),
}

impl Conversation {
    /// What the program knows it by.
    pub(super) fn id(&self) -> &str {
        match self {
            Self::New(id) | Self::GoesOn(id) => id,
        }
    }
}

/// The command of one run. Nothing that lies in the repository or that it left in an earlier run configures it: no settings,
/// hooks, servers of tools, commands or instructions but ours. It asks nobody for leave: the sandbox is what holds it.
pub(super) fn command(
    (model, token): (&str, &str),
    conversation: &Conversation,
    (system, schema): (&str, &Value),
) -> Command {
    let schema = schema.to_string();
    let talk = match conversation {
        Conversation::New(id) => ["--session-id", id],
        Conversation::GoesOn(id) => ["--resume", id],
    };
    let fixed = [
        "--print",
        "--verbose",
        "--input-format=stream-json",
        "--output-format=stream-json",
        "--safe-mode",
        "--strict-mcp-config",
        "--setting-sources=user",
        "--disable-slash-commands",
        "--dangerously-skip-permissions",
        "--tools",
        TOOLS,
    ];
    let given = ["--model", model, "--append-system-prompt", system, "--json-schema", &schema];
    let mut command = Command::named(PROGRAM, fixed.into_iter().chain(given).chain(talk));
    command.environment = environment(model, token).map(|(name, value)| (name.to_owned(), value)).into();
    command
}

fn environment(model: &str, token: &str) -> [(&'static str, String); 15] {
    let (model, on) = (|| model.to_owned(), || "1".to_owned());
    [
        ("ANTHROPIC_BASE_URL", format!("http://{GATEWAY}")),
        ("ANTHROPIC_AUTH_TOKEN", token.to_owned()),
        // Its helpers too ask the one model that has a price here.
        ("ANTHROPIC_MODEL", model()),
        ("ANTHROPIC_SMALL_FAST_MODEL", model()),
        ("ANTHROPIC_DEFAULT_HAIKU_MODEL", model()),
        ("ANTHROPIC_DEFAULT_SONNET_MODEL", model()),
        ("ANTHROPIC_DEFAULT_OPUS_MODEL", model()),
        ("CLAUDE_CODE_SUBAGENT_MODEL", model()),
        ("API_TIMEOUT_MS", PATIENCE.to_owned()),
        ("CLAUDE_CODE_MAX_RETRIES", RETRIES.to_owned()),
        // It has no network; so it does not try one.
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", on()),
        ("DISABLE_TELEMETRY", on()),
        ("DISABLE_ERROR_REPORTING", on()),
        ("DISABLE_AUTOUPDATER", on()),
        ("IS_SANDBOX", on()),
    ]
}
