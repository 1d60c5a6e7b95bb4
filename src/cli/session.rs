//! `fixpoint session`: what the store knows of sessions, read beside a running server.

use crate::{
    app,
    config::{Config, Flags},
    domain::{Phase, SessionId, State, session::Outcome, text},
};
use anyhow::Context;
use clap::Subcommand;
use secrecy::ExposeSecret;
use serde_json::json;
use std::process::ExitCode;

/// Arguments of `fixpoint session`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    flags: Flags,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List sessions, newest first
    List {
        /// How many
        #[arg(long, default_value_t = 20)]
        limit: u32,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Show one session: where it stands, and how it came there
    Show {
        /// Its id, or the short form that lists show
        id: String,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Print the kept patch of a session, as `git apply` takes it
    Patch {
        /// Its id, or the short form that lists show
        id: String,
    },
}

/// Runs the command.
///
/// # Errors
/// The database cannot be opened, or no such session is there.
#[allow(clippy::print_stdout, reason = "the answer is the program's output")]
pub(super) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let config = Config::load(&args.flags)?;
    let store = app::existing_store(config.database.expose_secret()).await?;
    match args.command {
        Command::List { limit, json } => {
            for session in store.sessions(limit).await? {
                match json {
                    true => println!("{}", json!({ "id": session.id, "state": session.state })),
                    false => println!("{}", row(session.id, &session.state)),
                }
            }
        }
        Command::Show { id, json } => {
            let session = store.session(&id).await?.with_context(|| unknown(&id))?;
            let history = store.history(session.id).await?;
            if json {
                println!("{}", json!({ "id": session.id, "state": session.state, "history": history }));
                return Ok(ExitCode::SUCCESS);
            }
            println!("{}", row(session.id, &session.state));
            println!("asked by {}: {}", session.state.facts.request.asker.login, instruction(&session.state));
            if let Phase::Resting { outcome } | Phase::Done { outcome } = &session.state.phase {
                println!("{}", ended(outcome));
            }
            for round in &session.state.facts.rounds {
                let commit = round.commit.as_ref().map_or("-", |c| c.short());
                println!("round {}  {commit}  {}", round.number, text::terminal(&round.result));
            }
        }
        Command::Patch { id } => {
            let session = store.session(&id).await?.with_context(|| unknown(&id))?;
            let patch = store.patch(session.id).await?;
            print!("{}", patch.with_context(|| format!("session {id} has no kept patch"))?);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn unknown(id: &str) -> String {
    format!("no session {id:?}; `fixpoint session list` shows them")
}

fn row(id: SessionId, state: &State) -> String {
    let facts = &state.facts;
    let pull = facts.pull.as_ref().map_or_else(|| "-".to_owned(), |p| format!("#{}", p.number));
    format!(
        "{}  {:<10}  {}#{}  {pull}  {}",
        id.short(),
        state.phase_word(),
        facts.repo,
        facts.thread.number,
        facts.branch
    )
}

/// How it ended, and why, where that is known.
pub(super) fn ended(outcome: &Outcome) -> String {
    let value = serde_json::to_value(outcome).unwrap_or_default();
    let word = value["outcome"].as_str().unwrap_or_default().replace('_', " ");
    let why = ["why", "which"].iter().find_map(|key| value[*key].as_str()).unwrap_or_default();
    if why.is_empty() { word } else { text::terminal(&format!("{word}: {why}")) }
}

fn instruction(state: &State) -> String {
    let text = &state.facts.request.instruction;
    let text = if text.is_empty() { &state.facts.thread.title } else { text };
    text::terminal(text.lines().next().unwrap_or_default())
}
