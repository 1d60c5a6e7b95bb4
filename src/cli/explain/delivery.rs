//! `fixpoint explain delivery`: whether a webhook triggers something, is a fact, or is ignored.

use super::Input;
use crate::domain::delivery::{Us, sort};
use clap::Args;
use serde_json::json;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(in crate::cli) struct Arguments {
    /// The event, as the header `X-GitHub-Event` names it.
    event: String,
    #[command(flatten)]
    input: Input,
    /// Our App's id: its own checks are not news.
    #[arg(long, default_value_t = 0)]
    app_id: u64,
    /// The App's name, by which it is mentioned.
    #[arg(long, default_value = "fixpoint")]
    app: String,
    /// The command word, without the slash.
    #[arg(long, default_value = "code")]
    word: String,
    /// The label that starts work.
    #[arg(long, default_value = "fixpoint")]
    label: String,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let us = Us {
        app: arguments.app_id,
        slug: &arguments.app,
        word: &arguments.word,
        label: &arguments.label,
        bots: &[],
    };
    let sorted = sort(&arguments.event, &arguments.input.value()?, &us);
    let json = json!({"does": sorted.does(), "reason": sorted.reason()});
    arguments.input.answer(&json, &format!("{}: {}", sorted.does(), sorted.reason()));
    Ok(ExitCode::SUCCESS)
}
