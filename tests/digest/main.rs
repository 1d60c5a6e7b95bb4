//! The reading of logs against material that nobody here wrote. Where that is not at hand (`FIXPOINT_DATA`) a test says so and passes.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails there")]
#![allow(clippy::print_stdout, reason = "a skipped test says why")]
#![allow(unreachable_pub, missing_docs, reason = "nobody but these tests sees it")]

mod archives;
mod corpus;
mod fuzz;
mod laws;
mod matchers;
mod read;
mod slow;
mod tools;
mod verdicts;
