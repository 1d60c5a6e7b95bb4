//! Everything CI says about a commit, and the one check run that is ours.

use super::{GitHubError, Repository};
use crate::domain::Sha;
use crate::domain::verdict::{CheckRun, Checks};
use http::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A check run of ours, as it is to be shown.
#[derive(Clone, Debug)]
pub struct CheckShow {
    /// The commit it stands on.
    pub head: Sha,
    /// Its name.
    pub name: String,
    /// Known again by this.
    pub external_id: String,
    /// `Some` when it is completed: `success` or `neutral`, never one that blocks.
    pub conclusion: Option<&'static str>,
    /// Its title.
    pub title: String,
    /// Its summary, Markdown.
    pub summary: String,
    /// Buttons, shown once it is completed; at most three.
    pub actions: Vec<CheckAction>,
    /// Where "Details" leads; `None`: to the App's own page.
    pub details_url: Option<String>,
}

/// A button on a check run of ours: pressed, GitHub sends `check_run` with the action `requested_action` and the
/// identifier. What is longer than GitHub allows is cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckAction {
    /// What stands on it; at most 20 characters.
    pub label: String,
    /// What it does; at most 40 characters.
    pub description: String,
    /// What comes back; at most 20 characters.
    pub identifier: String,
}

#[derive(Deserialize)]
struct OwnRow {
    id: u64,
    #[serde(default)]
    external_id: String,
    app: Option<AppRow>,
}

#[derive(Deserialize)]
struct AppRow {
    id: u64,
}

#[derive(Deserialize)]
struct JobRow {
    #[serde(default)]
    steps: Vec<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct AnnotationRow {
    path: String,
    start_line: u64,
    message: String,
}

/// Of each kind on one commit. The largest monorepos have some hundreds; GitHub keeps 1,000 suites a commit.
const CHECKS_READ: usize = 2_000;
/// GitHub shows ten of each kind a step; a linter that writes thousands is cut by GitHub itself.
const ANNOTATIONS_READ: usize = 1_000;
/// Source: GitHub REST, "Create a check run": `summary` holds 65,535 characters.
const SUMMARY: usize = 65_535;
/// Source: the same, `actions`.
const ACTIONS: usize = 3;
const LABEL: usize = 20;
const DESCRIPTION: usize = 40;

impl Repository {
    /// All checks of a commit: suites, runs, statuses, workflow runs (the `required` list is left empty). Asked with the
    /// last answers' tags, so that looking again costs nothing of the hourly limit while nothing changed.
    ///
    /// # Errors
    /// Any of [`GitHubError`]. Workflow runs may be out of reach (no permission, Actions switched off): they only add
    /// to what the check runs say, and the list is empty then.
    pub async fn checks(&self, commit: &Sha) -> Result<Checks, GitHubError> {
        let commit = commit.as_str();
        let suites = self.url(["commits", commit, "check-suites"]);
        let runs = self.url(["commits", commit, "check-runs"]);
        let statuses = self.url(["commits", commit, "status"]);
        let mut workflow_runs = self.url(["actions", "runs"]);
        workflow_runs.query_pairs_mut().append_pair("head_sha", commit);
        let (check_suites, check_runs, statuses, workflow_runs) = tokio::try_join!(
            self.client.list(&suites, Some("check_suites"), CHECKS_READ),
            self.client.list(&runs, Some("check_runs"), CHECKS_READ),
            self.client.list(&statuses, Some("statuses"), CHECKS_READ),
            self.list_or_none(&workflow_runs, "workflow_runs"),
        )?;
        Ok(Checks { check_suites, check_runs, statuses, workflow_runs, ..Checks::default() })
    }

    /// Every check run of a commit, those of earlier attempts too.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn every_check_run(&self, commit: &Sha) -> Result<Vec<CheckRun>, GitHubError> {
        let mut runs = self.url(["commits", commit.as_str(), "check-runs"]);
        runs.query_pairs_mut().append_pair("filter", "all");
        self.client.list(&runs, Some("check_runs"), CHECKS_READ).await
    }

    /// How many steps a job of GitHub Actions had; `None` where there is no such job, or it is out of reach.
    ///
    /// # Errors
    /// Any of [`GitHubError`] but these.
    pub async fn job_steps(&self, job: u64) -> Result<Option<usize>, GitHubError> {
        let url = self.url(["actions", "jobs", &job.to_string()]);
        match self.client.find::<JobRow>(&url).await {
            Err(GitHubError::Forbidden(_)) => Ok(None),
            other => Ok(other?.map(|row| row.steps.len())),
        }
    }

    async fn list_or_none<T: DeserializeOwned>(
        &self,
        url: &url::Url,
        key: &str,
    ) -> Result<Vec<T>, GitHubError> {
        match self.client.list(url, Some(key), CHECKS_READ).await {
            Err(error @ (GitHubError::Forbidden(_) | GitHubError::NotFound(_))) => {
                tracing::debug!(%error, "workflow runs are out of reach");
                Ok(Vec::new())
            }
            other => other,
        }
    }

    /// Finds our check run on the commit by its external id, or makes it; gives its id.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn check_once(&self, show: &CheckShow) -> Result<u64, GitHubError> {
        if let Some(id) = self.own_checks(show).await?.first() {
            return Ok(*id);
        }
        let mut body = shown(show);
        body["head_sha"] = json!(show.head.as_str());
        let made: OwnRow = self.client.write(Method::POST, &self.url(["check-runs"]), &body).await?;
        Ok(made.id)
    }

    /// Our check runs on the commit with the external id, oldest first: more than one only where two made it at once.
    /// GitHub deletes none; it shows the newest.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn own_checks(&self, show: &CheckShow) -> Result<Vec<u64>, GitHubError> {
        let app = self.github.app().await?.id;
        let mut found = self.url(["commits", show.head.as_str(), "check-runs"]);
        found.query_pairs_mut().append_pair("check_name", &show.name).append_pair("filter", "all");
        let rows: Vec<OwnRow> = self.client.list(&found, Some("check_runs"), CHECKS_READ).await?;
        let own = rows.into_iter().filter(|row| row.app.as_ref().is_some_and(|by| by.id == app));
        let mut own: Vec<u64> =
            own.filter(|row| row.external_id == show.external_id).map(|row| row.id).collect();
        own.sort_unstable();
        Ok(own)
    }

    /// Shows our check run anew.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn update_check(&self, id: u64, show: &CheckShow) -> Result<(), GitHubError> {
        let url = self.url(["check-runs", &id.to_string()]);
        self.client.tell(Method::PATCH, &url, Some(&shown(show))).await
    }

    /// A check run's annotations, `path:line: message` each.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn annotations(&self, check_run: u64) -> Result<Vec<String>, GitHubError> {
        let url = self.url(["check-runs", &check_run.to_string(), "annotations"]);
        let mut rows: Vec<AnnotationRow> =
            self.client.list_until(&url, None, ANNOTATIONS_READ / 100, |_| false).await?;
        rows.truncate(ANNOTATIONS_READ);
        Ok(rows.iter().map(|row| format!("{}:{}: {}", row.path, row.start_line, row.message)).collect())
    }

    /// Starts the failed jobs of a workflow run again.
    ///
    /// # Errors
    /// [`GitHubError::Forbidden`] where the installation grants no `actions: write`, or the run is older than a month.
    pub async fn rerun_failed(&self, workflow_run: u64) -> Result<(), GitHubError> {
        let url = self.url(["actions", "runs", &workflow_run.to_string(), "rerun-failed-jobs"]);
        self.client.tell(Method::POST, &url, None).await
    }
}

fn shown(show: &CheckShow) -> Value {
    let cut = |text: &str, most| text.chars().take(most).collect::<String>();
    let action = |action: &CheckAction| {
        json!({
            "label": cut(&action.label, LABEL),
            "description": cut(&action.description, DESCRIPTION),
            "identifier": cut(&action.identifier, LABEL),
        })
    };
    let mut body = json!({
        "name": show.name,
        "external_id": show.external_id,
        "status": if show.conclusion.is_some() { "completed" } else { "in_progress" },
        "output": { "title": show.title, "summary": cut(&show.summary, SUMMARY) },
        // An empty list takes those away that were shown before.
        "actions": show.actions.iter().take(ACTIONS).map(action).collect::<Vec<_>>(),
    });
    if let Some(url) = &show.details_url {
        body["details_url"] = json!(url);
    }
    if let Some(conclusion) = show.conclusion {
        body["conclusion"] = json!(conclusion);
    }
    body
}
