//! What CI would hand to a pushed change: pushed code runs there with whatever the workflows give it.
//!
//! Read from the workflow files alone, as GitHub documents them, for a push to a branch of the repository itself and for the
//! pull request from it. What counts is what begins without anybody with write access deciding something after the push. A
//! job that GitHub would skip is left out only where that is certain; what cannot be read counts as handing out everything,
//! and says so. Two things stand in settings that only administrators see and are therefore not known here: what a token may
//! do where no workflow says (`default`), and which secrets an environment holds.

mod condition;
mod job;
mod pattern;
mod runner;
mod secrets;
mod trigger;
mod yaml;

use crate::domain::text;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where GitHub Actions looks for workflows.
pub const WORKFLOWS: &str = ".github/workflows";

/// Where workflows and, by custom, the repository's own actions are.
pub const FOLDER: &str = ".github";

/// Files there that are looked at: nobody keeps more.
pub const MOST_WORKFLOWS: usize = 1_000;

/// A workflow file that is longer, in bytes, is not read: GitHub itself takes no longer ones.
pub const WORKFLOW: usize = 512 << 10;

/// Jobs that are listed, calls of reusable workflows resolved: GitHub's own limit is 256 a run for a matrix, and whoever has
/// more than this has lost sight of them as well.
const MOST_JOBS: usize = 1_000;

/// Stands for every secret that the repository and its organisation have.
pub const EVERY_SECRET: &str = "*";

/// Jobs that a session remembers: a person is asked about them, and nobody reads on.
const MOST_KEPT: usize = 20;

/// Longest name that is kept, in characters.
const NAME: usize = 200;

/// A file of the repository.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    /// Its path from the repository's root.
    pub path: &'a str,
    /// Its text; `None`: it is longer than [`WORKFLOW`].
    pub text: Option<&'a str>,
}

/// What is pushed, and where.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The branch that is pushed.
    pub branch: &'a str,
    /// The branch its pull request goes to.
    pub base: &'a str,
    /// The paths that the change touches; `None`: any.
    pub paths: Option<&'a [String]>,
}

/// A job that would run on the change, and what it is handed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The workflow's path.
    pub workflow: String,
    /// The job's key; in a workflow that is called, after the caller's: `call / build`.
    pub job: String,
    /// What starts it, by GitHub's name of the event.
    pub event: String,
    /// The names of the secrets it is handed, sorted; [`EVERY_SECRET`] for all. The job's own token is none of them: what
    /// that may do is `permissions`.
    pub secrets: Vec<String>,
    /// What its token may do.
    pub permissions: Permissions,
    /// The environment it runs in.
    pub environment: Option<String>,
    /// The labels of its runner, joined by commas; an expression as it stands.
    pub runner: String,
    /// It runs, or may run, on a machine that is not GitHub's.
    pub self_hosted: bool,
    /// What of it could not be read, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
}

/// What a job's token may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Permissions {
    /// `default` where no workflow says, `read-all`, `write-all`, or `unknown`.
    Word(String),
    /// By name: `read`, `write` or `none`. What is not named is not allowed.
    Each(BTreeMap<String, String>),
}

impl Permissions {
    fn default_of_the_repository() -> Self {
        Self::Word("default".to_owned())
    }

    /// Is the token one that changes something, or proves an identity (`id-token`), as far as the workflow says?
    pub fn writes(&self) -> bool {
        match self {
            Self::Word(word) => !matches!(word.as_str(), "default" | "read-all"),
            Self::Each(each) => each.values().any(|level| level != "read" && level != "none"),
        }
    }
}

/// What of the jobs that run on a change is worth a person's look: those that are handed something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handed {
    /// The first of them.
    pub jobs: Vec<Job>,
    /// How many more there are.
    #[serde(default)]
    pub more: usize,
}

impl Handed {
    /// Of all jobs those that are handed something, at most twenty of them.
    pub fn of(jobs: Vec<Job>) -> Self {
        let mut jobs: Vec<Job> = jobs.into_iter().filter(Job::is_exposed).collect();
        let more = jobs.len().saturating_sub(MOST_KEPT);
        jobs.truncate(MOST_KEPT);
        Self { jobs, more }
    }

    /// No job is handed anything.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }
}

impl Job {
    /// Is it handed something that whoever wrote the change should perhaps not have: a secret, an environment, a writing
    /// token, a machine of the owner's? What could not be read may hold any of it.
    pub fn is_exposed(&self) -> bool {
        !self.secrets.is_empty()
            || self.environment.is_some()
            || self.permissions.writes()
            || self.self_hosted
            || self.unread.is_some()
    }

    /// The same where the change lies in a fork: pushes are the fork's matter, and its pull requests get neither secrets nor
    /// a writing token, unless the workflow is one for that (`pull_request_target`, `workflow_run`).
    pub fn of_a_fork(self) -> Option<Self> {
        match self.event.as_str() {
            "push" | "create" => None,
            "pull_request" | "pull_request_review" | "pull_request_review_comment" => Some(Self {
                secrets: Vec::new(),
                environment: None,
                permissions: Permissions::Word("read-all".to_owned()),
                ..self
            }),
            _ => Some(self),
        }
    }

    /// A file that says nothing one can rely on: it may hand out all there is.
    fn unread(workflow: &str, why: &str) -> Self {
        Self {
            workflow: text::shorten(workflow, NAME),
            job: "unknown".to_owned(),
            event: "unknown".to_owned(),
            secrets: vec![EVERY_SECRET.to_owned()],
            permissions: Permissions::Word("unknown".to_owned()),
            environment: None,
            runner: "unknown".to_owned(),
            self_hosted: true,
            unread: Some(text::shorten(why, NAME)),
        }
    }
}

/// Is this file one that GitHub Actions reads?
pub fn is_workflow(path: &str) -> bool {
    let name = path.strip_prefix(WORKFLOWS).and_then(|rest| rest.strip_prefix('/')).unwrap_or_default();
    !name.contains('/') && is_yaml(name)
}

/// Is this file the description of an action?
pub fn is_action(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    matches!(name, "action.yml" | "action.yaml")
}

/// Does a name end as those of YAML files do?
pub fn is_yaml(name: &str) -> bool {
    name.ends_with(".yml") || name.ends_with(".yaml")
}

/// The jobs that would run on a change, those that are handed nothing included, in the order of files and jobs. Of `files`
/// workflows and actions count; which are which is told by their paths.
pub fn read(files: &[File<'_>], place: &Place<'_>) -> Vec<Job> {
    let mut jobs = Vec::new();
    if files.len() > MOST_WORKFLOWS {
        jobs.push(Job::unread(FOLDER, "there are more files than are read"));
    }
    let (mut workflows, mut actions) = (BTreeMap::new(), BTreeMap::new());
    for file in files.iter().take(MOST_WORKFLOWS) {
        let parsed = yaml::parse(file.text);
        match parsed {
            Ok(Some(tree)) if is_workflow(file.path) => drop(workflows.insert(file.path, tree)),
            Ok(Some(tree)) if is_action(file.path) => drop(actions.insert(file.path, tree)),
            // An action that cannot be read runs nothing: what its job is handed stands in the workflow.
            Err(why) if is_workflow(file.path) => jobs.push(Job::unread(file.path, &why)),
            _ => {}
        }
    }
    job::read(&workflows, &actions, place, &mut jobs);
    jobs
}

#[cfg(test)]
mod tests;
