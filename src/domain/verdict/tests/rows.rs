//! The rows of failures that other systems have had in watching CI, as far as they are decided here.

use super::{HEAD, Moment, actions, after, at, job, jobs, with};
use crate::domain::{Sha, verdict::Judgement};
use serde_json::{Value, json};

#[test]
fn f41_billing_and_no_runner_are_no_code_failures() {
    for said in [
        "The job was not started because recent account payments have failed or your spending limit needs to be increased.",
        "The job was not started because your account is locked due to a billing issue.",
        "No runner matching the specified labels was found: gpu-large",
    ] {
        for field in ["/output/summary", "/output/text", "/output/title"] {
            let says = after(600).says(&jobs(&[with(job(1, "test", "failure"), field, json!(said))]));
            assert!(says.starts_with("not_started: "), "{said}: {says}");
            // What an account owes is not for everybody who may read the repository.
            assert!(!says.contains("payment") && !says.contains("spending"), "{says}");
        }
    }
    let no_steps = |steps: Value| after(600).says(&jobs(&[with(job(1, "test", "failure"), "/steps", steps)]));
    assert!(no_steps(json!([])).starts_with("not_started: "));
    assert!(no_steps(json!(0)).starts_with("not_started: "));
    assert_eq!(no_steps(json!([{"name": "Set up job"}])), "red: test");
    assert_eq!(no_steps(Value::Null), "red: test");
}

#[test]
fn f45_waiting_for_approval_is_not_red() {
    let waiting = |status: &str, conclusion: Value| {
        json!({"check_suites": [{"id": 1, "app": actions(), "status": status, "conclusion": conclusion, "created_at": at(2)}],
               "workflow_runs": [{"id": 77, "name": "CI", "status": status, "conclusion": conclusion, "check_suite_id": 1,
                                  "html_url": "https://github.com/acme/calendar/actions/runs/77"}]})
    };
    let expected = "awaiting_approval: 1 waiting for a maintainer's approval";
    assert_eq!(after(600).says(&waiting("completed", json!("action_required"))), expected);
    assert_eq!(after(600).says(&waiting("action_required", Value::Null)), expected);
    assert_eq!(after(600).says(&waiting("waiting", Value::Null)), expected);
    // However long it takes: a person is not a machine that hangs.
    assert_eq!(after(60 * 60 * 24).says(&waiting("completed", json!("action_required"))), expected);
    let Judgement::Settled(verdict) = after(600).judge(&waiting("completed", json!("action_required")))
    else {
        panic!()
    };
    assert!(
        matches!(verdict, super::super::Verdict::AwaitingApproval { workflows: 1, url: Some(url) } if url.ends_with("/77"))
    );
}

#[test]
fn f46_an_old_heads_checks_are_history() {
    let head = Sha::parse(HEAD).unwrap();
    let old = "1".repeat(40);
    let now = Moment { head: Some(head), ..Moment::default() };
    let checks = jobs(&[with(job(9, "test", "failure"), "/head_sha", json!(old)), job(1, "lint", "success")]);
    assert_eq!(now.says(&checks), "green 1/1");
    let checks = jobs(&[with(job(9, "test", "success"), "/head_sha", json!(old)), job(1, "test", "failure")]);
    assert_eq!(now.says(&checks), "red: test");
}

#[test]
fn f49_no_ci_at_all_is_said_and_not_waited_for() {
    let nothing = json!({});
    assert_eq!(after(60).says(&nothing), "pending 0/0");
    assert_eq!(after(181).says(&nothing), "no_ci");
    let expected = Moment { expected: true, ..after(181) };
    assert_eq!(
        expected.says(&nothing),
        "not_started: the repository's workflows should run on this push, but GitHub started none"
    );
}

#[test]
fn f49_a_required_check_that_never_appears_is_named() {
    let checks = json!({"check_runs": [job(1, "lint", "success")], "required": ["lint", "test (windows)"]});
    assert_eq!(after(100).says(&checks), "pending 1/1");
    assert_eq!(after(181).says(&checks), "not_started: required, but never appeared: `test (windows)`");
    let red = json!({"check_runs": [job(1, "lint", "failure")], "required": ["test"]});
    assert_eq!(after(181).says(&red), "red: lint");
    let status =
        json!({"statuses": [{"id": 1, "context": "test", "state": "success"}], "required": ["test"]});
    assert_eq!(after(181).says(&status), "green 1/1");
    // One of ours, required by the repository's rules, is not CI but is there.
    let own = with(job(2, "fixpoint/second-person", ""), "/app/id", json!(4711));
    let own = json!({"check_runs": [job(1, "lint", "success"), own], "required": ["lint", "fixpoint/second-person"]});
    assert_eq!(after(181).says(&own), "green 1/1");
}

#[test]
fn f50_the_first_green_check_is_not_all_of_them() {
    let one = jobs(&[job(1, "lint", "success"), job(2, "test", "")]);
    assert_eq!(after(600).says(&one), "pending 1/2");
    // Nothing is taken for all while something has just changed, nor just after the push.
    let fresh = jobs(&[with(job(1, "lint", "success"), "/completed_at", json!(at(595)))]);
    assert_eq!(after(600).says(&fresh), "pending 1/1");
    assert_eq!(after(616).says(&fresh), "green 1/1");
    let early = json!({"statuses": [{"id": 1, "context": "cla", "state": "success"}]});
    assert_eq!(after(10).says(&early), "pending 1/1");
    // A quick third party is not what the repository's workflows would have said.
    let expected = Moment { expected: true, ..after(60) };
    assert_eq!(expected.says(&early), "pending 1/1");
    assert_eq!(Moment { after: 181, ..expected }.says(&early), "green 1/1");
    // A red one is no reason to hurry either.
    let red = jobs(&[job(1, "lint", "failure"), job(2, "test", "")]);
    assert_eq!(after(600).says(&red), "pending 0/2");
}

#[test]
fn f51_a_check_that_never_ends_is_not_waited_for_for_ever() {
    let hangs = jobs(&[job(1, "lint", "success"), job(2, "test", "")]);
    assert_eq!(after(3 * 60 * 60 - 1).says(&hangs), "pending 1/2");
    assert_eq!(after(3 * 60 * 60).says(&hangs), "timed_out: never finished: test");
    let red = jobs(&[job(1, "lint", "failure"), job(2, "test", "")]);
    assert_eq!(after(3 * 60 * 60).says(&red), "red: lint");
}

#[test]
fn f37_a_red_check_says_where_it_can_be_read() {
    let checks = json!({
        "check_runs": [with(job(5, "test", "failure"), "/output", json!({"title": "2 failed", "annotations_count": 3}))],
        "statuses": [{"id": 1, "context": "ci/old", "state": "error", "description": "no disk", "target_url": "https://ci.example.org/1"}],
        "workflow_runs": [{"id": 78, "check_suite_id": 1, "status": "completed", "conclusion": "failure"}],
    });
    let Judgement::Red { checks, tally } = after(600).judge(&checks) else { panic!() };
    assert_eq!(tally, (0, 2));
    let test = checks.iter().find(|check| check.name == "test").unwrap();
    assert_eq!((test.check_run, test.workflow_run, test.is_actions), (Some(5), Some(78), true));
    assert_eq!(
        (test.output.as_str(), test.annotations, test.conclusion.as_str()),
        ("2 failed", 3, "failure")
    );
    let old = checks.iter().find(|check| check.name == "ci/old").unwrap();
    assert_eq!((old.check_run, old.is_actions, old.output.as_str()), (None, false, "no disk"));
    assert_eq!(old.url.as_deref(), Some("https://ci.example.org/1"));
    // Without the list of workflow runs the address of the job still names its run.
    let Judgement::Red { checks, .. } = after(600).judge(&jobs(&[job(5, "test", "failure")])) else {
        panic!()
    };
    assert_eq!(checks[0].workflow_run, Some(77));
}
