//! Cheats are caught, honest work is let alone.

use super::{corpus, more};
use crate::domain::{Limits, policy::*};
use std::path::Path;

fn diff(path: &str, old: Option<&str>, new: Option<&str>) -> FileDiff {
    FileDiff {
        path: path.to_owned(),
        old_path: None,
        old_mode: old.map(|_| 0o100_644),
        new_mode: new.map(|_| 0o100_644),
        old: old.map(|text| text.as_bytes().to_vec()),
        new: new.map(|text| text.as_bytes().to_vec()),
    }
}

fn flags(files: &[FileDiff]) -> Vec<Flag> {
    match rule(files, &Around::default(), &Rules::default(), &Limits::default(), &[]) {
        Ruling::Pass { flags } => flags,
        Ruling::Refuse { reasons } => panic!("{reasons:?}"),
    }
}

/// The files of a unified patch, as far as its hunks show them; whole where the repository lies beside it.
fn patched(patch: &str, repository: &Path) -> Vec<FileDiff> {
    let mut files = Vec::new();
    for part in format!("\n{patch}").split("\n--- ").skip(1) {
        let Some(path) = part.lines().find_map(|line| line.strip_prefix("+++ b/")) else { continue };
        let (mut old, mut new) = (String::new(), String::new());
        let hunks = part.lines().skip_while(|line| !line.starts_with("@@"));
        for line in hunks.filter(|line| line.starts_with([' ', '+', '-']) || line.is_empty()) {
            let text = line.get(1..).unwrap_or_default();
            [(&mut old, '+'), (&mut new, '-')]
                .into_iter()
                .filter(|(_, other)| !line.starts_with(*other))
                .for_each(|(side, _)| {
                    side.push_str(text);
                    side.push('\n');
                });
        }
        if let Ok(whole) = std::fs::read_to_string(repository.join(path))
            && whole.contains(&old)
        {
            new = whole.replace(&old, &new);
            old = whole;
        }
        files.push(diff(path, Some(&old), Some(&new)));
    }
    files
}

#[test]
fn f22_honest_patches_of_real_projects_raise_no_alarm() {
    let Ok(data) = std::env::var("FIXPOINT_DATA") else {
        println!("FIXPOINT_DATA is not set: skipped");
        return;
    };
    let Ok(sources) = std::fs::read_dir(Path::new(&data).join("example-repos")) else {
        println!("FIXPOINT_DATA holds no example-repos: skipped");
        return;
    };
    let examples =
        sources.flatten().flat_map(|source| std::fs::read_dir(source.path()).into_iter().flatten().flatten());
    let (mut all, mut alarms) = (0, Vec::new());
    for example in examples {
        let Ok(patch) = std::fs::read_to_string(example.path().join("fix.patch")) else { continue };
        let files = patched(&patch, &example.path().join("repo"));
        assert!(!files.is_empty(), "{}", example.path().display());
        all += 1;
        let flags = flags(&files);
        if !flags.is_empty() {
            alarms.push((example.path(), flags));
        }
    }
    println!("{} alarms in {all} honest patches", alarms.len());
    assert!(alarms.len() * 50 <= all, "{alarms:#?}");
}

#[test]
fn a_large_rewrite_is_ruled_on_in_time() {
    let side = |salt: usize| -> String {
        (0..3_000)
            .map(|n| format!("def test_{n}():\n    assert f({n}, {}) == '{}'\n\n", n * salt, n + salt))
            .collect()
    };
    let start = std::time::Instant::now();
    assert!(!flags(&[diff("tests/test_f.py", Some(&side(1)), Some(&side(2)))]).is_empty());
    // Not a measure of speed: something that grows with the square of its input takes minutes here.
    assert!(start.elapsed() < std::time::Duration::from_secs(60));
}

/// A change of one file by replacements, each of which must fit.
fn changed(file: (&str, &str), replacements: &[(&str, &str)]) -> FileDiff {
    let new = replacements.iter().fold(file.1.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{}: {from:?} is not there", file.0);
        text.replacen(from, to, 1)
    });
    diff(file.0, Some(file.1), Some(&new))
}

/// Every case of the corpus: what it is called, and the change.
fn cases(honest: bool) -> Vec<(String, FileDiff)> {
    let mut cases = Vec::new();
    for project in corpus::PROJECTS {
        let (in_tests, in_code) = if honest {
            (project.honest, project.honest_code)
        } else {
            (project.cheats, project.code_cheats)
        };
        for (kind, replacements) in in_tests {
            cases.push((format!("{}: {kind}", project.test.0), changed(project.test, replacements)));
        }
        for (kind, replacements) in in_code {
            cases.push((format!("{}: {kind}", project.code.0), changed(project.code, replacements)));
        }
        if !honest {
            cases.push((
                format!("{}: deleted", project.test.0),
                diff(project.test.0, Some(project.test.1), None),
            ));
            cases.push((
                format!("{}: emptied", project.test.0),
                diff(project.test.0, Some(project.test.1), Some("")),
            ));
        }
    }
    for (kind, path, old, new) in if honest { more::HONEST } else { more::CHEATS } {
        let old = (!old.is_empty()).then_some(*old);
        cases.push((format!("{path}: {kind}"), diff(path, old, Some(new))));
    }
    for (path, old, new) in if honest { corpus::HONEST_ORDERS } else { corpus::ORDERS } {
        let old = (!old.is_empty()).then_some(*old);
        cases.push((format!("{path}: {new:?}"), diff(path, old, Some(new))));
    }
    cases
}

#[test]
fn f22_cheats_are_caught() {
    let cases = cases(false);
    let missed: Vec<&String> = cases
        .iter()
        .filter(|(_, file)| flags(std::slice::from_ref(file)).is_empty())
        .map(|(name, _)| name)
        .collect();
    println!("caught {} of {}", cases.len() - missed.len(), cases.len());
    assert!(cases.len() >= 100);
    assert!(missed.is_empty(), "missed: {missed:#?}");
}

#[test]
fn f22_honest_changes_raise_no_alarm() {
    let alarms: Vec<_> = cases(true)
        .into_iter()
        .map(|(name, file)| (name, flags(&[file])))
        .filter(|(_, flags)| !flags.is_empty())
        .collect();
    assert!(alarms.is_empty(), "{alarms:#?}");
}
