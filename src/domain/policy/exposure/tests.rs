//! The workflows of `tests/exposure` against the table beside them, and the bounds.

use super::*;
use std::{collections::BTreeSet, path::PathBuf};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/exposure")
}

fn text(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap()
}

fn jobs(files: &[(&str, &str)]) -> Vec<Job> {
    let files: Vec<File<'_>> = files.iter().map(|(path, text)| File { path, text: Some(text) }).collect();
    let paths = ["src/sum.rs".to_owned()];
    read(&files, &Place { branch: "fixpoint/7-sum", base: "main", paths: Some(&paths) })
}

/// A job as the table writes it.
fn row(job: &Job) -> [String; 8] {
    let permissions = match &job.permissions {
        Permissions::Word(word) => word.clone(),
        Permissions::Each(each) => {
            each.iter().map(|(name, level)| format!("{name}: {level}")).collect::<Vec<_>>().join(", ")
        }
    };
    // Of a reader's own words the first ones.
    let unread = job.unread.as_deref().unwrap_or_default().split(": ").next().unwrap().to_owned();
    [
        job.job.clone(),
        job.event.clone(),
        job.secrets.join(" "),
        permissions,
        job.environment.clone().unwrap_or_default(),
        job.runner.clone(),
        if job.self_hosted { "yes" } else { "no" }.to_owned(),
        unread,
    ]
}

#[test]
fn t39_workflows_hand_out_what_the_table_says() {
    let table = text("expected.tsv");
    let mut expected: Vec<(&str, BTreeSet<[String; 8]>)> = Vec::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let mut cells = line.split('\t');
        let files = cells.next().unwrap();
        let mut row: [String; 8] = std::array::from_fn(|_| cells.next().unwrap().to_owned());
        let mut secrets: Vec<&str> = row[2].split(' ').collect();
        secrets.sort_unstable();
        row[2] = secrets.join(" ");
        if expected.last().is_none_or(|(last, _)| *last != files) {
            expected.push((files, BTreeSet::new()));
        }
        if row[0] != "nothing runs" {
            expected.last_mut().unwrap().1.insert(row);
        }
    }
    let (called, action) = (text("_called.yml"), text("_action.yml"));
    let mut wrong = Vec::new();
    for (names, rows) in &expected {
        let texts: Vec<(String, String)> =
            names.split(' ').map(|name| (format!("{WORKFLOWS}/{name}"), text(name))).collect();
        let mut files: Vec<(&str, &str)> =
            texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        files.push((".github/workflows/_called.yml", &called));
        files.push((".github/actions/setup/action.yml", &action));
        let found: BTreeSet<[String; 8]> = jobs(&files).iter().map(row).collect();
        if found != *rows {
            wrong.push(format!("{names}\n  found    {found:?}\n  expected {rows:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let all = std::fs::read_dir(folder())
        .unwrap()
        .filter(|file| file.as_ref().unwrap().path().extension().unwrap() == "yml");
    let told: BTreeSet<&str> = expected.iter().flat_map(|(names, _)| names.split(' ')).collect();
    assert_eq!(told.len() + 2, all.count(), "every file has its place in the table");
    assert!(told.len() >= 40);
}

#[test]
fn what_is_worth_asking_about() {
    let of = |job: &str| {
        let text = format!("on: push\njobs:\n  test:\n    steps: []\n{job}");
        Handed::of(jobs(&[(".github/workflows/ci.yml", &text)]))
    };
    let hosted = "    runs-on: ubuntu-latest\n";
    assert!(of(hosted).is_empty());
    assert!(of(&format!("{hosted}    permissions: {{contents: read}}\n")).is_empty());
    for more in [
        "permissions: {id-token: write}",
        "permissions: write-all",
        "environment: x",
        "env: {A: '${{ secrets.A }}'}",
        "permissions: maybe",
    ] {
        assert!(!of(&format!("{hosted}    {more}\n")).is_empty(), "{more}");
    }
    assert!(!of("    runs-on: own\n").is_empty());
}

#[test]
fn a_fork_is_handed_less() {
    let text = "on: [push, pull_request, pull_request_target]\njobs:\n  test:\n    runs-on: ubuntu-latest\n    environment: x\n    steps: [{run: 'echo ${{ secrets.A }}'}]\n";
    let jobs = jobs(&[(".github/workflows/ci.yml", text)]).into_iter().filter_map(Job::of_a_fork);
    let told: Vec<_> = jobs.map(|job| (job.event.clone(), job.is_exposed())).collect();
    assert_eq!(told, [("pull_request".to_owned(), false), ("pull_request_target".to_owned(), true)]);
}

#[test]
fn what_is_too_much_counts_as_handing_out_everything() {
    let path = ".github/workflows/ci.yml";
    let place = Place { branch: "fixpoint/7-sum", base: "main", paths: None };
    let long = read(&[File { path, text: None }], &place);
    assert_eq!(long[0].secrets, ["*"]);
    // Aliases of aliases.
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..12 {
        let names = vec![format!("*a{}", n - 1); 9].join(", ");
        bomb.push_str(&format!("a{n}: &a{n} [{names}]\n"));
    }
    let deep = format!("on: {}{}", "[".repeat(100_000), "]".repeat(100_000));
    let silent = "on: push\njobs:\n  j: {}\n";
    for text in [&bomb, &deep] {
        assert_eq!(jobs(&[(path, text)])[0].job, "unknown");
    }
    assert!(jobs(&[(path, silent)])[0].is_exposed(), "a job that says nothing");
    // Ten levels of ten calls each end at the cap.
    let call = |level: usize| {
        let calls: String =
            (0..10).map(|n| format!("  c{n}: {{uses: ./.github/workflows/l{}.yml}}\n", level + 1)).collect();
        format!("on: {}\njobs:\n{calls}", if level == 0 { "push" } else { "workflow_call" })
    };
    let texts: Vec<(String, String)> =
        (0..10).map(|level| (format!("{WORKFLOWS}/l{level}.yml"), call(level))).collect();
    let files: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let found = jobs(&files);
    assert!(
        found.len() <= 1_000
            && found.iter().any(|job| job.unread.as_deref() == Some("it has more jobs than are read"))
    );
    let kept = Handed::of(found.clone());
    assert_eq!(kept.jobs.len() + kept.more, found.len());
    assert_eq!(kept.jobs.len(), 20);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 128, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_file_is_read(lines in proptest::collection::vec("( {0,6})(on|jobs|test|uses|secrets|if|env|runs-on|- |\\$\\{\\{ secrets\\.A \\}\\}|push|&a|\\*a|\\[|\\{|'|: |:){1,4}", 0..20)) {
        jobs(&[(".github/workflows/ci.yml", &lines.join("\n"))]);
    }
}
