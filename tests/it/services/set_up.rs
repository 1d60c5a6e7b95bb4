//! A repository's set-up: run before the agent begins, in its sandbox, and told where it fails.

use crate::support::{Fixpoint, ISSUE, REPO, World, plays};
use fixpoint::{
    domain::repo_config::PATH,
    emulator::{Ci, NewRepository},
};

async fn world(config: &str) -> Fixpoint {
    let files = [("README.md", "# sums\n"), (".gitignore", "built/\n"), (PATH, config)];
    let repository = NewRepository::new(REPO, &files).ci(Ci::scripted(&["test"]));
    World::new().repository(repository).start().await
}

async fn asked(t: &mut Fixpoint) -> String {
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    t.said().concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn its_commands_run_in_order_before_the_agent() {
    let config = "setup:\n  - mkdir built && echo one >built/log\n  - echo two >>built/log\n";
    let mut t = world(config).await;
    t.model_plays([plays::shell("cp built/log log.txt"), plays::finish("Looked")]);
    let said = asked(&mut t).await;
    let head = t.pull().head_sha;
    assert_eq!(t.github.file(REPO, &head, "log.txt").unwrap().expect(&said), b"one\ntwo\n");
    // In the next round too: nothing of a sandbox outlives it.
    t.model_plays([plays::shell("wc -l <built/log >lines.txt"), plays::finish("Counted")]);
    t.ci_fails("sums: error: wrong").await;
    let head = t.pull().head_sha;
    assert_eq!(t.github.file(REPO, &head, "lines.txt").unwrap().unwrap(), b"2\n");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_fails_ends_the_round_with_its_last_lines() {
    let mut t = world(
        "setup:\n  - test -e README.md\n  - yes @bob | head -50000; echo cannot find make; exit 9\n  - touch never\n",
    )
    .await;
    let said = asked(&mut t).await;
    assert!(
        said.contains("The set-up's `yes @bob | head -50000; echo cannot find make; exit 9` ended with 9."),
        "{said}"
    );
    assert!(said.contains("Its output ends: `@bob` · `@bob` · `cannot find make`"), "{said}");
    assert!(!said.contains("could not work") && t.github.model().shown().is_empty(), "{said}");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_leaves_files_behind_is_told_so() {
    let mut t = world("setup: ['for i in 1 2 3 4 5; do echo x >made$i; done']\n").await;
    let said = asked(&mut t).await;
    assert!(
        said.contains("changes files that git does not ignore (`made1`, `made2`, `made3`, others)"),
        "{said}"
    );
    assert!(t.github.model().shown().is_empty());
    t.end().await;
}
