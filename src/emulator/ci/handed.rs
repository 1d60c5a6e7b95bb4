//! CI that somebody else runs: a job is handed out when it starts, and its end is told from outside. It is for whoever wants
//! a commit checked where the emulator itself must not run it.

use super::log::{Log, Recorded};
use crate::emulator::state::{Annotation, Id};
use crate::emulator::{Emulator, Error, Hub, reply::Refusal};
use tokio::sync::mpsc;

/// A job to be run by somebody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handed {
    /// By this its end is told.
    pub job: u64,
    /// The commit.
    pub sha: String,
    /// The branch that was pushed.
    pub branch: String,
}

/// What became of a job that somebody else ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// The command, as the log's heading shows it.
    pub command: String,
    /// What it printed.
    pub printed: String,
    /// Why it failed, as the log's last line says it; `None`: it succeeded.
    pub failed: Option<String>,
}

impl Emulator {
    /// Tells the end of a job that was handed out. One that has ended already stays as it ended.
    pub fn job_ends(&self, repo: &str, job: u64, ran: &Ran) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            let name = world.repositories[&repo].jobs.get(&job).map(|job| job.name.clone());
            let recorded = recorded(&name.ok_or_else(Refusal::not_found)?, ran);
            world.finish_job(repo, job, recorded);
            Ok(())
        })
    }
}

fn recorded(name: &str, ran: &Ran) -> Recorded {
    let mut log = Log::new(name);
    let first = ran.command.lines().next().unwrap_or_default();
    log.run(&format!("Run {first}"), &ran.command);
    ran.printed.lines().for_each(|line| log.line(line));
    let Some(why) = &ran.failed else {
        log.end("success");
        return log.recorded("success");
    };
    log.line(&format!("##[error]{why}"));
    log.end("failure");
    Recorded { annotations: vec![Annotation::of_the_run(why)], ..log.recorded("failure") }
}

/// Hands a job out; where nobody takes jobs any more, it is cancelled.
pub(super) fn hand_out(hub: &Hub, repo: Id, job: Id, to: &mpsc::UnboundedSender<Handed>) {
    hub.with(|world| {
        world.start_job(repo, job);
        let here = &world.repositories[&repo];
        let run = here.jobs.get(&job).and_then(|job| here.workflow_runs.get(&job.run));
        let Some((sha, branch)) = run.map(|run| (run.head_sha.clone(), run.head_branch.clone())) else {
            return;
        };
        if to.send(Handed { job, sha, branch }).is_err() {
            world.play_job(repo, job, &super::JobPlay::concludes("cancelled"));
        }
    });
}
