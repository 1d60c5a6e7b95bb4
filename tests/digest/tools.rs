//! Places found in the output of compilers, linters and test runners.

use crate::corpus::{cases, folder};
use crate::read::digest;
use serde_json::Value;

fn base(path: &str) -> String {
    path.trim().rsplit(['/', '\\']).next().unwrap_or_default().to_lowercase()
}

/// The share of expected issues whose file and line were found.
fn found(source: &str) -> Option<f64> {
    let folder = folder(&format!("annotation-cases/{source}"))?;
    let (mut hits, mut all) = (0, 0);
    for (name, expected, log) in cases(&folder) {
        let got: Vec<(String, Option<u64>)> = digest(&log)
            .diagnostics
            .iter()
            .map(|d| (base(d.file.as_deref().unwrap_or("")), d.line))
            .collect();
        let issues = expected["issues"].as_array().unwrap();
        let with_place =
            issues.iter().filter(|i| i["file"].as_str().is_some_and(|f| f != "-") && i["line"] != 0);
        let (mut of, mut hit) = (0, 0);
        for issue in with_place {
            of += 1;
            hit +=
                usize::from(got.contains(&(base(issue["file"].as_str().unwrap()), issue["line"].as_u64())));
        }
        if hit < of {
            println!("{source}/{name}: {hit} of {of}");
        }
        (hits, all) = (hits + hit, all + of);
    }
    println!("{source}: {hits} of {all}");
    Some(f64::from(u32::try_from(hits).unwrap()) / f64::from(u32::try_from(all).unwrap()))
}

#[test]
fn places_in_linter_output_are_found() {
    if let Some(share) = found("errorformat") {
        assert!(share >= 0.95, "{share}");
    }
}

#[test]
fn places_in_compiler_output_are_found() {
    if let Some(share) = found("analysis-model") {
        assert!(share >= 0.80, "{share}");
    }
}

#[test]
fn failing_tests_are_named() {
    let (mut hits, mut all) = (0.0, 0.0);
    for source in ["bugswarm-gha", "bugswarm-travis"] {
        let Some(folder) = folder(&format!("ci-logs/{source}")) else { return };
        for (_, expected, log) in cases(&folder) {
            let names: Vec<&str> =
                expected["failed_tests"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            if names.is_empty() {
                continue;
            }
            let text = crate::read::plain(&String::from_utf8_lossy(&log));
            let got: Vec<String> = digest(&log).tests.iter().map(|test| crate::read::plain(test)).collect();
            for name in names
                .into_iter()
                .map(|name| crate::read::plain(core(name)))
                .filter(|name| text.contains(name))
            {
                all += 1.0;
                hits += f64::from(u8::from(got.iter().any(|test| test.contains(&name))));
            }
        }
    }
    println!("names: {hits} of {all}");
    assert!(hits / all >= 0.95, "{hits} of {all}");
}

/// The part of a name that every form of it has: the method of `method (Class)`, `a.Class.method` and `file::method`.
fn core(name: &str) -> &str {
    let name = name.trim_end_matches(':');
    if let Some((method, _)) =
        name.split_once('(').filter(|(method, _)| !method.is_empty() && !method.trim().contains(' '))
    {
        return method.trim().rsplit('.').next().unwrap_or(name);
    }
    let last = name.rsplit("::").next().unwrap_or(name);
    let last = last.rsplit(" › ").next().unwrap_or(last);
    let stem = last.split('[').next().unwrap_or(last);
    if stem.contains(' ') { last } else { stem.rfind('.').map_or(last, |dot| &last[dot + 1..]) }
}
