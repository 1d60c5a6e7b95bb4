//! `fixpoint completions`: what makes a shell complete the commands and their flags.

use clap_complete::Shell;
use std::process::ExitCode;

/// Arguments of `fixpoint completions`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// For which shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the shell's own code.
pub(super) fn run(args: &Args, command: &mut clap::Command) -> ExitCode {
    clap_complete::generate(args.shell, command, "fixpoint", &mut std::io::stdout());
    ExitCode::SUCCESS
}
