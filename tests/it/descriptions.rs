//! What people write into the title and the text of our pull request.

use crate::support::{Fixpoint, ISSUE, REPO, SECRET, World, fixpoint, plays::*};
use fixpoint::{
    domain::repo_config::PATH,
    emulator::{Ci, NewRepository},
};

/// A pull request of ours whose check fails.
async fn red() -> (Fixpoint, u64) {
    red_with(fixpoint().await, "Multiply").await
}

/// The same in a world of the test's own, with what the agent says of its change.
async fn red_with(mut t: Fixpoint, summary: &str) -> (Fixpoint, u64) {
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 * $2"), finish(summary)]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    let pull = t.pull().number;
    (t, pull)
}

/// Another round, which is green.
async fn goes_on(t: &mut Fixpoint) {
    t.model_plays([edit("src/sum.sh", "$1 * $2", "$1 + $2"), finish("Add the two numbers")]);
    t.ci_fails("expected 3, got 2").await;
    t.ci_passes().await;
    assert!(t.phases().await.ends_with("resting(green)") && !t.pull().draft, "{}", t.phases().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_added_below_ours_stays_below_it() {
    let (mut t, pull) = red().await;
    let added = "\r\n\r\n- [x] Told the callers\r\n";
    t.github.edit_body(&t.repo, pull, "alice", &(t.pull().body.replace('\n', "\r\n") + added)).unwrap();
    goes_on(&mut t).await;
    let body = t.pull().body;
    assert!(body.starts_with("Fixes #1") && body.ends_with(added), "{body}");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_changed_in_ours_stands_and_so_does_a_title() {
    let (mut t, pull) = red().await;
    let body = format!("Part of the spring cleaning.\n\n{}", t.pull().body);
    t.github.edit_body(&t.repo, pull, "alice", &body).unwrap();
    t.github.edit_title(&t.repo, pull, "alice", "Sums").unwrap();
    goes_on(&mut t).await;
    assert_eq!((t.pull().body, t.pull().title.as_str()), (body, "Sums"));
    t.end().await;
}

/// What stands in its place is ours like the title it stands for.
#[tokio::test(flavor = "multi_thread")]
async fn a_title_that_was_left_out_is_followed_by_the_next() {
    // Whole in the title alone, of which one half is the repository's and the other the agent's.
    let (before, summary) = SECRET.split_at(SECRET.len() / 2);
    let config = format!("title: '{before}{{summary}}'\n");
    let files = [("src/sum.sh", "echo $(($1 - $2))\n"), (PATH, config.as_str())];
    let repository = NewRepository::new(REPO, &files).ci(Ci::scripted(&["test"]));
    let (mut t, _) = red_with(World::new().repository(repository).start().await, summary).await;
    assert!(t.pull().title.starts_with("(left out: "), "{}", t.pull().title);
    goes_on(&mut t).await;
    assert_eq!(t.pull().title, format!("{before}Add the two numbers"));
    t.end().await;
}
