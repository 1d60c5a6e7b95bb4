//! Running a job for real: the pushed commit checked out into a temporary folder, its commands run there.

use super::Step;
use super::handing::Handing;
use super::log::{Log, Recorded};
use crate::emulator::Hub;
use crate::emulator::git::store;
use crate::emulator::state::{Annotation, Id};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::time::Instant;

/// A log longer than this is cut: no test needs more, and memory is finite.
const LONGEST_LOG: usize = 64 * 1024 * 1024;

struct Facts {
    git: std::path::PathBuf,
    sha: String,
    branch: String,
    name: String,
    limit: Duration,
    secrets: Handing,
}

pub(super) async fn run(hub: &Arc<Hub>, repo: Id, job: Id, steps: &[Step]) -> Recorded {
    let facts = hub.with(|world| {
        let here = &world.repositories[&repo];
        let job = here.jobs.get(&job);
        let run = job.and_then(|job| here.workflow_runs.get(&job.run));
        Facts {
            git: here.git.clone(),
            sha: run.map_or_else(String::new, |run| run.head_sha.clone()),
            branch: run.map_or_else(String::new, |run| run.head_branch.clone()),
            name: job.map_or_else(String::new, |job| job.name.clone()),
            limit: here.ci.time_limit,
            secrets: Handing::of(world, repo, run),
        }
    });
    let mut log = Log::new(&facts.name);
    match run_in(&facts, steps, &mut log).await {
        Ok((conclusion, annotations)) => Recorded { annotations, ..log.recorded(conclusion) },
        Err(error) => {
            let words = format!("The emulator could not run the job: {error}");
            log.line(&format!("##[error]{words}"));
            Recorded { annotations: vec![Annotation::of_the_run(words)], ..log.recorded("failure") }
        }
    }
}

async fn run_in(
    facts: &Facts,
    steps: &[Step],
    log: &mut Log,
) -> std::io::Result<(&'static str, Vec<Annotation>)> {
    let home = tempfile::tempdir()?;
    let folder = home.path().join("work");
    check_out(facts, &folder, log).await?;
    let deadline = Instant::now() + facts.limit;
    let mut outcome = ("success", Vec::new());
    for of in steps {
        if outcome.0 != "success" {
            log.skip(&of.name);
            continue;
        }
        log.run(&of.name, &of.script);
        match step(facts, of, (home.path(), &folder), deadline, log).await? {
            Some(0) => log.end("success"),
            Some(code) => {
                let words = format!("Process completed with exit code {code}.");
                log.line(&format!("##[error]{words}"));
                log.end("failure");
                outcome = ("failure", vec![Annotation::of_the_run(words)]);
            }
            None => {
                log.line("##[error]The operation was canceled.");
                log.end("cancelled");
                let words =
                    format!("The job has exceeded the maximum execution time of {}s", facts.limit.as_secs());
                outcome = ("timed_out", vec![Annotation::of_the_run(words)]);
            }
        }
    }
    Ok(outcome)
}

async fn check_out(facts: &Facts, folder: &Path, log: &mut Log) -> std::io::Result<()> {
    log.step("Run actions/checkout@v4");
    log.line("##[group]Run actions/checkout@v4");
    log.line("with:");
    log.line("  fetch-depth: 1");
    log.line("##[endgroup]");
    std::fs::create_dir_all(folder)?;
    let (git, sha, target) = (facts.git.clone(), facts.sha.clone(), folder.to_owned());
    tokio::task::spawn_blocking(move || store::check_out(&git, &sha, &target))
        .await
        .map_err(std::io::Error::other)?
        .map_err(std::io::Error::other)?;
    log.line(&format!("HEAD is now at {}", facts.sha.get(..7).unwrap_or_default()));
    log.end("success");
    Ok(())
}

/// The exit code, or `None` when the time ran out.
async fn step(
    facts: &Facts,
    of: &Step,
    (home, folder): (&Path, &Path),
    deadline: Instant,
    log: &mut Log,
) -> std::io::Result<Option<i32>> {
    let script = facts.secrets.fill(&of.script);
    let mut child = tokio::process::Command::new("sh")
        .args(["-e", "-c", &format!("exec 2>&1\n{script}")])
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("CI", "true")
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_SHA", &facts.sha)
        .env("GITHUB_REF", format!("refs/heads/{}", facts.branch))
        .env("GITHUB_WORKSPACE", folder)
        .envs(of.env.iter().map(|(name, value)| (name, facts.secrets.fill(value))))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    let output = child.stdout.take();
    let reading = async {
        if let Some(output) = output {
            copy_lines(output, &facts.secrets, log).await;
        }
        child.wait().await
    };
    match tokio::time::timeout_at(deadline, reading).await {
        // A signal has no exit code; shells say 128 + n, GitHub shows 137 for a kill.
        Ok(status) => Ok(Some(status?.code().unwrap_or(137))),
        Err(_) => {
            kill_group(&child);
            let _ = child.wait().await;
            Ok(None)
        }
    }
}

async fn copy_lines(output: impl AsyncRead + Unpin, secrets: &Handing, log: &mut Log) {
    let mut reader = BufReader::new(output);
    let mut line = Vec::new();
    let mut length = 0;
    while let Ok(1..) = reader.read_until(b'\n', &mut line).await {
        length += line.len();
        if length < LONGEST_LOG {
            let text = String::from_utf8_lossy(&line);
            log.line(&secrets.masked(text.trim_end_matches(['\n', '\r'])));
        }
        line.clear();
    }
}

/// What a command started must not outlive it.
fn kill_group(child: &tokio::process::Child) {
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}
