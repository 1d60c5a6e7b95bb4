//! The life of workflow runs and their jobs, and the webhooks that tell of it.

use super::log::Recorded;
use super::{How, Order, Play, Step, Work, workflow};
use crate::emulator::events::What;
use crate::emulator::git::push::NO_COMMIT;
use crate::emulator::state::{
    ACTIONS_APP, CheckRun, Id, Job, Progress, Suite, Time, Workflow, WorkflowRun, World,
};
use chrono::Utc;
use serde_json::json;
use std::collections::BTreeMap;

/// A workflow run about to be made.
struct Plan {
    workflow: Workflow,
    /// A run that ends at once has a conclusion and no jobs.
    ends: Option<&'static str>,
    jobs: Vec<(String, Work)>,
}

/// On what a run is started.
struct Start<'a> {
    event: &'a str,
    branch: &'a str,
    before: &'a str,
    sha: &'a str,
    actor: Id,
}

impl World {
    /// Every App that may write checks gets a suite for every push; where it reports nothing it stays queued.
    pub(crate) fn ask_apps_for_checks(&mut self, repo: Id, branch: &str, before: &str, sha: &str) {
        let writes_checks = self.app.permissions.get("checks").is_some_and(|level| level == "write");
        if !self.repositories[&repo].installed || !writes_checks {
            return;
        }
        let suite = self.make_suite(repo, self.app.id, Some(branch), Some(before), sha);
        let parts = json!({ "check_suite": self.show_suite(repo, &self.repositories[&repo].suites[&suite]) });
        self.hook("check_suite", Some("requested"), Some(repo), self.app.bot, parts);
    }

    pub(crate) fn make_suite(
        &mut self,
        repo: Id,
        app: Id,
        branch: Option<&str>,
        before: Option<&str>,
        sha: &str,
    ) -> Id {
        let id = self.id();
        let now = Utc::now();
        let suite = Suite {
            id,
            app,
            head_sha: sha.into(),
            head_branch: branch.map(String::from),
            before: before.map(String::from),
            progress: Progress::Queued,
            created: now,
            updated: now,
        };
        self.repo_mut(repo).suites.insert(id, suite);
        id
    }

    /// Starts what the repository's CI does on `event` for a commit.
    pub(crate) fn start_ci(
        &mut self,
        repo: Id,
        event: &str,
        branch: &str,
        before: &str,
        sha: &str,
        actor: Id,
    ) {
        if sha == NO_COMMIT || !self.repositories[&repo].ci.starts_on(event) {
            return;
        }
        let start = Start { event, branch, before, sha, actor };
        for plan in self.plans(repo, &start) {
            self.start_run(repo, &start, plan);
        }
    }

    fn plans(&mut self, repo: Id, start: &Start<'_>) -> Vec<Plan> {
        let ci = self.repositories[&repo].ci.clone();
        match ci.how {
            How::None => Vec::new(),
            How::Commands(jobs) => {
                let work = |(name, command): (String, String)| {
                    let first = command.lines().next().unwrap_or_default().to_owned();
                    let step = Step { name: format!("Run {first}"), script: command, env: Vec::new() };
                    (name, Work::Steps(vec![step]))
                };
                vec![self.plan(repo, None, jobs.into_iter().map(work).collect())]
            }
            How::Workflow => self.plans_of_files(repo, start),
            How::Handed { check, to } => vec![self.plan(repo, None, vec![(check, Work::Handed(to))])],
            How::Scripted(mut script) => {
                let play = script.plays.pop_front();
                let held = script.checks.iter().map(|name| (name.clone(), Work::Held)).collect();
                self.repo_mut(repo).ci.how = How::Scripted(script);
                match play {
                    Some(Play::Nothing) => Vec::new(),
                    Some(Play::StartupFailure) => vec![self.plan(repo, Some("startup_failure"), Vec::new())],
                    Some(Play::ActionRequired) => vec![self.plan(repo, Some("action_required"), Vec::new())],
                    Some(Play::Jobs(jobs)) => {
                        let work = jobs.into_iter().map(|(name, play)| (name, Work::Play(play))).collect();
                        vec![self.plan(repo, None, work)]
                    }
                    None => vec![self.plan(repo, None, held)],
                }
            }
        }
    }

    fn plan(&mut self, repo: Id, ends: Option<&'static str>, jobs: Vec<(String, Work)>) -> Plan {
        Plan { workflow: self.workflow(repo, "CI", ".github/workflows/ci.yml"), ends, jobs }
    }

    fn plans_of_files(&mut self, repo: Id, start: &Start<'_>) -> Vec<Plan> {
        let found = workflow::read(&self.repositories[&repo].git, start.sha, start.event);
        let mut plans = Vec::new();
        for file in found {
            let workflow = self.workflow(repo, &file.name, &file.path);
            let ends = if file.jobs.is_none() { Some("startup_failure") } else { None };
            let jobs =
                file.jobs.unwrap_or_default().into_iter().map(|(name, steps)| (name, Work::Steps(steps)));
            plans.push(Plan { workflow, ends, jobs: jobs.collect() });
        }
        plans
    }

    fn workflow(&mut self, repo: Id, name: &str, path: &str) -> Workflow {
        let known = self.repositories[&repo].workflow_runs.values().find(|run| run.workflow.path == path);
        let id = known.map(|run| run.workflow.id);
        let id = id.unwrap_or_else(|| self.id());
        Workflow { id, name: name.into(), path: path.into() }
    }

    fn start_run(&mut self, repo: Id, start: &Start<'_>, plan: Plan) {
        let suite = self.make_suite(repo, ACTIONS_APP, Some(start.branch), Some(start.before), start.sha);
        let id = self.id();
        let now = Utc::now();
        let same = |run: &&WorkflowRun| run.workflow.path == plan.workflow.path;
        let number = self.repositories[&repo].workflow_runs.values().filter(same).count() as u64 + 1;
        let run = WorkflowRun {
            id,
            suite,
            workflow: plan.workflow,
            number,
            attempt: 1,
            event: start.event.into(),
            head_sha: start.sha.into(),
            head_branch: start.branch.into(),
            actor: start.actor,
            progress: Progress::Queued,
            created: now,
            updated: now,
            archive: None,
        };
        self.repo_mut(repo).workflow_runs.insert(id, run);
        self.tell_run(repo, id, "requested");
        match plan.ends {
            Some(conclusion) => self.complete_run(repo, id, conclusion),
            None => plan.jobs.into_iter().for_each(|(name, work)| {
                self.queue_job(repo, id, &name, work);
            }),
        }
    }

    /// A run without jobs, made at that time, that nobody is told of.
    pub(super) fn bare_run(&mut self, repo: Id, actor: Id, branch: &str, sha: &str, at: Time) -> Id {
        let workflow = self.workflow(repo, "CI", ".github/workflows/ci.yml");
        let suite = self.make_suite(repo, ACTIONS_APP, Some(branch), None, sha);
        let number = self.repositories[&repo].workflow_runs.len() as u64 + 1;
        let id = self.id();
        let run = WorkflowRun {
            id,
            suite,
            workflow,
            number,
            attempt: 1,
            event: "push".into(),
            head_sha: sha.into(),
            head_branch: branch.into(),
            actor,
            progress: Progress::Queued,
            created: at,
            updated: at,
            archive: None,
        };
        self.repo_mut(repo).workflow_runs.insert(id, run);
        id
    }

    /// Puts a job of a run into the queue, with its check run.
    pub(crate) fn queue_job(&mut self, repo: Id, run: Id, name: &str, work: Work) -> Id {
        let id = self.id();
        let now = Utc::now();
        let html = self.web_of(repo);
        let here = self.repo_mut(repo);
        let Some(of) = here.workflow_runs.get(&run) else { return id };
        let check = CheckRun {
            id,
            suite: of.suite,
            app: ACTIONS_APP,
            name: name.into(),
            head_sha: of.head_sha.clone(),
            progress: Progress::Queued,
            details_url: Some(format!("{html}/actions/runs/{run}/job/{id}")),
            external_id: uuid::Uuid::new_v4().to_string(),
            title: None,
            summary: None,
            text: None,
            annotations: Vec::new(),
            actions: Vec::new(),
            started: Some(now),
            completed: None,
        };
        let job = Job {
            id,
            run,
            attempt: of.attempt,
            name: name.into(),
            progress: Progress::Queued,
            steps: Vec::new(),
            log: None,
            runner: None,
            created: now,
            started: None,
            completed: None,
        };
        here.check_runs.insert(id, check);
        here.jobs.insert(id, job);
        here.work.insert(id, work.clone());
        self.tell_check(repo, id, "created");
        self.tell_job(repo, id, "queued");
        let _ = self.wires.ci.send(Order { repo, job: id, work, guard: self.wires.busy.begin() });
        id
    }

    pub(crate) fn start_job(&mut self, repo: Id, job: Id) {
        let now = Utc::now();
        let here = self.repo_mut(repo);
        let Some(of) = here.jobs.get_mut(&job) else { return };
        of.progress = Progress::Running;
        of.started = Some(now);
        of.runner = Some("GitHub Actions 1".into());
        let run = of.run;
        if let Some(check) = here.check_runs.get_mut(&job) {
            check.progress = Progress::Running;
            check.started = Some(now);
        }
        self.tell_job(repo, job, "in_progress");
        self.happened_to_check(repo, job);
        self.advance_run(repo, run);
    }

    fn advance_run(&mut self, repo: Id, run: Id) {
        let here = self.repo_mut(repo);
        let Some(of) = here.workflow_runs.get_mut(&run).filter(|run| run.progress == Progress::Queued) else {
            return;
        };
        of.progress = Progress::Running;
        of.updated = Utc::now();
        let suite = of.suite;
        if let Some(suite) = here.suites.get_mut(&suite) {
            suite.progress = Progress::Running;
        }
        self.tell_run(repo, run, "in_progress");
    }

    pub(crate) fn finish_job(&mut self, repo: Id, job: Id, recorded: Recorded) {
        let now = Utc::now();
        let here = self.repo_mut(repo);
        let Some(of) = here.jobs.get_mut(&job).filter(|job| !job.progress.is_completed()) else { return };
        of.progress = Progress::Completed(recorded.conclusion.clone());
        of.completed = Some(now);
        of.steps = recorded.steps;
        of.log = recorded.log;
        let run = of.run;
        if let Some(check) = here.check_runs.get_mut(&job) {
            check.progress = Progress::Completed(recorded.conclusion);
            check.completed = Some(now);
            check.annotations = recorded.annotations;
        }
        self.tell_job(repo, job, "completed");
        self.tell_check(repo, job, "completed");
        self.happened_to_check(repo, job);
        if let Some(conclusion) = self.conclusion_of(repo, run) {
            self.complete_run(repo, run, conclusion);
        }
    }

    /// The conclusion of a run once all jobs have ended; of each name its latest attempt counts.
    fn conclusion_of(&self, repo: Id, run: Id) -> Option<&'static str> {
        let here = &self.repositories[&repo];
        let latest: BTreeMap<&str, &Job> =
            here.jobs.values().filter(|job| job.run == run).map(|job| (job.name.as_str(), job)).collect();
        let ended: Option<Vec<&str>> = latest.values().map(|job| job.progress.conclusion()).collect();
        let ended = ended?;
        let any = |wanted: &str| ended.contains(&wanted);
        Some(match () {
            () if any("failure") || any("timed_out") => "failure",
            () if any("cancelled") => "cancelled",
            () if any("action_required") => "action_required",
            () if ended.iter().all(|conclusion| *conclusion == "skipped") => "skipped",
            () => "success",
        })
    }

    pub(crate) fn complete_run(&mut self, repo: Id, run: Id, conclusion: &str) {
        let now = Utc::now();
        let here = self.repo_mut(repo);
        let Some(of) = here.workflow_runs.get_mut(&run) else { return };
        of.progress = Progress::Completed(conclusion.into());
        of.updated = now;
        let (suite, sha) = (of.suite, of.head_sha.clone());
        self.complete_suite(repo, suite, conclusion);
        self.tell_run(repo, run, "completed");
        self.happened(repo, What::CiCompleted { sha, conclusion: conclusion.into() });
    }

    pub(crate) fn complete_suite(&mut self, repo: Id, suite: Id, conclusion: &str) {
        let Some(of) = self.repo_mut(repo).suites.get_mut(&suite) else { return };
        of.progress = Progress::Completed(conclusion.into());
        of.updated = Utc::now();
        let (app, of) = (of.app, of.clone());
        let parts = json!({ "check_suite": self.show_suite(repo, &of) });
        self.hook("check_suite", Some("completed"), Some(repo), self.bot_of(app), parts);
    }

    pub(crate) fn tell_check(&self, repo: Id, check: Id, action: &str) {
        let Some(run) = self.repositories[&repo].check_runs.get(&check) else { return };
        let parts = json!({ "check_run": self.show_check_run_hook(repo, run) });
        self.hook("check_run", Some(action), Some(repo), self.bot_of(run.app), parts);
    }

    pub(crate) fn happened_to_check(&self, repo: Id, check: Id) {
        let Some(run) = self.repositories[&repo].check_runs.get(&check) else { return };
        self.happened(
            repo,
            What::CheckRun {
                name: run.name.clone(),
                sha: run.head_sha.clone(),
                status: run.progress.status().into(),
                conclusion: run.progress.conclusion().map(String::from),
            },
        );
    }

    fn tell_job(&self, repo: Id, job: Id, action: &str) {
        let Some(job) = self.repositories[&repo].jobs.get(&job) else { return };
        let parts = json!({ "workflow_job": self.show_job(repo, job) });
        self.hook("workflow_job", Some(action), Some(repo), self.bot_of(ACTIONS_APP), parts);
    }

    pub(crate) fn tell_run(&self, repo: Id, run: Id, action: &str) {
        let Some(run) = self.repositories[&repo].workflow_runs.get(&run) else { return };
        let parts = json!({
            "workflow_run": self.show_workflow_run(repo, run),
            "workflow": self.show_workflow(repo, &run.workflow),
        });
        self.hook("workflow_run", Some(action), Some(repo), run.actor, parts);
    }
}
