//! Configuration: defaults < file < environment < flags; the only reader of the environment.
//!
//! Every setting is declared once, in `sections.rs`, with its default and the sentence that the generated example prints.
//! A setting that does not exist is an error with its place in the file. Secrets are wrapped as they are read, and come
//! as a value, from a file (`…_file`) or from the environment.

mod action;
mod credentials;
mod flags;
mod limits;
mod network;
mod place;
mod secrets;
mod sections;
mod terminal;
mod units;

#[cfg(test)]
mod tests;

pub use action::{Inputs, Runner};
pub use credentials::Credential;
pub use flags::Flags;
pub use limits::Limits;
pub use network::proxy_of_environment;
pub use sections::{
    Agent, AgentEngine, Egress, Engine, GitHub, Log, LogFormat, Model, Network, Price, Provider, Publish,
    PublishMode, Retention, Sandbox, Server,
};

pub use terminal::{cargo_home, github_token, path, state_folder, wants_colours};
pub use units::span_of;

use crate::domain::{access::Profile, egress::AllowList, repo_config::Operator, retention::REDELIVERED};
use confique::{Config as _, Layer as _};
use secrecy::{ExposeSecret, SecretString};
use std::path::{Path, PathBuf};

/// The file that is read where none is named, if it is there.
pub const FILE: &str = "fixpoint.toml";
/// The environment variable that names another.
const FILE_VARIABLE: &str = "FIXPOINT_CONFIG";
/// More rounds than this have never helped anybody but the model's maker.
const MOST_ROUNDS: u32 = 20;
/// What a shell and a test runner need at the least.
const LEAST_MEMORY: u64 = 64 << 20;

/// Processes without which not even a shell and its command run.
const LEAST_PIDS: u32 = 16;

/// How much the log tells: any other word would be taken for a module's name, and nothing be logged at all.
const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];

/// How the address of a database begins.
const DATABASES: [&str; 3] = ["sqlite:", "postgres://", "postgresql://"];
/// What all of our variables begin with.
const PREFIX: &str = "FIXPOINT_";

/// Settings of fixpoint. Each can stay away; what `fixpoint serve` cannot do without, `fixpoint config check` names.
#[derive(Clone, Debug, confique::Config)]
#[config(layer_attr(serde(deny_unknown_fields)))]
pub struct Config {
    /// The word that begins a command in a comment, without the slash.
    #[config(default = "code", env = "FIXPOINT_COMMAND")]
    pub command: String,

    /// What the App may do, and with it what `fixpoint serve` does: `fix` works on requests, `full` may also start jobs
    /// again, `observe` only reads the CI of the past and shows it.
    #[config(default = "fix", env = "FIXPOINT_PROFILE")]
    pub profile: Profile,

    /// Where everything is kept that must not be lost: `sqlite:PATH`, or `postgres://…` for several nodes.
    #[config(default = "sqlite:data/fixpoint.db", env = "FIXPOINT_DATABASE")]
    pub database: SecretString,

    /// A file to read `database` from, where the address holds a password.
    #[config(env = "FIXPOINT_DATABASE_FILE")]
    pub database_file: Option<PathBuf>,

    /// Copies of repositories, and what they had installed. Can be deleted while fixpoint does not run; it then fetches them again.
    #[config(default = "data", env = "FIXPOINT_DATA_DIR")]
    pub data_dir: PathBuf,

    /// With less free space than this in `data_dir` nothing new is begun.
    #[config(default = "1 GiB", deserialize_with = units::bytes, env = "FIXPOINT_MIN_FREE_DISK")]
    pub min_free_disk: u64,

    /// The listener.
    #[config(nested)]
    pub server: Server,
    /// The forge and the App.
    #[config(nested)]
    pub github: GitHub,
    /// Where the agent's work runs. It has no network interface and no credential, whatever stands here.
    #[config(nested)]
    pub sandbox: Sandbox,
    /// What a sandbox may reach beyond itself: nothing, unless it stands here.
    #[config(nested)]
    pub egress: Egress,
    /// How this machine reaches the world: GitHub, models, and what sandboxes may ask for.
    #[config(nested)]
    pub network: Network,
    /// What works with the model.
    #[config(nested)]
    pub agent: Agent,
    /// What thinks.
    #[config(nested)]
    pub model: Model,
    /// What a session may use. Spans like "45m" or "3h", money like "$5", sizes like "5 MiB".
    #[config(nested)]
    pub limits: Limits,
    /// What may be pushed, and when a person is asked first.
    #[config(nested)]
    pub publish: Publish,
    /// How long what is kept is kept. Nothing of a session that is not over is ever removed.
    #[config(nested)]
    pub retention: Retention,
    /// What is written to standard error.
    #[config(nested)]
    pub log: Log,
}

/// A configuration that cannot be used; says where and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

type ConfigLayer = <Config as confique::Config>::Layer;

impl Config {
    /// Reads the file, the environment and the flags, each over the one before; reads the files secrets are in.
    ///
    /// # Errors
    /// [`ConfigError`] with the place of the first mistake.
    pub fn load(flags: &Flags) -> Result<Self, ConfigError> {
        Self::load_from(flags, file(flags))
    }

    /// The same, but a file that merely lies in the current folder is not read: it may be a stranger's, and a
    /// configuration says where the model's key goes.
    ///
    /// # Errors
    /// [`ConfigError`] with the place of the first mistake.
    pub fn load_named(flags: &Flags) -> Result<Self, ConfigError> {
        Self::load_from(flags, named(flags))
    }

    fn load_from(flags: &Flags, file: Option<PathBuf>) -> Result<Self, ConfigError> {
        let file = file.map_or_else(|| Ok(ConfigLayer::empty()), |file| read(&file))?;
        let environment =
            ConfigLayer::from_env().map_err(|e| ConfigError(place::of_variable(&format!("{e:#}"))))?;
        let mut config = Self::merge([flags.layer(), environment, file])?;
        config.key_from_environment()?;
        config.proxy_from_environment();
        config.proxy()?;
        Ok(config)
    }

    /// Reads a text as a configuration file over the defaults; `name` is what errors call it.
    ///
    /// # Errors
    /// [`ConfigError`] with the place of the first mistake.
    pub fn parse(text: &str, name: &str) -> Result<Self, ConfigError> {
        Self::merge([place::parse(text, name)?])
    }

    /// The highest layer comes first.
    fn merge<const N: usize>(layers: [ConfigLayer; N]) -> Result<Self, ConfigError> {
        let mut merged = ConfigLayer::empty();
        for mut layer in layers {
            secrets::give_way(&merged, &mut layer);
            secrets::read_files(&mut layer)?;
            merged = merged.with_fallback(layer);
        }
        let mut defaults = ConfigLayer::default_values();
        secrets::give_way(&merged, &mut defaults);
        let config =
            Self::from_layer(merged.with_fallback(defaults)).map_err(|e| ConfigError(format!("{e:#}")))?;
        secrets::check(&config)?;
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), ConfigError> {
        let word = &self.command;
        if word.is_empty() || !word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            return Err(ConfigError(format!("command: {word:?} is not letters, digits and dashes alone")));
        }
        if self.model.provider == Provider::OpenaiCompatible && self.model.url.is_none() {
            return Err(ConfigError(
                "model.url: where the OpenAI-compatible server is must be said".to_owned(),
            ));
        }
        self.proxy()?;
        self.check_engine()?;
        self.check_numbers()
    }

    /// Every secret in it.
    pub fn secrets(&self) -> Vec<SecretString> {
        let github = &self.github;
        let single =
            [&github.private_key, &github.webhook_secret, &github.webhook_secret_old, &self.model.key];
        let credentials = self.egress.credentials.iter().flat_map(Credential::secrets);
        single.into_iter().flatten().cloned().chain(credentials).collect()
    }

    /// A program in the sandbox speaks its maker's wire, and only a real sandbox has the one way to the model.
    ///
    /// # Errors
    /// [`ConfigError`] with the setting that does not go with the engine.
    pub fn check_engine(&self) -> Result<(), ConfigError> {
        if self.agent.engine == AgentEngine::Native {
            return Ok(());
        }
        if self.model.provider != Provider::Anthropic {
            return Err(ConfigError(
                "agent.engine: \"claude-code\" works with model.provider = \"anthropic\" alone".to_owned(),
            ));
        }
        if self.sandbox.kind == Engine::Local {
            return Err(ConfigError(
                "agent.engine: \"claude-code\" runs in a container alone: sandbox.kind = \"docker\""
                    .to_owned(),
            ));
        }
        Ok(())
    }

    /// Figures and names that would only fail in the middle of somebody's session.
    fn check_numbers(&self) -> Result<(), ConfigError> {
        let (sandbox, limits) = (&self.sandbox, &self.limits);
        let wrong = [
            (
                limits.rounds == 0 || limits.rounds > MOST_ROUNDS,
                "limits.rounds: between 1 and 20 is expected",
            ),
            (limits.steps == 0, "limits.steps: at least 1 is expected"),
            (limits.round.is_zero(), "limits.round: a span like \"45m\" is expected"),
            (sandbox.pids < LEAST_PIDS, "sandbox.pids: at least 16 is expected"),
            (
                limits.at_once == Some(0)
                    || limits.at_once_a_repository == 0
                    || limits.at_once_an_installation == 0,
                "limits.at_once, at_once_a_repository, at_once_an_installation: with 0 nothing would ever begin; at least 1 is expected",
            ),
            (
                !self.log.level.contains('=')
                    && !LEVELS.iter().any(|level| self.log.level.eq_ignore_ascii_case(level)),
                "log.level: error, warn, info, debug or trace is expected",
            ),
            (
                !DATABASES.iter().any(|begin| self.database.expose_secret().starts_with(begin)),
                "database: \"sqlite:FILE\" or \"postgres://USER@HOST/NAME\" is expected",
            ),
            (sandbox.cpus < 0.1, "sandbox.cpus: at least 0.1 is expected"),
            (sandbox.memory < LEAST_MEMORY, "sandbox.memory: at least \"64 MiB\" is expected"),
            (
                sandbox.service_memory < LEAST_MEMORY,
                "sandbox.service_memory: at least \"64 MiB\" is expected",
            ),
            (sandbox.image.trim().is_empty(), "sandbox.image: the name of an image is expected"),
            (
                self.retention.deliveries <= REDELIVERED,
                "retention.deliveries: more than \"3d\" is expected, for so long GitHub may send one again",
            ),
            (self.model.name.trim().is_empty(), "model.name: the provider's name for a model is expected"),
        ];
        if let Some((_, what)) = wrong.into_iter().find(|(is, _)| *is) {
            return Err(ConfigError(what.to_owned()));
        }
        let allow =
            AllowList::parse(&self.egress.allow).map_err(|e| ConfigError(format!("egress.allow: {e}")))?;
        for credential in &self.egress.credentials {
            credential.check(&allow)?;
        }
        for glob in &self.publish.deny {
            globset::Glob::new(glob).map_err(|e| ConfigError(format!("publish.deny: {e}")))?;
        }
        Ok(())
    }

    /// The bounds of what a repository's own configuration may say; that the App may write workflow files is GitHub's to
    /// say.
    pub fn operator(&self) -> Operator {
        let limits = self.limits.session();
        Operator {
            limits,
            day_micros: self.limits.repository_money_a_day,
            ask_first: self.publish.mode == PublishMode::Ask,
            deny: self.publish.deny.clone(),
            workflows: false,
            models: std::iter::once(&self.model.name).chain(&self.model.allow).cloned().collect(),
            images: std::iter::once(&self.sandbox.image).chain(&self.sandbox.allow).cloned().collect(),
            services: self.sandbox.services.clone(),
            // Read once before, when the configuration was checked.
            reachable: AllowList::parse(&self.egress.allow).unwrap_or_default(),
        }
    }

    /// What `fixpoint serve` cannot do without and is not set, a sentence each.
    pub fn missing(&self) -> Vec<String> {
        let github = &self.github;
        let signed = self.server.pull || github.webhook_secret.is_some();
        let wants = [
            ("github.app_id", github.app_id.is_some(), "the App's id, from its settings page"),
            ("github.private_key_file", github.private_key.is_some(), "the App's private key, a PEM file"),
            ("github.webhook_secret_file", signed, "the App's webhook secret"),
            ("model.key_file", !self.model.needs_key() || self.model.key.is_some(), "the model's key"),
        ];
        let missing = wants.into_iter().filter(|(_, there, _)| !there);
        missing.map(|(setting, _, what)| format!("{setting} is not set: {what}")).collect()
    }
}

impl Default for Config {
    fn default() -> Self {
        #[expect(
            clippy::expect_used,
            reason = "every setting has a default or is optional; a test builds it"
        )]
        Self::from_layer(ConfigLayer::default_values()).expect("the defaults are whole")
    }
}

/// The file that is read: the named one, or the usual one if it is there.
pub fn file(flags: &Flags) -> Option<PathBuf> {
    named(flags).or_else(|| Path::new(FILE).exists().then(|| FILE.into()))
}

/// The file that somebody names.
fn named(flags: &Flags) -> Option<PathBuf> {
    flags.config.clone().or_else(named_file)
}

/// A variable that is there and empty names no file: workflows cannot leave one out.
fn named_file() -> Option<PathBuf> {
    std::env::var_os(FILE_VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from)
}

/// The commented example, with every setting and its default.
pub fn example() -> String {
    confique::toml::template::<Config>(confique::toml::FormatOptions::default())
}

/// Variables that begin like ours and are none: most likely typing mistakes. Not an error, since whoever runs the
/// process may put some there (Kubernetes does, for a service of our name).
pub fn unknown_variables() -> Vec<String> {
    let known = place::variables(&Config::META);
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let strange =
        names.filter(|n| n.starts_with(PREFIX) && n != FILE_VARIABLE && !known.contains(&n.as_str()));
    strange.map(|n| format!("{n} is not a setting{}", crate::domain::text::meant(&n, &known))).collect()
}

fn read(file: &Path) -> Result<ConfigLayer, ConfigError> {
    let name = file.display().to_string();
    let text =
        std::fs::read_to_string(file).map_err(|e| ConfigError(format!("{name} cannot be read: {e}")))?;
    place::parse(&text, &name)
}
