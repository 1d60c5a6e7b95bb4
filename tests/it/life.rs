//! A session's life: killed, resumed, overtaken by people, closed, merged.

use crate::support::{ISSUE, fixpoint, plays::*};
use fixpoint::emulator::{Fault, Trouble};
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn f57_a_restart_in_the_middle_goes_on_where_it_was() {
    let mut t = fixpoint().await;
    t.model_plays([
        edit("src/sum.sh", "$1 - $2", "$1 + $2"),
        shell("cat src/sum.sh").after(Duration::from_secs(3600)),
        finish("Add"),
    ]);
    t.comment("/code").by("alice").on(ISSUE);
    t.until_shown(2).await;
    t.restart().await;
    // The reply that was on its way is asked for again; what was journalled is not.
    t.model_plays([]);
    t.settle().await;
    t.ci_passes().await;
    assert!(t.phases().await.ends_with("publishing → watching → resting(green)"), "{}", t.phases().await);
    assert_eq!(t.state().await.facts.round, 1);
    assert_eq!(t.github.pulls(&t.repo).unwrap().len(), 1);
    assert_eq!(t.said().len(), 1, "one status comment");
}

#[tokio::test(flavor = "multi_thread")]
async fn f27_a_persons_push_stands() {
    let mut t = fixpoint().await;
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 * $2"), finish("Multiply")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    let branch = t.pull().head_branch;
    let theirs =
        t.github.push_as(&t.repo, "alice", &branch, &[("src/sum.sh", "echo $(($1 + $2))\n")]).unwrap();
    t.settle().await;
    assert!(t.phases().await.ends_with("watching → resting(stood_down)"), "{}", t.phases().await);
    assert_eq!(t.github.branch(&t.repo, &branch).unwrap(), Some(theirs));
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn update_branch_counts_as_ours() {
    let mut t = fixpoint().await;
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    t.github.push_as(&t.repo, "alice", "main", &[("OTHER.md", "other\n")]).unwrap();
    let branch = t.pull().head_branch;
    t.github.update_branch(&t.repo, "alice", &branch).unwrap();
    t.settle().await;
    t.ci_passes().await;
    assert!(t.phases().await.ends_with("watching → resting(green)"), "{}", t.phases().await);
    t.end().await;
}

/// What they took in is the base's: it is neither refused nor flagged in what comes after.
#[tokio::test(flavor = "multi_thread")]
async fn what_update_branch_brought_is_not_judged_as_ours() {
    let mut t = fixpoint().await;
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    t.github
        .push_as(&t.repo, "alice", "main", &[(".github/workflows/new.yml", "on: push\njobs: {}\n")])
        .unwrap();
    let branch = t.pull().head_branch;
    t.github.update_branch(&t.repo, "alice", &branch).unwrap();
    t.settle().await;
    t.ci_passes().await;
    t.model_plays([write("NOTE.md", "note\n"), finish("Note it")]);
    t.comment("/code note it").by("alice").on(ISSUE);
    t.settle().await;
    t.ci_passes().await;
    assert!(t.phases().await.ends_with("resting(green)"), "{}", t.phases().await);
    assert_eq!(t.github.file(&t.repo, &branch, "NOTE.md").unwrap().as_deref(), Some(&b"note\n"[..]));
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn merged_is_over_and_the_branch_goes() {
    let mut t = fixpoint().await;
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    t.ci_passes().await;
    let pull = t.pull();
    t.github.merge(&t.repo, pull.number, "alice").unwrap();
    t.settle().await;
    assert!(t.phases().await.ends_with("resting(green) → done(merged)"), "{}", t.phases().await);
    assert_eq!(t.github.branch(&t.repo, &pull.head_branch).unwrap(), None);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_is_over_and_code_after_it_is_a_new_session() {
    let mut t = fixpoint().await;
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    let number = t.pull().number;
    t.github.close(&t.repo, number, "alice").unwrap();
    t.settle().await;
    assert!(t.phases().await.ends_with("watching → done(closed)"), "{}", t.phases().await);
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add again")]);
    t.comment("/code once more").by("alice").on(ISSUE);
    t.settle().await;
    let sessions = t.sessions().await;
    assert_eq!(sessions.len(), 2);
    assert_ne!(sessions[0].state.facts.branch, sessions[1].state.facts.branch);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_issue_ends_the_work() {
    let mut t = fixpoint().await;
    t.model_plays([finish("Add").after(Duration::from_secs(3600))]);
    t.comment("/code").by("alice").on(ISSUE);
    t.until_shown(1).await;
    t.github.close(&t.repo, ISSUE, "alice").unwrap();
    t.settle().await;
    assert_eq!(t.phases().await, "queued → working(1) → done(issue_closed)");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_answers_do_not_double_anything() {
    let mut t = fixpoint().await;
    for (method, path) in [("POST", "/repos/*/*/pulls"), ("POST", "/repos/*/*/issues/*/comments")] {
        t.github.faults().add(Fault::next(path, Trouble::LoseAnswer).on(method));
    }
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.until("watching").await;
    t.until_said(1).await;
    t.settle().await;
    t.ci_passes().await;
    assert!(t.phases().await.ends_with("watching → resting(green)"), "{}", t.phases().await);
    assert_eq!(t.github.pulls(&t.repo).unwrap().len(), 1);
    assert_eq!(t.said().len(), 1, "{:?}", t.said());
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f53_without_any_webhook_about_ci_it_is_found_by_looking() {
    let mut t = fixpoint().await;
    for event in ["check_run", "check_suite", "workflow_run", "workflow_job", "status"] {
        t.github.faults().astray(Some(event), 1000, fixpoint::emulator::Astray::Drop);
    }
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    t.ci_passes().await;
    t.until("resting(green)").await;
    t.end().await;
}
