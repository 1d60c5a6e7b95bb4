//! Every kind of verdict over sets of checks of which the truth is known, each in the company that checks keep: a confusion
//! matrix whose only entries may stand on its diagonal. Red because of the change is the one that costs a round.

use super::{HEAD, Moment, at, job, say, with};
use crate::domain::verdict::{Checks, Judgement};
use serde_json::{Value, json};
use std::collections::BTreeMap;

type Case = (&'static str, &'static str, Value);

/// What it is, what it is in one word, and the checks.
fn cases() -> Vec<Case> {
    let said =
        |conclusion: &str, words: &str| with(job(1, "test", conclusion), "/output/summary", json!(words));
    let runs = |runs: &[Value]| json!({ "check_runs": runs });
    let run = |status: &str, conclusion: Value| {
        json!({"workflow_runs": [{"id": 77, "name": "CI", "path": "ci.yml", "check_suite_id": 1, "run_attempt": 1,
            "status": status, "conclusion": conclusion, "created_at": at(2), "updated_at": at(60)}]})
    };
    let status = |state: &str| json!({"statuses": [{"id": 1, "context": "ci/old", "state": state, "created_at": at(2)}]});
    let old = with(job(1, "test", "failure"), "/head_sha", json!("1".repeat(40)));
    vec![
        ("a test fails", "red", runs(&[job(1, "test", "failure")])),
        ("a job is too slow", "red", runs(&[job(1, "test", "timed_out")])),
        ("a status fails", "red", status("failure")),
        ("a status breaks", "red", status("error")),
        ("one of two fails", "red", runs(&[job(1, "test", "failure"), job(2, "mac", "cancelled")])),
        (
            "it quotes a remark",
            "red",
            runs(&[said("failure", &format!("{}lost communication with the server", "x\n".repeat(2_000)))]),
        ),
        ("a test passes", "green", runs(&[job(1, "test", "success")])),
        ("it is neutral", "green", runs(&[job(1, "test", "neutral")])),
        ("a status is fine", "green", status("success")),
        ("f46 an old head's failure", "green", runs(&[old, job(2, "lint", "success")])),
        ("a re-run passed", "green", runs(&[job(1, "test", "failure"), job(2, "test", "success")])),
        ("f50 one still runs", "pending", runs(&[job(1, "test", "failure"), job(2, "mac", "")])),
        ("between two jobs", "pending", run("in_progress", Value::Null)),
        ("a status is pending", "pending", status("pending")),
        ("it went stale", "pending", runs(&[job(1, "test", "stale")])),
        ("f45 an approval", "awaiting_approval", run("completed", json!("action_required"))),
        ("f45 a deployment waits", "awaiting_approval", run("waiting", Value::Null)),
        (
            "f41 billing",
            "not_started",
            runs(&[said("failure", "The job was not started because recent account payments have failed")]),
        ),
        (
            "f41 no runner",
            "not_started",
            runs(&[said("failure", "No runner matching the specified labels was found: gpu")]),
        ),
        ("f41 not a step", "not_started", runs(&[with(job(1, "test", "failure"), "/steps", json!([]))])),
        ("a bad workflow file", "not_started", run("completed", json!("startup_failure"))),
        ("f49 a required name", "not_started", json!({"required": ["windows"]})),
        (
            "the runner is lost",
            "infrastructure",
            runs(&[said("failure", "The hosted runner lost communication with the server.")]),
        ),
        (
            "the runner is shut down",
            "infrastructure",
            runs(&[said("cancelled", "The runner has received a shutdown signal.")]),
        ),
        (
            "GitHub breaks",
            "infrastructure",
            runs(&[said(
                "failure",
                "GitHub Actions has encountered an internal error when running your job.",
            )]),
        ),
        ("somebody cancels", "cancelled", runs(&[job(1, "test", "cancelled")])),
        ("nothing at all", "no_ci", json!({})),
        ("all is skipped", "no_ci", runs(&[job(1, "test", "skipped")])),
    ]
}

/// The same facts with what stands beside them: our own check, other Apps' idle suites, an older version of the same,
/// and in another order.
fn company(case: &Value) -> Vec<Checks> {
    let read = |value: &Value| -> Checks { serde_json::from_value(value.clone()).unwrap() };
    let plain = read(case);
    let ours = json!({"check_runs": [with(job(90, "fixpoint", ""), "/app", json!({"id": 4711, "slug": "fixpoint"}))]});
    let idle = json!({"check_suites": [{"id": 9, "app": {"id": 7, "slug": "idle"}, "status": "queued", "created_at": at(1), "head_sha": HEAD}]});
    let mut all = vec![plain.clone()];
    for beside in [ours, idle] {
        let mut one = plain.clone();
        one.merge(read(&beside));
        all.push(one);
    }
    let mut turned = plain.clone();
    turned.check_runs.reverse();
    all.push(turned);
    let mut twice = plain.clone();
    twice.merge(plain);
    all.push(twice);
    all
}

#[test]
fn no_kind_is_taken_for_another() {
    let moment = Moment { head: crate::domain::Sha::parse(HEAD).ok(), ..Moment::default() };
    let mut matrix: BTreeMap<(&str, String), Vec<&str>> = BTreeMap::new();
    for (name, truth, case) in cases() {
        for checks in company(&case) {
            let judgement = moment.judge_read(&checks);
            let got = match &judgement {
                Judgement::Red { .. } => "red".to_owned(),
                Judgement::Settled(verdict) => verdict.word().to_owned(),
            };
            matrix.entry((truth, got)).or_default().push(name);
        }
    }
    let confused: Vec<_> = matrix.iter().filter(|((truth, got), _)| truth != got).collect();
    assert!(confused.is_empty(), "{confused:#?}");
    let kinds: Vec<&str> = matrix.keys().map(|(truth, _)| *truth).collect();
    assert_eq!(
        kinds,
        [
            "awaiting_approval",
            "cancelled",
            "green",
            "infrastructure",
            "no_ci",
            "not_started",
            "pending",
            "red"
        ]
    );
    // The one that needs time alone.
    let hangs = serde_json::from_value(json!({"check_runs": [job(1, "test", "")]})).unwrap();
    let late = Moment { after: 3 * 60 * 60, ..Moment::default() };
    assert!(say(late.judge_read(&hangs)).starts_with("timed_out"));
}
