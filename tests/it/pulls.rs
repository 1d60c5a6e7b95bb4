//! Pull requests of people: mended where their branch can be pushed to, answered with a patch where not, left alone when
//! they push themselves.

use crate::support::{Fixpoint, World, fixpoint, plays::*};
use fixpoint::emulator::{JobPlay, Permission};

/// bob's pull request from a branch of the repository, its check red.
async fn red_pull(t: &mut Fixpoint) -> u64 {
    t.github.collaborator(&t.repo, "bob", Permission::Write).unwrap();
    t.github.push_as(&t.repo, "bob", "bobs-work", &[("src/sum.sh", "echo $(($1 * $2))\n")]).unwrap();
    let number = t.github.open_pull(&t.repo, "bob", "bobs-work", "Multiply", "As asked.").unwrap();
    t.ci_ends(&JobPlay::fails("sum_test.sh:3: expected 3, got 2")).await;
    number
}

fn said_on(t: &Fixpoint, number: u64) -> Vec<String> {
    let comments = t.github.comments(&t.repo, number).unwrap();
    comments.into_iter().filter(|c| c.author == "fixpoint[bot]").map(|c| c.body).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn fix_mends_the_red_check_of_a_persons_pull_request() {
    let mut t = fixpoint().await;
    let number = red_pull(&mut t).await;
    t.model_plays([edit("src/sum.sh", "$1 * $2", "$1 + $2"), finish("Add, as the test wants")]);
    t.comment("/code fix").by("alice").on(number);
    t.settle().await;
    assert_eq!(t.phases().await, "watching → queued → working(1) → publishing → watching");
    assert!(t.shown("expected 3, got 2"), "the agent sees the log");
    t.ci_passes().await;
    assert!(t.phases().await.ends_with("watching → resting(green)"), "{}", t.phases().await);
    let pull = t.github.pull(&t.repo, number).unwrap();
    assert_eq!((pull.head_branch.as_str(), pull.title.as_str()), ("bobs-work", "Multiply"));
    assert_eq!(t.github.pulls(&t.repo).unwrap().len(), 1, "no pull request of our own");
    let said = said_on(&t, number);
    assert_eq!(said.len(), 1, "the one comment is written when there is something to say: {said:#?}");
    assert!(said[0].contains("green"), "{}", said[0]);

    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fix_of_a_green_pull_request_runs_no_round() {
    let mut t = fixpoint().await;
    t.github.collaborator(&t.repo, "bob", Permission::Write).unwrap();
    t.github.push_as(&t.repo, "bob", "bobs-work", &[("src/sum.sh", "echo $(($1 + $2))\n")]).unwrap();
    let number = t.github.open_pull(&t.repo, "bob", "bobs-work", "Add", "As asked.").unwrap();
    t.ci_passes().await;
    t.comment("/code fix").by("alice").on(number);
    t.settle().await;
    assert_eq!(t.phases().await, "watching → resting(green)");
    assert_eq!(said_on(&t, number).len(), 1);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instruction_changes_their_branch_and_their_push_stands() {
    let mut t = fixpoint().await;
    let number = red_pull(&mut t).await;
    t.model_plays([write("NOTES.md", "Sums.\n"), finish("Note what it is")]);
    t.comment("/code say in NOTES.md what this is").by("bob").on(number);
    t.settle().await;
    assert_eq!(t.github.file(&t.repo, "bobs-work", "NOTES.md").unwrap().unwrap(), b"Sums.\n");
    let theirs = t.github.push_as(&t.repo, "bob", "bobs-work", &[("src/sum.sh", "echo 3\n")]).unwrap();
    t.settle().await;
    assert!(t.phases().await.ends_with("watching → resting(stood_down)"), "{}", t.phases().await);
    assert_eq!(t.github.branch(&t.repo, "bobs-work").unwrap(), Some(theirs));
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f29_f30_a_fork_that_cannot_be_pushed_to_gets_a_patch() {
    let mut t = fixpoint().await;
    let fork = t.github.fork(&t.repo, "carol").unwrap();
    t.github.push_as(&fork, "carol", "mine", &[("src/sum.sh", "echo $(($1 * $2))\n")]).unwrap();
    let number = t.github.open_pull(&t.repo, "carol", "carol:mine", "Multiply", "See.").unwrap();
    t.model_plays([edit("src/sum.sh", "$1 * $2", "$1 + $2"), finish("Add")]);
    t.comment("/code add, do not multiply").by("alice").on(number);
    t.settle().await;
    assert!(t.phases().await.ends_with("resting(patch_offered)"), "{}", t.phases().await);
    let said = said_on(&t, number);
    assert_eq!(said.len(), 1, "{said:#?}");
    assert!(said[0].contains("A patch for") && said[0].contains("+echo $(($1 + $2))"), "{}", said[0]);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f17_a_stranger_commands_nothing_on_a_pull_request_of_their_own() {
    let mut t = fixpoint().await;
    let fork = t.github.fork(&t.repo, "carol").unwrap();
    t.github.push_as(&fork, "carol", "mine", &[("a", "b")]).unwrap();
    let number = t.github.open_pull(&t.repo, "carol", "carol:mine", "Mine", "/code do it").unwrap();
    t.comment("/code fix").by("carol").on(number);
    t.settle().await;
    assert!(t.sessions().await.is_empty());
    assert!(said_on(&t, number).is_empty());
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_pull_request_is_not_worked_on() {
    let mut t = fixpoint().await;
    let number = red_pull(&mut t).await;
    t.github.close(&t.repo, number, "bob").unwrap();
    t.comment("/code fix").by("alice").on(number);
    t.settle().await;
    assert!(said_on(&t, number).concat().contains("closed; open it again"), "{:?}", said_on(&t, number));
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cap_holds_on_a_persons_branch_too() {
    let mut t = World::new().limits(|l| l.rounds = 2).start().await;
    let number = red_pull(&mut t).await;
    t.model_plays([
        edit("src/sum.sh", "$1 * $2", "$1 + $2 + 1"),
        finish("Add"),
        edit("src/sum.sh", "$1 + $2 + 1", "$1 + $2 + 2"),
        finish("Add more"),
    ]);
    t.comment("/code fix").by("alice").on(number);
    t.settle().await;
    t.ci_fails("sum_test.sh:3: expected 3, got 4").await;
    t.ci_fails("sum_test.sh:3: expected 3, got 5").await;
    assert!(
        t.phases().await.ends_with("working(2) → publishing → watching → resting(not_green)"),
        "{}",
        t.phases().await
    );
    let labels = t.github.issue(&t.repo, number).unwrap().labels;
    assert_eq!(labels, ["needs-human"]);
    t.end().await;
}
