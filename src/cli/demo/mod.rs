//! `fixpoint demo`: a newcomer's first minute, without an account, a key or a network.
//!
//! GitHub is the emulator and the model a recording; the server, the database, git, the sandbox, the failing test and the
//! CI run are real. The recording's first fix is incomplete, so that CI really fails and its log goes into round two.

mod recording;
mod story;

use crate::{
    app::{self, Running},
    config::{Config, Engine, Provider},
    emulator::{Emulator, Options, Permission},
};
use anyhow::{Context, bail};
use clap::ValueEnum;
use std::{path::Path, process::ExitCode, time::Duration};
use story::{End, Story};

/// A recording is through in seconds; a real model may think.
const LONGEST: Duration = Duration::from_secs(120);
const LONGEST_WITH_A_MODEL: Duration = Duration::from_secs(30 * 60);

/// What a shell gives for a command ended by Ctrl-C.
const INTERRUPTED: u8 = 130;

/// Arguments of `fixpoint demo`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Where the agent works; without it Docker if an engine and the image are there, else a local folder
    #[arg(long, value_enum)]
    sandbox: Option<Sandbox>,
    /// The image of a Docker sandbox, instead of fixpoint-sandbox
    #[arg(long)]
    image: Option<String>,
    /// A real model instead of the recording: anthropic/NAME or openai/NAME, the key from ANTHROPIC_API_KEY or
    /// OPENAI_API_KEY
    #[arg(long, value_name = "PROVIDER/NAME")]
    model: Option<String>,
    /// One JSON object a line, the last with the outcome
    #[arg(long)]
    json: bool,
    /// Leave everything running at the end, until Ctrl-C
    #[arg(long)]
    keep: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Sandbox {
    Docker,
    Local,
}

/// Plays the story; the exit status is 0 when it ends green.
///
/// # Errors
/// What keeps it from starting, and what to do.
pub(super) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let folder = tempfile::tempdir().context("a temporary folder cannot be made")?;
    let emulator = Emulator::start(Options::default()).await?;
    recording::repository(&emulator)?;
    emulator.collaborator(recording::REPOSITORY, "alice", Permission::Write)?;
    let mut config = config(&emulator, folder.path());
    let longest = match &args.model {
        Some(model) => {
            real_model(&mut config, model)?;
            LONGEST_WITH_A_MODEL
        }
        None => {
            emulator.model().plays(recording::replies());
            LONGEST
        }
    };
    // Only the recording may run without a boundary, and only when nobody asked for a container.
    let wanted = match (args.sandbox, &args.image, &args.model) {
        (None, Some(_), _) | (None, _, Some(_)) => Some(Sandbox::Docker),
        (wanted, ..) => wanted,
    };
    if let Some(image) = args.image {
        config.sandbox.image = image;
    }
    let mut story = Story::new(&emulator, args.json);
    story.title(args.model.as_deref());
    let (running, sandbox) = start(&mut config, wanted, &mut story).await?;
    emulator.deliver_to(&format!("http://{}/webhooks", running.address));
    story.opening(&emulator);
    emulator.open_issue(recording::REPOSITORY, "alice", recording::TITLE, recording::TITLE)?;
    emulator.comment(
        recording::REPOSITORY,
        recording::ISSUE,
        "alice",
        &format!("/code {}", recording::TITLE),
    )?;
    let store = running.store.clone();
    let told = tokio::select! {
        told = tokio::time::timeout(longest, story.until_the_end(&store, &sandbox)) => told,
        // Everything in the temporary folders goes with a clean end.
        _ = tokio::signal::ctrl_c() => {
            running.stop().await;
            return Ok(ExitCode::from(INTERRUPTED));
        }
    };
    let end = told.unwrap_or(End { outcome: "timed_out".to_owned(), rounds: 0, pull: None });
    story.closing(&end);
    if args.keep {
        story.kept(&emulator, folder.path());
        tokio::signal::ctrl_c().await.context("an interruption cannot be waited for")?;
    }
    running.stop().await;
    Ok(if end.outcome == "green" { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A configuration for the emulated GitHub, with waits short enough to watch.
fn config(emulator: &Emulator, data: &Path) -> Config {
    let mut config = Config::default();
    let app = emulator.app();
    let url = |text: &str| url::Url::parse(text).ok();
    config.database = format!("sqlite:{}", data.join("fixpoint.db").display()).into();
    config.data_dir = data.to_owned();
    config.server.listen = ([127, 0, 0, 1], 0).into();
    config.github.api_url = url(emulator.api_url()).unwrap_or(config.github.api_url);
    config.github.web_url = url(emulator.web_url()).unwrap_or(config.github.web_url);
    config.github.app_id = Some(app.app_id.to_string());
    config.github.private_key = Some(app.private_key_pem.into());
    config.github.webhook_secret = Some(app.webhook_secret.into());
    config.model.provider = Provider::Anthropic;
    config.model.name = "recording".to_owned();
    config.model.url = url(&format!("{}/v1/", emulator.model_url().trim_end_matches('/')));
    config.model.key = Some("recording".to_owned().into());
    config.limits.settle = Duration::from_millis(200);
    config.limits.ci_start = Duration::from_secs(5);
    config.sandbox.cpus = 1.0;
    config.sandbox.memory = 1 << 30;
    config.sandbox.disk = 256 << 20;
    config
}

fn real_model(config: &mut Config, model: &str) -> anyhow::Result<()> {
    let (provider, name) =
        model.split_once('/').context("--model wants PROVIDER/NAME, e.g. anthropic/claude-sonnet-4-5")?;
    config.model.provider = match provider {
        "anthropic" => Provider::Anthropic,
        "openai" => Provider::Openai,
        other => bail!("{other:?} is no provider the demo knows; anthropic and openai are"),
    };
    name.clone_into(&mut config.model.name);
    config.model.url = None;
    config.model.key = None;
    config.key_from_environment()?;
    if config.model.key.is_none() {
        bail!("set {}_API_KEY to the key of {provider}", provider.to_uppercase());
    }
    Ok(())
}

/// Starts the server on the wanted sandbox; only here may a missing engine mean a local folder, and that is said.
async fn start(
    config: &mut Config,
    wanted: Option<Sandbox>,
    story: &mut Story,
) -> anyhow::Result<(Running, String)> {
    let http = app::http_client(config.proxy()?)?;
    if wanted != Some(Sandbox::Local) {
        config.sandbox.kind = Engine::Docker;
        let ready = async {
            let settings = app::settings(config, &http).await?;
            let words = settings.sandboxes.check().await?;
            anyhow::Ok((settings, words))
        };
        match ready.await {
            Ok((settings, words)) => return Ok((app::start(settings, http).await?, words)),
            Err(error) if wanted == Some(Sandbox::Docker) => return Err(error),
            Err(error) => story.fallback(&error),
        }
    }
    config.sandbox.kind = Engine::Local;
    let settings = app::settings(config, &http).await?;
    Ok((app::start(settings, http).await?, "a local folder: no boundary, for the demo only".to_owned()))
}
