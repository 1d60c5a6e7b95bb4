//! Never lost, never twice: the same story wherever it is interrupted.
//!
//! The story is told once without an interruption; every other telling must end with what everybody saw then. What was lost
//! or doubled on the way is told by `scripts/check_story.py`, which knows the emulator's log and nothing of us.

mod killed;
mod readback;
mod restored;
mod seeded;
mod twice;
mod world;
mod zombie;

use futures::stream::{self, StreamExt as _};
use world::{Case, Process, Wish};

/// Stories told side by side: most of their time is waiting, each takes three seconds of a processor. In the long form two
/// tests do this at once.
fn together() -> usize {
    if long() { 6 } else { 2 }
}

/// What everybody sees at the end.
const STORY: &str = "\
queued → working(1) → publishing → watching → queued → working(2) → publishing → watching → resting(green)
2 rounds in request 1
branches: fixpoint/1-the-sum-is-wrong, main
#2 ready, Add, Fixes #1: echo $(($1 + $2)) # a second try, now that the log has told what is wrong with it
check test: success
check fixpoint: success
alice: /code fix the sum fixpoint[bot]: eyes
fixpoint[bot]: **#2 is ready for review: Add.** 
alice is told of: comment, review_requested";

/// Is every place to interrupt it taken by itself (`scripts/long/recovery.sh`)? Else one story is interrupted again and
/// again, at a spread of them.
fn long() -> bool {
    std::env::var_os("FIXPOINT_LONG").is_some()
}

/// How many commits each server lives for: near to each other where the story begins.
const LIVES: [u64; 8] = [1, 2, 4, 8, 16, 32, 64, 64];

async fn all<F: Future<Output = Result<(), String>>>(tellings: impl IntoIterator<Item = F>) {
    let begun = std::time::Instant::now();
    let (mut told, mut wrong) = (0, Vec::new());
    let mut tellings = std::pin::pin!(stream::iter(tellings).buffer_unordered(together()));
    while let Some(ended) = tellings.next().await {
        told += 1;
        if let Err(why) = ended {
            println!("{why}");
            wrong.push(why);
        }
        println!("{told} stories in {:?}, {} went wrong", begun.elapsed(), wrong.len());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
