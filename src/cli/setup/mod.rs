//! `fixpoint setup`: a GitHub App in a browser, or one that is there; then the configuration, and what comes next.

mod explain;
mod files;
mod pasted;
mod words;

use crate::{
    app::{
        self,
        mirrors::{Mirror, mirrors},
        setup::{App, Made, Plan},
    },
    config,
    domain::access::Profile,
};
use anyhow::{Context, bail};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use files::Files;
use std::{
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
    process::{ExitCode, Stdio},
    time::Duration,
};
use url::Url;

/// As long as GitHub's code holds.
const LONGEST: Duration = Duration::from_secs(60 * 60);
/// GitHub's longest name of an App.
const LONGEST_NAME: usize = 34;
/// A private key in PEM has some two thousand bytes.
const LARGEST_KEY: u64 = 64 << 10;
/// Where a browser elsewhere finds the page.
const PAGE: &str = "fixpoint-setup.html";

/// Arguments of `fixpoint setup`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The organisation that is to own the App; else it is yours
    #[arg(long, value_name = "LOGIN")]
    org: Option<String>,
    /// The App's name, unique on all of GitHub; it can still be changed there
    #[arg(long)]
    name: Option<String>,
    /// The public address under which GitHub reaches this server; without one the webhook is switched off
    #[arg(long, value_name = "URL")]
    url: Option<Url>,
    /// How much the App may do; --explain shows it
    #[arg(long, default_value = "fix", value_parser = profile_parser())]
    profile: Profile,
    /// Another GitHub: an Enterprise server, or the emulator
    #[arg(long, value_name = "URL", default_value = "https://github.com")]
    github_url: Url,
    /// Where fixpoint.toml, app.pem and webhook-secret are written
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    dir: PathBuf,
    /// Write over files that are there
    #[arg(long)]
    force: bool,
    /// The browser runs elsewhere: write the page as a file, and read the code from here
    #[arg(long)]
    headless: bool,
    /// Use an App that is there, with --key
    #[arg(long, value_name = "ID", requires = "key", conflicts_with_all = ["org", "name", "headless"])]
    app_id: Option<String>,
    /// The private key of that App, a PEM file
    #[arg(long, value_name = "FILE", requires = "app_id")]
    key: Option<PathBuf>,
    /// Show each permission and event with what stops working without it, and do nothing else
    #[arg(long)]
    explain: bool,
}

/// The profiles by their names.
pub(super) fn profile_parser() -> impl TypedValueParser<Value = Profile> {
    PossibleValuesParser::new(Profile::ALL.map(Profile::name))
        .map(|name| Profile::ALL.into_iter().find(|p| p.name() == name).unwrap_or(Profile::Fix))
}

/// Makes or takes the App, writes the files, says what comes next.
///
/// # Errors
/// What is in the way, as a sentence for the operator.
pub(super) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    if args.explain {
        return said(&explain::markdown());
    }
    if args.profile == Profile::Observe && args.url.is_some() {
        bail!("the profile observe hears no webhook: leave --url away");
    }
    let plan = plan(&args)?;
    let files = Files::within(&args.dir)?;
    // Before anything is made on GitHub.
    files.free(args.force)?;
    // GitHub gives the key once: nothing is waited for between it and its file.
    let mirrors = &mirrors().await;
    let app = match (&args.app_id, args.headless) {
        (Some(id), _) => existing(&args, &plan, id, (&files, mirrors)).await?,
        (None, true) => headless(&args, &plan, (&files, mirrors)).await?,
        (None, false) => in_browser(&args, &plan, (&files, mirrors)).await?,
    };
    said(&words::next(&app, &plan, &files))
}

/// The files, and what the configuration among them proposes.
type Written<'a> = (&'a Files, &'a [Mirror]);

fn plan(args: &Args) -> anyhow::Result<Plan> {
    for (flag, url) in [("--github-url", Some(&args.github_url)), ("--url", args.url.as_ref())] {
        if url.is_some_and(|url| !matches!(url.scheme(), "http" | "https")) {
            bail!("{flag}: an address that begins with https:// is expected");
        }
    }
    let name = args.name.clone().unwrap_or_else(|| match &args.org {
        Some(org) => format!("fixpoint-{org}").chars().take(LONGEST_NAME).collect(),
        // Names are unique on all of GitHub.
        None => format!("fixpoint-{}", hex::encode(rand::random::<[u8; 3]>())),
    });
    if name.chars().count() > LONGEST_NAME {
        bail!("--name: GitHub takes at most {LONGEST_NAME} characters");
    }
    Ok(Plan {
        web: args.github_url.clone(),
        organization: args.org.clone(),
        name,
        public: args.url.clone(),
        profile: args.profile,
    })
}

async fn in_browser(args: &Args, plan: &Plan, files: Written<'_>) -> anyhow::Result<App> {
    let door = plan.open().await?;
    said(&format!(
        "Open this address in a browser on this machine (--headless where there is none):\n\n  {}\n\n",
        door.address()
    ))?;
    open(door.address());
    let came = tokio::time::timeout(LONGEST, door.code());
    let came = came.await.context("nobody came within an hour; run it again")?;
    let (code, visitor) = came.context("the page was closed")?;
    let app = take(args, plan, files, &code).await;
    // The browser learns no more than the terminal.
    let told = app.as_ref().map(Made::from).map_err(|error| format!("{error:#}"));
    visitor.tell(told).await;
    app
}

async fn headless(args: &Args, plan: &Plan, files: Written<'_>) -> anyhow::Result<App> {
    let (page, state) = plan.file()?;
    let file = files.0.beside(PAGE);
    files::write_private(&file, &page, true)?;
    said(&words::elsewhere(&file))?;
    let line = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        io::stdin().read_line(&mut line).map(|_| line)
    });
    let code =
        line.await?.context("standard input cannot be read").and_then(|line| pasted::code(&line, &state));
    // It holds the state, and has served.
    let _ = std::fs::remove_file(&file);
    take(args, plan, files, &code?).await
}

/// From the code to the written files.
async fn take(args: &Args, plan: &Plan, (files, mirrors): Written<'_>, code: &str) -> anyhow::Result<App> {
    let app = plan.exchange(code, app::http_client(config::proxy_of_environment()?)?).await?;
    files.write(&app, plan, mirrors, args.force).with_context(|| {
        let at = app.settings.as_ref().map(ToString::to_string).unwrap_or_default();
        format!(
            "the App {} is made, and its key could not be kept; make another key under {at} and run \
             `fixpoint setup --app-id {} --key FILE`",
            app.slug, app.id
        )
    })?;
    Ok(app)
}

async fn existing(args: &Args, plan: &Plan, id: &str, (files, mirrors): Written<'_>) -> anyhow::Result<App> {
    let key = args.key.as_deref().unwrap_or(Path::new(""));
    let size = std::fs::metadata(key).map_or(0, |file| file.len());
    if size > LARGEST_KEY {
        bail!("{} is too large for a private key", key.display());
    }
    let text = std::fs::read_to_string(key).with_context(|| format!("{} cannot be read", key.display()))?;
    let app = plan.existing(id, text.into(), app::http_client(config::proxy_of_environment()?)?).await?;
    files.write(&app, plan, mirrors, args.force)?;
    Ok(app)
}

/// Tries the desktop's way to open an address. Where there is none the printed one serves.
fn open(address: &Url) {
    if !io::stdout().is_terminal() {
        return;
    }
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = std::process::Command::new(program);
    command.arg(address.as_str()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _ = command.spawn();
}

fn said(text: &str) -> anyhow::Result<ExitCode> {
    let mut out = io::stdout();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
