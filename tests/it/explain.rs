//! `fixpoint explain`: the answers in the form that scripts read, and what is said about an input that is none.

use assert_cmd::Command;
use serde_json::{Value, json};

fn explain(arguments: &[&str], input: &str) -> Value {
    let output = Command::cargo_bin("fixpoint")
        .unwrap()
        .arg("explain")
        .args(arguments)
        .write_stdin(input)
        .assert()
        .success();
    serde_json::from_slice(&output.get_output().stdout).unwrap()
}

#[test]
fn a_comment_is_explained() {
    let said = explain(&["comment", "-", "--json"], "Hi!\n\n/code --rounds 2 fix it\n\n/code stop\n");
    assert_eq!(said["command"], "run");
    assert_eq!(said["instruction"], "fix it");
    assert_eq!(said["options"], json!({"rounds": 2}));
    assert_eq!(said["reason"], "the first command of the comment; not taken: /code stop");
    let said = explain(&["comment", "-", "--on", "pull", "--json"], "/code rebase");
    assert_eq!(said["command"], "rebase");
    let said = explain(&["comment", "-", "--live", "--json"], "/code stop it, please");
    assert_eq!(said["command"], "stop");
    let said = explain(&["comment", "-", "--json"], "> /code fix it");
    assert_eq!(said["command"], Value::Null);
    assert_eq!(said["reason"], "it stands in a quote (an empty line before it ends the quote)");
}

#[test]
fn checks_are_explained() {
    let run = json!({"id": 1, "name": "test", "status": "completed", "conclusion": "failure", "output": {"title": "2 failed"}});
    let said = explain(&["checks", "-", "--json"], &json!({"check_runs": [run]}).to_string());
    assert_eq!(
        (said["verdict"].as_str(), said["reason"].as_str()),
        (Some("red"), Some("0 of 1 green; red: test"))
    );
    assert_eq!(
        (&said["failures"][0]["check"], &said["failures"][0]["line"]),
        (&json!("test"), &json!("2 failed"))
    );
    assert_eq!(explain(&["checks", "-", "--json"], "{}")["verdict"], "no_ci");
    // Without any time in the file nothing is too old to be awaited.
    let open = json!({"check_runs": [{"id": 1, "name": "test", "status": "queued"}]}).to_string();
    assert_eq!(explain(&["checks", "-", "--json"], &open)["verdict"], "pending");
    // A first page, a name that is none: neither is a green commit.
    let success = json!({"id": 1, "name": "test", "status": "completed", "conclusion": "success"});
    for (part, why) in [
        (json!({"total_count": 50, "check_runs": [success]}), "1 of 50 are in it"),
        (json!({"check_run": [success]}), "none of check_suites"),
        (json!({"check_runs": "none"}), "is not a list"),
    ] {
        let mut command = Command::cargo_bin("fixpoint").unwrap();
        let ended = command.args(["explain", "checks", "-"]).write_stdin(part.to_string()).assert().failure();
        let said = String::from_utf8_lossy(&ended.get_output().stderr).into_owned();
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn a_delivery_is_explained() {
    let said = explain(&["delivery", "star", "-", "--json"], "{}");
    assert_eq!(said, json!({"does": "ignore", "reason": "nothing here depends on this"}));
}

#[test]
fn what_cannot_be_read_is_said_in_one_line() {
    let run = |arguments: &[&str], input: &str| {
        let output = Command::cargo_bin("fixpoint")
            .unwrap()
            .arg("explain")
            .args(arguments)
            .write_stdin(input)
            .assert()
            .code(2);
        String::from_utf8(output.get_output().stderr.clone()).unwrap()
    };
    assert!(run(&["delivery", "push", "-"], "no JSON").starts_with("fixpoint: - is not JSON: "));
    assert!(run(&["checks", "-"], "[]").starts_with("fixpoint: - is not an object with check_suites"));
    assert!(run(&["comment", "/nowhere/at/all"], "").starts_with("fixpoint: cannot read /nowhere/at/all: "));
    let deep = "[".repeat(1_000_000);
    assert!(run(&["delivery", "push", "-"], &deep).contains("recursion limit"));
}

#[test]
fn the_archive_of_a_run_is_explained_by_its_failed_job() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("logs.zip");
    let mut zip = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
    let failed = |text: &str| format!("{text}\n##[error]Process completed with exit code 1.\n");
    for (name, log) in [
        ("0_lint.txt", "fine\n".to_owned()),
        ("1_test (1).txt", failed("sum.sh:1: error: expected 3, got 2")),
        ("2_docs.txt", failed("docs.md:4: error: no such page")),
        ("test (1)/2_Run the tests.txt", failed("sum.sh:1: error: expected 3, got 2")),
    ] {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        std::io::Write::write_all(&mut zip, log.as_bytes()).unwrap();
    }
    zip.finish().unwrap();
    let path = path.to_str().unwrap();
    let said = explain(&["log", path, "--json"], "");
    assert_eq!((&said["job"], &said["also"]), (&json!("test (1)"), &json!(["docs"])));
    assert_eq!((&said["line"], &said["step"]), (&json!(1), &json!("Run the tests")));
    let said = explain(&["log", path, "--json", "--job", "docs"], "");
    assert!(said["text"].as_str().unwrap().contains("no such page"), "{said}");
}

#[test]
fn what_ci_hands_to_a_change_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let workflows = folder.path().join(".github/workflows");
    std::fs::create_dir_all(&workflows).unwrap();
    let text = "on: [push]\njobs:\n  test:\n    runs-on: [self-hosted]\n    environment: stage\n    permissions: {contents: read}\n    steps: [{run: 'echo ${{ secrets.B }} ${{ secrets.A }}'}]\n";
    std::fs::write(workflows.join("ci.yml"), text).unwrap();
    let path = folder.path().to_str().unwrap();
    let job = |workflow: &str| {
        json!({"jobs": [{
            "workflow": workflow, "job": "test", "event": "push", "secrets": ["A", "B"], "permissions": {"contents": "read"},
            "environment": "stage", "runner": "self-hosted", "self_hosted": true,
        }]})
    };
    assert_eq!(explain(&["exposure", path, "--json"], ""), job(".github/workflows/ci.yml"));
    let bare = workflows.to_str().unwrap();
    assert_eq!(explain(&["exposure", bare, "--json"], ""), job("ci.yml"), "a folder of workflows alone");
    std::fs::write(workflows.join("broken.yaml"), "on: [").unwrap();
    let output =
        Command::cargo_bin("fixpoint").unwrap().args(["explain", "exposure", path]).assert().success();
    let words = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    assert!(
        words.starts_with("2 jobs run on what fixpoint pushes, and 2 of them are handed something"),
        "{words}"
    );
    assert!(
        words.contains("A, B") && words.contains("broken.yaml: it is no YAML that can be read"),
        "{words}"
    );
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(explain(&["exposure", empty.path().to_str().unwrap(), "--json"], ""), json!({"jobs": []}));
    let below = folder.path().join("src");
    std::fs::create_dir_all(&below).unwrap();
    Command::cargo_bin("fixpoint")
        .unwrap()
        .args(["explain", "exposure", below.to_str().unwrap()])
        .assert()
        .failure();
}
