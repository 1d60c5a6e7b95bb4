//! The commands of the program, a file each.

mod action;
mod backup;
mod completions;
mod config;
mod demo;
mod doctor;
mod emulator;
mod explain;
mod forget;
mod logging;
mod observe;
mod run;
mod serve;
mod session;
mod setup;
mod toolbox;

use clap::{CommandFactory, Parser, Subcommand};
use std::process::ExitCode;

/// Turns a comment into a pull request and stays with it until CI is green
#[derive(Debug, Parser)]
#[command(name = "fixpoint", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// One variant a command; its arguments are its file's.
#[derive(Debug, Subcommand)]
enum Command {
    /// Do what one event of a GitHub Actions workflow asks for; the program behind the Action
    Action(action::Args),
    /// Copy the SQLite database, also while a server works on it
    Backup(backup::Args),
    /// Print what makes a shell complete the commands
    Completions(completions::Args),
    /// Print the configuration's example, or check one
    Config(config::Args),
    /// See the whole loop on this machine, without an account or a key
    Demo(demo::Args),
    /// Look whether everything is there that serving needs, and say how to mend what is not
    Doctor(doctor::Args),
    /// Run an emulated GitHub with a scripted model, for trying things and for tests
    Emulator(emulator::Args),
    /// Show what would be made of an input, and why; touches nothing
    #[command(subcommand)]
    Explain(explain::Explain),
    /// Remove what is kept of a repository or a person, after saying what that is
    Forget(forget::Args),
    /// Say what would have been done about a repository's CI of the past; writes nothing
    Observe(observe::Args),
    /// Work on a clone here, with a command as its CI; the result is a branch
    Run(run::Args),
    /// Take webhooks and work on what they ask for
    Serve(serve::Args),
    /// Look at sessions and what became of them
    Session(session::Args),
    /// Connect a GitHub App: make it in the browser and write the configuration
    Setup(setup::Args),
    /// What runs inside a sandbox
    #[command(hide = true)]
    Toolbox(toolbox::Toolbox),
}

/// Reads the arguments, runs the command, gives the exit status.
pub async fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Action(args) => Box::pin(action::run(args)).await,
        Command::Backup(args) => backup::run(args).await,
        Command::Completions(args) => Ok(completions::run(&args, &mut Cli::command())),
        Command::Config(args) => Ok(config::run(args)),
        Command::Demo(args) => demo::run(args).await,
        Command::Doctor(args) => Box::pin(doctor::run(args)).await,
        Command::Emulator(args) => emulator::run(args).await,
        Command::Explain(explain) => explain::run(explain),
        Command::Forget(args) => Box::pin(forget::run(args)).await,
        Command::Observe(args) => Box::pin(observe::run(args)).await,
        Command::Run(args) => Box::pin(run::run(args)).await,
        Command::Serve(args) => serve::run(args).await,
        Command::Session(args) => session::run(args).await,
        Command::Setup(args) => Box::pin(setup::run(args)).await,
        Command::Toolbox(toolbox) => Ok(toolbox::run(toolbox).await),
    };
    done.unwrap_or_else(|error| complain(&error))
}

/// What went wrong, in one line for the person at the terminal.
#[allow(clippy::print_stderr, reason = "the only place where the program's errors are printed")]
fn complain(error: &anyhow::Error) -> ExitCode {
    // Whoever reads has seen enough (`fixpoint doctor | head`): that is told to nobody. Any other broken pipe comes with what was done.
    let by_itself = error.chain().count() == 1;
    let closed = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::BrokenPipe;
    if by_itself && error.downcast_ref::<std::io::Error>().is_some_and(closed) {
        return ExitCode::FAILURE;
    }
    eprintln!("fixpoint: {error:#}");
    ExitCode::from(2)
}
