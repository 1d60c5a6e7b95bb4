//! `fixpoint explain`: what would be made of an input, and why. Reads it, prints the answer, touches nothing.

mod checks;
mod comment;
mod delivery;
mod exposure;
mod log;

use crate::domain::text::terminal;
use anyhow::Context;
use clap::{Args, Subcommand};
use std::{io::Read, path::Path, process::ExitCode};

/// What `explain` explains; one variant a kind of input.
#[derive(Debug, Subcommand)]
pub(super) enum Explain {
    /// A comment: which command it is, if any.
    Comment(comment::Arguments),
    /// The checks of a commit: which verdict they give.
    Checks(checks::Arguments),
    /// A webhook: whether it triggers something, is a fact, or is ignored.
    Delivery(delivery::Arguments),
    /// A repository's workflows: what CI would hand to a change that fixpoint pushes.
    Exposure(exposure::Arguments),
    /// A CI log: what of it is worth reading, and why.
    Log(log::Log),
}

/// What every kind of input has in common.
#[derive(Debug, Args)]
struct Input {
    /// The file to read; `-` is the standard input.
    file: String,
    /// Print one JSON object instead of words.
    #[arg(long)]
    json: bool,
}

/// Longest input read, in bytes: GitHub's cap of a webhook, the largest of what is explained whole.
const INPUT_LIMIT: u64 = 25 << 20;

/// Explains the input.
///
/// # Errors
/// The file cannot be read, or is not of the kind asked for.
pub(super) fn run(explain: Explain) -> anyhow::Result<ExitCode> {
    match explain {
        Explain::Comment(arguments) => comment::run(&arguments),
        Explain::Checks(arguments) => checks::run(&arguments),
        Explain::Delivery(arguments) => delivery::run(&arguments),
        Explain::Exposure(arguments) => exposure::run(&arguments),
        Explain::Log(log) => Ok(log.run()),
    }
}

impl Input {
    fn bytes(&self) -> anyhow::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = match self.file.as_str() {
            "-" => std::io::stdin().take(INPUT_LIMIT + 1).read_to_end(&mut bytes),
            path => std::fs::File::open(Path::new(path))
                .and_then(|file| file.take(INPUT_LIMIT + 1).read_to_end(&mut bytes)),
        };
        read.with_context(|| format!("cannot read {}", self.file))?;
        let fits = u64::try_from(bytes.len()).is_ok_and(|length| length <= INPUT_LIMIT);
        anyhow::ensure!(
            fits,
            "{} is longer than {} MiB: nothing of that size comes from GitHub",
            self.file,
            INPUT_LIMIT >> 20
        );
        Ok(bytes)
    }

    /// The input as text; bytes that are no UTF-8 show as replacement characters, as they would on a page.
    fn text(&self) -> anyhow::Result<String> {
        Ok(String::from_utf8_lossy(&self.bytes()?).into_owned())
    }

    fn value(&self) -> anyhow::Result<serde_json::Value> {
        let bytes = self.bytes()?;
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
        serde_json::from_slice(bytes).with_context(|| format!("{} is not JSON", self.file))
    }

    /// Prints the answer in the form that was asked for.
    #[allow(clippy::print_stdout, reason = "the answer is the program's output")]
    fn answer(&self, json: &serde_json::Value, words: &str) {
        // A comment may hold what a terminal would obey.
        if self.json { println!("{json}") } else { println!("{}", terminal(words)) }
    }
}
