//! The main job: a comment becomes a pull request that is green.

use crate::support::{ISSUE, REPO, World, fixpoint, plays::*};
use fixpoint::emulator::{Ci, NewRepository, Play};
use insta::assert_snapshot;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn a_comment_becomes_a_green_pull_request_in_two_rounds() {
    let mut t = fixpoint().await;
    t.model_plays([
        edit("src/sum.sh", "$1 - $2", "$1 * $2"),
        finish("Multiply"),
        edit("src/sum.sh", "$1 * $2", "$1 + $2"),
        finish("Add instead of multiply"),
    ]);
    t.comment("/code fix the sum").by("alice").on(ISSUE);
    t.settle().await;
    t.ci_fails("sum.sh:1: assertion failed: expected 3, got 2").await;
    t.ci_passes().await;
    assert_snapshot!(t.story().await, @r#"
    alice: opens #1 "The sum is wrong"
    alice: on #1: /code fix the sum
    fixpoint[bot]: eyes on #1
    fixpoint[bot]: pushes fixpoint/1-the-sum-is-wrong
    fixpoint[bot]: opens draft #2 from fixpoint/1-the-sum-is-wrong
    fixpoint[bot]: on #1: **Draft #2 is up; CI is running.** `alice` will be asked for review when it is green.
    test: failure
    fixpoint[bot]: pushes fixpoint/1-the-sum-is-wrong
    test: success
    #2 is ready
    alice is asked to review #2
    queued → working(1) → publishing → watching → queued → working(2) → publishing → watching → resting(green)
    "#);
    // The second request to the model holds what CI said, and the asker is told twice at most.
    let shown = t.github.model().shown();
    assert!(shown[2].holds("expected 3, got 2"), "round two is told why CI is red");
    assert_eq!(t.told("alice"), ["comment on #1", "review_requested on #2"]);
    // On the commit that the second round came after nothing is at work any more.
    let first = t.state().await.facts.rounds[0].commit.clone().unwrap();
    let runs = t.github.check_runs(&t.repo, first.as_str()).unwrap();
    let ours: Vec<_> = runs.iter().filter(|run| run.name == "fixpoint").collect();
    assert_eq!(ours.len(), 1);
    assert_eq!(
        (ours[0].conclusion.as_deref(), ours[0].title.as_str()),
        (Some("neutral"), "A later commit came")
    );
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ci_that_really_runs() {
    let world =
        World::new().ci_runs("[ \"$(sh src/sum.sh 1 2)\" = 3 ] || { echo 'sum.sh:1: expected 3'; exit 1; }");
    let mut t = world.start().await;
    t.model_plays([
        edit("src/sum.sh", "echo $(($1 - $2))", "echo $(($1 + $2))"),
        shell("sh src/sum.sh 1 2"),
        finish("Add"),
    ]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    assert_eq!(t.phases().await, "queued → working(1) → publishing → watching → resting(green)");
    let pull = t.pull();
    assert!(!pull.draft && pull.requested_reviewers == ["alice"]);
    assert!(pull.body.starts_with("Fixes #1"), "{}", pull.body);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f50_the_first_green_check_is_not_all() {
    let mut t = World::new().ci(Ci::scripted(&["test", "lint"])).start().await;
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    t.ci_passes().await;
    assert!(t.phases().await.ends_with("watching"), "one of two is green");
    assert!(t.pull().draft);
    t.github.ci_ends(&t.repo, "lint", &fixpoint::emulator::JobPlay::passes()).unwrap();
    t.settle().await;
    assert!(t.phases().await.ends_with("resting(green)"));
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f49_a_repository_without_ci_is_ready_and_that_is_said() {
    let mut t = World::new().ci(Ci::none()).start().await;
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.until("resting(no_ci)").await;
    t.settle().await;
    assert!(t.phases().await.ends_with("watching → resting(no_ci)"), "{}", t.phases().await);
    assert!(!t.pull().draft);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f56_nothing_to_change_is_an_answer_too() {
    let mut t = fixpoint().await;
    t.model_plays([finish("The sum is right as it is: the issue is about another file.")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    assert_eq!(t.phases().await, "queued → working(1) → done(nothing_to_change)");
    let said = t.said();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("about another file"), "{}", said[0]);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f54_an_endless_summary_fits_into_every_body() {
    let mut t = fixpoint().await;
    let endless = "A very long story 🦀 ```".repeat(10_000);
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish(&endless)]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    t.ci_passes().await;
    assert!(t.phases().await.ends_with("resting(green)"));
    assert!(t.pull().body.chars().count() <= 65_536);
    assert!(t.pull().title.chars().count() <= 256);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_waits_for_an_answer() {
    let mut t = fixpoint().await;
    t.model_plays([
        ask("Shall overflow wrap or saturate?"),
        edit("src/sum.sh", "$1 - $2", "$1 + $2"),
        finish("Add"),
    ]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    assert_eq!(t.phases().await, "queued → working(1) → waiting");
    assert!(t.said().concat().contains("wrap or saturate"));
    t.comment("/code wrap").by("alice").on(ISSUE);
    t.settle().await;
    t.ci_passes().await;
    assert!(
        t.phases().await.ends_with("waiting → queued → working(1) → publishing → watching → resting(green)")
    );
    assert!(t.github.model().shown()[1].holds("wrap"));
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_repositorys_template_is_filled_in() {
    let template = "## Why\n\n<!-- say why -->\n\n- [ ] tested\n";
    let files = [("src/sum.sh", "echo $(($1 - $2))\n"), (".github/PULL_REQUEST_TEMPLATE.md", template)];
    let repository = NewRepository::new(REPO, &files).ci(Ci::scripted(&["test"]));
    let mut t = World::new().repository(repository).start().await;
    let filled = "## Why\n\nThe sum subtracted.\n\n- [x] tested";
    let said = json!({ "summary": "Add", "description": filled });
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), Play::call("finish", said)]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    assert!(t.shown("- [ ] tested"), "the agent is given the template");
    assert!(t.pull().body.contains(filled), "{}", t.pull().body);
    t.end().await;
}
