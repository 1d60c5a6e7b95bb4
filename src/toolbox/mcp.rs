//! `toolbox mcp`: the agent's tools as an MCP server on the standard streams.
//!
//! The descriptions are the model's whole manual: short, and each says what the others do not.

use super::tools::{
    Told, edit, find,
    grep::{self, Query},
    paths::Paths,
    read, shell,
};
use rmcp::{
    ServerHandler, ServiceExt,
    handler::server::{router::tool::ToolRouter, wrapper::Parameters},
    schemars::JsonSchema,
    tool, tool_handler, tool_router,
};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Lines that `read` gives where the model names no number.
const LINES: usize = 1_000;

#[derive(Clone)]
struct Tools {
    paths: Paths,
    tool_router: ToolRouter<Self>,
}

#[derive(Deserialize, JsonSchema)]
struct Read {
    /// Relative to the workspace.
    path: String,
    /// First line, from 1.
    offset: Option<usize>,
    /// How many lines; 1000 where it is not said.
    limit: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
struct Write {
    /// Relative to the workspace.
    path: String,
    /// The whole new content.
    content: String,
}

#[derive(Deserialize, JsonSchema)]
struct Edit {
    /// Relative to the workspace.
    path: String,
    /// The exact text to replace, white space included, without line numbers.
    old: String,
    /// What stands there afterwards.
    new: String,
    /// Replace every occurrence.
    all: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
struct List {
    /// A folder; the workspace where it is not said.
    path: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Glob {
    /// Such as `*.py` (any folder) or `src/**/test_*.rs`.
    pattern: String,
    /// The folder to look in; the workspace where it is not said.
    path: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Grep {
    /// A regular expression, matched line by line.
    pattern: String,
    /// A folder or file; the workspace where it is not said.
    path: Option<String>,
    /// Only files that match, such as `*.py`.
    glob: Option<String>,
    /// Lines to show around each match.
    context: Option<usize>,
    /// Upper and lower case are the same.
    ignore_case: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
struct Shell {
    /// Run by `bash -c` (or `sh -c`).
    command: String,
    /// A folder; the workspace where it is not said. `cd` does not last until the next call.
    directory: Option<String>,
    /// Killed after this; 120 where it is not said, at most 900.
    timeout_seconds: Option<u64>,
}

#[tool_router]
impl Tools {
    #[tool(description = "Read a text file with line numbers.")]
    async fn read(&self, Parameters(a): Parameters<Read>) -> Told<String> {
        self.work(move |paths| read::read(paths, &a.path, a.offset.unwrap_or(1), a.limit.unwrap_or(LINES)))
            .await
    }

    #[tool(description = "Create a file or replace its whole content. For a small change use edit.")]
    async fn write(&self, Parameters(a): Parameters<Write>) -> Told<String> {
        self.work(move |paths| edit::write(paths, &a.path, &a.content)).await
    }

    #[tool(description = "Replace a text in a file. The text must occur exactly once, or all must be set.")]
    async fn edit(&self, Parameters(a): Parameters<Edit>) -> Told<String> {
        self.work(move |paths| edit::edit(paths, &a.path, &a.old, &a.new, a.all.unwrap_or(false))).await
    }

    #[tool(description = "List a folder.")]
    async fn list(&self, Parameters(a): Parameters<List>) -> Told<String> {
        self.work(move |paths| find::list(paths, a.path.as_deref().unwrap_or("."))).await
    }

    #[tool(description = "Find files by name pattern. Files that .gitignore names are left out.")]
    async fn glob(&self, Parameters(a): Parameters<Glob>) -> Told<String> {
        self.work(move |paths| find::glob(paths, &a.pattern, a.path.as_deref().unwrap_or("."))).await
    }

    #[tool(
        description = "Search file contents by regular expression. Files that .gitignore names are left out."
    )]
    async fn grep(&self, Parameters(a): Parameters<Grep>) -> Told<String> {
        let search = move |paths: &Paths| {
            let query = Query {
                pattern: &a.pattern,
                path: a.path.as_deref().unwrap_or("."),
                glob: a.glob.as_deref(),
                context: a.context.unwrap_or(0).min(20),
                ignore_case: a.ignore_case.unwrap_or(false),
            };
            grep::grep(paths, &query)
        };
        self.work(search).await
    }

    #[tool(
        description = "Run a shell command: build, test, git. There is no network. Long output is cut in the middle; \
                       send a background program's output to a file."
    )]
    async fn shell(&self, Parameters(a): Parameters<Shell>) -> Told<String> {
        let seconds = a.timeout_seconds.unwrap_or(shell::SECONDS);
        shell::shell(&self.paths, &a.command, a.directory.as_deref().unwrap_or("."), seconds).await
    }
}

impl Tools {
    /// File work blocks: not on the threads that answer.
    async fn work<F>(&self, tool: F) -> Told<String>
    where
        F: FnOnce(&Paths) -> Told<String> + Send + 'static,
    {
        let paths = self.paths.clone();
        let done = tokio::task::spawn_blocking(move || tool(&paths)).await;
        done.unwrap_or_else(|_| Err("the tool failed; nothing is known about the file".into()))
    }
}

#[tool_handler(router = self.tool_router, name = "fixpoint-toolbox")]
impl ServerHandler for Tools {}

/// Serves the tools until standard input ends.
///
/// # Errors
/// Where the other side does not speak MCP.
pub async fn run(workspace: PathBuf) -> anyhow::Result<()> {
    // A sandbox that shares the machine's /tmp has one of its own beside the workspace.
    let own = workspace.with_file_name("tmp");
    let paths = Paths::new(&workspace, &[Path::new("/tmp"), &own]);
    let tools = Tools { paths, tool_router: Tools::tool_router() };
    tools.serve(rmcp::transport::stdio()).await?.waiting().await?;
    Ok(())
}
