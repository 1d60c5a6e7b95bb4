//! Conversations with a running fixpoint.

mod life;
mod main_job;
mod people;
mod red;
mod sandbox;
mod support;
