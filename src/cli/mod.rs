//! The commands of the program, a file each.

mod toolbox;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Turns a comment into a pull request and stays with it until CI is green.
#[derive(Debug, Parser)]
#[command(name = "fixpoint", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// One variant a command; its arguments are its file's.
#[derive(Debug, Subcommand)]
enum Command {
    /// What runs inside a sandbox.
    #[command(hide = true)]
    Toolbox(toolbox::Toolbox),
}

/// Reads the arguments, runs the command, gives the exit status.
pub async fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Toolbox(toolbox) => toolbox::run(toolbox).await,
    }
}
