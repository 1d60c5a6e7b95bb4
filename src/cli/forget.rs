//! `fixpoint forget`: removes what is kept of a repository or a person, after it has said what that is.

use crate::{
    app::{self, Forgettable},
    config::{Config, Flags},
    domain::text,
};
use std::{
    io::{self, BufRead, Write},
    process::ExitCode,
};

/// Arguments of `fixpoint forget`.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("whom").required(true)))]
pub(super) struct Args {
    #[command(flatten)]
    flags: Flags,
    /// A repository, by its name now or then
    #[arg(long, value_name = "OWNER/NAME", group = "whom", value_parser = repository)]
    repo: Option<(String, String)>,
    /// A person, by login: sessions in which they asked or wrote something go whole
    #[arg(long, value_name = "LOGIN", group = "whom")]
    user: Option<String>,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

fn repository(text: &str) -> Result<(String, String), String> {
    match text.split_once('/') {
        Some((owner, name)) if !owner.is_empty() && !name.is_empty() && !name.contains('/') => {
            Ok((owner.to_owned(), name.to_owned()))
        }
        _ => Err("OWNER/NAME is expected".to_owned()),
    }
}

/// Says what is kept, asks, removes it. The exit status is 1 where it was not wanted after all.
///
/// # Errors
/// A session is at work, or the database cannot be used.
pub(super) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let config = Config::load(&args.flags)?;
    let (whom, name) = match (args.repo, args.user) {
        (Some((owner, name)), _) => {
            let shown = format!("{owner}/{name}");
            (Forgettable::Repository { owner, name }, shown)
        }
        (None, user) => {
            let login = user.unwrap_or_default().trim_start_matches('@').to_owned();
            (Forgettable::User { login: login.clone() }, login)
        }
    };
    let name = text::terminal(&name);
    let forgetting = app::forgetting(&config, whom).await?;
    let mut out = io::stdout();
    if forgetting.is_nothing() {
        writeln!(out, "nothing is kept of {name}")?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "removed:")?;
    forgetting.removed().iter().try_for_each(|line| writeln!(out, "  {line}"))?;
    writeln!(out, "stays:")?;
    forgetting.stays().iter().try_for_each(|line| writeln!(out, "  {line}"))?;
    if !args.yes && !agreed(&mut out, &name)? {
        writeln!(out, "nothing was removed")?;
        return Ok(ExitCode::FAILURE);
    }
    forgetting.forget().await?;
    writeln!(out, "{name} is forgotten")?;
    Ok(ExitCode::SUCCESS)
}

/// It cannot be undone, so the name is typed and not a letter. Where nobody can answer nobody agrees.
fn agreed(out: &mut impl Write, name: &str) -> io::Result<bool> {
    write!(out, "This cannot be undone. Type {name} to remove it: ")?;
    out.flush()?;
    let mut typed = String::new();
    io::stdin().lock().read_line(&mut typed)?;
    Ok(typed.trim() == name)
}
