//! The commands of the program, a file each.

mod config;
mod explain;

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
    /// Print the configuration's example, or check one
    Config(config::Args),
    /// Show what fixpoint would make of an input, and why.
    #[command(subcommand)]
    Explain(explain::Explain),
}

/// Reads the arguments, runs the command, gives the exit status.
pub async fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Config(args) => config::run(args),
        Command::Explain(explain) => explain.run(),
    }
}
