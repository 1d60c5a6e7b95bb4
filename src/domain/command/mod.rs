//! The one grammar of commands in comments.
//!
//! A comment is Markdown, and only what a reader sees as a line of plain text may command: `lines` finds those, `words`
//! reads the words of one, `options` its options. The instruction itself is never rendered: it stays as it was written.

mod lines;
mod options;
mod words;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

/// What a comment asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// Do what the text says.
    Run,
    /// Say first what would be done.
    Plan,
    /// Yes to the one question it waits for.
    Approve,
    /// Say where it stands.
    Status,
    /// End it now.
    Stop,
    /// Once more.
    Retry,
    /// Say how it is used.
    Help,
    /// Mend the red checks of this pull request.
    Fix,
    /// Bring the branch up to its base.
    Rebase,
    /// Review this pull request.
    Review,
}

/// Where a comment stands: some words are commands only on pull requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// An issue.
    Issue,
    /// A pull request.
    Pull,
}

/// What is needed to read a comment besides its text.
#[derive(Clone, Debug)]
pub struct Reading<'a> {
    /// The command word without the slash, `code` by default.
    pub word: &'a str,
    /// The App's login without `[bot]`, for mentions.
    pub app: &'a str,
    /// What it stands on.
    pub on: On,
    /// A session is live on the thread: then `stop` stops whatever follows.
    pub live: bool,
}

/// A command as it was understood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Command {
    /// Which.
    pub command: Word,
    /// Its text: the rest of the line and all that follows, up to the next command. Empty for a bare one.
    pub instruction: String,
    /// `--model`, `--rounds`, `--base`.
    pub options: Options,
    /// Later commands of the same comment, named in the answer as not taken.
    pub not_taken: Vec<String>,
}

/// Options of a command, within what the repository allows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Another model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Another cap of rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// Another base branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
}

/// What a comment is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// A command.
    Command(Command),
    /// Meant as one, but wrong: the sentence says what would work. For those who may command.
    Mistake(String),
    /// No command, and why not.
    Nothing(&'static str),
}

/// Comments longer than this, in bytes, are read only so far: GitHub takes 65,536 characters of at most four bytes.
const READ_LIMIT: usize = 4 * 65_536;

/// Characters of a line that is named to people as not taken.
const NAMED_LIMIT: usize = 60;

/// Reads a comment as Markdown: a command stands at the start of a line of a top-level paragraph, outside code, quotes,
/// raw HTML and comments. Takes time linear in the comment's length.
pub fn read(comment: &str, reading: &Reading<'_>) -> Read {
    let comment = &comment[..comment.floor_char_boundary(READ_LIMIT)];
    // A file saved by an editor may begin with a byte order mark; no reader sees it, and it is not part of a line.
    let comment = comment.strip_prefix('\u{feff}').unwrap_or(comment);
    let (commands, why_none) = lines::find(comment, reading);
    let Some(first) = commands.first() else { return Read::Nothing(why_none) };
    let until = commands.get(1).map_or(comment.len(), |next| next.start);
    let line = &comment[first.rest..first.end];
    let below = &comment[first.end..until];
    match words::interpret(line, below, reading) {
        Ok((command, instruction, options)) => {
            let not_taken =
                commands[1..].iter().map(|later| named(&comment[later.start..later.end])).collect();
            Read::Command(Command { command, instruction, options, not_taken })
        }
        Err(sentence) => Read::Mistake(sentence),
    }
}

fn named(line: &str) -> String {
    let line = line.trim_end();
    match line.char_indices().nth(NAMED_LIMIT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
