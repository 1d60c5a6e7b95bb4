//! What a runner reads of us: commands in what is printed, and the files for outputs and the summary.
//!
//! Source: GitHub Actions, "Workflow commands" and "Environment files".

use crate::app::Ran;
use anyhow::Context;
use rand::distr::{Alphanumeric, SampleString as _};
use secrecy::{ExposeSecret, SecretString};
use std::{fmt::Write as _, io::Write as _, path::Path};

/// GitHub's limit of a step's summary, in bytes.
const SUMMARY: usize = 1 << 20;

/// A value that a later step's expression may hold; longer outputs make a job fail.
const OUTPUT: usize = 60_000;

/// Commands for the runner, where one listens. They go to standard error like the log, so that their order is the log's.
pub(super) struct Commands {
    listened: bool,
}

impl Commands {
    pub(super) fn new(listened: bool) -> Self {
        Self { listened }
    }

    /// Has the runner blot out these wherever they would be printed, line by line.
    pub(super) fn mask(&self, secrets: &[SecretString]) {
        let lines = secrets.iter().flat_map(|secret| secret.expose_secret().lines());
        for line in lines.map(str::trim).filter(|line| line.len() > 3) {
            self.command("add-mask", "", line);
        }
    }

    /// Makes the runner deaf; gives the word that ends it, which nobody can guess.
    pub(super) fn stop(&self) -> String {
        let word = random();
        self.command("stop-commands", "", &word);
        word
    }

    pub(super) fn resume(&self, word: &str) {
        self.command(word, "", "");
    }

    pub(super) fn warning(&self, text: &str) {
        match self.listened {
            true => self.command("warning", " title=fixpoint", text),
            false => self.say(&format!("warning: {text}")),
        }
    }

    pub(super) fn error(&self, text: &str) {
        match self.listened {
            true => self.command("error", " title=fixpoint", text),
            false => self.say(text),
        }
    }

    /// A line for people: nothing in it is followed.
    pub(super) fn say(&self, text: &str) {
        for line in text.lines() {
            let quoted = if line.trim_start().starts_with("::") || line.contains("##[") { "| " } else { "" };
            print(&format!("{quoted}{}", line.replace("##[", "## [")));
        }
    }

    fn command(&self, name: &str, properties: &str, data: &str) {
        if self.listened {
            print(&format!("::{name}{properties}::{}", escaped(data)));
        }
    }
}

#[allow(clippy::print_stderr, reason = "commands are read from what is printed")]
fn print(line: &str) {
    eprintln!("{line}");
}

/// A command's data on its one line.
fn escaped(data: &str) -> String {
    data.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn random() -> String {
    Alphanumeric.sample_string(&mut rand::rng(), 32)
}

/// What a run says to the steps after it, and to people.
pub(super) struct Outputs {
    session: String,
    pull: String,
    branch: String,
    outcome: String,
    summary: String,
    others: Vec<String>,
}

impl Outputs {
    /// The outputs are those of the session that the event was about: the newest, where there are several.
    pub(super) fn of(ran: &Ran) -> Self {
        let fate = ran.settled.as_ref();
        let Some((first, others)) = ran.sessions.split_first() else {
            let why = fate.map_or("no session is open", |settled| settled.reason.as_str());
            return Self {
                session: String::new(),
                pull: String::new(),
                branch: String::new(),
                outcome: fate.map_or("nothing", |settled| settled.fate.as_str()).to_owned(),
                summary: format!("Nothing to do: {why}."),
                others: Vec::new(),
            };
        };
        let other = |s: &crate::app::Ended| format!("- #{}: {}", s.thread, s.outcome.replace('_', " "));
        Self {
            session: first.session.clone(),
            pull: first.pull.map(|pull| pull.to_string()).unwrap_or_default(),
            branch: first.branch.clone().unwrap_or_default(),
            outcome: first.outcome.clone(),
            summary: first.status.clone(),
            others: others.iter().map(other).collect(),
        }
    }

    /// One line for the log.
    pub(super) fn line(&self) -> String {
        let pull = if self.pull.is_empty() { String::new() } else { format!(" #{}", self.pull) };
        let lead = self.summary.lines().next().unwrap_or_default().replace("**", "");
        format!("fixpoint{pull}: {}: {lead}", self.outcome)
    }

    /// Writes the outputs; a value's end is a word that nobody can guess.
    pub(super) fn write(&self, file: Option<&Path>) -> anyhow::Result<()> {
        let Some(file) = file else { return Ok(()) };
        let mut text = String::new();
        let values = [
            ("session", &self.session),
            ("pull-request", &self.pull),
            ("branch", &self.branch),
            ("outcome", &self.outcome),
            ("summary", &self.summary),
        ];
        for (name, value) in values {
            let end = random();
            let value = &value[..value.floor_char_boundary(OUTPUT)];
            let _ = write!(text, "{name}<<{end}\n{value}\n{end}\n");
        }
        append(file, &text).context("the outputs cannot be written")
    }

    /// Writes the step's summary: the status as the comment has it.
    pub(super) fn summarise(&self, file: Option<&Path>, warnings: &[String]) -> anyhow::Result<()> {
        let Some(file) = file else { return Ok(()) };
        let mut text = self.summary.clone();
        text.truncate(text.floor_char_boundary(SUMMARY / 2));
        for warning in warnings {
            let _ = write!(text, "\n\n**Warning:** {warning}");
        }
        if !self.others.is_empty() {
            let _ = write!(text, "\n\nAlso looked after:\n\n{}", self.others.join("\n"));
        }
        text.push('\n');
        append(file, &text).context("the step's summary cannot be written")
    }
}

fn append(file: &Path, text: &str) -> std::io::Result<()> {
    std::fs::File::options().append(true).create(true).open(file)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t6_what_others_wrote_is_no_command_and_ends_no_output() {
        assert_eq!(escaped("50%\n::set-output name=x::y\r"), "50%25%0A::set-output name=x::y%0D");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("output");
        let outputs = Outputs {
            session: "s".to_owned(),
            pull: "2".to_owned(),
            branch: "b".to_owned(),
            outcome: "green".to_owned(),
            summary: "one\nEOF\noutcome=forged\nsession<<EOF".to_owned(),
            others: Vec::new(),
        };
        outputs.write(Some(&file)).unwrap();
        let written = std::fs::read_to_string(&file).unwrap();
        let heads: Vec<&str> = written.lines().filter(|l| l.contains("<<") && l.len() > 32).collect();
        assert_eq!(heads.len(), 5, "{written}");
        // Read as the runner reads: up to the word that the value's own line names.
        let (mut lines, mut read) = (written.lines(), Vec::new());
        while let Some((name, end)) = lines.next().and_then(|l| l.split_once("<<")) {
            let value: Vec<&str> = lines.by_ref().take_while(|l| *l != end).collect();
            read.push((name, value.join("\n")));
        }
        assert_eq!(read[3], ("outcome", "green".to_owned()));
        assert_eq!(read[4], ("summary", outputs.summary.clone()));
    }
}
