//! `fixpoint doctor`: whether everything is there, and how to mend what is not.

use super::setup::profile_parser;
use crate::{
    app::{
        self,
        doctor::{CHECKS, Finding, Level, Patient},
    },
    config::{self, Config, Flags},
    domain::access::Profile,
};
use serde_json::json;
use std::{
    io::{self, Write},
    process::ExitCode,
};

/// The columns of level and subject; what follows is indented so far.
const SUBJECT: usize = 15;
/// A terminal's width.
const WIDTH: usize = 80;

/// Arguments of `fixpoint doctor`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    flags: Flags,
    /// Look at this repository too; can be given more than once
    #[arg(long, value_name = "OWNER/NAME", value_parser = repository)]
    repo: Vec<String>,
    /// What the App is expected to be able to do, where not what the configuration says
    #[arg(long, value_parser = profile_parser())]
    profile: Option<Profile>,
    /// Ask the model a question of a few tokens
    #[arg(long)]
    model: bool,
    /// Have failed webhook deliveries sent again; all else only looks
    #[arg(long)]
    redeliver: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

fn repository(text: &str) -> Result<String, String> {
    let fits = text.split_once('/').is_some_and(|(o, n)| !o.is_empty() && !n.is_empty() && !n.contains('/'));
    if fits { Ok(text.to_owned()) } else { Err("OWNER/NAME is expected".to_owned()) }
}

/// Looks at everything; the exit status is 1 where something does not work.
///
/// # Errors
/// When standard output is closed.
pub(super) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (json, mut found) = (args.json, Vec::new());
    let mut tell = |finding: Finding| -> io::Result<()> {
        if !json {
            let mut out = io::stdout();
            out.write_all(lines(&finding).as_bytes())?;
            out.flush()?;
        }
        found.push(finding);
        Ok(())
    };
    match Config::load(&args.flags) {
        Err(error) => tell(Finding::fail("configuration", error.to_string()))?,
        Ok(config) => {
            let patient = patient(args, config)?;
            // One after the other: each is told as soon as it is known.
            for check in CHECKS {
                check(&patient).await.into_iter().try_for_each(&mut tell)?;
            }
        }
    }
    let well = found.iter().all(|finding| finding.level != Level::Fail);
    if json {
        writeln!(io::stdout(), "{}", json!({ "ok": well, "findings": found }))?;
    }
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn patient(args: Args, config: Config) -> anyhow::Result<Patient> {
    Ok(Patient {
        profile: args.profile.unwrap_or(config.profile),
        http: app::http_client(config.proxy()?)?,
        config,
        file: config::file(&args.flags),
        repositories: args.repo,
        ask_model: args.model,
        redeliver: args.redeliver,
    })
}

/// A finding as lines of a terminal.
fn lines(finding: &Finding) -> String {
    let level = match finding.level {
        Level::Ok => "ok",
        Level::Warn => "warn",
        Level::Fail => "FAIL",
    };
    let indent = " ".repeat(6 + SUBJECT);
    let mut said = format!("{level:<6}{:<SUBJECT$}", finding.subject);
    let told = std::iter::once(&finding.what).chain(&finding.mend).flat_map(|text| wrapped(text));
    for (at, line) in told.enumerate() {
        if at > 0 {
            said.push_str(&indent);
        }
        said.push_str(&line);
        said.push('\n');
    }
    said
}

/// At most a terminal's rest of a line each; a word that is longer stands alone, whole, to be copied.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        let taken = lines[last].chars().count();
        if taken > 0 && taken + 1 + word.chars().count() > WIDTH - 6 - SUBJECT {
            lines.push(word.to_owned());
        } else {
            let gap = if taken > 0 { " " } else { "" };
            lines[last] = format!("{}{gap}{word}", lines[last]);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_stands_in_eighty_columns_and_an_address_stays_whole() {
        let finding = Finding::fail(
            "github app",
            "permission \"checks: write\" is missing: it does not see check runs",
        )
        .mend("set it under https://github.com/organizations/acme/settings/apps/acme-fixpoint/permissions,");
        insta::assert_snapshot!(lines(&finding), @r#"
        FAIL  github app     permission "checks: write" is missing: it does not see
                             check runs
                             set it under
                             https://github.com/organizations/acme/settings/apps/acme-fixpoint/permissions,
        "#);
    }
}
