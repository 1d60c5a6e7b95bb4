//! `fixpoint config`: prints the commented example, checks a configuration before it is used.

mod repository;

use crate::{
    config::{self, Config, Flags, Provider},
    domain::repo_config,
};
use clap::Subcommand;
use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

/// What to do with the configuration.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print every setting with its default and its reason, ready to be edited
    Example {
        /// Of a repository's .github/fixpoint.yml instead of the server's fixpoint.toml
        #[arg(long)]
        repository: bool,
    },
    /// Read a configuration as `serve` would and say what is wrong or missing
    Check {
        /// The server's file (else FIXPOINT_CONFIG, else fixpoint.toml if it is there), or a repository's .yml
        file: Option<PathBuf>,
        /// The server's file whose bounds a repository's .yml is held against, instead of the defaults
        #[arg(long, value_name = "FILE")]
        within: Option<PathBuf>,
    },
}

/// Runs the command: 0 when all is well, 1 for a mistake, 2 when `serve` would miss something or a repository's file has
/// a mistake.
pub(super) fn run(args: Args) -> ExitCode {
    let done = match args.command {
        Command::Example { repository: true } => print(repo_config::EXAMPLE),
        Command::Example { repository: false } => print(&config::example()),
        Command::Check { file: Some(file), within } if repository::is_one(&file) => {
            repository::check(&file, within)
        }
        Command::Check { file, .. } => check(file),
    };
    // A closed pipe is the reader's wish, not an error.
    done.map_or(ExitCode::SUCCESS, ExitCode::from)
}

fn print(text: &str) -> io::Result<u8> {
    io::stdout().write_all(text.as_bytes()).map(|()| 0)
}

fn check(file: Option<PathBuf>) -> io::Result<u8> {
    let config = match Config::load(&Flags { config: file, ..Flags::default() }) {
        Ok(config) => config,
        Err(error) => {
            writeln!(io::stderr(), "{error}")?;
            return Ok(1);
        }
    };
    for strange in config::unknown_variables() {
        writeln!(io::stderr(), "{strange}")?;
    }
    let mut out = io::stdout();
    writeln!(out, "listens on   {}", config.server.listen)?;
    writeln!(out, "GitHub       {}", config.github.api_url)?;
    writeln!(out, "model        {} ({})", config.model.name, provider(config.model.provider))?;
    writeln!(out, "sandbox      {:?}, image {}", config.sandbox.kind, config.sandbox.image)?;
    writeln!(out, "data         {}", config.data_dir.display())?;
    let missing = config.missing();
    for sentence in &missing {
        writeln!(io::stderr(), "{sentence}")?;
    }
    Ok(if missing.is_empty() { 0 } else { 2 })
}

fn provider(provider: Provider) -> &'static str {
    match provider {
        Provider::Anthropic => "Anthropic",
        Provider::Openai => "OpenAI",
        Provider::OpenaiCompatible => "OpenAI-compatible",
    }
}
