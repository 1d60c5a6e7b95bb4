//! `fixpoint explain checks`: which verdict the checks of a commit give, judged as of now.

use super::Input;
use crate::domain::{
    Failure, Limits, Timestamp,
    failure::Kind,
    verdict::{Checks, Context, Judgement, Verdict, judge},
};
use anyhow::Context as _;
use clap::Args;
use serde_json::json;
use std::process::ExitCode;

/// Milliseconds; longer than any start grace, shorter than any wait for checks.
const AN_HOUR: i64 = 60 * 60 * 1000;

/// What the file may hold.
const LISTS: [&str; 5] = ["check_suites", "check_runs", "statuses", "workflow_runs", "required"];

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
    let value = arguments.input.value()?;
    let file = &arguments.input.file;
    anyhow::ensure!(value.is_object(), "{file} is not an object with check_suites, check_runs, statuses …");
    whole(&value).map_err(|what| anyhow::anyhow!("{file}: {what}"))?;
    let checks: Checks = serde_json::from_value(value).with_context(|| format!("{file} cannot be read"))?;
    let limits = Limits::default();
    let now = match &arguments.now {
        Some(text) => time(text)?,
        None => Timestamp(chrono::Utc::now().timestamp_millis()),
    };
    let pushed = match &arguments.pushed {
        Some(text) => time(text)?,
        // Without any time in the file it is judged as if the grace for starting were over and the wait were not.
        None => checks.earliest().unwrap_or(Timestamp(now.0 - AN_HOUR)),
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
    let (word, failures, reason) = told(judge(&checks, &context));
    let words = failures
        .iter()
        .fold(format!("{word}: {reason}"), |all, one| format!("{all}\n  {}: {}", one.check, one.line));
    arguments.input.answer(&json!({"verdict": word, "failures": failures, "reason": reason}), &words);
    Ok(ExitCode::SUCCESS)
}

/// Is it all that GitHub would show? A first page, or a name that is none, would read as green.
fn whole(value: &serde_json::Value) -> Result<(), String> {
    let Some(object) = value.as_object() else { return Ok(()) };
    if !object.is_empty() && !object.keys().any(|name| LISTS.contains(&name.as_str())) {
        return Err(format!("none of {} is in it", LISTS.join(", ")));
    }
    if let Some(name) =
        LISTS.iter().find(|name| object.get(**name).is_some_and(|list| !list.is_array() && !list.is_null()))
    {
        return Err(format!("\"{name}\" is not a list"));
    }
    let lists = LISTS.iter().filter_map(|name| object.get(*name)?.as_array());
    let (here, total) =
        (lists.map(Vec::len).sum::<usize>(), object.get("total_count").and_then(serde_json::Value::as_u64));
    match total {
        Some(total) if total > here as u64 => {
            Err(format!("{here} of {total} are in it: put the items of all pages together (per_page=100)"))
        }
        _ => Ok(()),
    }
}

fn time(text: &str) -> anyhow::Result<Timestamp> {
    let at = chrono::DateTime::parse_from_rfc3339(text)
        .with_context(|| format!("\"{text}\" is not a time like 2026-01-31T14:06:00Z"))?;
    Ok(Timestamp(at.timestamp_millis()))
}

/// Verdict word, failures as far as they are known without logs, and the reason.
fn told(judgement: Judgement) -> (String, Vec<Failure>, String) {
    let verdict = match judgement {
        Judgement::Settled(verdict) => verdict,
        Judgement::Red { checks, tally } => {
            let failures = checks.iter().map(|check| check.without_log(check.known.unwrap_or(Kind::Change)));
            Verdict::Red { failures: failures.collect(), tally }
        }
    };
    let reason = verdict.reason();
    let word = verdict.word().to_owned();
    match verdict {
        Verdict::Red { failures, .. } | Verdict::Infrastructure { failures, .. } => (word, failures, reason),
        _ => (word, Vec::new(), reason),
    }
}
