//! The runner's own cases for problem matchers, and the matcher files of others.

use crate::corpus::folder;
use fixpoint::digest::{Matcher, matchers::Running};
use serde_json::Value;

#[test]
fn the_runners_cases_come_out_as_the_runner_says() {
    let Some(folder) = folder("problem-matchers") else { return };
    let file = std::fs::read(folder.join("runner-issue-matcher-cases.json")).unwrap();
    let cases: Value = serde_json::from_slice(&file).unwrap();
    for case in cases["match_cases"].as_array().unwrap() {
        let matchers = Matcher::parse(&case["config"].to_string()).unwrap();
        let mut running = Running::new(&matchers[0]);
        for (at, step) in case["steps"].as_array().unwrap().iter().enumerate() {
            let line = step["line"].as_str().unwrap().as_bytes();
            let second = second_configuration(case, at);
            let found = match &second {
                Some(matchers) => Running::new(&matchers[0]).read(line),
                None => running.read(line),
            };
            let name = format!("{} step {at}", case["name"]);
            match step.get("match") {
                None => {}
                Some(Value::Null) => assert_eq!(found, None, "{name}"),
                Some(want) => {
                    let found = found.unwrap_or_else(|| panic!("{name}: nothing found"));
                    for (property, value) in want.as_object().unwrap() {
                        assert_eq!(
                            found.get(property).unwrap_or(""),
                            value.as_str().unwrap_or(""),
                            "{name}: {property}"
                        );
                    }
                }
            }
        }
    }
    for case in cases["config_cases"].as_array().unwrap() {
        let valid = Matcher::parse(&case["config"].to_string()).is_ok();
        assert_eq!(valid, case["valid"].as_bool().unwrap(), "{}", case["name"]);
    }
}

/// One of the runner's tests goes on with a second configuration, in which the pattern itself has the project; the collected case
/// names only the first.
fn second_configuration(case: &Value, step: usize) -> Option<Vec<Matcher>> {
    if case["name"] != "Matcher_SinglePattern_DefaultFromPath" || step != 1 {
        return None;
    }
    let mut config = case["config"].clone();
    let pattern = &mut config["problemMatcher"][0]["pattern"][0];
    let longer = pattern["regexp"].as_str().unwrap().replace("message:(.+)$", "message:(.+) fromPath:(.+)$");
    pattern["regexp"] = longer.into();
    pattern["fromPath"] = 7.into();
    Some(Matcher::parse(&config.to_string()).unwrap())
}

#[test]
fn matcher_files_of_others_run_or_say_why_not() {
    let Some(folder) = folder("problem-matchers") else { return };
    let (mut fine, mut refused) = (0, Vec::new());
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        if !text.contains("\"problemMatcher\"")
            || path.extension().is_none_or(|end| end != "json")
            || text.contains("match_cases")
        {
            continue;
        }
        match Matcher::parse(&text) {
            Ok(_) => fine += 1,
            Err(error) => refused.push(format!("{}: {error}", path.display())),
        }
    }
    println!("{fine} files run, refused: {refused:#?}");
    assert!(fine >= 20, "{refused:#?}");
}
