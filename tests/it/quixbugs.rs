//! Small real programs with a real bug each, through the whole loop: a patch that mends nothing, then the right one.
//!
//! The repositories are QuixBugs', read where `FIXPOINT_DATA` says; none of them is kept here. CI really runs their tests,
//! and what it printed about the first patch is what round two is told.

use crate::support::{Fixpoint, World, plays::*};
use fixpoint::{
    emulator::{Ci, NewRepository, Permission, What},
    sandbox::{DockerProvider, DockerSettings, Provider},
};
use futures::StreamExt as _;
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// So many at once: a sandbox and a test run each, on the machine of whoever runs the tests.
const AT_ONCE: usize = 3;

/// Longer than any of them takes, even on a machine that is busy with something else.
const LONGEST: Duration = Duration::from_secs(600);

/// One repository with a bug.
struct Case {
    name: String,
    files: Vec<(String, Vec<u8>)>,
    command: String,
    /// The file with the bug.
    path: String,
    source: String,
    /// The same file as the real fix leaves it.
    fixed: String,
    /// What the tests print on the bug: the first failing test, and the line where it failed.
    test: String,
    line: String,
}

#[tokio::test(flavor = "multi_thread")]
async fn every_one_ends_green_in_round_two() {
    let Some((cases, python)) = material() else { return };
    run(World::new(), cases.iter().collect(), python.path()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_third_of_them_in_containers() {
    let Some((cases, python)) = material() else { return };
    let Some(docker) = docker().await else { return };
    let world = World { sandboxes: Some(docker), ..World::new() };
    run(world, cases.iter().step_by(3).collect(), python.path()).await;
}

/// Takes every case through; what is wrong with any of them is told together.
async fn run(world: World, cases: Vec<&Case>, python: &Path) {
    let mut t = world.start().await;
    let mut events = t.github.events();
    let count = cases.len();
    let missed: Vec<String> = futures::stream::iter(&cases)
        .map(|case| through(&t, case, python))
        .buffer_unordered(AT_ONCE)
        .collect::<Vec<_>>()
        .await
        .concat();
    t.github.settled().await;
    let mut checks = std::collections::BTreeMap::<String, Vec<String>>::new();
    while let Ok(happened) = events.try_recv() {
        if let What::CheckRun { name, conclusion: Some(conclusion), .. } = happened.what
            && name == "test"
        {
            checks.entry(happened.repository).or_default().push(conclusion);
        }
    }
    assert!(missed.is_empty(), "{} of {count} missed something:\n{}", missed.len(), missed.join("\n"));
    for (repository, mut conclusions) in checks {
        conclusions.sort();
        assert_eq!(
            conclusions,
            ["failure", "failure", "success"],
            "{repository}: the base is red in that check"
        );
    }
    t.github.model().clear();
    t.end().await;
}

/// One case from the comment to green; gives what did not come out as it should.
async fn through(t: &Fixpoint, case: &Case, python: &Path) -> Vec<String> {
    let repo = format!("acme/{}", case.name);
    let command = format!("export PATH={}:$PATH\n{}", python.display(), case.command);
    let mut repository = NewRepository::new(&repo, &[]).ci(Ci::command("test", &command));
    repository.files.clone_from(&case.files);
    t.github.create_repository(repository).unwrap();
    t.github.collaborator(&repo, "alice", Permission::Write).unwrap();
    // The base itself in that very check: a branch with a commit that changes nothing.
    t.github.push_as(&repo, "alice", "as-it-is", &[(&case.path, &case.source)]).unwrap();
    let key = script(t, case);
    let issue = t.github.open_issue(&repo, "alice", "The tests are red", "Make them green.").unwrap();
    t.github.comment(&repo, issue, "alice", "/code").unwrap();
    let told = end(t, case).await;
    let mut missed: Vec<String> = told.into_iter().collect();
    let shown = t.github.model().shown().into_iter().filter(|s| s.holds(&key));
    let last = shown.filter_map(|s| s.body["messages"].as_array()?.last().map(texts));
    let task = last.into_iter().find(|text| text.contains("# Task: round 2 of")).unwrap_or_default();
    for (what, text) in [("failing test", &case.test), ("failing line", &case.line)] {
        if !task.contains(text.as_str()) {
            missed.push(format!("round two is not told the {what} {text:?} but:\n{task}"));
        }
    }
    missed.iter().map(|what| format!("{}: {what}", case.name)).collect()
}

/// The replies for one case; gives a text by which its requests are known.
///
/// Which reply comes follows from what the request holds (the longest key wins), and each can come again: on a machine
/// that is busy enough the database fails now and then, and the model is asked once more.
fn script(t: &Fixpoint, case: &Case) -> String {
    let name = &case.name;
    let (own, seen, red) =
        (format!("acme/{name} in "), format!("# {name} seen"), format!("python_testcases/test_{name}.py"));
    // A remark at the end changes no line's number and mends nothing.
    let wrong = format!("{}\n{seen}\n", case.source.trim_end());
    for (key, reply) in [
        (&own, write(&case.path, &wrong)),
        (&seen, finish("Look it through")),
        (&red, write(&case.path, &case.fixed)),
        (&case.fixed, finish("Mend it")),
    ] {
        t.github.model().plays_where(key, vec![reply; 5]);
    }
    own
}

/// Waits for the case's session to be answered; gives what is wrong with its end.
async fn end(t: &Fixpoint, case: &Case) -> Option<String> {
    let begun = Instant::now();
    loop {
        let sessions = t.sessions().await;
        let state = sessions.into_iter().map(|s| s.state).find(|s| s.facts.repo.name == case.name);
        match state {
            Some(state) if !state.is_live() => {
                let (word, round) = (crate::support::word(&state), state.facts.round);
                let good = word == "resting(green)" && round == 2;
                return (!good).then(|| format!("it ends {word} in round {round}: {:?}", state.facts.rounds));
            }
            state if begun.elapsed() > LONGEST => {
                return Some(format!("it does not end: {:?}", state.map(|s| s.phase)));
            }
            _ => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

/// Every text in a message, one after the other.
fn texts(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text}\n"),
        Value::Array(items) => items.iter().map(texts).collect(),
        Value::Object(fields) => fields.values().map(texts).collect(),
        _ => String::new(),
    }
}

/// The cases and a folder with the `python` that runs their tests; `None`, with a word, where something is missing.
fn material() -> Option<(Vec<Case>, TempDir)> {
    let Some(data) = std::env::var_os("FIXPOINT_DATA") else {
        println!("skipped: FIXPOINT_DATA does not say where the example repositories are");
        return None;
    };
    let Ok(folders) = fs::read_dir(Path::new(&data).join("example-repos/quixbugs")) else {
        println!("skipped: there are no QuixBugs repositories in {}", Path::new(&data).display());
        return None;
    };
    let python = python()?;
    let mut folders: Vec<PathBuf> = folders.map(|f| f.unwrap().path()).collect();
    folders.sort();
    Some((folders.iter().map(|folder| Case::read(folder)).collect(), python))
}

/// A folder in which `python` is one that has pytest.
fn python() -> Option<TempDir> {
    let system = "/usr/bin/python3";
    let has = Command::new(system).args(["-c", "import pytest, pytest_timeout"]).output();
    if !has.is_ok_and(|has| has.status.success()) {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "CI needs pytest: run scripts/ci-packages.sh");
        println!("skipped: {system} has no pytest and pytest-timeout");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(system, folder.path().join("python")).unwrap();
    Some(folder)
}

async fn docker() -> Option<Provider> {
    let settings = DockerSettings {
        // Of its own: what sweeps beside it must not take these for leftovers.
        instance: format!("quixbugs-{}", std::process::id()),
        image: "fixpoint-sandbox:latest".into(),
        program: Some(env!("CARGO_BIN_EXE_fixpoint").into()),
        ..DockerSettings::default()
    };
    match DockerProvider::connect(settings).await {
        Ok(provider) => Some(Provider::Docker(provider)),
        Err(error) if std::env::var("CI").as_deref() == Ok("true") => panic!("CI needs an engine: {error}"),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

impl Case {
    fn read(folder: &Path) -> Self {
        let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        let meta: Value = serde_json::from_str(&text("meta.json")).unwrap();
        let path = meta["buggy_file"].as_str().unwrap().to_owned();
        let mut command = meta["test_command"].as_str().unwrap().to_owned();
        if meta["hangs"] == true {
            // Each of its tests hangs until its time is over: one is enough.
            command += " -x";
        }
        let printed = text("failing-output.txt");
        let mut files = Vec::new();
        collect(&folder.join("repo"), "", &mut files);
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let source = text(&format!("repo/{path}"));
        let (test, line) = (failing_test(&printed), failing_line(&printed));
        let fixed = patched(&source, &text("fix.patch"));
        Self { name, files, command, path, source, fixed, test, line }
    }
}

pub fn collect(folder: &Path, prefix: &str, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        match entry.file_type().unwrap().is_dir() {
            true => collect(&entry.path(), &format!("{name}/"), files),
            false => files.push((name, fs::read(entry.path()).unwrap())),
        }
    }
}

/// The first `FAILED file::test - why`.
fn failing_test(printed: &str) -> String {
    let line = printed.lines().find_map(|line| line.strip_prefix("FAILED ")).unwrap();
    line.split(" - ").next().unwrap().to_owned()
}

/// The place of the last frame: `file.py:7` of `file.py:7: AssertionError`.
fn failing_line(printed: &str) -> String {
    let place = |line: &str| {
        let (place, _) = line.split_once(": ")?;
        let (file, number) = place.split_once(':')?;
        (file.ends_with(".py") && number.bytes().all(|b| b.is_ascii_digit())).then(|| place.to_owned())
    };
    printed.lines().filter_map(place).next_back().unwrap()
}

/// The file after a patch of it, each of whose hunks stands there once.
fn patched(source: &str, patch: &str) -> String {
    let mut hunks: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    for line in patch.lines().skip_while(|line| !line.starts_with("@@")) {
        if line.starts_with("@@") {
            hunks.push((Vec::new(), Vec::new()));
            continue;
        }
        let Some((old, new)) = hunks.last_mut() else { continue };
        let (sign, rest) = line.split_at_checked(1).unwrap_or((" ", ""));
        if sign != "+" && sign != "\\" {
            old.push(rest);
        }
        if sign != "-" && sign != "\\" {
            new.push(rest);
        }
    }
    hunks.into_iter().fold(source.to_owned(), |text, (old, new)| {
        let old = old.join("\n");
        assert_eq!(text.matches(&old).count(), 1, "the hunk\n{old}");
        text.replacen(&old, &new.join("\n"), 1)
    })
}
