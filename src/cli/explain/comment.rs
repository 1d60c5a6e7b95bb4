//! `fixpoint explain comment`: which command a comment is, if any.

use super::Input;
use crate::domain::command::{Command, On, Read, Reading, read};
use clap::{Args, ValueEnum};
use serde_json::json;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(in crate::cli) struct Arguments {
    #[command(flatten)]
    input: Input,
    /// What the comment stands on.
    #[arg(long, value_enum, default_value = "issue")]
    on: Thread,
    /// A session is live on the thread.
    #[arg(long)]
    live: bool,
    /// The command word, without the slash.
    #[arg(long, default_value = "code")]
    word: String,
    /// The App's name, by which it is mentioned.
    #[arg(long, default_value = "fixpoint")]
    app: String,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Thread {
    Issue,
    Pull,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let on = match arguments.on {
        Thread::Issue => On::Issue,
        Thread::Pull => On::Pull,
    };
    let reading = Reading { word: &arguments.word, app: &arguments.app, on, live: arguments.live };
    match read(&arguments.input.text()?, &reading) {
        Read::Command(command) => taken(&arguments.input, &command)?,
        Read::Mistake(sentence) => none(&arguments.input, &sentence),
        Read::Nothing(reason) => none(&arguments.input, reason),
    }
    Ok(ExitCode::SUCCESS)
}

fn taken(input: &Input, command: &Command) -> anyhow::Result<()> {
    let reason = match command.not_taken.as_slice() {
        [] => "a command at the start of a line".to_owned(),
        later => format!("the first command of the comment; not taken: {}", later.join(" · ")),
    };
    let mut json = serde_json::to_value(command)?;
    json["reason"] = reason.clone().into();
    let word = json["command"].as_str().unwrap_or_default().to_owned();
    input.answer(&json, &format!("{word}: {reason}\n{}", command.instruction));
    Ok(())
}

fn none(input: &Input, reason: &str) {
    let json =
        json!({"command": null, "instruction": null, "options": {}, "not_taken": [], "reason": reason});
    input.answer(&json, &format!("no command: {reason}"));
}
