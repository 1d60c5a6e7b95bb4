//! `fixpoint emulator`: the emulated GitHub alone, so that a server beside it can be stopped and started.

use crate::emulator::{Emulator, Options};
use anyhow::Context as _;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Where GitHub, git and the scripted model listen; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8480")]
    listen: SocketAddr,
    /// Write every request, webhook and moved branch in order, one JSON a line
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Keep the repositories in this folder rather than in a temporary one
    #[arg(long, value_name = "FOLDER")]
    root: Option<PathBuf>,
    /// How long installation tokens live, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    token_ttl: u64,
    /// Requests an hour
    #[arg(long, value_name = "REQUESTS", default_value_t = 5000)]
    rate_limit: u32,
    /// The organisation that owns the App and its installation
    #[arg(long, value_name = "LOGIN", default_value = "acme")]
    owner: String,
}

/// Runs until it is interrupted.
pub(super) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let log = args.log.as_ref().map(std::fs::File::create).transpose();
    let log = log.with_context(|| format!("cannot write {}", args.log.unwrap_or_default().display()))?;
    let emulator = Emulator::start(Options {
        listen: args.listen,
        root: args.root,
        token_ttl: Duration::from_secs(args.token_ttl),
        rate_limit: args.rate_limit,
        owner: args.owner,
        log,
        ..Options::default()
    })
    .await?;
    let app = emulator.app();
    let mut out = std::io::stdout();
    writeln!(out, "listening on {}", emulator.web_url())?;
    writeln!(out, "App {} ({}), installation {}", app.app_id, app.slug, app.installation_id)?;
    writeln!(
        out,
        "POST {}/_emulator/<verb> drives it; /_emulator/app tells its key and secret",
        emulator.web_url()
    )?;
    out.flush()?;
    tokio::signal::ctrl_c().await.context("cannot wait for an interruption")?;
    Ok(ExitCode::SUCCESS)
}
