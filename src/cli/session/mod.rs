//! `fixpoint session`: what the stores know of sessions, and what the operator may ask of one. Works beside a running server.

mod find;
mod words;

use super::run::{follow::Follow, show::Show};
use crate::{
    app::{self, Runs},
    config::{Config, Flags},
    domain::{Phase, text},
};
use anyhow::Context;
use clap::Subcommand;
use find::{Found, Home, Stores};
use serde_json::json;
use std::{path::PathBuf, process::ExitCode, time::Duration};
pub(super) use words::ended;

/// How often a watched session is looked at.
const LOOK: Duration = Duration::from_millis(250);

/// Arguments of `fixpoint session`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    flags: Flags,
    /// Where `fixpoint run` keeps its sessions, if not in ~/.local/state/fixpoint
    #[arg(long, global = true, value_name = "FOLDER")]
    state: Option<PathBuf>,
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
        /// Its id, or the beginning of it
        id: String,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Follow one session until it rests or asks something; the exit status is 0 when it is green
    Watch {
        /// Its id, or the beginning of it
        id: String,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// End what a session does; what was changed and not pushed is kept as a patch
    Cancel {
        /// Its id, or the beginning of it
        id: String,
    },
    /// Do a session's last request once more, with a fresh count of rounds
    Retry {
        /// Its id, or the beginning of it
        id: String,
    },
    /// Show who asked, what was refused, what left the sandbox and what was published, oldest first
    Audit {
        /// Its id, or the beginning of it
        id: String,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Print the kept patch of a session, as `git apply` takes it
    Patch {
        /// Its id, or the beginning of it
        id: String,
    },
}

/// Runs the command.
///
/// # Errors
/// A database cannot be opened, no such session is there, or it cannot be asked that.
#[allow(clippy::print_stdout, reason = "the answer is the program's output")]
pub(super) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let config = Config::load(&args.flags)?;
    let runs = match args.flags.database {
        // Who names a database means that one.
        Some(_) => None,
        None => Runs::in_folder(args.state).ok(),
    };
    let stores = Stores::open(&config, runs).await?;
    match args.command {
        Command::List { limit, json } => {
            for found in stores.newest(limit).await? {
                let line = if json { found.json().to_string() } else { words::row(&found) };
                std::io::Write::write_fmt(&mut std::io::stdout(), format_args!("{line}\n"))?;
            }
        }
        Command::Show { id, json } => show(&stores.find(&id).await?, json).await?,
        Command::Watch { id, json } => {
            return watch(stores.find(&id).await?, &config, json).await;
        }
        Command::Cancel { id } => {
            let found = stores.find(&id).await?;
            asked(&found, "stopped", app::stop(&found.store, &found.session).await)?;
        }
        Command::Retry { id } => {
            let found = stores.find(&id).await?;
            if let Home::Run(_) = found.home {
                anyhow::bail!(
                    "session {} was a run of the terminal: give `fixpoint run` its task again",
                    found.short()
                );
            }
            asked(&found, "tried again", app::retry(&found.store, &found.session).await)?;
        }
        Command::Audit { id, json } => audit(&stores.find(&id).await?, json).await?,
        Command::Patch { id } => {
            let found = stores.find(&id).await?;
            let patch = found.store.patch(found.session.id).await?;
            print!("{}", patch.with_context(|| format!("session {} has no kept patch", found.short()))?);
        }
    }
    Ok(ExitCode::SUCCESS)
}

#[allow(clippy::print_stdout, reason = "the answer is the program's output")]
async fn show(found: &Found, json: bool) -> anyhow::Result<()> {
    let state = &found.session.state;
    if json {
        let history = found.store.history(found.session.id).await?;
        let mut told = found.json();
        told["history"] = json!(history);
        println!("{told}");
        return Ok(());
    }
    println!("{}", words::row(found));
    if let Some(note) = found.note() {
        println!("in {}, checked by: {}", text::terminal(&note.repository), text::terminal(&note.check));
    }
    println!("asked by {}: {}", state.facts.request.asker.login, words::instruction(state));
    if let Phase::Resting { outcome } | Phase::Done { outcome } = &state.phase {
        println!("{}", ended(outcome));
    }
    for round in &state.facts.rounds {
        // A run's commits were the forge's, and are told again in the repository.
        let commit = round.commit.as_ref().filter(|_| found.note().is_none());
        let commit = commit.map_or_else(String::new, |commit| format!("{}  ", commit.short()));
        println!("round {}  {commit}{}", round.number, text::terminal(&round.result));
    }
    Ok(())
}

/// The audit of a session, as a table or as lines for a program.
async fn audit(found: &Found, json: bool) -> anyhow::Result<()> {
    let facts = &found.session.state.facts;
    let threads = (facts.thread.number, facts.pull.as_ref().map(|pull| pull.number));
    for line in found.store.audit_of(found.session.id, facts.repo.id, threads).await? {
        let line = if json { words::audited_json(&line).to_string() } else { words::audited(&line) };
        std::io::Write::write_fmt(&mut std::io::stdout(), format_args!("{line}\n"))?;
    }
    Ok(())
}

/// Follows a session until nothing more happens by itself.
async fn watch(found: Found, config: &Config, json: bool) -> anyhow::Result<ExitCode> {
    let mut show = Show::new(json);
    show.plain(&words::row(&found));
    let Found { store, session, home } = found;
    let mut follow = Follow::of(store, session, config.limits.rounds);
    let green = loop {
        // Asked before the look: what a process writes as its last is still seen.
        let over = home.is_over();
        for line in follow.news().await? {
            show.line(&line);
        }
        let Some(state) = follow.session().map(|session| &session.state) else { break false };
        let end = match (&state.phase, follow.question()) {
            (Phase::Resting { outcome } | Phase::Done { outcome }, _) => Some(ended(outcome)),
            (_, Some(question)) => Some(format!("it asks: {question}")),
            (Phase::Waiting { .. }, None) => Some("it waits for an approval".to_owned()),
            _ if over => Some(format!("it stands still: {}", home.why_over())),
            _ => None,
        };
        if let Some(end) = end {
            show.status("");
            show.plain(&text::terminal(&end));
            show.last(&json!({ "phase": state.phase_word(), "end": end }));
            break end == "green";
        }
        show.status(&follow.status());
        tokio::time::sleep(LOOK).await;
    };
    Ok(if green { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Says what comes of what was asked.
#[allow(clippy::print_stdout, reason = "the answer is the program's output")]
fn asked(found: &Found, what: &str, done: Result<(), app::Refused>) -> anyhow::Result<()> {
    let short = found.short();
    if matches!(found.home, Home::Run(_)) && found.home.is_over() {
        anyhow::bail!("session {short} was a run of the terminal, and its process is gone");
    }
    done.with_context(|| format!("session {short}"))?;
    match found.home.is_over() {
        true => println!("session {short} is {what} when a server runs on its database again"),
        false => println!("session {short} is being {what}"),
    }
    Ok(())
}
