//! Conversations with a running fixpoint, and what GitHub publishes about itself.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails there")]
#![allow(clippy::panic, clippy::print_stdout, reason = "a skipped test says why")]
#![allow(unreachable_pub, missing_docs, reason = "nobody but these tests sees it")]

mod action;
mod agent;
mod archives;
mod automatic;
mod config_check;
mod contract;
mod crossings;
mod deliveries;
mod descriptions;
mod egress;
mod engines;
mod evil;
mod explain;
mod forge;
mod inbox;
mod keeping_up;
mod labels;
mod life;
mod main_job;
mod network;
mod observe;
mod operations;
mod people;
mod plans;
mod process;
mod pulls;
mod quixbugs;
mod reading;
mod recovery;
mod red;
mod repo_config;
mod reviews;
mod run;
mod sandbox;
mod services;
mod set_apart;
mod setup;
mod stories;
mod support;
