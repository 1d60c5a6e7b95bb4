//! `fixpoint observe`: what would have been done about a repository's CI of the past. No model key, no write.

use crate::{
    app,
    config::{Config, Flags},
    domain::say,
};
use serde_json::json;
use std::process::ExitCode;

/// Arguments of `fixpoint observe`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    flags: Flags,
    /// The repository; the App must be installed on it
    #[arg(long, value_name = "OWNER/NAME")]
    repo: String,
    /// How far to look back
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=400))]
    days: u32,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// Reads the history and says what it comes to.
///
/// # Errors
/// What is missing or out of reach, as a sentence for the operator.
#[allow(clippy::print_stdout, reason = "the answer is the program's output")]
pub(super) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let config = Config::load(&args.flags)?;
    let seen = app::observe(&config, app::http_client(config.proxy()?)?, &args.repo, args.days).await?;
    match args.json {
        true => println!("{}", json!(seen.report)),
        false => print!("{}", say::observed(&args.repo, args.days, &seen)),
    }
    Ok(ExitCode::SUCCESS)
}
