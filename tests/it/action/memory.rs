//! What outlives a run, and what nobody gains by tampering with it.

use super::{
    ISSUE, ci_fails, pushed, round,
    runner::{Done, REPO, Runner},
    statuses, world,
};
use crate::support::plays::finish;
use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD as BASE64};
use fixpoint::emulator::{Emulator, Fault, Trouble};
use flate2::{read::ZlibDecoder, write::ZlibEncoder};
use serde_json::json;
use std::{
    fs,
    io::Write as _,
    time::{Duration, Instant},
};

/// A run asks the model far sooner, even on a machine that is busy with something else.
const LONGEST: Duration = Duration::from_secs(180);

/// Three rounds and a fourth red; `between` happens after each run.
async fn to_the_cap(between: impl Fn(&Emulator, u32)) -> (Emulator, Vec<Done>) {
    let github = world().await;
    let runner = Runner::new(&github);
    pushed(&runner).await;
    let mut runs = Vec::new();
    for (n, next) in (1..).zip([Some(("*", "/")), Some(("/", "%")), None]) {
        between(&github, n);
        github.model().plays(next.map(|(from, to)| round(from, to)).into_iter().flatten());
        ci_fails(&github, n);
        runs.push(runner.on("workflow_run").await);
    }
    (github, runs)
}

fn capped(github: &Emulator, runs: &[Done]) {
    let outcomes: Vec<&str> = runs.iter().map(|run| run.output("outcome")).collect();
    assert_eq!(outcomes, ["watching", "watching", "not_green"], "{runs:#?}");
    let pulls = github.pulls(REPO).unwrap();
    assert_eq!(pulls.len(), 1, "one pull request: {pulls:?}");
    assert_eq!(github.branches(REPO).unwrap().len(), 2, "main and ours");
    let left = github.model().shown().len();
    assert_eq!(left, 6, "two replies a round, three rounds");
    assert!(runs[2].output("summary").contains("not green after 3 rounds"), "{}", runs[2].output("summary"));
}

#[tokio::test(flavor = "multi_thread")]
async fn f44_the_cap_holds_over_runs_on_new_machines() {
    let (github, runs) = to_the_cap(|_, _| ()).await;
    capped(&github, &runs);
    let statuses = statuses(&github);
    assert_eq!(statuses.len(), 1);
    assert!(statuses[0].body.chars().count() < 65_536 && statuses[0].body.contains("<!-- fixpoint-state:1:"));
    // The second round knew what it was for, though its conversation was on a machine that is gone.
    let asked = github.model().shown();
    let second = serde_json::to_string(&asked[2]).unwrap();
    assert!(second.contains("mend the sum") && second.contains("expected 3, got 1"), "{second}");
    // A fifth red adds nothing.
    let runner = Runner::new(&github);
    let before = github.requests().len();
    let again = runner.on("workflow_run").await;
    assert_eq!(again.output("outcome"), "not_green", "{again:#?}");
    let writes =
        github.requests().split_off(before).into_iter().filter(fixpoint::emulator::Request::is_write);
    let writes: Vec<String> = writes.map(|r| format!("{} {}", r.method, r.bare_path())).collect();
    assert!(
        writes.iter().all(|w| w.ends_with("/access_tokens") || w.ends_with("/git-upload-pack")),
        "{writes:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn f44_a_block_that_a_person_deletes_grants_no_round() {
    let (github, runs) = to_the_cap(|github, _| {
        let status = statuses(github).pop().unwrap();
        let text = status.body.split("\n<!-- fixpoint-state").next().unwrap().to_owned();
        github.edit_comment(REPO, status.id, "alice", &text).unwrap();
    })
    .await;
    capped(&github, &runs);
    assert_eq!(statuses(&github).len(), 1, "the comment is known again without its block");
}

#[tokio::test(flavor = "multi_thread")]
async fn f44_a_comment_that_a_person_deletes_grants_no_round() {
    let (github, runs) = to_the_cap(|github, _| {
        github.delete_comment(REPO, statuses(github).pop().unwrap().id, "alice").unwrap();
    })
    .await;
    capped(&github, &runs);
}

#[tokio::test(flavor = "multi_thread")]
async fn f44_a_block_that_is_put_back_grants_no_round() {
    let first = std::sync::Mutex::new(None);
    let (github, runs) = to_the_cap(|github, _| {
        let status = statuses(github).pop().unwrap();
        let mut first = first.lock().unwrap();
        let old = first.get_or_insert_with(|| status.body.clone());
        github.edit_comment(REPO, status.id, "alice", old).unwrap();
    })
    .await;
    capped(&github, &runs);
}

/// A block that says that no round was run yet.
fn forged(body: &str) -> String {
    const BEGIN: &str = "<!-- fixpoint-state:1:";
    let (text, packed) = body.split_once(BEGIN).unwrap();
    let packed = BASE64.decode(packed.trim_end_matches(" -->")).unwrap();
    let mut held: serde_json::Value = serde_json::from_reader(ZlibDecoder::new(packed.as_slice())).unwrap();
    assert!(held["state"]["facts"]["round"].as_u64().unwrap() > 0);
    held["state"]["facts"]["round"] = json!(0);
    held["state"]["facts"]["request"]["options"]["rounds"] = json!(20);
    let mut zip = ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    zip.write_all(held.to_string().as_bytes()).unwrap();
    format!("{text}{BEGIN}{} -->", BASE64.encode(zip.finish().unwrap()))
}

#[tokio::test(flavor = "multi_thread")]
async fn f44_a_block_that_a_person_rewrites_grants_no_round() {
    let (github, runs) = to_the_cap(|github, _| {
        let status = statuses(github).pop().unwrap();
        github.edit_comment(REPO, status.id, "alice", &forged(&status.body)).unwrap();
    })
    .await;
    capped(&github, &runs);
}

#[tokio::test(flavor = "multi_thread")]
async fn f44_a_block_of_another_account_is_not_believed() {
    let github = world().await;
    let runner = Runner::new(&github);
    pushed(&runner).await;
    // A copy of the session as it began, by somebody who may write, by a bot, and quoted in an answer of ours.
    let ours = statuses(&github).pop().unwrap();
    for login in ["alice", "mallory", "helper[bot]"] {
        github.comment(REPO, ISSUE, login, &ours.body).unwrap();
    }
    github.delete_comment(REPO, ours.id, "alice").unwrap();
    github.model().plays(round("*", "/"));
    ci_fails(&github, 1);
    let done = runner.on("workflow_run").await;
    assert_eq!(done.output("outcome"), "watching", "{done:#?}");
    assert!(done.log.contains("rebuilt from its branch"), "{}", done.log);
    let ours: Vec<_> = statuses(&github).into_iter().filter(|c| c.author == "fixpoint[bot]").collect();
    assert_eq!(ours.len(), 1, "its own, made anew");
    assert_eq!(github.pulls(REPO).unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn f09_an_event_that_is_run_again_does_nothing_again() {
    let github = world().await;
    let runner = Runner::new(&github);
    pushed(&runner).await;
    let event = super::runner::newest(&github.deliveries(), "issue_comment");
    let asked = github.model().shown().len();
    // The same comment again: "Re-run all jobs".
    let mut comment = event.clone();
    comment["comment"] = github_comment(&github, &event);
    let again = runner.run("issue_comment", comment).await;
    assert!(again.success && again.output("outcome") == "watching", "{again:#?}");
    assert_eq!(github.model().shown().len(), asked, "the model was not asked again");
    assert_eq!(github.pulls(REPO).unwrap().len(), 1);
}

/// The asker's comment, whatever came after it.
fn github_comment(github: &Emulator, newest: &serde_json::Value) -> serde_json::Value {
    let deliveries = github.deliveries();
    let asked = deliveries.iter().find(|d| {
        d.event == "issue_comment"
            && d.payload["comment"]["body"].as_str().unwrap_or_default().starts_with("/code")
    });
    asked.map_or_else(|| newest["comment"].clone(), |d| d.payload["comment"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn f57_a_run_that_is_killed_in_a_round_goes_on_in_the_next_and_counts_once() {
    let github = world().await;
    let folder = tempfile::tempdir().unwrap();
    let (mortal, asked) = (folder.path().join("fixpoint"), folder.path().join("asked"));
    let (program, mark) = (env!("CARGO_BIN_EXE_fixpoint"), asked.display());
    // A group of its own is killed with all in it, once the model was asked.
    let script = format!(
        "#!/bin/sh\nsetsid {program} \"$@\" &\nwhile [ ! -e {mark} ]; do sleep 0.1; done\n\
         kill -s KILL -- -$!\nwait $!\n"
    );
    fs::write(&mortal, script).unwrap();
    fs::set_permissions(&mortal, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    github.model().plays([finish("Never said").after(Duration::from_secs(3600))]);
    github.comment(REPO, ISSUE, "alice", "/code mend the sum").unwrap();
    let killed = Runner::new(&github).input("binary", mortal.to_str().unwrap());
    let model = github.clone();
    tokio::spawn(async move {
        let begun = Instant::now();
        while model.model().shown().is_empty() && begun.elapsed() < LONGEST {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        fs::write(asked, "").unwrap();
    });
    let done = killed.on("issue_comment").await;
    assert!(!done.success && github.pulls(REPO).unwrap().is_empty(), "{done:#?}");
    github.model().plays(round("-", "+"));
    let done = Runner::new(&github).run("schedule", json!({})).await;
    assert_eq!(done.output("outcome"), "watching", "{done:#?}");
    assert!(done.output("summary").contains("Round 1 of 3"), "{}", done.output("summary"));
    assert_eq!((github.pulls(REPO).unwrap().len(), statuses(&github).len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn f44_a_push_that_the_comment_does_not_tell_of_is_counted() {
    let github = world().await;
    let runner = Runner::new(&github);
    let lost = Trouble::Status { status: 502, retry_after: None };
    github.faults().add(Fault::next("/repos/*/*/issues/comments/*", lost).on("PATCH").times(1_000));
    github.model().plays(round("-", "*"));
    github.comment(REPO, ISSUE, "alice", "/code mend the sum").unwrap();
    let done = runner.on("issue_comment").await;
    assert!(!done.success && done.log.contains("could not be kept"), "{done:#?}");
    github.faults().clear();
    github.model().plays(round("*", "/"));
    ci_fails(&github, 1);
    let done = runner.on("workflow_run").await;
    assert_eq!(done.output("outcome"), "watching", "{done:#?}");
    assert!(done.output("summary").contains("Round 2 of 3"), "{}", done.output("summary"));
    assert_eq!((github.pulls(REPO).unwrap().len(), statuses(&github).len()), (1, 1));
    assert_eq!(github.branches(REPO).unwrap().len(), 2);
}
