//! Which part of the log belongs to which step or command, and which of them failed, by the markers of GitHub Actions, Travis,
//! GitLab, Jenkins, Azure Pipelines and BuildKit.

use super::clean::{message, trim};
use memchr::memmem;
use regex::bytes::Regex;
use std::sync::LazyLock;

/// Failed steps remembered; a job with more has failed as a whole.
const FAILED: usize = 64;

/// Lines from the start of a step to the line that says it failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Region {
    /// What the runner calls the step: its command or its name.
    pub name: String,
    /// 1-based first line, the marker included.
    pub first: u64,
    /// The line that says that it failed.
    pub last: u64,
}

/// What a line means to the runner.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(super) enum Marker {
    /// A step begins.
    Start,
    /// The line says that the step failed (an exit code, an error annotation).
    Failed,
    /// Something that ended well.
    Fine,
    /// No marker.
    None,
}

/// Follows the steps of a log line by line.
#[derive(Default)]
pub(super) struct Steps {
    name: String,
    first: u64,
    /// The job's own last word, where the runner gives one: true for success.
    pub outcome: Option<bool>,
    /// Failed steps in order.
    pub failed: Vec<Region>,
    /// A marker of GitHub's runner was seen: it marks every failure, so that none marked is none.
    pub actions: bool,
}

macro_rules! pattern {
    ($name:ident, $text:literal) => {
        #[allow(clippy::expect_used, reason = "the pattern is constant and a test uses it")]
        static $name: LazyLock<Regex> = LazyLock::new(|| Regex::new($text).expect("a valid pattern"));
    };
}
pattern!(TRAVIS_EXIT, r#"(?-u)The command "(.*)" (?:exited with|failed and exited with) (\d+)"#);
pattern!(TRAVIS_DONE, r"(?-u)^Done\. Your build exited with (\d+)");
pattern!(JENKINS_STEP, r"(?-u)^Build step '(.*)' (?:changed build result to|marked build as) (\w+)");
pattern!(JENKINS_DONE, r"(?-u)^Finished: (SUCCESS|FAILURE|ABORTED|UNSTABLE|NOT_BUILT)");
pattern!(JENKINS_STAGE, r"(?-u)^\[Pipeline\] \{ \((.*)\)");
pattern!(GITLAB_DONE, r"(?-u)^(?:ERROR: Job failed|Job (succeeded))");

impl Steps {
    /// Reads a candidate line; `raw` still has the fold markers that cleaning takes away.
    pub(super) fn read(&mut self, number: u64, raw: &[u8], line: &[u8]) -> Marker {
        let bare = message(line);
        if let Some(rest) = bare.strip_prefix(b"##[") {
            self.actions = true;
            return self.actions(number, rest);
        }
        if memmem::find(raw, b"travis_time:start").is_some() {
            return self.start(number, trim(line.strip_prefix(b"$ ").unwrap_or(line)));
        }
        if let Some(at) = memmem::find(raw, b"section_start:") {
            let name = raw[at..].splitn(3, |b| *b == b':').nth(2).unwrap_or_default();
            let name = name.split(|b| matches!(b, b'\r' | 0x1b | b'[')).next().unwrap_or_default();
            return self.start(number, name);
        }
        self.exits(number, bare)
    }

    fn actions(&mut self, number: u64, rest: &[u8]) -> Marker {
        if let Some(name) = rest.strip_prefix(b"group]Run ") {
            return self.start(number, name);
        }
        if let Some(name) = rest.strip_prefix(b"section]Starting: ") {
            return self.start(number, name);
        }
        if rest.starts_with(b"error]") { self.fail(number, None) } else { Marker::None }
    }

    fn exits(&mut self, number: u64, line: &[u8]) -> Marker {
        if line == b"Post job cleanup." {
            return self.start(number, b"Post job cleanup");
        }
        if let Some(found) = TRAVIS_EXIT.captures(line) {
            if &found[2] == b"0" {
                return Marker::Fine;
            }
            let name = found[1].to_vec();
            return self.fail(number, Some(&name));
        }
        if let Some(found) = TRAVIS_DONE.captures(line) {
            self.outcome = Some(&found[1] == b"0");
            return if &found[1] == b"0" { Marker::Fine } else { Marker::Failed };
        }
        if let Some(found) = JENKINS_STEP.captures(line) {
            let bad = &found[2] == b"failure" || &found[2] == b"FAILURE";
            let name = found[1].to_vec();
            return if bad { self.fail(number, Some(&name)) } else { Marker::Fine };
        }
        if let Some(found) = JENKINS_DONE.captures(line) {
            self.outcome = Some(&found[1] == b"SUCCESS");
            return if &found[1] == b"SUCCESS" { Marker::Fine } else { Marker::Failed };
        }
        if let Some(found) = JENKINS_STAGE.captures(line) {
            let name = found[1].to_vec();
            return self.start(number, &name);
        }
        if let Some(found) = GITLAB_DONE.captures(line) {
            let fine = found.get(1).is_some();
            self.outcome = Some(fine);
            return if fine { Marker::Fine } else { self.fail(number, None) };
        }
        Marker::None
    }

    /// Name of the failed step that holds the line, else of the first that failed.
    pub(super) fn failed_at(&self, line: Option<u64>) -> Option<String> {
        let holds = |region: &&Region| line.is_some_and(|line| (region.first..=region.last).contains(&line));
        let region = self.failed.iter().find(holds).or(self.failed.first())?;
        Some(region.name.clone()).filter(|name| !name.is_empty())
    }

    fn start(&mut self, number: u64, name: &[u8]) -> Marker {
        self.name = String::from_utf8_lossy(&name[..name.len().min(200)]).trim().to_owned();
        self.first = number;
        Marker::Start
    }

    fn fail(&mut self, number: u64, name: Option<&[u8]>) -> Marker {
        let name = name.map_or_else(
            || self.name.clone(),
            |n| String::from_utf8_lossy(&n[..n.len().min(200)]).into_owned(),
        );
        let room = self.failed.len() < FAILED;
        match self.failed.last_mut() {
            Some(same) if same.first == self.first => same.last = number,
            _ if room => self.failed.push(Region { name, first: self.first, last: number }),
            _ => {}
        }
        Marker::Failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_runner_says_in_its_way_which_step_failed() {
        let mut steps = Steps::default();
        for (number, line) in [
            (1, "##[group]Run cargo test"),
            (2, "error: x"),
            (3, "##[error]Process completed with exit code 101."),
            (4, "Post job cleanup."),
            (5, "The command \"make\" exited with 2."),
            (6, "Build step 'Execute shell' marked build as failure"),
        ] {
            steps.read(number, line.as_bytes(), line.as_bytes());
        }
        assert_eq!(steps.failed[0], Region { name: "cargo test".into(), first: 1, last: 3 });
        assert_eq!(steps.failed[1].name, "make");
    }
}
