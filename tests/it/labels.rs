//! Labels and buttons: other ways to ask for the same, with the same question for permission.

use crate::support::{ISSUE, fixpoint, plays::*};

#[tokio::test(flavor = "multi_thread")]
async fn the_label_starts_and_is_taken_off() {
    let mut t = fixpoint().await;
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.github.label(&t.repo, ISSUE, "alice", "fixpoint").unwrap();
    t.settle().await;
    t.ci_passes().await;
    assert!(t.phases().await.ends_with("watching → resting(green)"), "{}", t.phases().await);
    assert!(t.github.issue(&t.repo, ISSUE).unwrap().labels.is_empty(), "taken off");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_strangers_label_starts_nothing() {
    let mut t = fixpoint().await;
    t.github.label(&t.repo, ISSUE, "mallory", "fixpoint").unwrap();
    t.settle().await;
    assert!(t.sessions().await.is_empty());
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_fixpoint_keeps_it_away_and_says_so_to_those_who_ask() {
    let mut t = fixpoint().await;
    t.github.label(&t.repo, ISSUE, "alice", "no-fixpoint").unwrap();
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    assert!(t.said().concat().contains("`no-fixpoint`"), "{:?}", t.said());
    assert_eq!(t.github.model().shown().len(), 0);
    t.end().await;
}
