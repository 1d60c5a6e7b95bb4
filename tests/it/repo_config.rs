//! `.github/fixpoint.yml`: what a repository says of itself is followed, within what the operator allows.

use crate::support::{Fixpoint, ISSUE, REPO, World, plays::*};
use fixpoint::{
    domain::repo_config::PATH,
    emulator::{Ci, CiPlay, JobPlay, NewRepository, Permission},
};

const SUM: (&str, &str) = ("src/sum.sh", "echo $(($1 - $2))\n");

/// A repository with that configuration, and one check that the test plays.
fn with(name: &str, config: &str) -> NewRepository {
    NewRepository::new(name, &[SUM, (PATH, config)]).ci(Ci::scripted(&["test"]))
}

async fn configured(config: &str) -> Fixpoint {
    World::new().repository(with(REPO, config)).start().await
}

/// Opens a repository beside the first, with an issue of alice's.
fn beside(t: &Fixpoint, name: &str, config: &str) {
    t.github.create_repository(with(name, config)).unwrap();
    t.github.collaborator(name, "alice", Permission::Write).unwrap();
    t.github.open_issue(name, "alice", "The sum is wrong", "1 + 2 should be 3.").unwrap();
}

fn mends() -> [fixpoint::emulator::Play; 2] {
    [edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add instead of subtract")]
}

/// What fixpoint said on the first issue of a repository.
fn said(t: &Fixpoint, repo: &str) -> String {
    let comments = t.github.comments(repo, ISSUE).unwrap();
    comments.into_iter().filter(|c| c.author == "fixpoint[bot]").map(|c| c.body + "\n").collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn three_repositories_have_three_configurations_at_once() {
    let mut t = configured("rounds: 1\ntitle: 'fix: {summary} (#{issue})'\nsign_off: true\n").await;
    let [first, second, third] = [REPO, "acme/clock", "acme/diary"];
    beside(&t, second, "publish: ask\n");
    beside(&t, third, "enabled: false\n");
    for repo in [first, second] {
        t.github.model().plays_where(repo, mends());
    }
    for repo in [first, second, third] {
        t.github.comment(repo, ISSUE, "alice", "/code").unwrap();
    }
    t.settle().await;
    // One round alone: a red check ends it.
    assert_eq!(t.pull().title, "fix: Add instead of subtract (#1)");
    t.ci_fails("sum.sh:1: error: still wrong").await;
    assert!(said(&t, first).contains("1 round"), "{}", said(&t, first));
    // Shown first: nothing is pushed before the yes.
    assert_eq!(t.github.branches(second).unwrap(), ["main"]);
    t.github.comment(second, ISSUE, "alice", "/code approve").unwrap();
    t.settle().await;
    assert_eq!(t.github.pulls(second).unwrap().len(), 1);
    t.github.ci_ends(second, "test", &JobPlay::passes()).unwrap();
    t.settle().await;
    // Switched off: nothing was begun, and the one who asked knows why.
    assert!(said(&t, third).contains("switched off"), "{}", said(&t, third));
    assert_eq!(t.github.branches(third).unwrap(), ["main"]);
    let sessions = t.sessions().await;
    let ends: Vec<String> = sessions.iter().map(|s| crate::support::word(&s.state)).collect();
    assert_eq!(ends.iter().filter(|end| end.starts_with("resting(not_green)")).count(), 1, "{ends:?}");
    assert_eq!(ends.iter().filter(|end| end.starts_with("resting(green)")).count(), 1, "{ends:?}");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mistake_is_told_with_its_place_and_the_defaults_hold() {
    let mut t = configured("rounds: 1\nchecks:\n  ignroe: [test]\n").await;
    t.model_plays(mends());
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    let said = t.said().concat();
    assert_eq!(said.matches("`.github/fixpoint.yml:3:3`").count(), 1, "{said}");
    assert!(
        said.contains("\"ignroe\" is not a setting (did you mean \"ignore\"?); the defaults hold."),
        "{said}"
    );
    // Neither its one round nor its ignored check.
    t.model_plays([edit("src/sum.sh", "+", "- -"), finish("Another way")]);
    t.ci_fails("sum.sh:1: error: still wrong").await;
    t.ci_passes().await;
    assert!(
        t.phases().await.ends_with("working(2) → publishing → watching → resting(green)"),
        "{}",
        t.phases().await
    );
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn t7_a_configuration_in_a_pull_requests_head_has_no_effect() {
    let mut t = configured("paths: { deny: [vault] }\n").await;
    t.model_plays(mends());
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    let branch = t.pull().head_branch;
    let wider = "rounds: 1\nworkflows: true\nchecks: { ignore: [test] }\n";
    t.github.push_as(&t.repo, "alice", &branch, &[(PATH, wider)]).unwrap();
    t.settle().await;
    // It goes on from that head, by the default branch's rules.
    t.model_plays([write("vault/key", "x"), finish("Open the vault"), finish("I insist")]);
    t.comment("/code open the vault").by("alice").on(ISSUE);
    t.settle().await;
    let said = t.said().concat();
    assert!(said.contains("vault/key"), "{said}");
    assert!(t.phases().await.ends_with("resting(refused)"), "{}", t.phases().await);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_writes_workflows_where_both_allow_it_and_never_its_own_rules() {
    let mut t = configured("workflows: true\n").await;
    t.github.grant("workflows", Some("write"));
    t.model_plays([
        write(".github/labels.yml", "- bug\n"),
        write(PATH, "rounds: 3\n"),
        finish("Labels"),
        write(PATH, "workflows: true\n"),
        finish("Labels alone"),
    ]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    let shown = t.github.model().shown();
    assert!(
        shown[3].holds("`.github/fixpoint.yml`, which the configuration denies"),
        "the agent is told why"
    );
    assert!(!shown[3].holds("`.github/labels.yml`"), "that one is allowed");
    let branch = t.pull().head_branch;
    assert!(t.github.file(&t.repo, &branch, ".github/labels.yml").unwrap().is_some());
    t.ci_passes().await;
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_does_not_count_is_not_waited_for_nor_mended() {
    let config = "checks: { ignore: ['lint*'], require: [test] }\n";
    let repository =
        NewRepository::new(REPO, &[SUM, (PATH, config)]).ci(Ci::scripted(&["test", "lint (all)"]));
    let mut t = World::new().repository(repository).start().await;
    t.model_plays(mends());
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    t.github.ci_ends(&t.repo, "lint (all)", &JobPlay::fails("lint: error: no")).unwrap();
    t.ci_passes().await;
    assert!(t.phases().await.ends_with("watching → resting(green)"), "{}", t.phases().await);
    assert_eq!(t.state().await.facts.round, 1);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_required_check_that_never_appears_is_named() {
    let mut t = configured("checks: { require: [deploy-preview] }\n").await;
    t.model_plays(mends());
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    t.ci_passes().await;
    t.until("resting(not_started)").await;
    t.settle().await;
    assert!(t.phases().await.ends_with("watching → resting(not_started)"), "{}", t.phases().await);
    assert!(t.said().concat().contains("deploy-preview"), "{:?}", t.said());
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rerun_first_runs_a_red_check_again_before_a_round() {
    let mut t = configured("checks: { rerun: first }\n").await;
    t.github.grant("actions", Some("write"));
    t.github
        .ci_plays(&t.repo, CiPlay::Jobs(vec![("test".into(), JobPlay::fails("sum.sh:1: error: no"))]))
        .unwrap();
    t.model_plays(mends());
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    assert!(t.story().await.contains("failed jobs are started again"), "{}", t.story().await);
    t.ci_passes().await;
    assert!(t.phases().await.ends_with("watching → resting(green)"), "{}", t.phases().await);
    assert_eq!(t.state().await.facts.round, 1, "no round was spent");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn its_instructions_and_model_reach_the_agent_and_strange_ones_do_not() {
    let mut world = World::new().repository(with(
        REPO,
        "model: claude-opus-4-5\nmodels: [claude-opus-4-5]\ninstructions: Mind the gap.\n",
    ));
    world.models = vec!["claude-opus-4-5".into()];
    let mut t = world.start().await;
    let other = "acme/clock";
    beside(&t, other, "model: gpt-5\n");
    t.comment("/code --model claude-sonnet-4-5").by("alice").on(ISSUE);
    t.settle().await;
    assert!(t.said().concat().contains("to choose from: `claude-opus-4-5`."), "{:?}", t.said());
    t.model_plays(mends());
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    t.github.model().plays_where(other, mends());
    t.github.comment(other, ISSUE, "alice", "/code").unwrap();
    t.settle().await;
    let shown = t.github.model().shown();
    assert_eq!(shown[0].body["model"], "claude-opus-4-5");
    assert!(shown[0].holds("Mind the gap."));
    assert!(t.pull().body.contains("claude-opus-4-5"), "{}", t.pull().body);
    assert_eq!(shown[2].body["model"], "claude-sonnet-4-5");
    assert!(said(&t, other).contains("`.github/fixpoint.yml:1:8`: the operator does not allow the model"));
    t.ci_passes().await;
    t.github.ci_ends(other, "test", &JobPlay::passes()).unwrap();
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_on_the_default_branch_takes_effect_after_the_minute() {
    let mut t = configured("enabled: false\n").await;
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    assert_eq!(t.sessions().await.iter().filter(|s| s.state.is_live()).count(), 0);
    t.github.push_as(&t.repo, "alice", "main", &[(PATH, "enabled: true\n")]).unwrap();
    // What is known is kept in memory alone.
    t.restart().await;
    t.model_plays(mends());
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    t.ci_passes().await;
    assert!(t.phases().await.ends_with("resting(green)"), "{}", t.phases().await);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_have_the_names_that_the_repository_gives_them() {
    let mut t = configured("labels: { start: go, needs_human: look, opt_out: hands-off }\n").await;
    t.model_plays([ask("Which sum?")]);
    t.github.label(&t.repo, ISSUE, "alice", "fixpoint").unwrap();
    t.settle().await;
    assert_eq!(t.sessions().await.len(), 0);
    t.github.label(&t.repo, ISSUE, "alice", "go").unwrap();
    t.settle().await;
    assert!(t.phases().await.ends_with("waiting"), "{}", t.phases().await);
    let labels = t.github.issue(&t.repo, ISSUE).unwrap().labels;
    assert!(labels.contains(&"look".to_owned()), "{labels:?}");
    let other = t.github.open_issue(&t.repo, "alice", "Not this one", "").unwrap();
    t.github.label(&t.repo, other, "alice", "hands-off").unwrap();
    t.comment("/code").by("alice").on(other);
    t.settle().await;
    let said = t.github.comments(&t.repo, other).unwrap();
    assert!(said.iter().any(|c| c.body.contains("`hands-off` keeps fixpoint away")), "{said:?}");
    t.end().await;
}
