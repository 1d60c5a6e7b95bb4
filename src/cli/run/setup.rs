//! The configuration of a run: the person's, with the emulated forge in GitHub's place.

use super::{Args, Sandbox, forge::Forge};
use crate::{
    app::{Local, Run, Runs},
    config::{Config, Engine, FILE, Flags, Provider, PublishMode},
};
use anyhow::{Context, bail};
use std::{path::Path, time::Duration};

/// All checks of a commit are one check, whose end is told at once.
const SETTLE: Duration = Duration::from_millis(200);

/// Past the check's own limit it ends by itself; this is for a forge that forgot it.
const CHECK_GRACE: Duration = Duration::from_secs(10 * 60);

/// Reads the configuration and puts the flags over it.
pub(super) async fn config(args: &Args) -> anyhow::Result<Config> {
    let flags = Flags { config: args.config.clone(), ..Flags::default() };
    // A repository may be anybody's, and a configuration says where the key goes.
    let in_repository = Local::find(Path::new(".")).await.is_ok();
    let mut config = match in_repository {
        true => Config::load_named(&flags),
        false => Config::load(&flags),
    }?;
    if let Some(model) = &args.model {
        take_model(&mut config, model)?;
    }
    if let Some(url) = &args.url {
        config.model.url = Some(url.clone());
    }
    match args.sandbox {
        Some(Sandbox::Docker) => config.sandbox.kind = Engine::Docker,
        Some(Sandbox::Local) => config.sandbox.kind = Engine::Local,
        None => {}
    }
    if let Some(image) = &args.image {
        config.sandbox.image.clone_from(image);
    }
    if let Some(rounds) = args.rounds {
        config.limits.rounds = rounds;
    }
    if config.model.needs_key() && config.model.key.is_none() {
        let skipped = match in_repository && args.config.is_none() && Path::new(FILE).exists() {
            true => {
                "\n  The fixpoint.toml here is part of a repository and was not read: --config fixpoint.toml reads it."
            }
            false => "",
        };
        let variable = match config.model.provider {
            Provider::Anthropic => "ANTHROPIC_API_KEY",
            Provider::Openai | Provider::OpenaiCompatible => "OPENAI_API_KEY",
        };
        bail!(
            "there is no key for the model {}: set {variable}, or `model.key_file` in fixpoint.toml, or name another \
             with --model PROVIDER/NAME{skipped}",
            config.model.name
        );
    }
    Ok(config)
}

/// Another provider has another address and another key.
fn take_model(config: &mut Config, model: &str) -> anyhow::Result<()> {
    let (provider, name) = model
        .split_once('/')
        .filter(|(_, name)| !name.trim().is_empty())
        .context("--model wants PROVIDER/NAME, e.g. anthropic/claude-sonnet-4-5")?;
    let provider = match provider {
        "anthropic" => Provider::Anthropic,
        "openai" => Provider::Openai,
        "openai-compatible" => Provider::OpenaiCompatible,
        other => bail!("{other:?} is no provider; anthropic, openai and openai-compatible are"),
    };
    name.clone_into(&mut config.model.name);
    if provider != config.model.provider {
        config.model.provider = provider;
        (config.model.url, config.model.key, config.model.key_env) = (None, None, None);
        config.key_from_environment()?;
    }
    Ok(())
}

/// What earlier runs have spent today counts.
pub(super) async fn within_budgets(config: &mut Config, runs: &Runs, repository: &str) -> anyhow::Result<()> {
    let (here, all) = runs.spent_today(repository).await?;
    let limits = &mut config.limits;
    let budgets = [
        ("repository_money_a_day", "on this repository", here, &mut limits.repository_money_a_day),
        ("installation_money_a_day", "in all", all, &mut limits.installation_money_a_day),
    ];
    for (setting, whose, spent, budget) in budgets {
        if spent > 0 && spent >= *budget {
            let dollars = |micros: u64| format!("${:.2}", dollars(micros));
            bail!(
                "runs have spent {} {whose} today, and `limits.{setting}` is {}; the day ends at midnight UTC",
                dollars(spent),
                dollars(*budget)
            );
        }
        *budget -= spent;
    }
    Ok(())
}

/// Millionths of a dollar as dollars.
#[allow(clippy::cast_precision_loss, reason = "money that people read")]
pub(in crate::cli) fn dollars(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// Puts the forge in GitHub's place.
pub(super) fn for_forge(config: &mut Config, forge: &Forge, run: &Run, check: Duration) {
    let app = forge.emulator.app();
    let url = |text: &str| url::Url::parse(text).ok();
    config.database = run.database().into();
    config.data_dir.clone_from(&run.folder);
    config.server.listen = ([127, 0, 0, 1], 0).into();
    config.server.public_url = None;
    config.github.api_url = url(forge.emulator.api_url()).unwrap_or_else(|| config.github.api_url.clone());
    config.github.web_url = url(forge.emulator.web_url()).unwrap_or_else(|| config.github.web_url.clone());
    config.github.app_id = Some(app.app_id.to_string());
    config.github.private_key = Some(app.private_key_pem.into());
    config.github.webhook_secret = Some(app.webhook_secret.into());
    config.github.webhook_secret_old = None;
    // Nobody writes comments: no word of the instruction may be taken for a command.
    config.command = format!("run-{}", uuid::Uuid::new_v4().simple());
    // The branch is shown before anybody else can see it.
    config.publish.mode = PublishMode::Auto;
    // The folder is this run's alone: no other sandbox would ever find what one installed.
    config.sandbox.installed = 0;
    config.limits.settle = SETTLE;
    config.limits.ci_wait = check + CHECK_GRACE;
}

/// What is said of the sandbox.
pub(super) fn sandbox_words(config: &Config) -> String {
    match config.sandbox.kind {
        Engine::Docker => format!("container of {}, no network, no credential", config.sandbox.image),
        Engine::Local => "NO BOUNDARY: local processes, which can do what you can".to_owned(),
    }
}
