//! `fixpoint backup`: copies the SQLite database, also while a server works on it.

use crate::{
    app,
    config::{Config, Flags},
};
use std::{io::Write, path::PathBuf, process::ExitCode};

/// Arguments of `fixpoint backup`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    flags: Flags,
    /// The copy, a file that is not there yet; readable for you alone
    file: PathBuf,
}

/// Makes the copy and says how large it is.
///
/// # Errors
/// A sentence: why there is no copy.
pub(super) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let config = Config::load(&args.flags)?;
    let bytes = app::backup(&config, &args.file).await?;
    writeln!(std::io::stdout(), "{} holds the database, {bytes} bytes", args.file.display())?;
    Ok(ExitCode::SUCCESS)
}
