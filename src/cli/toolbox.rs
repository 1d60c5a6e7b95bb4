//! `fixpoint toolbox …`: what the host runs inside a sandbox. Not for people.

use crate::toolbox::{egress, init, installed, mcp, probe, seed, snapshot, wire::Caps};
use anyhow::Context;
use clap::{Args, Subcommand};
use std::{
    io::{BufReader, BufWriter, Write},
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

/// The toolbox's own arguments. Every command works on the current folder.
#[derive(Debug, Args)]
pub(super) struct Toolbox {
    #[command(subcommand)]
    tool: Tool,
}

#[derive(Debug, Subcommand)]
enum Tool {
    /// Process 1: reaps, and ends everything after a time.
    Init {
        /// Made when it is not there.
        #[arg(long)]
        workspace: PathBuf,
        /// Seconds until the end.
        #[arg(long)]
        seconds: u64,
    },
    /// Reads a pack and lays the repository out.
    Seed {
        /// HEAD.
        #[arg(long)]
        commit: String,
        /// The files to check out, where they are not the commit's.
        #[arg(long)]
        tree: Option<String>,
        /// The branch HEAD stands on.
        #[arg(long, default_value = "work")]
        branch: String,
    },
    /// Answers with what changed since the seed.
    Snapshot {
        /// Changed paths at most.
        #[arg(long)]
        files: usize,
        /// Bytes a file at most.
        #[arg(long)]
        file_bytes: usize,
        /// Bytes together at most.
        #[arg(long)]
        total_bytes: usize,
    },
    /// Answers with an archive of what was installed.
    Pack {
        /// Its bytes at most.
        #[arg(long)]
        bytes: u64,
    },
    /// Lays out what was installed before.
    Unpack,
    /// The agent's tools, as an MCP server on the standard streams.
    Mcp,
    /// Says what a process in here can see and do.
    Probe,
    /// The only way out: a proxy on the loopback, every connection a stream to the host.
    Egress {
        /// The certificate (PEM) that programs in here are to trust.
        #[arg(long, default_value = "", allow_hyphen_values = true)]
        certificate: String,
        /// They trust the image's own certificates too.
        #[arg(long)]
        system_roots: bool,
        /// Asks the one that runs for what it must refuse, and says what came.
        #[arg(long)]
        check: bool,
    },
}

/// Runs one; its own trouble goes to standard error, what the host must know into the stream.
pub(super) async fn run(toolbox: Toolbox) -> ExitCode {
    match work(toolbox.tool).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "fixpoint toolbox: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn work(tool: Tool) -> anyhow::Result<bool> {
    let here = || std::env::current_dir();
    let output = || BufWriter::with_capacity(64 << 10, std::io::stdout().lock());
    match tool {
        Tool::Init { workspace, seconds } => {
            init::run(&workspace, Duration::from_secs(seconds)).await?;
            Ok(true)
        }
        Tool::Seed { commit, tree, branch } => {
            hide();
            let order = seed::Order { workspace: here()?, commit, tree, branch };
            let mut input = BufReader::with_capacity(64 << 10, std::io::stdin().lock());
            Ok(seed::run(&order, &mut input, &mut output())?)
        }
        Tool::Snapshot { files, file_bytes, total_bytes } => {
            hide();
            let caps = Caps { files, file_bytes, total_bytes };
            Ok(snapshot::run(&here()?, &caps, &mut output())?)
        }
        Tool::Pack { bytes } => {
            hide();
            let (workspace, home) = (here()?, home()?);
            let folders = installed::Folders { workspace: &workspace, home: &home };
            Ok(installed::pack(&folders, bytes, &mut output())?)
        }
        Tool::Unpack => {
            hide();
            let (workspace, home) = (here()?, home()?);
            let folders = installed::Folders { workspace: &workspace, home: &home };
            let mut input = BufReader::with_capacity(64 << 10, std::io::stdin().lock());
            Ok(installed::unpack(&folders, &mut input, &mut output())?)
        }
        Tool::Mcp => {
            hide();
            mcp::run(here()?).await?;
            Ok(true)
        }
        Tool::Probe => {
            serde_json::to_writer(std::io::stdout().lock(), &probe::look())?;
            Ok(true)
        }
        Tool::Egress { check: true, .. } => {
            serde_json::to_writer(std::io::stdout().lock(), &egress::check())?;
            Ok(true)
        }
        Tool::Egress { certificate, system_roots, .. } => {
            hide();
            egress::run(&here()?, &certificate, system_roots).await?;
            Ok(true)
        }
    }
}

fn home() -> anyhow::Result<PathBuf> {
    std::env::home_dir().context("there is no home folder")
}

/// Keeps the agent's processes, which are the same user, from opening this one's streams. It makes mischief
/// harder and is not relied on.
fn hide() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}
