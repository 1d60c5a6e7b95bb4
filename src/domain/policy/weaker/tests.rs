use super::{corpus, more};
use crate::domain::{Limits, policy::*};
use std::path::Path;

pub(super) fn diff(path: &str, old: Option<&str>, new: Option<&str>) -> FileDiff {
    FileDiff {
        path: path.to_owned(),
        old_path: None,
        old_mode: old.map(|_| 0o100_644),
        new_mode: new.map(|_| 0o100_644),
        old: old.map(|s| s.as_bytes().to_vec()),
        new: new.map(|s| s.as_bytes().to_vec()),
    }
}

fn flags(files: &[FileDiff]) -> Vec<Flag> {
    match rule(files, &Rules::default(), &Limits::default(), &[]) {
        Ruling::Pass { flags } => flags,
        Ruling::Refuse { reasons } => panic!("{reasons:?}"),
    }
}

#[test]
fn honest_patches_raise_no_alarm() {
    let Ok(data) = std::env::var("FIXPOINT_DATA") else {
        println!("FIXPOINT_DATA is not set: skipped");
        return;
    };
    let (mut all, mut alarms) = (0, 0);
    for source in std::fs::read_dir(Path::new(&data).join("example-repos")).unwrap().flatten() {
        for example in std::fs::read_dir(source.path()).into_iter().flatten().flatten() {
            let Ok(patch) = std::fs::read_to_string(example.path().join("fix.patch")) else { continue };
            all += 1;
            let mut files = Vec::new();
            for part in patch.split("\n--- ") {
                let Some(path) = part.lines().find_map(|l| l.strip_prefix("+++ b/")) else { continue };
                let file = example.path().join("repo").join(path);
                let (mut old, mut new) = (String::new(), String::new());
                for line in part.lines().skip_while(|l| !l.starts_with("@@")) {
                    if line.starts_with("@@") || line.starts_with("diff ") || line.starts_with("index ") {
                        continue;
                    }
                    let (sign, rest) = line.split_at(line.len().min(1));
                    if sign != "+" {
                        old.push_str(rest);
                        old.push('\n');
                    }
                    if sign != "-" {
                        new.push_str(rest);
                        new.push('\n');
                    }
                }
                if let Ok(text) = std::fs::read_to_string(&file) {
                    if text.contains(old.trim_end()) {
                        new = text.replace(old.trim_end(), new.trim_end());
                        old = text;
                    }
                }
                files.push(diff(path, Some(&old), Some(&new)));
            }
            assert!(!files.is_empty());
            let flags = flags(&files);
            if !flags.is_empty() {
                alarms += 1;
                println!("{}: {flags:?}", example.path().display());
            }
        }
    }
    println!("{alarms} alarms of {all}");
    assert!(all == 0 || alarms * 100 <= all * 2);
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
