//! What runs of ours inside the sandbox: the same program, under `fixpoint toolbox …`.
//!
//! Whatever it answers is only a claim: the agent's processes share its user and can write into its streams.
//! The host reads with caps and checks everything again.

pub mod egress;
pub mod init;
pub mod installed;
pub mod mcp;
pub mod probe;
pub mod seed;
pub mod snapshot;
mod tools;
pub mod wire;

use std::path::{Path, PathBuf};

/// Where the toolbox keeps what it must find again: beside the workspace, on the same file system, so that a
/// pack is a hard link away, and out of the way of an agent that empties its workspace.
fn keep(workspace: &Path) -> PathBuf {
    workspace.parent().unwrap_or(workspace).join(".fixpoint")
}
