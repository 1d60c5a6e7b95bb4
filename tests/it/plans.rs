//! Plan first: nothing is changed before somebody agrees.

use crate::support::{ISSUE, fixpoint, plays::*};

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_shown_and_carried_out_once_approved() {
    let mut t = fixpoint().await;
    t.model_plays([write("src/sum.sh", "meddling\n"), finish("1. Use + in `src/sum.sh`.\n2. Add a test.")]);
    t.comment("/code plan").by("alice").on(ISSUE);
    t.settle().await;
    assert_eq!(t.phases().await, "queued → working(1) → waiting");
    assert!(t.github.branches(&t.repo).unwrap().iter().all(|b| b == "main"), "nothing is pushed");
    assert_eq!(t.said().len(), 1);
    assert!(t.said()[0].contains("Add a test."), "{}", t.said()[0]);
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code approve").by("alice").on(ISSUE);
    t.settle().await;
    t.ci_passes().await;
    assert!(
        t.phases().await.ends_with("waiting → queued → working(1) → publishing → watching → resting(green)"),
        "{}",
        t.phases().await
    );
    assert!(t.shown("a person approved it"), "the plan is told as approved");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_word_on_a_plan_makes_another_plan() {
    let mut t = fixpoint().await;
    t.model_plays([finish("Use bc.")]);
    t.comment("/code plan").by("alice").on(ISSUE);
    t.settle().await;
    t.model_plays([finish("Use the shell.")]);
    t.comment("/code plan without bc").by("alice").on(ISSUE);
    t.settle().await;
    assert!(t.phases().await.ends_with("waiting → queued → working(1) → waiting"), "{}", t.phases().await);
    assert!(t.said()[0].contains("Use the shell."), "{}", t.said()[0]);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn status_and_help_are_answered() {
    let mut t = fixpoint().await;
    t.comment("/code status").by("alice").on(ISSUE);
    t.settle().await;
    assert!(t.said()[0].contains("Nothing is being worked on here"), "{:?}", t.said());
    t.model_plays([finish("1. Add.")]);
    t.comment("/code plan").by("alice").on(ISSUE);
    t.settle().await;
    t.comment("/code status").by("alice").on(ISSUE);
    t.settle().await;
    assert!(t.said().last().unwrap().contains("plan"), "{:?}", t.said());
    t.comment("/code help").by("alice").on(ISSUE);
    t.settle().await;
    assert!(t.said().last().unwrap().contains("/code rebase"), "{:?}", t.said());
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn options_within_what_is_allowed() {
    let mut t = fixpoint().await;
    t.comment("/code --rounds 9 add").by("alice").on(ISSUE);
    t.settle().await;
    assert!(t.said()[0].contains("1 to 3 are"), "{:?}", t.said());
    t.comment("/code --model gpt-9 add").by("alice").on(ISSUE);
    t.settle().await;
    assert!(t.said().concat().contains("`claude-sonnet-4-5`"), "{:?}", t.said());
    t.github.push_as(&t.repo, "alice", "stable", &[("OLD.md", "old\n")]).unwrap();
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code --rounds 1 --base stable add").by("alice").on(ISSUE);
    t.settle().await;
    assert_eq!(t.pull().base_branch, "stable");
    t.ci_fails("expected 3, got 4").await;
    assert!(t.phases().await.ends_with("watching → resting(not_green)"), "{}", t.phases().await);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f11_later_commands_of_a_comment_are_named() {
    let mut t = fixpoint().await;
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code add\n\n/code plan the rest").by("alice").on(ISSUE);
    t.settle().await;
    assert!(t.said().concat().contains("not taken: `/code plan the rest`"), "{:?}", t.said());
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f11_every_command_has_an_answer_of_its_own_where_it_stands() {
    let mut t = fixpoint().await;
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    t.ci_passes().await;
    let pull = t.pull().number;
    for text in ["/code --rounds 99 more", "/code help", "/code stop", "/code approve"] {
        t.comment(text).by("alice").on(pull);
    }
    t.settle().await;
    let comments = t.github.comments(&t.repo, pull).unwrap();
    let said: Vec<String> =
        comments.into_iter().filter(|c| c.author == "fixpoint[bot]").map(|c| c.body).collect();
    assert_eq!(said.len(), 4, "{said:#?}");
    for (answer, part) in
        said.iter().zip(["1 to 3 are", "/code rebase", "could be stopped", "waits for an approval"])
    {
        assert!(answer.contains(part), "{answer}");
    }
    t.end().await;
}
