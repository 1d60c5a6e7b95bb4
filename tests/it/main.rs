//! Conversations with a running fixpoint, and what GitHub publishes about itself.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails there")]
#![allow(clippy::print_stdout, reason = "a skipped test says why")]

mod deliveries;
mod explain;
mod main_job;
mod sandbox;
mod support;
