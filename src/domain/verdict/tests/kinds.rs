//! Every kind of verdict told apart from every other, over what GitHub gives for each.

use super::{HEAD, Moment, after, at, job, jobs, with};
use serde_json::{Value, json};

/// A third party's check run.
fn third(id: u64, name: &str, status: &str, conclusion: Value) -> Value {
    json!({"id": id, "name": name, "app": {"id": 9, "slug": "sonar"}, "check_suite": {"id": 2}, "status": status,
           "conclusion": conclusion, "started_at": at(10), "completed_at": null})
}

fn status(id: u64, context: &str, state: &str) -> Value {
    json!({"id": id, "context": context, "state": state, "created_at": at(5), "updated_at": at(40)})
}

fn workflow(id: u64, status: &str, conclusion: Value) -> Value {
    json!({"id": id, "name": "CI", "path": ".github/workflows/ci.yml", "event": "push", "head_sha": HEAD, "status": status,
           "conclusion": conclusion, "run_attempt": 1, "check_suite_id": 1, "created_at": at(4), "updated_at": at(60),
           "html_url": "https://github.com/acme/calendar/actions/runs/77"})
}

fn suite(app: &str, status: &str, conclusion: Value, made: i64) -> Value {
    json!({"id": 1, "app": {"id": 5, "slug": app}, "status": status, "conclusion": conclusion, "head_sha": HEAD,
           "latest_check_runs_count": 0, "created_at": at(made), "updated_at": at(made)})
}

#[test]
fn conclusions_and_what_they_mean() {
    for (conclusion, expected) in [
        ("success", "green 2/2"),
        ("neutral", "green 2/2"),
        ("skipped", "green 2/2"),
        ("failure", "red: test"),
        ("timed_out", "red: test"),
        ("cancelled", "cancelled"),
        ("action_required", "awaiting_approval: 1 waiting for a maintainer's approval"),
        ("startup_failure", "not_started: GitHub could not start `test`"),
        // Words that are none, or none yet: neither green nor red, awaited like a check that runs.
        ("stale", "pending 1/2"),
        ("superseded", "pending 1/2"),
        ("", "pending 1/2"),
    ] {
        let checks = jobs(&[job(1, "lint", "success"), job(2, "test", conclusion)]);
        assert_eq!(after(600).says(&checks), expected, "{conclusion}");
    }
    for status in ["queued", "in_progress", "requested", "pending", "a word of tomorrow", ""] {
        let checks = jobs(&[job(1, "lint", "success"), with(job(2, "test", ""), "/status", json!(status))]);
        assert_eq!(after(600).says(&checks), "pending 1/2", "{status}");
    }
    for (state, expected) in [
        ("success", "green 1/1"),
        ("failure", "red: ci/old"),
        ("error", "red: ci/old"),
        ("pending", "pending 0/1"),
        ("odd", "pending 0/1"),
    ] {
        let checks = json!({"statuses": [status(1, "ci/old", state)]});
        assert_eq!(after(600).says(&checks), expected, "{state}");
    }
}

#[test]
fn nothing_but_skipped_is_no_ci() {
    assert_eq!(after(600).says(&jobs(&[job(1, "a", "skipped"), job(2, "b", "skipped")])), "no_ci");
    assert_eq!(after(600).says(&jobs(&[job(1, "a", "skipped"), job(2, "b", "neutral")])), "green 2/2");
}

#[test]
fn the_newest_of_each_counts() {
    let rerun = jobs(&[job(5, "test", "success"), job(2, "test", "failure")]);
    assert_eq!(after(600).says(&rerun), "green 1/1");
    let other_suite =
        jobs(&[job(5, "test", "success"), with(job(2, "test", "failure"), "/check_suite/id", json!(9))]);
    assert_eq!(after(600).says(&other_suite), "red: test");
    let other_app = jobs(&[job(5, "test", "success"), third(2, "test", "completed", json!("failure"))]);
    assert_eq!(after(600).says(&other_app), "red: test");
    let statuses = json!({"statuses": [status(1, "ci", "failure"), status(2, "ci", "success")]});
    assert_eq!(after(600).says(&statuses), "green 1/1");
}

#[test]
fn cancelled_is_history_when_its_namesake_passed_or_runs() {
    let twice = |other: &str| {
        jobs(&[
            with(job(1, "test", "cancelled"), "/check_suite/id", json!(9)),
            job(2, "test", other),
            job(3, "lint", "success"),
        ])
    };
    assert_eq!(after(600).says(&twice("success")), "green 2/2");
    assert_eq!(after(600).says(&twice("")), "pending 1/2");
    assert_eq!(after(600).says(&twice("failure")), "red: test");
    assert_eq!(after(600).says(&twice("cancelled")), "cancelled");
    // A workflow cancelled before its first job, and the run that took its place.
    let older = with(
        with(workflow(70, "completed", json!("cancelled")), "/check_suite_id", json!(8)),
        "/event",
        json!("push"),
    );
    let newer = with(workflow(77, "completed", json!("success")), "/event", json!("pull_request"));
    let checks = json!({"workflow_runs": [older, newer], "check_runs": [job(1, "test", "success")]});
    assert_eq!(after(600).says(&checks), "green 1/1");
}

#[test]
fn red_comes_before_whatever_else_is_wrong() {
    let checks = jobs(&[
        job(1, "test", "failure"),
        job(2, "other", "cancelled"),
        job(3, "deploy", "action_required"),
        with(
            job(4, "mac", "failure"),
            "/output/summary",
            json!("The hosted runner lost communication with the server."),
        ),
    ]);
    assert_eq!(after(600).says(&checks), "red: mac (known), test");
}

#[test]
fn a_lost_runner_is_infrastructure() {
    for said in [
        "The self-hosted runner: box-3 lost communication with the server. Verify the machine is running.",
        "The runner has received a shutdown signal. This can happen when the runner service is stopped.",
        "The hosted runner encountered an error while running your job. (Error Type: Disconnect).",
    ] {
        let annotated = with(job(1, "test", "failure"), "/annotations", json!([{"message": said}]));
        let says = after(600).says(&jobs(&[annotated, job(2, "lint", "success")]));
        assert_eq!(says, "infrastructure: the runner was lost", "{said}");
    }
    // Somebody else's check may quote it, and so may a long report.
    let quoted = with(
        third(1, "report", "completed", json!("failure")),
        "/output",
        json!({"text": "lost communication with the server"}),
    );
    assert_eq!(after(600).says(&jobs(&[quoted])), "red: report");
    let long = format!("{}lost communication with the server", "a line of a test report\n".repeat(200));
    assert_eq!(
        after(600).says(&jobs(&[with(job(1, "test", "failure"), "/output/text", json!(long))])),
        "red: test"
    );
}

#[test]
fn start_failures_are_the_changes_only_when_it_touched_workflows() {
    let checks = json!({"check_suites": [suite("github-actions", "completed", json!("startup_failure"), 3)],
                        "workflow_runs": [workflow(77, "completed", json!("startup_failure"))]});
    assert_eq!(after(600).says(&checks), "not_started: GitHub could not start `CI`");
    let touched = Moment { touches_workflows: true, ..Moment::default() };
    assert_eq!(touched.says(&checks), "red: CI");
    // The same without the workflow run, as an App without `actions: read` sees it.
    let bare = json!({"check_suites": [suite("github-actions", "completed", json!("startup_failure"), 3)]});
    assert_eq!(after(600).says(&bare), "not_started: GitHub could not start `GitHub Actions`");
    // A failed run without a single job did not start either.
    let no_jobs = json!({"workflow_runs": [workflow(77, "completed", json!("failure"))]});
    assert_eq!(after(600).says(&no_jobs), "not_started: GitHub could not start `CI`");
}

#[test]
fn a_workflow_run_speaks_before_and_between_its_jobs() {
    let open = workflow(77, "in_progress", Value::Null);
    let between = json!({"workflow_runs": [open], "check_runs": [job(1, "build", "success")]});
    assert_eq!(after(600).says(&between), "pending 1/2");
    let queued = json!({"workflow_runs": [workflow(77, "queued", Value::Null)]});
    assert_eq!(after(600).says(&queued), "pending 0/1");
    let done = json!({"workflow_runs": [workflow(77, "completed", json!("success"))], "check_runs": [job(1, "build", "success")]});
    assert_eq!(after(600).says(&done), "green 1/1");
    let again = json!({"workflow_runs": [workflow(77, "completed", json!("failure")), with(workflow(77, "queued", Value::Null), "/run_attempt", json!(2))],
                       "check_runs": [job(1, "build", "success")]});
    assert_eq!(after(600).says(&again), "pending 1/2");
}

#[test]
fn of_suites_without_runs_only_a_young_one_of_actions_counts() {
    let green = job(1, "lint", "success");
    let green = with(green, "/check_suite/id", json!(3));
    for (app, made, expected) in [
        ("github-actions", 590, "pending 1/2"),
        ("github-actions", 5, "green 1/1"),
        ("dependabot", 590, "green 1/1"),
        ("some-app-with-checks-write", 590, "green 1/1"),
    ] {
        let checks =
            json!({"check_suites": [suite(app, "queued", Value::Null, made)], "check_runs": [green]});
        assert_eq!(after(600).says(&checks), expected, "{app} {made}");
    }
}

#[test]
fn a_suite_of_actions_that_stays_empty_did_not_start() {
    let says = |app: &str| after(600).says(&json!({"check_suites": [suite(app, "queued", Value::Null, 5)]}));
    assert!(says("github-actions").starts_with("not_started: "), "{}", says("github-actions"));
    assert_eq!(says("dependabot"), "no_ci");
}

#[test]
fn our_own_checks_and_ignored_names_do_not_count() {
    let own = with(job(1, "fixpoint", ""), "/app", json!({"id": 4711, "slug": "fixpoint"}));
    let own_suite = json!({"id": 6, "app": {"id": 4711}, "status": "queued", "created_at": at(595)});
    let checks = json!({"check_suites": [own_suite], "check_runs": [own, job(2, "test", "success")]});
    assert_eq!(after(600).says(&checks), "green 1/1");
    let slow = jobs(&[job(1, "coverage (linux)", ""), job(2, "test", "success")]);
    let ignoring = |glob: &str| Moment { ignore: vec![glob.to_owned()], ..Moment::default() };
    assert_eq!(ignoring("coverage*").says(&slow), "green 1/1");
    assert_eq!(ignoring("coverage (linux)").says(&slow), "green 1/1");
    assert_eq!(ignoring("[broken").says(&slow), "pending 1/2");
    assert_eq!(ignoring("*").says(&jobs(&[job(1, "test", "failure")])), "no_ci");
    // Its workflow still runs only because of the ignored job.
    let checks = json!({"workflow_runs": [workflow(77, "in_progress", Value::Null)],
                        "check_runs": [job(1, "coverage (linux)", ""), job(2, "test", "success")]});
    assert_eq!(ignoring("coverage*").says(&checks), "green 1/1");
}

#[test]
fn lists_are_read_however_they_come() {
    let envelopes = json!({
        "check_suites": {"total_count": 1, "check_suites": [suite("dependabot", "queued", Value::Null, 3)]},
        "check_runs": {"total_count": 1, "check_runs": [job(1, "test", "success")]},
        "statuses": {"state": "success", "statuses": [status(1, "ci", "success")], "total_count": 1},
        "workflow_runs": {"total_count": 1, "workflow_runs": [workflow(77, "completed", json!("success"))]},
        "required": {"contexts": ["test"], "checks": [{"context": "test", "app_id": null}]},
        "a field of tomorrow": 1,
    });
    assert_eq!(after(600).says(&envelopes), "green 2/2");
    for odd in [json!(null), json!([]), json!({}), json!(7), json!("x"), json!([null, 7, "x", [], {}])] {
        let all = json!({"check_suites": odd, "check_runs": null, "statuses": null, "workflow_runs": odd, "required": odd});
        after(600).says(&all);
    }
    let strange = json!({"id": "x", "name": 7, "status": [], "conclusion": {}, "app": "none", "check_suite": null,
                         "started_at": "yesterday", "output": 3, "annotations": 4});
    assert_eq!(after(600).says(&jobs(&[strange])), "pending 0/1");
}
