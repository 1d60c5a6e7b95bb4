//! A job's log as GitHub Actions writes it: a timestamp before each line, groups, the error at the end.

use crate::emulator::state::{Annotation, Progress, Step, Time};
use chrono::Utc;
use std::fmt::Write as _;

/// What a job left behind.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) conclusion: String,
    pub(crate) steps: Vec<Step>,
    pub(crate) log: Option<String>,
    pub(crate) annotations: Vec<Annotation>,
}

/// A log that is being written, step by step.
#[derive(Debug)]
pub(crate) struct Log {
    steps: Vec<Step>,
}

impl Log {
    /// Begins as every job does.
    pub(crate) fn new(job: &str) -> Log {
        let mut log = Log { steps: Vec::new() };
        log.step("Set up job");
        for line in [
            "Current runner version: '2.329.0'",
            "##[group]Runner Image Provisioner",
            "Hosted Compute Agent",
            "##[endgroup]",
            "##[group]Operating System",
            "Ubuntu",
            "24.04.3",
            "LTS",
            "##[endgroup]",
            "Prepare workflow directory",
            "Prepare all required actions",
        ] {
            log.line(line);
        }
        log.line(&format!("Complete job name: {job}"));
        log.end("success");
        log
    }

    /// A whole log around what one step printed.
    pub(crate) fn of(job: &str, printed: &str, conclusion: &str) -> Log {
        let mut log = Log::new(job);
        log.run(&format!("Run {job}"), &format!("./{job}"));
        printed.lines().for_each(|line| log.line(line));
        if conclusion == "failure" {
            log.line("##[error]Process completed with exit code 1.");
        }
        if conclusion == "cancelled" || conclusion == "timed_out" {
            log.line("##[error]The operation was canceled.");
        }
        log.end(conclusion);
        log
    }

    pub(crate) fn step(&mut self, name: &str) {
        let step = Step {
            name: name.into(),
            progress: Progress::Running,
            log: String::new(),
            started: Some(Utc::now()),
            completed: None,
        };
        self.steps.push(step);
    }

    /// Begins a `run:` step with the heading that Actions gives it.
    pub(crate) fn run(&mut self, name: &str, script: &str) {
        self.step(name);
        let first = script.lines().next().unwrap_or_default();
        self.line(&format!("##[group]Run {first}"));
        for line in script.lines() {
            self.line(&format!("\u{1b}[36;1m{line}\u{1b}[0m"));
        }
        self.line("shell: /usr/bin/bash -e {0}");
        self.line("##[endgroup]");
    }

    pub(crate) fn line(&mut self, text: &str) {
        self.line_at(Utc::now(), text);
    }

    pub(crate) fn line_at(&mut self, at: Time, text: &str) {
        if let Some(step) = self.steps.last_mut() {
            // Seven digits, as .NET prints them.
            let _ = writeln!(step.log, "{}0Z {text}", at.format("%Y-%m-%dT%H:%M:%S%.6f"));
        }
    }

    pub(crate) fn end(&mut self, conclusion: &str) {
        if let Some(step) = self.steps.last_mut() {
            step.progress = Progress::Completed(conclusion.into());
            step.completed = Some(Utc::now());
        }
    }

    pub(crate) fn skip(&mut self, name: &str) {
        self.step(name);
        self.end("skipped");
    }

    pub(crate) fn recorded(mut self, conclusion: &str) -> Recorded {
        self.step("Complete job");
        self.line("Cleaning up orphan processes");
        self.end("success");
        let log = self.steps.iter().map(|step| step.log.as_str()).collect();
        Recorded { conclusion: conclusion.into(), steps: self.steps, log: Some(log), annotations: Vec::new() }
    }
}

/// The steps of a job whose log never arrived.
pub(super) fn frame(conclusion: &str) -> Vec<Step> {
    let mut log = Log::new("");
    log.step("Run");
    log.end(conclusion);
    log.steps
}
