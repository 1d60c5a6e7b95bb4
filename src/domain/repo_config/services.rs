//! What the tests of a repository need besides its files: services beside the sandbox, and commands that set it up.
//!
//! Both only ever run in what the operator gives: services are of images that the operator allows, and neither has a network or
//! a credential.

use super::{
    service_words::{Folder, Line, Port, Seconds, Tries, UserNumber, Value, Variable, Word},
    words::{self, Name},
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::{collections::BTreeMap, time::Duration};

/// The user in a sandbox: of no image and no machine, so that nothing in either belongs to it.
pub const SANDBOX_USER: u32 = 10_001;

/// The user of a service where nobody names one. Not the sandbox's: what runs there cannot signal or trace a service.
pub const SERVICE_USER: u32 = 10_002;

/// Services of a repository: each takes memory of its own.
pub(super) const MOST_SERVICES: usize = 4;

/// Commands of a set-up: more belong in a script of the repository.
pub(super) const MOST_COMMANDS: usize = 20;

/// A service beside the sandbox: a database, a cache.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a group of settings")]
#[schemars(inline)]
pub struct ServiceSettings {
    /// Its image, one of those the operator allows for services.
    pub image: Name,
    /// Its command, in place of the image's.
    #[serde(default, deserialize_with = "words::list")]
    #[schemars(length(max = 100))]
    pub command: Option<Vec<Line>>,
    /// Its environment. Everybody who reads the repository reads it too: no secrets.
    #[serde(default, deserialize_with = "words::map")]
    #[schemars(extend("maxProperties" = 100))]
    pub environment: Option<BTreeMap<Variable, Value>>,
    /// The number of the user it runs as, never 0. Default: 10002, which is of no image.
    #[serde(default)]
    pub user: Option<UserNumber>,
    /// Folders it may write to, in memory and empty at first, besides those that its image declares as volumes, `/tmp` and `/run`.
    #[serde(default, deserialize_with = "words::list")]
    #[schemars(length(max = 100))]
    pub writable: Option<Vec<Folder>>,
    /// The ports it listens on: told to the agent, and nothing more.
    #[serde(default, deserialize_with = "words::list")]
    #[schemars(length(max = 100))]
    pub ports: Option<Vec<Port>>,
    /// How to know that it is ready. Default: when it runs.
    #[serde(default)]
    pub health: Option<HealthSettings>,
}

/// How to know that a service is ready.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a group of settings")]
#[schemars(inline)]
pub struct HealthSettings {
    /// A command for the service's own `sh`, which ends with 0 once it is ready.
    pub command: Line,
    /// Seconds between two tries. Default: 1.
    #[serde(default)]
    pub interval: Option<Seconds>,
    /// Tries before it is given up. Default: 60.
    #[serde(default)]
    pub retries: Option<Tries>,
}

/// A service as it is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// What it is called: lower-case letters, digits and dashes.
    pub name: String,
    /// Its image.
    pub image: String,
    /// In place of the image's command; empty: that one.
    pub command: Vec<String>,
    /// Added to the image's environment.
    pub environment: BTreeMap<String, String>,
    /// The number of its user and group.
    pub user: u32,
    /// Folders in memory that it may write to, besides its image's volumes, `/tmp` and `/run`.
    pub writable: Vec<String>,
    /// Where it listens, as far as the repository says.
    pub ports: Vec<u16>,
    /// How to know that it is ready; `None`: when it runs.
    pub health: Option<Health>,
}

/// How to know that a service is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// For the service's own `sh`.
    pub command: String,
    /// Between two tries.
    pub interval: Duration,
    /// Before it is given up.
    pub retries: u32,
}

impl Service {
    pub(super) fn of(name: &Word, settings: &ServiceSettings) -> Self {
        let environment = settings.environment.iter().flatten();
        Self {
            name: name.get().to_owned(),
            image: settings.image.get().to_owned(),
            command: settings.command.iter().flatten().map(|word| word.get().to_owned()).collect(),
            environment: environment.map(|(k, v)| (k.get().to_owned(), v.get().to_owned())).collect(),
            user: settings.user.map_or(SERVICE_USER, UserNumber::get),
            writable: settings.writable.iter().flatten().map(|folder| folder.get().to_owned()).collect(),
            ports: settings.ports.iter().flatten().map(|port| port.get()).collect(),
            health: settings.health.as_ref().map(|health| Health {
                command: health.command.get().to_owned(),
                interval: Duration::from_secs(health.interval.map_or(1, |n| u64::from(n.get()))),
                retries: health.retries.map_or(60, Tries::get),
            }),
        }
    }
}
