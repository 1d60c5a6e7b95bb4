//! Looking whether everything is there that serving needs. Reads alone; having deliveries sent again is asked for by name.
//!
//! A check is one line of [`CHECKS`]: an async function from the patient to findings. Each stands on its own, so that one
//! that fails hides none of the others.

mod deliveries;
mod egress;
mod forge;
mod machine;
mod repository;

use crate::{
    config::Config,
    domain::access::Profile,
    github::{self, GitHub},
};
use futures::future::BoxFuture;
use secrecy::SecretString;
use serde::Serialize;
use std::path::PathBuf;

/// What is looked at, and how.
#[derive(Debug)]
pub struct Patient {
    /// The configuration.
    pub config: Config,
    /// The file it came from, if one did.
    pub file: Option<PathBuf>,
    /// The client.
    pub http: reqwest::Client,
    /// What the App is expected to be able to do.
    pub profile: Profile,
    /// Repositories to look at, `OWNER/NAME`.
    pub repositories: Vec<String>,
    /// The model is asked a question, which costs a few tokens.
    pub ask_model: bool,
    /// Failed deliveries are sent again.
    pub redeliver: bool,
}

/// What was found about a subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub level: Level,
    /// What it is about, in a word or two.
    pub subject: &'static str,
    /// What was found, in a line.
    pub what: String,
    /// How to mend it, a line each.
    pub mend: Vec<String>,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As it should be.
    Ok,
    /// It works, but not all of it or not well.
    Warn,
    /// Serving does not work.
    Fail,
}

/// One check.
pub type Check = for<'a> fn(&'a Patient) -> BoxFuture<'a, Vec<Finding>>;

/// All of them, in the order they are told in: this machine, the model, the App, its repositories, its past.
pub const CHECKS: &[Check] = &[
    |patient| Box::pin(machine::configuration(patient)),
    |patient| Box::pin(machine::database(patient)),
    |patient| Box::pin(machine::disk(patient)),
    |patient| Box::pin(machine::sandbox(patient)),
    |patient| Box::pin(egress::reachable(patient)),
    |patient| Box::pin(machine::git(patient)),
    |patient| Box::pin(machine::model(patient)),
    |patient| Box::pin(machine::clock(patient)),
    |patient| Box::pin(forge::app(patient)),
    |patient| Box::pin(forge::webhook(patient)),
    |patient| Box::pin(forge::installations(patient)),
    |patient| Box::pin(repository::all(patient)),
    |patient| Box::pin(deliveries::failed(patient)),
    |patient| Box::pin(deliveries::unreadable(patient)),
];

impl Finding {
    /// As it should be.
    pub fn ok(subject: &'static str, what: impl Into<String>) -> Self {
        Self { level: Level::Ok, subject, what: what.into(), mend: Vec::new() }
    }

    /// It works, but not all of it or not well.
    pub fn warn(subject: &'static str, what: impl Into<String>) -> Self {
        Self { level: Level::Warn, ..Self::ok(subject, what) }
    }

    /// Serving does not work.
    pub fn fail(subject: &'static str, what: impl Into<String>) -> Self {
        Self { level: Level::Fail, ..Self::ok(subject, what) }
    }

    /// A line more on how to mend it.
    #[must_use]
    pub fn mend(mut self, line: impl Into<String>) -> Self {
        self.mend.push(line.into());
        self
    }
}

impl Patient {
    /// The forge as the App sees it; `None`: the configuration names no App, which its own check says.
    fn github(&self) -> Option<Result<GitHub, Finding>> {
        let settings = &self.config.github;
        let (app_id, key): (&String, &SecretString) =
            (settings.app_id.as_ref()?, settings.private_key.as_ref()?);
        let settings = github::Settings {
            api_url: settings.api_url.clone(),
            web_url: settings.web_url.clone(),
            identity: github::Identity::App { id: app_id.clone(), private_key: key.clone() },
        };
        Some(GitHub::new(settings, self.http.clone()).map_err(|error| {
            Finding::fail(forge::APP, error.to_string())
                .mend("generate a new private key in the App's settings and name its file in")
                .mend("github.private_key_file")
        }))
    }

    /// The same for the checks after the App's own, which has said what is wrong with it.
    fn usable(&self) -> Option<GitHub> {
        self.github()?.ok()
    }

    /// `fixpoint observe` needs the App and nothing else of what serving needs.
    fn only_observes(&self) -> bool {
        self.profile == Profile::Observe
    }
}
