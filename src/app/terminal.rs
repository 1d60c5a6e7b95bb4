//! What a run of the terminal is made of, besides a server: the repository's objects lent, a checker, and sandboxes that
//! find the person's programs where they are processes of the machine.

use super::{Checker, Local, Settings, configured};
use crate::{
    config::{self, Config},
    git::{Mirror, Mirrors},
    sandbox::Provider,
};
use anyhow::Context;
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
    configured::program(settings.engine.as_ref(), &settings.sandboxes).await?;
    let mirror = Mirrors::new(settings.data.join("mirrors")).open(&repository.to_string()).await?;
    mirror.borrow_from(&local.objects().await?).await?;
    let checker = Checker {
        sandboxes: with_path(sandboxes),
        commits: Mirror::at(forge),
        size: settings.work.sandbox.clone(),
        command: command.to_owned(),
        limit,
    };
    Ok(Terminal { settings, checker })
}

/// A process of this machine finds the programs that the person at the terminal finds.
fn with_path(sandboxes: Provider) -> Provider {
    match (sandboxes, config::path()) {
        (Provider::Local(local), Some(path)) => Provider::Local(local.with_path(path)),
        (sandboxes, _) => sandboxes,
    }
}
