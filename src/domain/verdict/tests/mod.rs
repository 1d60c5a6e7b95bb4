//! Verdicts over sets of checks written as the API writes them: kind by kind, row by row, and in any order.

mod kinds;
mod matrix;
mod orders;
mod rows;

use super::{Checks, Context, Judgement, judge};
use crate::domain::{Limits, Sha, Timestamp};
use serde_json::{Value, json};

const HEAD: &str = "9f3c2ab09f3c2ab09f3c2ab09f3c2ab09f3c2ab0";

/// 12:00 on a day when all of this happens.
const NOON: i64 = 1_767_268_800_000;

/// An ordinary moment: pushed at noon, judged `after` seconds later.
struct Moment {
    after: i64,
    expected: bool,
    touches_workflows: bool,
    ignore: Vec<String>,
    head: Option<Sha>,
}

impl Default for Moment {
    fn default() -> Self {
        Self { after: 600, expected: false, touches_workflows: false, ignore: Vec::new(), head: None }
    }
}

fn after(seconds: i64) -> Moment {
    Moment { after: seconds, ..Moment::default() }
}

impl Moment {
    fn judge(&self, checks: &Value) -> Judgement {
        self.judge_read(&read(checks))
    }

    fn judge_read(&self, checks: &Checks) -> Judgement {
        let limits = Limits::default();
        let context = Context {
            now: Timestamp(NOON + self.after * 1000),
            pushed: Timestamp(NOON),
            head: self.head.as_ref(),
            limits: &limits,
            own_app: 4711,
            ignore: &self.ignore,
            expected: self.expected,
            touches_workflows: self.touches_workflows,
        };
        judge(checks, &context)
    }

    /// The verdict in words: `red: a, b`, `green 2/3`, `pending 1/2`, `not_started: why` …
    fn says(&self, checks: &Value) -> String {
        say(self.judge(checks))
    }
}

fn say(judgement: Judgement) -> String {
    use super::Verdict;
    match judgement {
        Judgement::Red { checks, .. } => {
            let names: Vec<String> = checks
                .iter()
                .map(|check| format!("{}{}", check.name, if check.known.is_some() { " (known)" } else { "" }))
                .collect();
            format!("red: {}", names.join(", "))
        }
        Judgement::Settled(verdict) => match &verdict {
            Verdict::Green { tally: (green, all) } => format!("green {green}/{all}"),
            Verdict::Pending { tally: (green, all) } => format!("pending {green}/{all}"),
            Verdict::NoCi | Verdict::Cancelled => verdict.word().to_owned(),
            _ => format!("{}: {}", verdict.word(), verdict.reason()),
        },
    }
}

fn read(checks: &Value) -> Checks {
    serde_json::from_value(checks.clone()).unwrap()
}

/// The time `seconds` after noon, as the API writes it.
fn at(seconds: i64) -> String {
    Timestamp(NOON + seconds * 1000).rfc3339()
}

fn actions() -> Value {
    json!({"id": 15368, "slug": "github-actions"})
}

/// A job of GitHub Actions in suite 1 with a conclusion (`""`: it still runs).
fn job(id: u64, name: &str, conclusion: &str) -> Value {
    let done = !conclusion.is_empty();
    json!({
        "id": id,
        "name": name,
        "head_sha": HEAD,
        "app": actions(),
        "check_suite": {"id": 1},
        "status": if done { "completed" } else { "in_progress" },
        "conclusion": if done { json!(conclusion) } else { Value::Null },
        "started_at": at(10),
        "completed_at": if done { json!(at(60)) } else { Value::Null },
        "output": {"title": null, "summary": null, "text": null, "annotations_count": 0},
        "details_url": format!("https://github.com/acme/calendar/actions/runs/77/job/{id}"),
        "html_url": format!("https://github.com/acme/calendar/actions/runs/77/job/{id}"),
    })
}

/// `one` with `field` (a JSON pointer) set to `value`.
fn with(mut one: Value, field: &str, value: Value) -> Value {
    let (parent, name) = field.rsplit_once('/').unwrap();
    one.pointer_mut(parent).unwrap()[name] = value;
    one
}

fn jobs(jobs: &[Value]) -> Value {
    json!({"check_runs": jobs})
}
