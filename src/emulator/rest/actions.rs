//! Actions: workflow runs, their jobs, their logs, and running them again.

use super::{At, number};
use crate::emulator::auth::{Need, read, write};
use crate::emulator::ci::{JobPlay, Work};
use crate::emulator::events::What;
use crate::emulator::reply::{Answer, Call, Refusal, Reply};
use crate::emulator::state::{Id, Job, Progress, WorkflowRun, World};
use chrono::Utc;
use http::StatusCode;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{Cursor, Write as _};

const READ: Need = read(&["actions"]);
const WRITE: Need = write(&["actions"]);

/// What is run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::emulator) enum Which {
    All,
    Failed,
}

fn find_run<'w>(world: &'w World, repo: Id, id: &str) -> Result<&'w WorkflowRun, Refusal> {
    world.repositories[&repo].workflow_runs.get(&number(id)?).ok_or_else(Refusal::not_found)
}

fn find_job<'w>(world: &'w World, repo: Id, id: &str) -> Result<&'w Job, Refusal> {
    world.repositories[&repo].jobs.get(&number(id)?).ok_or_else(Refusal::not_found)
}

pub(super) fn workflows(world: &World, call: &Call, (owner, name): At<'_>) -> Answer {
    let repo = world.reach(call, owner, name, READ)?;
    let by_path: BTreeMap<&str, _> = world.repositories[&repo]
        .workflow_runs
        .values()
        .map(|run| (run.workflow.path.as_str(), &run.workflow))
        .collect();
    let shown = by_path.into_values().map(|workflow| world.show_workflow(repo, workflow)).collect();
    Ok(call.counted_page(&world.api, "workflows", shown))
}

pub(super) fn runs(world: &World, call: &Call, (owner, name): At<'_>) -> Answer {
    let repo = world.reach(call, owner, name, READ)?;
    let is = |asked: &str, value: &str| call.asks(asked).is_none_or(|wanted| wanted == value);
    let shown = world.repositories[&repo]
        .workflow_runs
        .values()
        .rev()
        .filter(|run| {
            is("head_sha", &run.head_sha) && is("branch", &run.head_branch) && is("event", &run.event)
        })
        .filter(|run| {
            is("status", run.progress.status()) || is("status", run.progress.conclusion().unwrap_or_default())
        })
        .filter(|run| is("check_suite_id", &run.suite.to_string()))
        .map(|run| world.show_workflow_run(repo, run));
    Ok(call.counted_page(&world.api, "workflow_runs", shown.collect()))
}

pub(super) fn run(world: &World, call: &Call, (owner, name): At<'_>, id: &str) -> Answer {
    let repo = world.reach(call, owner, name, READ)?;
    Ok(Reply::ok(world.show_workflow_run(repo, find_run(world, repo, id)?)))
}

/// The jobs of an attempt: those it ran, and the newest earlier one of every other name.
fn jobs_of(world: &World, repo: Id, run: Id, attempt: u64) -> Vec<&Job> {
    let jobs = world.repositories[&repo].jobs.values().filter(|job| job.run == run && job.attempt <= attempt);
    let newest: BTreeMap<&str, &Job> = jobs.map(|job| (job.name.as_str(), job)).collect();
    newest.into_values().collect()
}

pub(super) fn jobs(
    world: &World,
    call: &Call,
    (owner, name): At<'_>,
    id: &str,
    attempt: Option<&str>,
) -> Answer {
    let repo = world.reach(call, owner, name, READ)?;
    let run = find_run(world, repo, id)?;
    let attempt = attempt.map_or(Ok(run.attempt), number)?;
    let chosen = match call.asks("filter") {
        Some("all") => world.repositories[&repo].jobs.values().filter(|job| job.run == run.id).collect(),
        _ => jobs_of(world, repo, run.id, attempt),
    };
    let shown = chosen.into_iter().map(|job| world.show_job(repo, job)).collect();
    Ok(call.counted_page(&world.api, "jobs", shown))
}

pub(super) fn job(world: &World, call: &Call, (owner, name): At<'_>, id: &str) -> Answer {
    let repo = world.reach(call, owner, name, READ)?;
    Ok(Reply::ok(world.show_job(repo, find_job(world, repo, id)?)))
}

/// Logs lie elsewhere: the answer is a redirect to a signed address on another origin.
fn redirect(world: &mut World, content: Vec<u8>) -> Reply {
    let id = hex::encode(rand::random::<[u8; 16]>());
    let address = format!("{}/{id}?sig={}", world.storage, hex::encode(rand::random::<[u8; 16]>()));
    world.signed.insert(id, content);
    Reply::bytes(StatusCode::FOUND, "text/html;charset=utf-8", bytes::Bytes::new()).with("location", &address)
}

pub(super) fn job_log(world: &mut World, call: &Call, (owner, name): At<'_>, id: &str) -> Answer {
    let repo = world.reach(call, owner, name, READ)?;
    // A byte order mark stands at the beginning of every log that GitHub hands out.
    let log = find_job(world, repo, id)?.log.as_ref().map(|log| format!("\u{feff}{log}").into_bytes());
    log.map(|log| redirect(world, log)).ok_or_else(Refusal::not_found)
}

pub(super) fn archive(
    world: &mut World,
    call: &Call,
    (owner, name): At<'_>,
    id: &str,
    attempt: Option<&str>,
) -> Answer {
    let repo = world.reach(call, owner, name, READ)?;
    let run = find_run(world, repo, id)?;
    if !run.progress.is_completed() {
        return Err(Refusal::not_found());
    }
    if let Some(recorded) = &run.archive {
        let zip = recorded.to_vec();
        return Ok(redirect(world, zip));
    }
    let attempt = attempt.map_or(Ok(run.attempt), number)?;
    let zip = zip_of(&jobs_of(world, repo, run.id, attempt)).map_err(Refusal::broken)?;
    Ok(redirect(world, zip))
}

/// `<n>_<job>.txt` for each job and `<job>/<n>_<step>.txt` for each step, as in GitHub's archives.
fn zip_of(jobs: &[&Job]) -> Result<Vec<u8>, zip::result::ZipError> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    for (at, job) in jobs.iter().enumerate() {
        let Some(log) = &job.log else { continue };
        let folder = job.name.replace('/', "_");
        archive.start_file(format!("{at}_{folder}.txt"), options)?;
        archive.write_all(log.as_bytes())?;
        for (step, number) in job.steps.iter().zip(1..) {
            let name = step.name.replace(['/', ':'], "_");
            archive.start_file(format!("{folder}/{number}_{name}.txt"), options)?;
            archive.write_all(step.log.as_bytes())?;
        }
    }
    Ok(archive.finish()?.into_inner())
}

pub(super) fn rerun(world: &mut World, call: &Call, (owner, name): At<'_>, id: &str, which: Which) -> Answer {
    let repo = world.reach(call, owner, name, WRITE)?;
    let run = find_run(world, repo, id)?.id;
    world.rerun(repo, call.actor()?, run, which)
}

pub(super) fn rerun_job(world: &mut World, call: &Call, (owner, name): At<'_>, id: &str) -> Answer {
    let repo = world.reach(call, owner, name, WRITE)?;
    let job = find_job(world, repo, id)?.clone();
    let run = find_run(world, repo, &job.run.to_string())?.clone();
    start_again(world, call.actor()?, repo, &run, &[job.id])
}

fn start_again(world: &mut World, actor: Id, repo: Id, run: &WorkflowRun, jobs: &[Id]) -> Answer {
    if !run.progress.is_completed() {
        return Err(Refusal::new(
            StatusCode::FORBIDDEN,
            "The workflow run containing this job is already running",
        ));
    }
    let now = Utc::now();
    let here = world.repo_mut(repo);
    if let Some(run) = here.workflow_runs.get_mut(&run.id) {
        run.attempt += 1;
        run.progress = Progress::Queued;
        run.updated = now;
    }
    if let Some(suite) = here.suites.get_mut(&run.suite) {
        suite.progress = Progress::Queued;
        suite.updated = now;
    }
    world.tell_run(repo, run.id, "requested");
    let login = world.login(actor).to_owned();
    world.happened(repo, What::Rerun { login, run: run.id, sha: run.head_sha.clone() });
    for id in jobs {
        let here = &world.repositories[&repo];
        let (Some(job), Some(work)) = (here.jobs.get(id), here.work.get(id)) else { continue };
        let (name, work) = (job.name.clone(), work.clone());
        let work = world.next_try(repo, &name, work);
        world.queue_job(repo, run.id, &name, work);
    }
    Ok(Reply::created(json!({})))
}

/// A maintainer's approval lets a waiting run go.
pub(super) fn approve(world: &mut World, call: &Call, (owner, name): At<'_>, id: &str) -> Answer {
    let repo = world.reach(call, owner, name, WRITE)?;
    let run = find_run(world, repo, id)?.id;
    world.approve_run(repo, run)?;
    Ok(Reply::created(json!({})))
}

pub(super) fn cancel(world: &mut World, call: &Call, (owner, name): At<'_>, id: &str) -> Answer {
    let repo = world.reach(call, owner, name, WRITE)?;
    let run = find_run(world, repo, id)?.clone();
    if run.progress.is_completed() {
        return Err(Refusal::new(StatusCode::CONFLICT, "Cannot cancel a workflow run that is completed."));
    }
    let running: Vec<Id> = jobs_of(world, repo, run.id, run.attempt).iter().map(|job| job.id).collect();
    for job in running {
        world.play_job(repo, job, &JobPlay::concludes("cancelled"));
    }
    Ok(Reply::json(StatusCode::ACCEPTED, json!({})))
}

impl World {
    /// Runs the jobs of a run again.
    pub(in crate::emulator) fn rerun(&mut self, repo: Id, actor: Id, run: Id, which: Which) -> Answer {
        let run = self.repositories[&repo].workflow_runs.get(&run).ok_or_else(Refusal::not_found)?.clone();
        let failed = |job: &&Job| {
            which == Which::All
                || !matches!(job.progress.conclusion(), Some("success" | "skipped" | "neutral"))
        };
        let again: Vec<Id> =
            jobs_of(self, repo, run.id, run.attempt).into_iter().filter(failed).map(|job| job.id).collect();
        start_again(self, actor, repo, &run, &again)
    }

    /// What a job does when it is run again: a scripted one takes the next play that names it, else it is held.
    fn next_try(&mut self, repo: Id, name: &str, work: Work) -> Work {
        if matches!(work, Work::Steps(_) | Work::Handed(_)) {
            return work;
        }
        self.next_play(repo, name).map_or(Work::Held, Work::Play)
    }

    /// Lets a run that waits for approval start.
    pub(crate) fn approve_run(&mut self, repo: Id, run: Id) -> Result<(), Refusal> {
        let of = self.repo_mut(repo).workflow_runs.get_mut(&run).ok_or_else(Refusal::not_found)?;
        if of.progress.conclusion() != Some("action_required") {
            return Err(Refusal::new(
                StatusCode::FORBIDDEN,
                "This run is not from a fork pull request or is not waiting for approval",
            ));
        }
        of.progress = Progress::Queued;
        let suite = of.suite;
        if let Some(suite) = self.repo_mut(repo).suites.get_mut(&suite) {
            suite.progress = Progress::Queued;
        }
        self.tell_run(repo, run, "requested");
        self.queue_scripted_jobs(repo, run);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_without_logs_is_a_valid_empty_zip() {
        let bytes = zip_of(&[]).unwrap();
        assert!(zip::ZipArchive::new(Cursor::new(bytes)).unwrap().is_empty());
    }
}
