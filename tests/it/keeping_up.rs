//! A branch of ours keeps up with its base, and follows where its pull request goes.

use crate::support::{Fixpoint, ISSUE, World, fixpoint, plays::*};

async fn green(t: &mut Fixpoint) {
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    t.ci_passes().await;
    assert!(t.phases().await.ends_with("resting(green)"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_with_the_base_is_mended_in_a_round() {
    let mut t = fixpoint().await;
    green(&mut t).await;
    t.model_plays([write("src/sum.sh", "printf '%s\\n' $(($1 + $2))\n"), finish("Both: printf, and add")]);
    t.github.push_as(&t.repo, "alice", "main", &[("src/sum.sh", "printf '%s\\n' $(($1 - $2))\n")]).unwrap();
    t.comment("/code rebase").by("alice").on(t.pull().number);
    t.settle().await;
    assert!(
        t.phases().await.ends_with("resting(green) → queued → working(1) → publishing → watching"),
        "{}",
        t.phases().await
    );
    assert!(t.shown("mend a conflict") && t.shown("- src/sum.sh"), "the agent is told what it is about");
    t.ci_passes().await;
    t.github.merge(&t.repo, t.pull().number, "alice").unwrap();
    t.settle().await;
    assert_eq!(
        t.github.file(&t.repo, "main", "src/sum.sh").unwrap().unwrap(),
        b"printf '%s\\n' $(($1 + $2))\n"
    );
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_that_merges_by_itself_costs_no_model() {
    let mut t = fixpoint().await;
    green(&mut t).await;
    t.github.push_as(&t.repo, "alice", "main", &[("OTHER.md", "other\n")]).unwrap();
    t.comment("/code rebase").by("alice").on(t.pull().number);
    t.settle().await;
    t.ci_passes().await;
    assert!(
        t.phases().await.ends_with("working(1) → publishing → watching → resting(green)"),
        "{}",
        t.phases().await
    );
    let branch = t.pull().head_branch;
    assert_eq!(t.github.file(&t.repo, &branch, "OTHER.md").unwrap().unwrap(), b"other\n");
    t.comment("/code rebase").by("alice").on(t.pull().number);
    t.settle().await;
    assert!(t.phases().await.ends_with("resting(nothing_to_change)"), "{}", t.phases().await);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn markers_left_behind_are_not_pushed() {
    let mut t = fixpoint().await;
    green(&mut t).await;
    t.github.push_as(&t.repo, "alice", "main", &[("src/sum.sh", "printf '%s\\n' $(($1 - $2))\n")]).unwrap();
    t.model_plays([finish("Done"), finish("Really done")]);
    t.comment("/code rebase").by("alice").on(t.pull().number);
    t.settle().await;
    assert!(t.phases().await.ends_with("working(1) → resting(refused)"), "{}", t.phases().await);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_is_noticed_without_being_asked() {
    let mut t = World::new().start().await;
    t.model_plays([
        edit("src/sum.sh", "$1 - $2", "$1 + $2"),
        finish("Add"),
        write("src/sum.sh", "printf '%s\\n' $(($1 + $2))\n"),
        finish("Both"),
    ]);
    t.comment("/code").by("alice").on(ISSUE);
    t.until("watching").await;
    t.github.push_as(&t.repo, "alice", "main", &[("src/sum.sh", "printf '%s\\n' $(($1 - $2))\n")]).unwrap();
    // Nothing tells of it but a look.
    t.until_phases("working(2) → publishing → watching").await;
    t.settle().await;
    t.ci_passes().await;
    let phases = t.phases().await;
    assert!(phases.ends_with("working(2) → publishing → watching → resting(green)"), "{phases}");
    t.end().await;
}
