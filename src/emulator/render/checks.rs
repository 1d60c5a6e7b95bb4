//! Check suites, check runs, statuses.

use super::node_id;
use crate::emulator::state::{CheckRun, Id, Status, Suite, World, stamp};
use serde_json::{Value, json};

/// What an absent `before` is in git.
const NO_COMMIT: &str = "0000000000000000000000000000000000000000";

impl World {
    pub(crate) fn show_suite(&self, repo: Id, suite: &Suite) -> Value {
        let url = format!("{}/check-suites/{}", self.api_of(repo), suite.id);
        let runs = self.repositories[&repo].check_runs.values().filter(|run| run.suite == suite.id).count();
        json!({
            "id": suite.id,
            "node_id": node_id("CS", suite.id),
            "head_branch": suite.head_branch,
            "head_sha": suite.head_sha,
            "status": suite.progress.status(),
            "conclusion": suite.progress.conclusion(),
            "url": url,
            "before": suite.before.as_deref().unwrap_or(NO_COMMIT),
            "after": suite.head_sha,
            "pull_requests": self.show_pulls_of(repo, &suite.head_sha),
            "app": self.show_app(suite.app),
            "created_at": stamp(suite.created),
            "updated_at": stamp(suite.updated),
            "rerequestable": true,
            "runs_rerequestable": suite.app != super::ACTIONS_APP,
            "latest_check_runs_count": runs,
            "check_runs_url": format!("{url}/check-runs"),
            "head_commit": self.show_simple_commit(repo, &suite.head_sha),
        })
    }

    /// The suite as the REST API shows it: with its repository.
    pub(crate) fn show_full_suite(&self, repo: Id, suite: &Suite) -> Value {
        let mut shown = self.show_suite(repo, suite);
        shown["repository"] = self.show_repository(repo);
        shown
    }

    pub(crate) fn show_check_run(&self, repo: Id, run: &CheckRun) -> Value {
        let url = format!("{}/check-runs/{}", self.api_of(repo), run.id);
        json!({
            "id": run.id,
            "node_id": node_id("CR", run.id),
            "head_sha": run.head_sha,
            "external_id": run.external_id,
            "name": run.name,
            "url": url,
            "html_url": format!("{}/runs/{}", self.web_of(repo), run.id),
            "details_url": run.details_url,
            "status": run.progress.status(),
            "conclusion": run.progress.conclusion(),
            "started_at": run.started.map(stamp),
            "completed_at": run.completed.map(stamp),
            "output": {
                "title": run.title,
                "summary": run.summary,
                "text": run.text,
                "annotations_count": run.annotations.len(),
                "annotations_url": format!("{url}/annotations"),
            },
            "check_suite": { "id": run.suite },
            "app": self.show_app(run.app),
            "pull_requests": self.show_pulls_of(repo, &run.head_sha),
        })
    }

    /// The check run of a webhook: its suite stands in it, shortened.
    pub(crate) fn show_check_run_hook(&self, repo: Id, run: &CheckRun) -> Value {
        let mut shown = self.show_check_run(repo, run);
        if let Some(suite) = self.repositories[&repo].suites.get(&run.suite) {
            let mut suite = self.show_suite(repo, suite);
            if let Some(fields) = suite.as_object_mut() {
                for name in [
                    "latest_check_runs_count",
                    "check_runs_url",
                    "head_commit",
                    "rerequestable",
                    "runs_rerequestable",
                ] {
                    fields.remove(name);
                }
            }
            shown["check_suite"] = suite;
        }
        shown
    }

    pub(crate) fn show_status(&self, repo: Id, status: &Status) -> Value {
        json!({
            "url": format!("{}/statuses/{}", self.api_of(repo), status.sha),
            "avatar_url": format!("{}/avatars/{}", self.web, status.creator),
            "id": status.id,
            "node_id": node_id("SC", status.id),
            "state": status.state,
            "description": status.description,
            "target_url": status.target_url,
            "context": status.context,
            "created_at": stamp(status.created),
            "updated_at": stamp(status.created),
        })
    }
}
