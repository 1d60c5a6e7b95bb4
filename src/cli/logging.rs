//! What a long-running command writes to standard error.

use crate::config::{Log, LogFormat};
use anyhow::Context;
use tracing_subscriber::EnvFilter;

/// Starts logging as the configuration wants it.
///
/// # Errors
/// When `log.level` is none.
pub(super) fn start(log: &Log) -> anyhow::Result<()> {
    let filter =
        EnvFilter::try_new(&log.level).with_context(|| format!("log.level: {:?} is no level", log.level))?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match log.format {
        LogFormat::Text => builder.init(),
        LogFormat::Json => builder.json().init(),
    }
    Ok(())
}
