//! What a long-running command writes to standard error.

use crate::config::{Log, LogFormat};
use anyhow::Context;
use std::{fs::File, io::IsTerminal, path::Path, sync::Mutex};
use tracing_subscriber::EnvFilter;

/// Writes the log of a command that talks to people itself into a file.
///
/// # Errors
/// When the file cannot be written, or `log.level` is none.
pub(super) fn to_file(file: &Path, log: &Log) -> anyhow::Result<()> {
    let filter = filter(log)?;
    let file = File::create(file).with_context(|| format!("{} cannot be written", file.display()))?;
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(Mutex::new(file)).with_ansi(false).init();
    Ok(())
}

/// Starts logging as the configuration wants it.
///
/// # Errors
/// When `log.level` is none.
pub(super) fn start(log: &Log) -> anyhow::Result<()> {
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter(log)?)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    match log.format {
        LogFormat::Text => builder.init(),
        LogFormat::Json => builder.json().init(),
    }
    Ok(())
}

/// A word alone was looked at with the configuration. The tools' own protocol is of no interest to an operator.
fn filter(log: &Log) -> anyhow::Result<EnvFilter> {
    let wrong = || format!("log.level: {:?} is none of error, warn, info, debug, trace", log.level);
    EnvFilter::try_new(format!("rmcp=warn,{}", log.level)).with_context(wrong)
}
