//! `fixpoint explain`: what fixpoint would make of an input, and why. Touches nothing.

mod log;

use clap::Subcommand;
use std::process::ExitCode;

/// What is to be explained.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Explain {
    /// What of a CI log is worth reading, and why.
    Log(log::Log),
}

impl Explain {
    pub(in crate::cli) fn run(self) -> ExitCode {
        match self {
            Self::Log(log) => log.run(),
        }
    }
}
