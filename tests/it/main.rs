//! Conversations with a running fixpoint.

mod main_job;
mod sandbox;
mod support;
