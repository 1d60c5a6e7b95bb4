//! What a run of the terminal is made of, besides a server: the repository's objects lent, a checker, and sandboxes that
//! find the person's programs where they are processes of the machine.

use super::{Checker, Local, Settings, configured};
use crate::{
    config::{self, Config, Engine},
    domain::{
        Sha,
        repo_config::{self, Effective, LARGEST, PATH, Service},
    },
    git::{Mirror, Mirrors},
    sandbox::Provider,
};
use anyhow::{Context, bail};
use std::{path::PathBuf, time::Duration};

/// The parts of a run.
pub struct Terminal {
    /// The server's.
    pub settings: Settings,
    /// What checks commits.
    pub checker: Checker,
}

/// Makes the parts from a configuration that names the forge.
///
/// # Errors
/// A sentence for the person at the terminal: what is missing or unusable.
pub async fn terminal(
    config: &Config,
    http: &reqwest::Client,
    local: &Local,
    (forge, repository): (PathBuf, u64),
    (command, limit): (&str, Duration),
) -> anyhow::Result<Terminal> {
    let sandboxes = configured::sandboxes(config, "check").await.context(
        "there is no sandbox: start Docker, or say --sandbox local, which runs agent and check as processes of yours \
         and is no boundary",
    )?;
    let mut settings = super::settings(config, http).await?;
    settings.sandboxes = with_path(settings.sandboxes);
    settings.work.check = Some(command.to_owned());
    configured::program(settings.engine.as_ref(), &settings.sandboxes).await?;
    let mirror = Mirrors::new(settings.data.join("mirrors")).open(&repository.to_string()).await?;
    mirror.borrow_from(&local.objects().await?).await?;
    let services = services(config, &mirror, &local.head().await?.commit).await?;
    let checker = Checker {
        sandboxes: with_path(sandboxes),
        commits: Mirror::at(forge),
        size: settings.work.sandbox.clone(),
        services,
        command: command.to_owned(),
        limit,
    };
    Ok(Terminal { settings, checker })
}

/// What the repository's tests need beside the sandbox, as its own configuration says in the commit that the run starts from: an
/// agent has no say in it. Mistakes in it are told where the work is.
async fn services(config: &Config, mirror: &Mirror, base: &Sha) -> anyhow::Result<Vec<Service>> {
    let Some(file) = mirror.file(base, PATH, LARGEST + 1).await? else { return Ok(Vec::new()) };
    let services = Effective::of(repo_config::read(&file), &config.operator(), false).services;
    if !services.is_empty() && config.sandbox.kind == Engine::Local {
        let names: Vec<&str> = services.iter().map(|service| service.name.as_str()).collect();
        bail!(
            "`{PATH}` asks for services ({}), which need a container engine: start Docker and leave --sandbox local away",
            names.join(", ")
        );
    }
    Ok(services)
}

/// A process of this machine finds the programs that the person at the terminal finds.
fn with_path(sandboxes: Provider) -> Provider {
    match (sandboxes, config::path()) {
        (Provider::Local(local), Some(path)) => Provider::Local(local.with_path(path)),
        (sandboxes, _) => sandboxes,
    }
}
