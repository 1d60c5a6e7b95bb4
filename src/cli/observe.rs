//! `fixpoint observe`: what would have been done about a repository's CI of the past. No model key, no write.

use crate::{
    app,
    config::{Config, Flags},
    domain::{observe::Report, text},
};
use serde_json::json;
use std::{collections::BTreeSet, fmt::Write as _, process::ExitCode};

/// Names shown of a list; the JSON has them all.
const NAMED: usize = 10;

/// The kinds of red, what can be mended first.
const KINDS: [(&str, &str); 5] = [
    ("change", "red because of the change"),
    ("base", "red on the base too"),
    ("flaky", "flaky: passed on the same commit"),
    ("infrastructure", "the machine, the network or the service"),
    ("not_started", "did not start: billing, no runner, a bad file"),
];

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
    let seen = app::observe(&config, app::http_client()?, &args.repo, args.days).await?;
    match args.json {
        true => println!("{}", json!(seen.report)),
        false => print!("{}", words(&args, &seen)),
    }
    Ok(ExitCode::SUCCESS)
}

fn words(args: &Args, seen: &app::Observed) -> String {
    let Report { red, by_kind, flaky, base_red, sessions, ci_minutes } = &seen.report;
    let repo = text::terminal(&args.repo);
    let mut said = format!("{repo}, {} days: {} workflow runs, {red} red\n\n", args.days, seen.runs);
    for (kind, meaning) in KINDS {
        let _ = writeln!(said, "  {meaning:<45} {:>6}", by_kind.get(kind).unwrap_or(&0));
    }
    let _ = writeln!(said, "\nFlaky: {}", listed(flaky));
    let _ = writeln!(said, "Red on the base: {}", listed(base_red));
    let _ = writeln!(
        said,
        "Sessions that would have started: {sessions}; their rounds would have taken {ci_minutes} minutes of CI."
    );
    if seen.unread > 0 {
        let _ = writeln!(
            said,
            "{} failed jobs could not be read (logs are kept for a while only) and count as the change's.",
            seen.unread
        );
    }
    said
}

fn listed(names: &BTreeSet<String>) -> String {
    if names.is_empty() {
        return "nothing".to_owned();
    }
    let shown: Vec<String> = names.iter().take(NAMED).map(|name| text::terminal(name)).collect();
    let more = names.len() - shown.len();
    let rest = if more == 0 { String::new() } else { format!(" and {more} more (see --json)") };
    format!("{}{rest}", shown.join(", "))
}
