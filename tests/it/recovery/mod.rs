//! Never lost, never twice: the same story wherever it is interrupted.
//!
//! The story is told once without an interruption; every other telling must end with what everybody saw then. What was lost or doubled
//! on the way is told by `scripts/check_story.py`, which knows the emulator's log and nothing of us.

mod killed;
mod seeded;
mod world;
mod zombie;

use world::{Case, Process, Wish};

/// What everybody sees at the end.
const STORY: &str = "\
queued → working(1) → publishing → watching → queued → working(2) → publishing → watching → resting(green)
2 rounds in request 1
branches: fixpoint/1-the-sum-is-wrong, main
#2 ready: echo $(($1 + $2)) # a second try, now that the log has told what is wrong with it
check test: success
check fixpoint: success
alice: /code fix the sum fixpoint[bot]: eyes
fixpoint[bot]: **#2 is ready for review: Add.** 
alice is told of: comment, review_requested";
