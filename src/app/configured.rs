//! From a configuration to what a server is made of.

use super::Settings;
use crate::{
    agent,
    config::{self, AgentEngine, Config, Engine as Kind, PublishMode},
    domain::{egress::AllowList, policy::Rules},
    egress::{self, Upstream},
    github,
    http::WebhookSecrets,
    llm::{self, ModelSettings, Prices, Wire, gateway::Gateway},
    sandbox::{DockerProvider, DockerSettings, Kept, LocalProvider, Provider},
    work,
};
use anyhow::{Context, bail};
use secrecy::{ExposeSecret, SecretString};
use std::{path::Path, sync::Arc, time::Duration};
use url::Url;

/// How long a lease holds without a heartbeat: longer than any pause of a healthy process.
const LEASE: Duration = Duration::from_secs(60);

/// How long after it was last written what GitHub shows is read back: longer than a request of ours can be on its way.
const READ_BACK: Duration = Duration::from_secs(60);

/// Everything a server needs, from its configuration.
///
/// # Errors
/// A sentence for the operator: what is missing or unusable, and where it is set.
pub async fn settings(config: &Config, http: &reqwest::Client) -> anyhow::Result<Settings> {
    let missing = config.missing();
    if !missing.is_empty() {
        bail!("the configuration is not complete:\n  {}", missing.join("\n  "));
    }
    let github = &config.github;
    let key = github.private_key.clone().context("github.private_key_file is not set")?;
    let engine = engine(config, http)?;
    let sandboxes = sandboxes(config, "").await?;
    let sandbox_words = match config.sandbox.kind {
        Kind::Docker => allowed(config)?.words(),
        Kind::Local => "a local folder, which is no boundary".to_owned(),
    };
    Ok(Settings {
        listen: config.server.listen.to_string(),
        database: config.database.expose_secret().to_owned(),
        data: config.data_dir.clone(),
        min_free_disk: config.min_free_disk,
        installed: config.sandbox.installed,
        github: github::Settings {
            api_url: github.api_url.clone(),
            web_url: github.web_url.clone(),
            identity: github::Identity::App {
                id: github.app_id.clone().unwrap_or_default(),
                private_key: key,
            },
        },
        webhooks: webhooks(config)?,
        hooks: work::Hooks { pull: config.server.pull, ..work::Hooks::default() },
        sandboxes,
        upstream: upstream(config)?,
        proxy: config.proxy()?,
        work: work(config, &engine.describe(), sandbox_words, config.secrets())?,
        engine,
    })
}

/// What deliveries are signed with, where they are sent here.
fn webhooks(config: &Config) -> anyhow::Result<Option<WebhookSecrets>> {
    if config.server.pull {
        return Ok(None);
    }
    let current = config.github.webhook_secret.clone().context("github.webhook_secret_file is not set")?;
    Ok(Some(WebhookSecrets { current, old: config.github.webhook_secret_old.clone() }))
}

/// What the operator decided, as the worker needs it.
pub(super) fn work(
    config: &Config,
    engine: &str,
    sandbox_words: String,
    secrets: Vec<SecretString>,
) -> anyhow::Result<work::Settings> {
    let limits = &config.limits;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let half = u32::try_from(cores / 2).unwrap_or(1).max(1);
    Ok(work::Settings {
        // New with every start: a process that died cannot be taken for the one that follows it.
        owner: uuid::Uuid::new_v4().simple().to_string(),
        limits: limits.session(),
        rules: Rules { deny: config.publish.deny.clone(), ..Rules::default() },
        ask_first: config.publish.mode == PublishMode::Ask,
        word: config.command.clone(),
        sandbox: work::SandboxSize {
            image: None,
            cpus: config.sandbox.cpus,
            memory: config.sandbox.memory,
            pids: config.sandbox.pids,
            disk: config.sandbox.disk,
            service_memory: config.sandbox.service_memory,
        },
        running: work::Running {
            all: limits.at_once.unwrap_or(half),
            repository: limits.at_once_a_repository,
            installation: limits.at_once_an_installation,
        },
        daily: work::Daily {
            repository: limits.repository_money_a_day,
            installation: limits.installation_money_a_day,
        },
        images: config.operator().images,
        services: config.sandbox.services.clone(),
        allow: allowed(config)?,
        engine: engine.split(" at ").next().unwrap_or(engine).to_owned(),
        model_host: engine.split_once(" at ").map(|(_, host)| host.to_owned()),
        sandbox_words,
        public_url: config.server.public_url.as_ref().map(|u| u.as_str().trim_end_matches('/').to_owned()),
        secrets,
        lease: LEASE,
        retention: config.retention.all(),
        read_back: READ_BACK,
        action: None,
        check: None,
    })
}

/// What sandboxes may reach. What is no boundary reaches everything anyhow, and has no way out to be opened.
fn allowed(config: &Config) -> anyhow::Result<AllowList> {
    match config.sandbox.kind {
        Kind::Docker => AllowList::parse(&config.egress.allow).context("egress.allow"),
        Kind::Local => Ok(AllowList::default()),
    }
}

/// How sandboxes reach the world, and with which credentials.
pub(super) fn upstream(config: &Config) -> anyhow::Result<Upstream> {
    let upstream = Upstream::new(egress::system())
        .context("the client for sandboxes cannot be made")?
        .through(config.proxy()?)
        .context("network.proxy")?;
    let credentials = config.egress.credentials.iter().map(credential).collect::<anyhow::Result<_>>()?;
    Ok(upstream.with(credentials))
}

fn credential(given: &config::Credential) -> anyhow::Result<egress::Credential> {
    let kind = match (&given.header, &given.basic_file) {
        (Some(name), _) => egress::Kind::Header(name.parse()?),
        (None, Some(_)) => egress::Kind::Basic,
        (None, None) => egress::Kind::Bearer,
    };
    let context = || format!("egress.credentials: {}", given.host);
    let made = egress::Credential::new(given.host.parse()?, &kind, given.value(), given.repositories.clone());
    made.with_context(context)
}

/// The engine that a configuration names.
///
/// # Errors
/// When the model's address or key cannot be used, or the engine does not work with such a model or sandbox.
pub fn engine(config: &Config, http: &reqwest::Client) -> anyhow::Result<Arc<dyn agent::Engine>> {
    let model = &config.model;
    let others = model.allow.iter().filter(|name| **name != model.name);
    if config.agent.engine == AgentEngine::ClaudeCode {
        // Flags may have changed what was checked with the file.
        config.check_engine()?;
        let gateway =
            |name: &String| Ok::<_, anyhow::Error>(Gateway::new(settings_of(config, name)?, http.clone())?);
        let others = others.map(gateway).collect::<anyhow::Result<_>>()?;
        return Ok(Arc::from(agent::claude_code(gateway(&model.name)?, others)));
    }
    let others = others.map(|name| model_of(config, name, http)).collect::<anyhow::Result<_>>()?;
    Ok(Arc::from(agent::native(model_of(config, &model.name, http)?, others)))
}

/// Is the engine's program in the sandbox's image? Tried, where it wants one; gives what it says of itself.
///
/// # Errors
/// A sentence for the operator.
pub async fn program(engine: &dyn agent::Engine, sandboxes: &Provider) -> anyhow::Result<Option<String>> {
    let Some([program, argument]) = engine.wants() else { return Ok(None) };
    let said = sandboxes.try_program(program, argument).await.with_context(|| {
        format!("`{program}` cannot be run in the sandbox's image; docs/engines.md says how it gets there")
    })?;
    Ok(Some(said))
}

/// A model of the provider that a configuration names.
pub(super) fn model_of(
    config: &Config,
    name: &str,
    http: &reqwest::Client,
) -> anyhow::Result<Box<dyn llm::Model>> {
    Ok(llm::model(settings_of(config, name)?, http.clone())?)
}

fn settings_of(config: &Config, name: &str) -> anyhow::Result<ModelSettings> {
    use crate::config::Provider as Of;
    let model = &config.model;
    let (wire, own) = match model.provider {
        Of::Anthropic => (Wire::Anthropic, "https://api.anthropic.com/v1/"),
        Of::Openai | Of::OpenaiCompatible => (Wire::OpenAi, "https://api.openai.com/v1/"),
    };
    let url = match &model.url {
        Some(url) => url.clone(),
        None => Url::parse(own)?,
    };
    let key = model.key.clone().unwrap_or_else(|| SecretString::from(String::new()));
    let mut settings = ModelSettings::new(wire, url, name.to_owned(), key);
    settings.patience = model.patience;
    settings.price = model.prices.get(name).map(|p| Prices {
        input: p.input,
        output: p.output,
        cache_read: p.cache_read,
        cache_write: p.cache_write,
    });
    Ok(settings)
}

/// Is a price known of every model that may be asked? Without one no budget in money would ever be used up.
///
/// # Errors
/// A sentence that says how one is added.
pub fn priced(config: &Config, http: &reqwest::Client) -> anyhow::Result<()> {
    for name in std::iter::once(&config.model.name).chain(&config.model.allow) {
        if model_of(config, name, http)?.price(&llm::Usage::default()).is_none() {
            bail!(
                "no price is known of the model {name:?}, so no budget of money could be kept. Say it in the configuration, for \
                 a million tokens (\"$0\" where it costs nothing):\n\n  [model.prices.{name:?}]\n  input = \"$3\"\n  \
                 output = \"$15\"\n  cache_read = \"$0.30\"\n  cache_write = \"$3.75\""
            );
        }
    }
    Ok(())
}

/// Where a configuration wants its rounds to run. Sandboxes of another `purpose` are apart from them: what sweeps the one
/// kind leaves the other alone.
pub(super) async fn sandboxes(config: &Config, purpose: &str) -> anyhow::Result<Provider> {
    let sandbox = &config.sandbox;
    Ok(match sandbox.kind {
        Kind::Local => {
            tracing::warn!(
                "sandboxes are local folders: that is no boundary, whatever runs there can do what you can"
            );
            Provider::Local(local(&config.data_dir.join(purpose)))
        }
        Kind::Docker => {
            let settings = DockerSettings {
                host: sandbox.host.clone(),
                image: sandbox.image.clone(),
                runtime: sandbox.runtime.clone(),
                instance: format!("{}{purpose}", instance(&config.data_dir)),
                ..DockerSettings::default()
            };
            Provider::Docker(DockerProvider::connect(settings).await?)
        }
    })
}

/// Where what repositories had installed is kept; without room nowhere.
pub(super) fn kept(data: &Path, room: u64) -> Option<Kept> {
    (room > 0).then(|| Kept::new(data.join("installed"), room))
}

/// Sandboxes as folders beside the data.
pub fn local(data: &Path) -> LocalProvider {
    LocalProvider::new(data.join("sandboxes"))
}

/// Which server on an engine this is: the same after a restart, another for every other data folder.
pub fn instance(data: &Path) -> String {
    use sha2::{Digest, Sha256};
    let path = std::path::absolute(data).unwrap_or_else(|_| data.to_owned());
    hex::encode(&Sha256::digest(path.as_os_str().as_encoded_bytes())[..6])
}
