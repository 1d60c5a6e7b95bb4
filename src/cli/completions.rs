//! `fixpoint completions`: what makes a shell complete the commands and their flags.

use clap_complete::Shell;
use std::{io::Write, process::ExitCode};

/// Arguments of `fixpoint completions`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// For which shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the shell's own code.
pub(super) fn run(args: &Args, command: &mut clap::Command) -> ExitCode {
    let mut code = Vec::new();
    clap_complete::generate(args.shell, command, "fixpoint", &mut code);
    // A reader who has seen enough closes the pipe: that is no error.
    let _ = std::io::stdout().write_all(&code);
    ExitCode::SUCCESS
}
