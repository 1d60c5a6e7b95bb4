//! A tiny reading of workflow files: jobs, the `run:` steps in them, their environment. Everything else is passed over.

use super::Step;
use crate::emulator::git::store;
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

const FOLDER: &str = ".github/workflows";

/// A job: its name and its steps.
pub(super) type Planned = (String, Vec<Step>);

/// A workflow of a commit.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) name: String,
    pub(super) path: String,
    /// `None`: the file cannot be read, which GitHub reports as a startup failure.
    pub(super) jobs: Option<Vec<Planned>>,
    on: Value,
}

#[derive(Deserialize)]
struct File {
    name: Option<String>,
    #[serde(default)]
    on: Value,
    #[serde(default)]
    env: Value,
    jobs: serde_json::Map<String, Value>,
}

/// The workflows of `sha` that `event` starts.
pub(super) fn read(git: &Path, sha: &str, event: &str) -> Vec<Found> {
    let names = store::names_at(git, sha, FOLDER);
    let yaml = |name: &&String| [".yml", ".yaml"].iter().any(|end| name.ends_with(end));
    let found = names.iter().filter(yaml).filter_map(|name| {
        let path = format!("{FOLDER}/{name}");
        let text = store::file_at(git, sha, &path)?;
        Some(parse(&path, &String::from_utf8_lossy(&text)))
    });
    found.filter(|workflow| workflow.starts_on(event)).collect()
}

fn parse(path: &str, text: &str) -> Found {
    match serde_saphyr::from_str::<File>(text) {
        Ok(file) => Found {
            name: file.name.unwrap_or_else(|| path.into()),
            path: path.into(),
            jobs: Some(
                file.jobs.iter().map(|(key, job)| (name_of(key, job), steps_of(&file.env, job))).collect(),
            ),
            on: file.on,
        },
        Err(_) => Found { name: path.into(), path: path.into(), jobs: None, on: Value::Null },
    }
}

fn name_of(key: &str, job: &Value) -> String {
    job["name"].as_str().unwrap_or(key).into()
}

fn steps_of(env: &Value, job: &Value) -> Vec<Step> {
    let steps = job["steps"].as_array().into_iter().flatten();
    let runs = steps.filter_map(|step| {
        let script = step["run"].as_str()?.trim_end();
        let first = script.lines().next().unwrap_or_default();
        let name = step["name"].as_str().map_or_else(|| format!("Run {first}"), String::from);
        let env = [env, &job["env"], &step["env"]].into_iter().flat_map(variables).collect();
        Some(Step { name, script: script.to_owned(), env })
    });
    runs.collect()
}

/// The variables of an `env:`; of two with one name the later counts.
fn variables(env: &Value) -> Vec<(String, String)> {
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), String::from);
    env.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), word(value))).collect()
}

impl Found {
    fn starts_on(&self, event: &str) -> bool {
        match &self.on {
            Value::String(one) => one == event,
            Value::Array(several) => several.iter().any(|one| one == event),
            Value::Object(filters) => filters.contains_key(event),
            // A file that cannot be read fails on every push.
            _ => event == "push",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_and_their_run_steps_are_read() {
        let text = "name: CI\non: [push, pull_request]\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: actions/checkout@v4\n      - run: sh ci/test.sh\n";
        let found = parse(".github/workflows/ci.yml", text);
        assert!(found.starts_on("push") && found.starts_on("pull_request") && !found.starts_on("schedule"));
        let (name, script) = ("Run sh ci/test.sh".into(), "sh ci/test.sh".into());
        let steps = vec![Step { name, script, env: Vec::new() }];
        assert_eq!(found.jobs, Some(vec![("test".to_owned(), steps)]));
    }

    #[test]
    fn an_environment_is_the_workflows_the_jobs_and_the_steps() {
        let text = "on: push\nenv: {A: 1, B: 2}\njobs:\n  test:\n    env: {B: '${{ secrets.B }}'}\n    steps: [{run: make, env: {C: 3}}]\n";
        let jobs = parse("x.yml", text).jobs.unwrap();
        let of = |name: &str| jobs[0].1[0].env.iter().rfind(|(known, _)| known == name).unwrap().1.clone();
        assert_eq!([of("A"), of("B"), of("C")], ["1", "${{ secrets.B }}", "3"]);
    }

    #[test]
    fn a_broken_file_is_a_startup_failure() {
        assert_eq!(parse("x.yml", "jobs: [\n").jobs, None);
    }
}
