//! fixpoint turns a comment into a pull request and stays with it until CI is green.
//!
//! `ARCHITECTURE.md` shows how the modules stand to each other; `tests/tidy.rs` holds them to it.

pub mod agent;
pub mod app;
pub mod cli;
pub mod config;
pub mod digest;
pub mod domain;
pub mod egress;
pub mod emulator;
pub mod git;
pub mod github;
pub mod http;
pub mod llm;
pub mod sandbox;
pub mod store;
pub mod toolbox;
pub mod work;
