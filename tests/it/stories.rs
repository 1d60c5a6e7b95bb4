//! Whole stories, and who was notified of what in them: at most two for the asker and one for everybody else in a request,
//! two where a person is needed.

use crate::support::{Fixpoint, ISSUE, World, fixpoint, plays::*};
use fixpoint::emulator::{JobPlay, Permission};

/// How many notifications of fixpoint's doing a person has.
fn by_us(t: &Fixpoint, login: &str) -> Vec<String> {
    let all = t.github.notifications().into_iter().filter(|n| n.login == login && n.by == "fixpoint[bot]");
    all.map(|n| format!("{} on #{}", n.about, n.number)).collect()
}

async fn watched() -> Fixpoint {
    let t = fixpoint().await;
    t.github.collaborator(&t.repo, "bob", Permission::Write).unwrap();
    t.github.watch(&t.repo, "wendy").unwrap();
    t
}

#[tokio::test(flavor = "multi_thread")]
async fn a_green_one() {
    let mut t = watched().await;
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    t.ci_passes().await;
    assert_eq!(by_us(&t, "alice"), ["comment on #1", "review_requested on #2"]);
    // Whoever watches a whole repository hears of a new pull request as of anybody's.
    assert_eq!(by_us(&t, "wendy"), ["opened on #2", "comment on #1"]);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_does_not_get_green() {
    let mut t = World::new().limits(|l| l.rounds = 2).start().await;
    t.model_plays([
        edit("src/sum.sh", "$1 - $2", "$1 + $2"),
        finish("Add"),
        edit("src/sum.sh", "$1 + $2", "$2 + $1"),
        finish("Turn round"),
    ]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    t.ci_fails("expected 3, got 4").await;
    t.ci_fails("expected 3, got 5").await;
    assert!(t.phases().await.ends_with("resting(not_green)"));
    assert_eq!(by_us(&t, "alice"), ["comment on #1", "comment on #1"]);
    let last = t.said().pop().unwrap();
    assert!(last.chars().count() <= 460 && last.contains("@alice"), "{last}");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_with_a_plan() {
    let mut t = watched().await;
    t.model_plays([finish("1. Add.")]);
    t.comment("/code plan").by("alice").on(ISSUE);
    t.settle().await;
    assert_eq!(by_us(&t, "alice"), ["comment on #1"]);
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code approve").by("alice").on(ISSUE);
    t.settle().await;
    t.ci_passes().await;
    assert_eq!(by_us(&t, "alice"), ["comment on #1", "review_requested on #2"]);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_with_a_review() {
    let mut t = watched().await;
    t.github.collaborator(&t.repo, "rita", Permission::Write).unwrap();
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    t.ci_passes().await;
    t.model_plays([write("NOTES.md", "Sums.\n"), finish("Note it")]);
    let pull = t.pull().number;
    t.github.review(&t.repo, pull, "rita", "CHANGES_REQUESTED", "Add NOTES.md.", &[]).unwrap();
    t.settle().await;
    t.ci_passes().await;
    assert_eq!(by_us(&t, "rita"), ["review_requested on #2"], "asked again when it is green");
    assert_eq!(by_us(&t, "alice"), ["comment on #1", "review_requested on #2"], "nothing more");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_on_a_persons_pull_request() {
    let mut t = watched().await;
    t.github.push_as(&t.repo, "bob", "bobs-work", &[("src/sum.sh", "echo $(($1 * $2))\n")]).unwrap();
    let number = t.github.open_pull(&t.repo, "bob", "bobs-work", "Multiply", "As asked.").unwrap();
    t.ci_ends(&JobPlay::fails("expected 3, got 2")).await;
    t.model_plays([edit("src/sum.sh", "$1 * $2", "$1 + $2"), finish("Add")]);
    t.comment("/code fix").by("alice").on(number);
    t.settle().await;
    assert_eq!(by_us(&t, "bob"), Vec::<String>::new(), "a push and a check tell nobody");
    t.ci_passes().await;
    assert_eq!(by_us(&t, "alice"), ["comment on #2"]);
    assert_eq!(by_us(&t, "bob"), ["comment on #2"]);
    t.end().await;
}

/// A push, a review, a red check and two commands within a second: one story, in order, none lost.
#[tokio::test(flavor = "multi_thread")]
async fn a_storm_on_one_pull_request() {
    let mut t = watched().await;
    t.github.collaborator(&t.repo, "rita", Permission::Write).unwrap();
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    let pull = t.pull();
    for n in 0..3 {
        t.model_plays([write(&format!("N{n}.md"), "n\n"), finish(&format!("Note {n}"))]);
    }
    // The push is seen first: what is at work already when one is seen stands down with its request.
    let theirs = t.github.push_as(&t.repo, "bob", &pull.head_branch, &[("BOB.md", "bob\n")]).unwrap();
    t.settle().await;
    t.github.review(&t.repo, pull.number, "rita", "CHANGES_REQUESTED", "Say what it is for.", &[]).unwrap();
    t.github.ci_ends(&t.repo, "test", &JobPlay::fails("expected 3, got 4")).unwrap();
    t.comment("/code mention the units").by("alice").on(pull.number);
    t.comment("/code status").by("bob").on(pull.number);
    t.settle().await;
    t.ci_passes().await;
    assert_eq!(t.sessions().await.len(), 1, "one story");
    assert!(t.shown("Say what it is for.") && t.shown("mention the units"), "none lost");
    let branch = t.github.branch(&t.repo, &pull.head_branch).unwrap();
    assert_ne!(branch, Some(theirs), "what was asked after the push goes on from it");
    let file = t.github.file(&t.repo, &pull.head_branch, "BOB.md").unwrap();
    assert_eq!(file.as_deref(), Some(&b"bob\n"[..]), "their push stands");
    // A command that comes while the review is worked on may be told to the agent at its next turn instead.
    assert!(t.github.model().left() <= 4, "there was a round");
    t.github.model().clear();
    t.end().await;
}
