//! Engines: what does the thinking. Never sees GitHub, the store or a token; its one seam to the host is the [`Journal`].

mod caps;
mod claude;
mod compaction;
mod failed;
mod fence;
mod finish;
mod history;
mod native;
mod prompt;
mod tasks;
mod tools;

use crate::domain::{
    Limits,
    repo_config::Service,
    session::{LineComment, Spent},
    text::Clean,
};
pub use crate::llm::{Message, Part, gateway::Gateway};
use crate::llm::{Model, Usage};
use crate::sandbox::Sandbox;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Something that can do a round's work.
#[async_trait::async_trait]
pub trait Engine: Send + Sync {
    /// Works on the turn until it is finished, asks, or is stopped. Everything is journalled on the way. The future may be
    /// dropped at any moment: what was journalled is all there is to know.
    async fn run(&self, turn: &Turn, workspace: &Workspace<'_>, journal: &dyn Journal) -> Outcome;
    /// As people read it: `native, claude-sonnet-4-5 at api.example.com`.
    fn describe(&self) -> String;
    /// The models it can be told to use, by name; the first is its own.
    fn models(&self) -> Vec<String>;
    /// Where it thinks inside the sandbox: a round's way from there to the model, its own where none is named.
    fn gateway(&self, _model: Option<&str>) -> Option<Arc<Gateway>> {
        None
    }
    /// Where it is a program of the sandbox's image: the command that shows that it is there.
    fn wants(&self) -> Option<[&'static str; 2]> {
        None
    }
}

/// What the engine works in.
pub struct Workspace<'a> {
    /// Where the repository is checked out.
    pub sandbox: &'a dyn Sandbox,
    /// The model's gateway, where the sandbox reaches it.
    pub gateway: Option<&'a Arc<Gateway>>,
}

/// The engine's one seam to the host.
#[async_trait::async_trait]
pub trait Journal: Send + Sync {
    /// Commits an entry (with a checkpoint where something may have changed) before anything follows from it.
    /// Gives notes that came in meanwhile.
    async fn save(&self, entry: Record) -> Result<Vec<Note>, Stop>;
}

/// One line of a round's journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// A message of ours: the turn's task, or notes.
    Said {
        /// The message.
        message: Message,
    },
    /// The model's reply, with what it used.
    Replied {
        /// The message.
        message: Message,
        /// What it used.
        usage: Usage,
        /// Its price in millionths of a dollar, where known.
        micros: u64,
    },
    /// A tool's result.
    Done {
        /// The message.
        message: Message,
        /// Something in the workspace may have changed.
        touched: bool,
    },
    /// The own conversation of a program that works in the sandbox, for its next run.
    Kept {
        /// What the program knows it by.
        conversation: String,
        /// Compressed, in Base64. The agent's, every byte: it goes into a sandbox of the same session and nowhere else.
        state: String,
    },
}

/// A word from outside for the agent's next turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// By somebody with write access.
    pub text: String,
}

/// Why the host ends a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A person stopped it, or its pull request was closed.
    Cancelled,
    /// Money or tokens are used up.
    Budget(String),
    /// Another holder has the session.
    LeaseLost,
    /// A limit of the round was reached.
    Limit(String),
    /// The journal cannot be written or the checkpoint not be taken; the round may be run again.
    Broken(String),
}

/// What a round is to do.
#[derive(Clone, Debug)]
pub struct Turn {
    /// The repository's name, for the prompt.
    pub repository: String,
    /// `AGENTS.md` (else `CLAUDE.md`) of the base commit.
    pub instructions: Option<Clean>,
    /// What this round is for.
    pub task: Task,
    /// The journal of earlier rounds, and of this one where it was interrupted.
    pub history: Vec<Record>,
    /// This round began before: its task is in the history already; ignored files and running processes are gone.
    pub resumed: bool,
    /// Another model than the engine's own, by name.
    pub model: Option<String>,
    /// The repository's template for pull requests, where the agent should fill it in.
    pub template: Option<Clean>,
    /// What the sandbox may reach, an entry of the allow-list each.
    pub reachable: Vec<String>,
    /// Steps, wall clock, sizes.
    pub limits: Limits,
    /// What runs beside the sandbox.
    pub services: Vec<Service>,
}

/// The issue or pull request that work is about.
#[derive(Clone, Debug)]
pub struct About {
    /// It is a pull request.
    pub is_pull: bool,
    /// Its title.
    pub title: Clean,
    /// Its text.
    pub body: Clean,
    /// The text is by somebody with write access: it instructs. Else it is data.
    pub trusted: bool,
}

/// What a round is for.
#[derive(Clone, Debug)]
pub enum Task {
    /// A new request: change the repository.
    Request {
        /// What it is about.
        about: About,
        /// What was asked; empty: what the issue says.
        instruction: Clean,
        /// The plan that a person approved, to be carried out.
        plan: Option<Clean>,
        /// Comments of writers.
        notes: Vec<Clean>,
    },
    /// Say how it would be changed, and change nothing.
    Plan {
        /// What it is about.
        about: About,
        /// What was asked; empty: what the issue says.
        instruction: Clean,
        /// Comments of writers.
        notes: Vec<Clean>,
    },
    /// Review a pull request, and change nothing.
    Review {
        /// What it is about.
        about: About,
        /// The difference to its base.
        diff: Clean,
        /// What to look at; empty: everything.
        instruction: Clean,
        /// Comments of writers.
        notes: Vec<Clean>,
    },
    /// Answer a review of our pull request by somebody with write access.
    Feedback {
        /// What the review says of the whole.
        review: Clean,
        /// Its comments on lines.
        threads: Vec<Thread>,
        /// Comments of writers.
        notes: Vec<Clean>,
    },
    /// The base was merged into the branch and does not fit: the files hold conflict markers.
    Conflict {
        /// The base branch.
        base: Clean,
        /// The files in conflict.
        files: Vec<Clean>,
        /// Comments of writers.
        notes: Vec<Clean>,
    },
    /// CI was red.
    Red {
        /// The red checks: name, one line, excerpt.
        failures: Vec<RedCheck>,
        /// Round and cap, told to the agent.
        round: (u32, u32),
        /// Something about repeats that it should know.
        hint: Option<String>,
        /// Comments of writers.
        notes: Vec<Clean>,
    },
    /// The policy refused the change once; the reasons.
    Refused(Vec<String>),
}

/// A red check as the agent is told.
#[derive(Clone, Debug)]
pub struct RedCheck {
    /// Its name.
    pub name: Clean,
    /// The one line.
    pub line: Clean,
    /// The excerpt of its log; data, whoever wrote it.
    pub excerpt: Clean,
    /// Failing tests.
    pub tests: Vec<Clean>,
}

/// A reviewer's comment on lines.
#[derive(Clone, Debug)]
pub struct Thread {
    /// By which it is answered.
    pub id: u64,
    /// The file.
    pub path: Clean,
    /// The line.
    pub line: Option<u32>,
    /// The piece of the difference it stands under.
    pub hunk: Clean,
    /// What it says.
    pub body: Clean,
}

/// What the agent says at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finish {
    /// What it did, or its plan, or its review, in its words.
    pub summary: String,
    /// Why a check that is still red has nothing to do with the request, where it says so.
    pub outside_request: Option<String>,
    /// What it answers to threads of a review, by the comment's id.
    pub replies: Vec<(u64, String)>,
    /// Its comments on lines of a pull request.
    pub comments: Vec<LineComment>,
    /// The repository's template for pull requests, filled in.
    pub description: Option<String>,
}

/// How the engine ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// How.
    pub end: End,
    /// What this run used (what was in the history is not counted again).
    pub spent: Spent,
}

/// How the engine ended.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// It says it is done.
    Finished(Finish),
    /// It asks a person.
    Question {
        /// What.
        text: String,
    },
    /// The host ended it.
    Stopped(Stop),
    /// It could not work; the sentence says who can mend it.
    Failed(String),
    /// The model could not be reached, or was overloaded for longer than is waited for: it may pass by itself.
    OutOfReach(String),
}

/// A task as a line of history, for a round whose earlier conversation was not kept.
pub fn recalled(task: &Task) -> Record {
    Record::Said { message: tasks::task(task) }
}

/// Our own loop over models: the first is used where a turn names none.
pub fn native(model: Box<dyn Model>, others: Vec<Box<dyn Model>>) -> Box<dyn Engine> {
    Box::new(native::Native::new(model, others))
}

/// Claude Code in the sandbox, each of its models behind a gateway: the first is used where a turn names none.
pub fn claude_code(model: Arc<Gateway>, others: Vec<Arc<Gateway>>) -> Box<dyn Engine> {
    Box::new(claude::ClaudeCode::new(model, others))
}

#[cfg(test)]
mod tests;
