//! When it does not go well: red at the cap, not the code's fault, or not allowed.

use crate::support::{ISSUE, World, fixpoint, not_at_midnight, plays::*};
use fixpoint::emulator::{CiPlay, JobPlay, Play};

#[tokio::test(flavor = "multi_thread")]
async fn three_rounds_then_a_report_that_names_the_asker() {
    let mut t = fixpoint().await;
    for n in 1..=3 {
        t.model_plays([write("src/sum.sh", &format!("echo {n}\n")), finish(&format!("Attempt {n}"))]);
    }
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    for n in 1..=3 {
        t.ci_fails(&format!("sum.sh:1: error: attempt {n} is wrong")).await;
    }
    assert!(t.phases().await.ends_with("working(3) → publishing → watching → resting(not_green)"));
    let said = t.said();
    assert!(said[0].contains("3 rounds"), "{}", said[0]);
    let last = said.last().unwrap();
    assert!(last.starts_with("@alice") || last.contains("@alice"), "{last}");
    assert!(last.chars().count() <= 500);
    assert!(t.pull().draft, "not green stays a draft");
    assert!(t.told("alice").len() <= 3, "{:?}", t.told("alice"));
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f41_no_runner_spends_no_round() {
    let mut t = fixpoint().await;
    t.github.ci_plays(&t.repo, CiPlay::Jobs(vec![("test".into(), JobPlay::is_not_started())])).unwrap();
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    assert_eq!(t.phases().await, "queued → working(1) → publishing → watching → resting(not_started)");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f45_a_workflow_that_waits_for_approval_is_said_once() {
    let mut t = fixpoint().await;
    t.github.ci_plays(&t.repo, CiPlay::ActionRequired).unwrap();
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    assert!(t.phases().await.ends_with("watching"), "{}", t.phases().await);
    assert!(t.said().concat().contains("approv"), "{:?}", t.said());
    t.github.approve_runs(&t.repo).unwrap();
    t.settle().await;
    t.ci_passes().await;
    assert!(t.phases().await.ends_with("watching → resting(green)"), "{}", t.phases().await);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f42_a_lost_runner_is_started_again() {
    let mut t = fixpoint().await;
    t.github.grant("actions", Some("write"));
    t.github.ci_plays(&t.repo, CiPlay::Jobs(vec![("test".into(), JobPlay::loses_its_runner())])).unwrap();
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    assert!(t.story().await.contains("failed jobs are started again"), "{}", t.story().await);
    t.ci_passes().await;
    assert!(t.phases().await.ends_with("watching → resting(green)"), "{}", t.phases().await);
    assert_eq!(t.state().await.facts.round, 1, "no round was spent");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f24_a_workflow_file_is_refused_once_and_then_for_good() {
    let mut t = fixpoint().await;
    let workflow = ".github/workflows/ci.yml";
    t.model_plays([write(workflow, "on: push\n"), finish("Add CI"), finish("I insist")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    assert_eq!(t.phases().await, "queued → working(1) → done(refused)");
    assert!(t.github.model().shown()[2].holds("workflows"), "the agent is told why");
    assert!(t.said().concat().contains(workflow), "{:?}", t.said());
    assert!(t.github.branches(&t.repo).unwrap() == ["main"], "nothing is pushed");
    let id = t.sessions().await[0].id;
    assert!(t.store.patch(id).await.unwrap().is_some(), "the patch is kept");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f60_a_refused_key_stops_with_a_sentence() {
    let mut t = fixpoint().await;
    t.model_plays([Play::error(401, "invalid x-api-key")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    assert_eq!(t.phases().await, "queued → working(1) → done(engine_failed)");
    assert!(t.said().concat().contains("Needs the operator"), "{:?}", t.said());
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_talks_nonsense_is_not_paid_for_ever() {
    let mut t = fixpoint().await;
    t.model_plays([Play::Nonsense("<html>".into()), Play::Nonsense("<html>".into())]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    assert_eq!(t.phases().await, "queued → working(1) → done(engine_failed)");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f2_a_days_budget_stops_everything_and_says_so_once() {
    not_at_midnight().await;
    let mut world = World::new();
    world.daily.repository = 10;
    let mut t = world.start().await;
    t.model_plays([finish("Nothing to do")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    t.comment("/code once more").by("alice").on(ISSUE);
    t.settle().await;
    let sessions = t.sessions().await;
    assert_eq!(sessions.len(), 2);
    assert!(t.phases().await.ends_with("queued → done(budget)"), "{}", t.phases().await);
    assert_eq!(t.github.model().shown().len(), 1, "the model is not asked any more");
    assert!(t.said().last().unwrap().contains("budget"), "{:?}", t.said());
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_repository_is_said() {
    let repository = fixpoint::emulator::NewRepository::new(crate::support::REPO, &[]);
    let mut t = World::new().repository(repository).start().await;
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    assert_eq!(t.phases().await, "queued → done(cannot_begin)");
    assert!(t.said().concat().contains("no commit"), "{:?}", t.said());
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f22_weaker_tests_are_never_called_fixed() {
    let files = [("src/sum.py", "def add(a, b):\n    return a - b\n"), ("tests/test_sum.py", TESTS)];
    let repository = fixpoint::emulator::NewRepository::new(crate::support::REPO, &files)
        .ci(fixpoint::emulator::Ci::scripted(&["test"]));
    let mut t = World::new().repository(repository).start().await;
    t.model_plays([write("tests/test_sum.py", "def test_add():\n    pass\n"), finish("Green now")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    t.ci_passes().await;
    assert!(t.phases().await.ends_with("watching → resting(needs_person)"), "{}", t.phases().await);
    assert!(t.pull().draft, "flagged stays a draft");
    t.comment("/code approve").by("alice").on(ISSUE);
    t.settle().await;
    assert!(!t.pull().draft);
    t.end().await;
}

const TESTS: &str = "from src.sum import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n\n\ndef test_zero():\n    assert add(0, 0) == 0\n";
