//! Engines: what does the thinking. Never sees GitHub, the store or a token; its one seam to the host is the [`Journal`].

mod caps;
mod compaction;
mod fence;
mod history;
mod native;
mod prompt;
mod tools;

use crate::domain::{Limits, session::Spent, text::Clean};
pub use crate::llm::{Message, Part};
use crate::llm::{Model, Usage};
use crate::sandbox::Sandbox;
use serde::{Deserialize, Serialize};

/// Something that can do a round's work.
#[async_trait::async_trait]
pub trait Engine: Send + Sync {
    /// Works on the turn until it is finished, asks, or is stopped. Everything is journalled on the way. The future may be
    /// dropped at any moment: what was journalled is all there is to know.
    async fn run(&self, turn: &Turn, workspace: &Workspace<'_>, journal: &dyn Journal) -> Outcome;
    /// As people read it: `native, claude-sonnet-4-5 at api.example.com`.
    fn describe(&self) -> String;
}

/// What the engine works in.
pub struct Workspace<'a> {
    /// Where the repository is checked out.
    pub sandbox: &'a dyn Sandbox,
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
    /// Steps, wall clock, sizes.
    pub limits: Limits,
}

/// What a round is for.
#[derive(Clone, Debug)]
pub enum Task {
    /// A new request.
    Request {
        /// The title.
        title: Clean,
        /// The text.
        body: Clean,
        /// The text is by somebody with write access: it instructs. Else it is data.
        trusted: bool,
        /// What was asked; empty: what the issue says.
        instruction: Clean,
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
    Finished {
        /// What it did, in its words.
        summary: String,
        /// Why a check that is still red has nothing to do with the request, where it says so.
        outside_request: Option<String>,
    },
    /// It asks a person.
    Question {
        /// What.
        text: String,
    },
    /// The host ended it.
    Stopped(Stop),
    /// It could not work; the sentence says who can mend it.
    Failed(String),
}

/// Our own loop over a model.
pub fn native(model: Box<dyn Model>) -> Box<dyn Engine> {
    Box::new(native::Native::new(model))
}

#[cfg(test)]
mod tests;
