//! The main job: a comment becomes a pull request that is green.

use crate::support::{ISSUE, fixpoint, plays::*};

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
    t.ci_fails("sum: expected 3, got 2").await;
    t.ci_passes().await;
    println!("{}", t.story().await);
    for c in t.github.comments(&t.repo, ISSUE).unwrap() {
        println!("---- {}\n{}", c.author, c.body);
    }
    println!("{:#?}", t.github.notifications());
    println!("{:#?}", t.github.pulls(&t.repo));
    t.end().await;
}
