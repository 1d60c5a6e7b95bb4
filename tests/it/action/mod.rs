//! The Action as GitHub would run it: the steps of `action.yml`, an event's file, a job's folders; each run a new machine.

mod events;
mod fetch;
mod memory;
mod runner;
mod token;

use crate::support::plays::{edit, finish};
use fixpoint::emulator::{Ci, CommentView, Emulator, JobPlay, NewRepository, Options, Permission, Play};
use runner::{REPO, Runner};

const ISSUE: u64 = 1;

/// A repository with one check, an issue, and somebody who may write.
async fn world() -> Emulator {
    world_with(&[("README.md", "# calendar\n"), ("src/sum.sh", "echo $(($1 - $2))\n")]).await
}

async fn world_with(files: &[(&str, &str)]) -> Emulator {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let github = Emulator::start(Options::default()).await.unwrap();
    let repository = NewRepository::new(REPO, files).ci(Ci::scripted(&["test"]));
    github.create_repository(repository).unwrap();
    github.collaborator(REPO, "alice", Permission::Write).unwrap();
    github.open_issue(REPO, "alice", "The sum is wrong", "1 + 2 should be 3.").unwrap();
    github
}

/// A round of the model's: one edit of the sum's operator, and its end.
fn round(from: &str, to: &str) -> [Play; 2] {
    [edit("src/sum.sh", &format!("$1 {from} $2"), &format!("$1 {to} $2")), finish(&format!("Use {to}"))]
}

/// The check of the newest head fails, in another way each time.
fn ci_fails(github: &Emulator, got: u32) {
    let log = format!("src/sum.sh:1: error: expected 3, got {got}");
    github.ci_ends(REPO, "test", &JobPlay::fails(&log)).unwrap();
}

/// Comments that begin with a status and hold a state.
fn statuses(github: &Emulator) -> Vec<CommentView> {
    let comments = github.comments(REPO, ISSUE).unwrap();
    comments.into_iter().filter(|c| c.body.contains(":status -->")).collect()
}

/// A world in which one round is pushed; CI waits to be played.
async fn pushed(runner: &Runner) {
    runner.github.model().plays(round("-", "*"));
    runner.github.comment(REPO, ISSUE, "alice", "/code mend the sum").unwrap();
    let done = runner.on("issue_comment").await;
    assert!(done.success && done.output("outcome") == "watching", "{done:#?}");
}
