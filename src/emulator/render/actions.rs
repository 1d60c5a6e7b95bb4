//! Workflow runs and jobs.

use super::node_id;
use crate::emulator::state::{ACTIONS_APP, Id, Job, Step, Workflow, WorkflowRun, World, stamp};
use serde_json::{Value, json};

impl World {
    pub(crate) fn show_workflow(&self, repo: Id, workflow: &Workflow) -> Value {
        let here = &self.repositories[&repo];
        let created = stamp(here.created);
        json!({
            "id": workflow.id,
            "node_id": node_id("W", workflow.id),
            "name": workflow.name,
            "path": workflow.path,
            "state": "active",
            "created_at": created,
            "updated_at": created,
            "url": format!("{}/actions/workflows/{}", self.api_of(repo), workflow.id),
            "html_url": format!("{}/blob/{}/{}", self.web_of(repo), here.default_branch, workflow.path),
            "badge_url": format!("{}/workflows/{}/badge.svg", self.web_of(repo), workflow.name),
        })
    }

    pub(crate) fn show_workflow_run(&self, repo: Id, run: &WorkflowRun) -> Value {
        let api = self.api_of(repo);
        let url = format!("{api}/actions/runs/{}", run.id);
        let actor = self.show_user(run.actor);
        let commit = self.show_simple_commit(repo, &run.head_sha);
        let title =
            commit["message"].as_str().unwrap_or_default().lines().next().unwrap_or_default().to_owned();
        let previous = (run.attempt > 1).then(|| format!("{url}/attempts/{}", run.attempt - 1));
        json!({
            "id": run.id,
            "name": run.workflow.name,
            "node_id": node_id("WFR", run.id),
            "head_branch": run.head_branch,
            "head_sha": run.head_sha,
            "path": run.workflow.path,
            "display_title": title,
            "run_number": run.number,
            "event": run.event,
            "status": run.progress.status(),
            "conclusion": run.progress.conclusion(),
            "workflow_id": run.workflow.id,
            "check_suite_id": run.suite,
            "check_suite_node_id": node_id("CS", run.suite),
            "url": url,
            "html_url": format!("{}/actions/runs/{}", self.web_of(repo), run.id),
            "pull_requests": self.show_pulls_of(repo, &run.head_sha),
            "created_at": stamp(run.created),
            "updated_at": stamp(run.updated),
            "actor": actor,
            "triggering_actor": actor,
            "run_attempt": run.attempt,
            "referenced_workflows": [],
            "run_started_at": stamp(run.created),
            "jobs_url": format!("{url}/jobs"),
            "logs_url": format!("{url}/logs"),
            "check_suite_url": format!("{api}/check-suites/{}", run.suite),
            "artifacts_url": format!("{url}/artifacts"),
            "cancel_url": format!("{url}/cancel"),
            "rerun_url": format!("{url}/rerun"),
            "previous_attempt_url": previous,
            "workflow_url": format!("{api}/actions/workflows/{}", run.workflow.id),
            "head_commit": commit,
            "repository": self.show_repository(repo),
            "head_repository": self.show_repository(self.home_of(repo, &run.head_sha)),
        })
    }

    pub(crate) fn show_job(&self, repo: Id, job: &Job) -> Value {
        let here = &self.repositories[&repo];
        let run = here.workflow_runs.get(&job.run);
        let api = self.api_of(repo);
        let run_url = format!("{api}/actions/runs/{}", job.run);
        let steps: Vec<Value> =
            job.steps.iter().zip(1..).map(|(step, number)| show_step(step, number)).collect();
        let runner = job.runner.as_deref();
        json!({
            "id": job.id,
            "run_id": job.run,
            "workflow_name": run.map(|run| run.workflow.name.as_str()),
            "head_branch": run.map(|run| run.head_branch.as_str()),
            "run_url": run_url,
            "run_attempt": job.attempt,
            "node_id": node_id("CR", job.id),
            "head_sha": run.map_or("", |run| run.head_sha.as_str()),
            "url": format!("{api}/actions/jobs/{}", job.id),
            "html_url": format!("{}/actions/runs/{}/job/{}", self.web_of(repo), job.run, job.id),
            "status": job.progress.status(),
            "conclusion": job.progress.conclusion(),
            "created_at": stamp(job.created),
            "started_at": stamp(job.started.unwrap_or(job.created)),
            "completed_at": job.completed.map(stamp),
            "name": job.name,
            "steps": steps,
            "check_run_url": format!("{api}/check-runs/{}", job.id),
            "labels": ["ubuntu-latest"],
            "runner_id": runner.map(|_| 1),
            "runner_name": runner,
            "runner_group_id": runner.map(|_| 1),
            "runner_group_name": runner.map(|_| "GitHub Actions"),
        })
    }

    /// Where a head commit comes from: the fork of the pull request that has it, else here.
    pub(crate) fn home_of(&self, repo: Id, sha: &str) -> Id {
        let pulls = self.repositories[&repo].issues.values().filter_map(|issue| issue.pull.as_ref());
        pulls.filter(|pull| pull.head.sha == sha).map(|pull| pull.head.repository).next().unwrap_or(repo)
    }

    pub(crate) fn bot_of(&self, app: Id) -> Id {
        if app == self.app.id {
            return self.app.bot;
        }
        debug_assert_eq!(app, ACTIONS_APP);
        self.find_user("github-actions[bot]").unwrap_or(self.app.bot)
    }
}

fn show_step(step: &Step, number: u64) -> Value {
    json!({
        "name": step.name,
        "status": step.progress.status(),
        "conclusion": step.progress.conclusion(),
        "number": number,
        "started_at": step.started.map(stamp),
        "completed_at": step.completed.map(stamp),
    })
}
