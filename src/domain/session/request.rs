//! What is asked: by whom, where, which job, with which options.

use super::Subject;
use crate::domain::{command::Options, ids::Actor};
use serde::{Deserialize, Serialize};

/// What a person or rule asked once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Who asked; asked for review at the end.
    pub asker: Actor,
    /// What to do, in words; empty means "what the issue says".
    pub instruction: String,
    /// What asked: a comment, the body.
    pub source: Subject,
    /// What kind of work it is.
    #[serde(default)]
    pub job: Job,
    /// `--model`, `--rounds`, `--base`.
    #[serde(default)]
    pub options: Options,
    /// A rule of the repository asked and no person: where nothing had to be done nothing is said.
    #[serde(default)]
    pub automatic: bool,
}

impl Request {
    /// The plain case: do this.
    pub fn run(asker: Actor, instruction: String, source: Subject) -> Self {
        let (job, options) = (Job::Run, Options::default());
        Self { asker, instruction, source, job, options, automatic: false }
    }
}

/// The kinds of work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "job", rename_all = "snake_case")]
pub enum Job {
    /// Change the repository.
    #[default]
    Run,
    /// Say how it would be changed; changes nothing.
    Plan,
    /// Mend what CI says of the head.
    Fix,
    /// Take the base in.
    Rebase,
    /// Review the pull request; changes nothing.
    Review,
    /// Answer a review of the pull request.
    Feedback {
        /// GitHub's id of the review.
        review: u64,
        /// Its comments on lines, each the beginning or a part of a thread that is answered.
        threads: Vec<LineNote>,
    },
}

impl Job {
    /// Nothing that the agent changes is kept.
    pub fn is_read_only(&self) -> bool {
        matches!(self, Self::Plan | Self::Review)
    }
}

/// A reviewer's comment on lines of the difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineNote {
    /// The comment.
    pub id: u64,
    /// The file.
    pub path: String,
    /// The line, as the reviewer saw it; `None` when the comment is about the file or outdated.
    pub line: Option<u32>,
    /// `LEFT` for the old side of the difference, `RIGHT` for the new one.
    pub side: String,
    /// The piece of the difference that it stands under.
    pub hunk: String,
    /// What it says; a suggestion stands in it as a fenced block.
    pub body: String,
    /// Who wrote it.
    pub by: String,
}

/// A comment of ours on a line of somebody's pull request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineComment {
    /// The file.
    pub path: String,
    /// The (last) line, in the new version of the file.
    pub line: u32,
    /// The first line, where it is about several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_line: Option<u32>,
    /// What is said.
    pub body: String,
    /// What the lines should be instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}
