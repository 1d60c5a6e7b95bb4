//! The workflow's own token: what it can do, what it cannot, and that nobody gets to see it.

use super::{
    ISSUE, pushed, round,
    runner::{REPO, Runner},
    statuses, world, world_with,
};

const CI: &str = "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - run: 'true'\n";

#[tokio::test(flavor = "multi_thread")]
async fn f33_a_push_that_starts_no_ci_is_said_with_its_remedy() {
    let files = [("src/sum.sh", "echo $(($1 - $2))\n"), (".github/workflows/ci.yml", CI)];
    let github = world_with(&files).await;
    let runner = Runner::new(&github).with_workflow_token();
    github.model().plays(round("-", "+"));
    github.comment(REPO, ISSUE, "alice", "/code").unwrap();
    let done = runner.on("issue_comment").await;
    assert!(done.success, "{done:#?}");
    assert_eq!(done.output("outcome"), "not_started", "{done:#?}");
    let status = statuses(&github).pop().unwrap();
    assert_eq!(status.author, "github-actions[bot]");
    for said in [&status.body, &done.summary] {
        assert!(said.contains("GITHUB_TOKEN") && said.contains("app-id"), "{said}");
    }
    let annotation = done.log.lines().find(|l| l.starts_with("::warning") && l.contains("GITHUB_TOKEN"));
    assert!(annotation.is_some(), "{}", done.log);
    // Its own check run would stand among CI's: there is none.
    let checks = github.requests().into_iter().filter(|r| r.is_write() && r.path.contains("check-runs"));
    assert_eq!(checks.count(), 0);
    // The next run knows it again, by the account and not by an App.
    github.comment(REPO, ISSUE, "alice", "/code stop").unwrap();
    let done = runner.on("issue_comment").await;
    assert!(done.success && done.output("pull-request") == "2", "{done:#?}");
    assert_eq!(statuses(&github).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn t11_no_secret_is_printed_kept_or_handed_on() {
    let github = world().await;
    let runner = Runner::new(&github).with_workflow_token();
    let token = runner.inputs["token"].clone();
    github.model().plays([
        super::edit("src/sum.sh", "echo", "env; cat /proc/self/environ; echo"),
        fixpoint::emulator::Play::call(
            "shell",
            serde_json::json!({ "command": "sh src/sum.sh 2 1; env; git --version" }),
        ),
        super::finish("Look"),
    ]);
    github.comment(REPO, ISSUE, "alice", "/code").unwrap();
    let done = runner.on("issue_comment").await;
    assert_eq!(done.output("pull-request"), "2", "{done:#?}");
    let masked = |line: &&str| !line.starts_with("::add-mask::");
    let log: Vec<&str> = done.log.lines().filter(masked).collect();
    let shown = serde_json::to_string(&github.model().shown()).unwrap();
    let said = serde_json::to_string(&github.comments(REPO, ISSUE).unwrap()).unwrap();
    for (place, text) in
        [("log", &log.join("\n")), ("model", &shown), ("comments", &said), ("summary", &done.summary)]
    {
        for secret in [token.as_str(), "sk-of-the-model"] {
            assert!(!text.contains(secret), "a secret in the {place}");
        }
    }
    assert!(shown.contains("PATH="), "the command did print its environment");
    let first = done.log.lines().filter(|l| l.starts_with("::")).map(|l| &l[..12]).collect::<Vec<_>>();
    assert_eq!(&first[..2], ["::add-mask::", "::add-mask::"], "masked before anything else");
}

#[tokio::test(flavor = "multi_thread")]
async fn t6_nothing_that_is_logged_is_followed() {
    let github = world().await;
    let runner = Runner::new(&github);
    github.model().plays([
        super::edit("src/sum.sh", "-", "+"),
        super::finish("::error::forged\n\n##[error]forged\n\n::stop-commands::x\n\nDone"),
    ]);
    github.comment(REPO, ISSUE, "alice", "/code").unwrap();
    let done = runner.on("issue_comment").await;
    assert!(done.success, "{done:#?}");
    // As the runner reads it: deaf between the word that stops it and the same word again.
    let (mut deaf, mut followed): (Option<String>, Vec<String>) = (None, Vec::new());
    for line in done.log.lines() {
        match (&deaf, line.strip_prefix("::stop-commands::")) {
            (None, Some(word)) => deaf = Some(word.to_owned()),
            (Some(word), _) if line == format!("::{word}::") => deaf = None,
            (None, None) if line.starts_with("::") || line.contains("##[") => followed.push(line.to_owned()),
            _ => {}
        }
    }
    assert!(deaf.is_none(), "it listens again at the end");
    assert!(
        followed.iter().all(|l| l.starts_with("::add-mask::") || l.starts_with("::warning title=fixpoint::")),
        "{followed:?}"
    );
    assert!(!done.summary.contains("\n::error"), "{}", done.summary);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_persons_token_is_refused_with_the_reason() {
    let github = world().await;
    let token = github.user_token("alice");
    github.comment(REPO, ISSUE, "alice", "/code").unwrap();
    let mut runner = Runner::new(&github).with_workflow_token();
    runner.inputs.insert("token".to_owned(), token);
    let done = runner.on("issue_comment").await;
    assert!(!done.success && done.log.contains("the token is alice's own"), "{done:#?}");
    assert_eq!(github.comments(REPO, ISSUE).unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_none_is_called_that() {
    let github = world().await;
    github.comment(REPO, ISSUE, "alice", "/code").unwrap();
    let mut runner = Runner::new(&github).with_workflow_token();
    runner.inputs.insert("token".to_owned(), "ghp_ranOutLongAgo".to_owned());
    let done = runner.on("issue_comment").await;
    assert!(!done.success && done.log.contains("does not know the input `token`"), "{done:#?}");
    assert!(!done.log.contains("installed"), "{}", done.log);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_boundary_it_says_so() {
    let github = world().await;
    let runner = Runner::new(&github);
    pushed(&runner).await;
    let done = runner.run("schedule", serde_json::json!({})).await;
    assert!(done.log.contains("::warning title=fixpoint::`sandbox: runner` is no boundary"), "{}", done.log);
    assert!(done.summary.contains("no boundary"), "{}", done.summary);
}

#[tokio::test(flavor = "multi_thread")]
async fn docker_is_the_sandbox_where_nothing_else_is_said() {
    let image = "fixpoint-sandbox:latest";
    let there = std::process::Command::new("docker").args(["image", "inspect", image]).output();
    if !there.is_ok_and(|out| out.status.success()) {
        println!("skipped: there is no Docker engine with the image {image}");
        return;
    }
    let github = world().await;
    let mut runner = Runner::new(&github).input("image", image);
    runner.inputs.remove("sandbox");
    github.model().plays(round("-", "+"));
    github.comment(REPO, ISSUE, "alice", "/code").unwrap();
    let done = runner.on("issue_comment").await;
    assert_eq!(done.output("outcome"), "watching", "{done:#?}");
    assert!(!done.log.contains("no boundary"), "{}", done.log);
}
