//! `fixpoint explain checks`: which verdict the checks of a commit give, judged as of now.

use super::Input;
use crate::domain::{
    Limits, Timestamp,
    verdict::{Checks, Context, Judgement, RedCheck, Verdict, judge},
};
use anyhow::Context as _;
use clap::Args;
use serde_json::{Value, json};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(in crate::cli) struct Arguments {
    #[command(flatten)]
    input: Input,
    /// Judge as of this time (RFC 3339) instead of now.
    #[arg(long)]
    now: Option<String>,
    /// When the commit was pushed (RFC 3339); otherwise the earliest time in the file.
    #[arg(long)]
    pushed: Option<String>,
    /// Our App's id: its own checks do not count.
    #[arg(long, default_value_t = 0)]
    app_id: u64,
    /// Check names that do not count; globs, may be given more than once.
    #[arg(long)]
    ignore: Vec<String>,
    /// The repository's workflows should run on this push.
    #[arg(long)]
    expected: bool,
    /// The change touches workflow files.
    #[arg(long)]
    touches_workflows: bool,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let checks: Checks = serde_json::from_value(arguments.input.value()?).with_context(|| {
        format!("{} is not an object with check_suites, check_runs, statuses", arguments.input.file)
    })?;
    let limits = Limits::default();
    let now = match &arguments.now {
        Some(text) => time(text)?,
        None => Timestamp(chrono::Utc::now().timestamp_millis()),
    };
    let pushed = match &arguments.pushed {
        Some(text) => time(text)?,
        None => checks.earliest().unwrap_or(Timestamp(now.0 - 1000 * 60 * 60)),
    };
    let context = Context {
        now,
        pushed,
        head: None,
        limits: &limits,
        own_app: arguments.app_id,
        ignore: &arguments.ignore,
        expected: arguments.expected,
        touches_workflows: arguments.touches_workflows,
    };
    let (word, failures, reason) = told(&judge(&checks, &context));
    let json = json!({"verdict": word, "failures": failures, "reason": reason});
    arguments.input.answer(&json, &format!("{word}: {reason}"));
    Ok(ExitCode::SUCCESS)
}

fn time(text: &str) -> anyhow::Result<Timestamp> {
    let at = chrono::DateTime::parse_from_rfc3339(text)
        .with_context(|| format!("\"{text}\" is not a time like 2026-01-31T14:06:00Z"))?;
    Ok(Timestamp(at.timestamp_millis()))
}

fn told(judgement: &Judgement) -> (String, Vec<Value>, String) {
    match judgement {
        Judgement::Red { checks, tally } => {
            let names: Vec<&str> = checks.iter().map(|check| check.name.as_str()).collect();
            let reason = format!("{} of {} green; red: {}", tally.0, tally.1, names.join(", "));
            ("red".to_owned(), checks.iter().map(failure).collect(), reason)
        }
        Judgement::Settled(verdict) => {
            let word = serde_json::to_value(verdict).ok();
            let word =
                word.as_ref().and_then(|value| value["verdict"].as_str()).unwrap_or_default().to_owned();
            let failures = match verdict {
                Verdict::Infrastructure { failures, .. } => {
                    failures.iter().map(|failure| json!(failure)).collect()
                }
                _ => Vec::new(),
            };
            (word, failures, verdict.reason())
        }
    }
}

fn failure(check: &RedCheck) -> Value {
    json!({"check": check.name, "conclusion": check.conclusion, "url": check.url, "known": check.known})
}
