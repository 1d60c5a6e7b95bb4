//! Runs of the past: what CI did long before the emulator was started.

use crate::emulator::ci::{JobPlay, Work};
use crate::emulator::reply::Refusal;
use crate::emulator::state::{Id, Time, World};
use chrono::{TimeDelta, Utc};
use std::time::Duration;

/// A workflow run that ended in the past, with every attempt at it.
#[derive(Debug, Clone)]
pub struct PastRun {
    /// The branch it ran on.
    pub branch: String,
    /// The commit; it has to be there.
    pub sha: String,
    /// How long ago it was made.
    pub ago: Duration,
    /// The jobs of each attempt with how they went; an attempt after the first has those that were run again. Without any
    /// the run could not be started.
    pub attempts: Vec<Vec<(String, JobPlay)>>,
}

impl World {
    /// Writes a run into the history. Nobody is told of it.
    pub(crate) fn past_run(&mut self, repo: Id, actor: Id, past: &PastRun) -> Result<Id, Refusal> {
        let ago = TimeDelta::from_std(past.ago).map_err(|_| Refusal::unprocessable("too long ago"))?;
        let mut at = Utc::now() - ago;
        let run = self.bare_run(repo, actor, &past.branch, &past.sha, at);
        for (jobs, number) in past.attempts.iter().zip(1..) {
            if let Some(run) = self.repo_mut(repo).workflow_runs.get_mut(&run) {
                run.attempt = number;
            }
            let mut end = at;
            for (name, play) in jobs {
                let job = self.queue_job(repo, run, name, Work::Held);
                self.start_job(repo, job);
                self.play_job(repo, job, play);
                let length = TimeDelta::milliseconds(i64::try_from(play.milliseconds).unwrap_or(0));
                self.move_job(repo, job, at, at + length);
                end = end.max(at + length);
            }
            at = end;
        }
        if past.attempts.is_empty() {
            self.complete_run(repo, run, "startup_failure");
        }
        let here = self.repo_mut(repo);
        if let Some(run) = here.workflow_runs.get_mut(&run) {
            run.updated = at;
        }
        Ok(run)
    }

    fn move_job(&mut self, repo: Id, job: Id, from: Time, to: Time) {
        let here = self.repo_mut(repo);
        if let Some(job) = here.jobs.get_mut(&job) {
            (job.created, job.started, job.completed) = (from, Some(from), Some(to));
        }
        if let Some(check) = here.check_runs.get_mut(&job) {
            (check.started, check.completed) = (Some(from), Some(to));
        }
    }
}
