//! The settings, each declared once. The comments are the text of the generated example.

use super::{credentials::Credential, units};
use crate::domain;
use secrecy::SecretString;
use serde::Deserialize;
use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, time::Duration};
use url::Url;

/// The listener.
#[derive(Clone, Debug, confique::Config)]
#[config(layer_attr(serde(deny_unknown_fields)))]
pub struct Server {
    /// Address and port. Put a proxy that ends TLS before it.
    #[config(default = "127.0.0.1:3000", env = "FIXPOINT_SERVER_LISTEN")]
    pub listen: SocketAddr,

    /// Where no port may be opened: deliveries are read from GitHub's own list of them, and no webhook secret is needed.
    /// Then only the health answers are served.
    #[config(default = false, env = "FIXPOINT_SERVER_PULL")]
    pub pull: bool,

    /// Under which address people reach it. Without one no message links to a page.
    #[config(env = "FIXPOINT_SERVER_PUBLIC_URL")]
    pub public_url: Option<Url>,
}

/// The forge and the App.
#[derive(Clone, Debug, confique::Config)]
#[config(layer_attr(serde(deny_unknown_fields)))]
pub struct GitHub {
    /// The API; `https://HOST/api/v3` for GitHub Enterprise.
    #[config(default = "https://api.github.com", env = "FIXPOINT_GITHUB_API_URL")]
    pub api_url: Url,

    /// Where people read and git fetches.
    #[config(default = "https://github.com", env = "FIXPOINT_GITHUB_WEB_URL")]
    pub web_url: Url,

    /// The App's id or client id.
    #[config(deserialize_with = units::text, env = "FIXPOINT_GITHUB_APP_ID")]
    pub app_id: Option<String>,

    /// The App's private key (PEM). Better: `private_key_file`.
    #[config(env = "FIXPOINT_GITHUB_PRIVATE_KEY")]
    pub private_key: Option<SecretString>,

    /// The file with the App's private key.
    #[config(env = "FIXPOINT_GITHUB_PRIVATE_KEY_FILE")]
    pub private_key_file: Option<PathBuf>,

    /// What deliveries are signed with, at least 32 characters. Better: `webhook_secret_file`.
    #[config(env = "FIXPOINT_GITHUB_WEBHOOK_SECRET")]
    pub webhook_secret: Option<SecretString>,

    /// The file with the webhook secret.
    #[config(env = "FIXPOINT_GITHUB_WEBHOOK_SECRET_FILE")]
    pub webhook_secret_file: Option<PathBuf>,

    /// While the secret is being changed: the one before, which is taken too.
    #[config(env = "FIXPOINT_GITHUB_WEBHOOK_SECRET_OLD")]
    pub webhook_secret_old: Option<SecretString>,

    /// The file with the secret before.
    #[config(env = "FIXPOINT_GITHUB_WEBHOOK_SECRET_OLD_FILE")]
    pub webhook_secret_old_file: Option<PathBuf>,
}

/// Where the agent's work runs. It has no network interface and no credential, whatever stands here.
#[derive(Clone, Debug, confique::Config)]
#[config(layer_attr(serde(deny_unknown_fields)))]
pub struct Sandbox {
    /// "docker" (also Podman), or "local": a process of this machine, which is no boundary at all.
    #[config(default = "docker", env = "FIXPOINT_SANDBOX_KIND")]
    pub kind: Engine,

    /// The image. What a build needs must be in it, or be reachable by `egress.allow`.
    #[config(default = "fixpoint-sandbox", env = "FIXPOINT_SANDBOX_IMAGE")]
    pub image: String,

    /// Other images that a repository may choose in its `.github/fixpoint.yml`.
    #[config(default = [], env = "FIXPOINT_SANDBOX_ALLOW", parse_env = confique::env::parse::list_by_comma)]
    pub allow: Vec<String>,

    /// Images that a repository may run as services beside its sandbox, e.g. "postgres:16": docs/services.md.
    #[config(default = [], env = "FIXPOINT_SANDBOX_SERVICES", parse_env = confique::env::parse::list_by_comma)]
    pub services: Vec<String>,

    /// Memory of each service, its files included: at most four run beside a sandbox.
    #[config(default = "1 GiB", deserialize_with = units::bytes, env = "FIXPOINT_SANDBOX_SERVICE_MEMORY")]
    pub service_memory: u64,

    /// Room in `data_dir` for what repositories had installed (`dependencies` in their `.github/fixpoint.yml`): their next
    /// sandboxes need not install it again. 0 keeps nothing.
    #[config(default = "10 GiB", deserialize_with = units::bytes, env = "FIXPOINT_SANDBOX_INSTALLED")]
    pub installed: u64,

    /// The engine: `unix:///var/run/docker.sock`, `tcp://…`. Without it the engine's own default.
    #[config(env = "FIXPOINT_SANDBOX_HOST")]
    pub host: Option<String>,

    /// A runtime other than the engine's default, e.g. "runsc".
    #[config(env = "FIXPOINT_SANDBOX_RUNTIME")]
    pub runtime: Option<String>,

    /// Processor cores.
    #[config(default = 2.0, env = "FIXPOINT_SANDBOX_CPUS")]
    pub cpus: f64,

    /// Memory.
    #[config(default = "4 GiB", deserialize_with = units::bytes, env = "FIXPOINT_SANDBOX_MEMORY")]
    pub memory: u64,

    /// Processes and threads.
    #[config(default = 1024, env = "FIXPOINT_SANDBOX_PIDS")]
    pub pids: u32,

    /// Workspace, `/tmp` and home together; held in memory.
    #[config(default = "2 GiB", deserialize_with = units::bytes, env = "FIXPOINT_SANDBOX_DISK")]
    pub disk: u64,
}

/// What runs sandboxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// Containers of Docker or Podman.
    Docker,
    /// A process of this machine: no boundary.
    Local,
}

/// What a sandbox may reach beyond itself: nothing, unless it stands here.
#[derive(Clone, Debug, confique::Config)]
#[config(layer_attr(serde(deny_unknown_fields)))]
pub struct Egress {
    /// `HOST:PORT[/PATH] [post] [private] [opaque]` each. GET and HEAD alone, unless `post`; only below the path, if there is
    /// one; an address of a private network only with `private`; `opaque`: its TLS is not opened, host and port are all that
    /// is checked. `fixpoint doctor` proposes what this machine's package managers use. docs/egress.md says more.
    #[config(default = [], env = "FIXPOINT_EGRESS_ALLOW", parse_env = confique::env::parse::list_by_comma)]
    pub allow: Vec<String>,

    /// Credentials that this machine adds to what a sandbox asks of a destination of `allow`, over TLS alone; none ever enters
    /// a sandbox. Each names its `host` ("packages.example.com:443"), and either `bearer_file`, `basic_file` (`user:password`) or
    /// a `header` with `value_file`; with `repositories` (["acme/*"]) it is used for these alone.
    #[config(default = [])]
    pub credentials: Vec<Credential>,
}

/// How this machine reaches the world: GitHub, models, and what sandboxes may ask for.
#[derive(Clone, Debug, confique::Config)]
#[config(layer_attr(serde(deny_unknown_fields)))]
pub struct Network {
    /// A proxy, `http://[NAME:PASSWORD@]HOST:PORT`. Without one that of the variable `HTTPS_PROXY`, if it is set; "none" uses
    /// none in any case. docs/egress.md says what it means for sandboxes.
    #[config(env = "FIXPOINT_NETWORK_PROXY")]
    pub proxy: Option<SecretString>,

    /// A file to read `proxy` from, where it holds a password.
    #[config(env = "FIXPOINT_NETWORK_PROXY_FILE")]
    pub proxy_file: Option<PathBuf>,

    /// What is reached without it: hosts with all below them, addresses, networks ("10.0.0.0/8"). This machine itself always
    /// is. Where the proxy comes from the environment, `NO_PROXY` counts too.
    #[config(default = [], env = "FIXPOINT_NETWORK_NO_PROXY", parse_env = confique::env::parse::list_by_comma)]
    pub no_proxy: Vec<String>,
}

/// What works with the model.
#[derive(Clone, Debug, confique::Config)]
#[config(layer_attr(serde(deny_unknown_fields)))]
pub struct Agent {
    /// "native": fixpoint's own loop, outside the sandbox. "claude-code": Claude Code, which must be in the sandbox's image and
    /// asks the model of the provider "anthropic" through fixpoint, without its key. docs/engines.md says more.
    #[config(default = "native", env = "FIXPOINT_AGENT_ENGINE")]
    pub engine: AgentEngine,
}

/// What works with the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentEngine {
    /// fixpoint's own loop.
    Native,
    /// Claude Code in the sandbox.
    ClaudeCode,
}

/// What thinks.
#[derive(Clone, Debug, confique::Config)]
#[config(layer_attr(serde(deny_unknown_fields)))]
pub struct Model {
    /// "anthropic", "openai", or "openai-compatible" with a `url`.
    #[config(default = "anthropic", env = "FIXPOINT_MODEL_PROVIDER")]
    pub provider: Provider,

    /// The provider's name for the model.
    #[config(default = "claude-sonnet-4-5", env = "FIXPOINT_MODEL_NAME")]
    pub name: String,

    /// Other models of the same provider that a repository may choose in its `.github/fixpoint.yml`.
    #[config(default = [], env = "FIXPOINT_MODEL_ALLOW", parse_env = confique::env::parse::list_by_comma)]
    pub allow: Vec<String>,

    /// Where it is asked, e.g. `http://127.0.0.1:11434/v1/`. Without it the provider's own address.
    #[config(env = "FIXPOINT_MODEL_URL")]
    pub url: Option<Url>,

    /// The key. Better: `key_file`, or the variable that `key_env` names.
    #[config(env = "FIXPOINT_MODEL_KEY")]
    pub key: Option<SecretString>,

    /// The file with the key.
    #[config(env = "FIXPOINT_MODEL_KEY_FILE")]
    pub key_file: Option<PathBuf>,

    /// The environment variable with the key. Without it `ANTHROPIC_API_KEY` or `OPENAI_API_KEY`.
    #[config(env = "FIXPOINT_MODEL_KEY_ENV")]
    pub key_env: Option<String>,

    /// The longest wait for a reply to begin.
    #[config(default = "5m", deserialize_with = units::span, env = "FIXPOINT_MODEL_PATIENCE")]
    pub patience: Duration,

    /// Prices beside the known ones, for a million tokens:
    /// `prices."my-model" = { input = "$3", output = "$15", cache_read = "$0.30", cache_write = "$3.75" }`.
    #[config(default = {})]
    pub prices: BTreeMap<String, Price>,
}

/// Whose wire a model speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provider {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI itself.
    Openai,
    /// Another server that speaks OpenAI's wire.
    OpenaiCompatible,
}

/// A model's prices, in millionths of a dollar for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Read, not from a cache.
    #[serde(deserialize_with = "units::money")]
    pub input: u64,
    /// Written.
    #[serde(deserialize_with = "units::money")]
    pub output: u64,
    /// Read from the provider's cache.
    #[serde(deserialize_with = "units::money")]
    pub cache_read: u64,
    /// Written into the provider's cache.
    #[serde(deserialize_with = "units::money")]
    pub cache_write: u64,
}

impl Model {
    /// A server of the operator's own may ask for none.
    pub fn needs_key(&self) -> bool {
        self.provider != Provider::OpenaiCompatible
    }
}

/// What may be pushed, and when a person is asked first.
#[derive(Clone, Debug, confique::Config)]
#[config(layer_attr(serde(deny_unknown_fields)))]
pub struct Publish {
    /// "auto": pushed when the policy allows it. "ask": shown first, `/code approve` pushes.
    #[config(default = "auto", env = "FIXPOINT_PUBLISH_MODE")]
    pub mode: PublishMode,

    /// Globs of paths that are never pushed.
    #[config(default = [], env = "FIXPOINT_PUBLISH_DENY", parse_env = confique::env::parse::list_by_comma)]
    pub deny: Vec<String>,
}

/// When a person is asked before a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PublishMode {
    /// Where the policy wants it.
    Auto,
    /// Always.
    Ask,
}

/// How long what is kept is kept. Nothing of a session that is not over is ever removed.
#[derive(Clone, Debug, confique::Config)]
#[config(layer_attr(serde(deny_unknown_fields)))]
pub struct Retention {
    /// Webhooks as they arrived, once they are settled. At least "4d": GitHub sends one again for three days, and what is
    /// still here is not taken twice.
    #[config(default = "7d", deserialize_with = units::span, env = "FIXPOINT_RETENTION_DELIVERIES")]
    pub deliveries: Duration,

    /// What the agent said, did and saw, after its session is over.
    #[config(default = "30d", deserialize_with = units::span, env = "FIXPOINT_RETENTION_TRANSCRIPTS")]
    pub transcripts: Duration,

    /// Checkpoints, and patches that were not pushed, after the session is over.
    #[config(default = "14d", deserialize_with = units::span, env = "FIXPOINT_RETENTION_PATCHES")]
    pub patches: Duration,

    /// A session that is over: what was asked, what became of it.
    #[config(default = "400d", deserialize_with = units::span, env = "FIXPOINT_RETENTION_SESSIONS")]
    pub sessions: Duration,

    /// The audit: who asked, what was refused, what left a sandbox, what was published. Holds no content.
    #[config(default = "400d", deserialize_with = units::span, env = "FIXPOINT_RETENTION_AUDIT")]
    pub audit: Duration,
}

impl Retention {
    /// As the server goes by it.
    pub fn all(&self) -> domain::Retention {
        let Self { deliveries, transcripts, patches, sessions, audit } = *self;
        domain::Retention { deliveries, transcripts, patches, sessions, audit }
    }
}

/// What is written to standard error.
#[derive(Clone, Debug, confique::Config)]
#[config(layer_attr(serde(deny_unknown_fields)))]
pub struct Log {
    /// "text" for people, "json" for machines: one object a line.
    #[config(default = "text", env = "FIXPOINT_LOG_FORMAT")]
    pub format: LogFormat,

    /// "error", "warn", "info", "debug", "trace", also by module: "info,fixpoint::work=debug".
    #[config(default = "info", env = "FIXPOINT_LOG_LEVEL")]
    pub level: String,
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// One object a line.
    Json,
}
