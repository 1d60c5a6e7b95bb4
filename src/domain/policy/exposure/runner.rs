//! On which machine a job runs: one of GitHub's, or one of the owner's.

use super::{NAME, yaml};
use crate::domain::text::{self, pattern::pattern};
use serde_json::Value;

/// The labels of a job's runner, joined by commas, and whether it may be a machine that is not GitHub's: anything but
/// GitHub's own labels, a group, and what only an expression knows.
pub(super) fn runner(job: &Value) -> (String, bool) {
    let runs_on = job.get("runs-on").unwrap_or(&Value::Null);
    if let Value::Object(group) = runs_on {
        let part = |key| group.get(key).and_then(yaml::words).unwrap_or_default();
        let named = part("group").into_iter().map(|name| format!("group {name}"));
        return (joined(&named.chain(part("labels")).collect::<Vec<_>>()), true);
    }
    let Some(labels) = yaml::words(runs_on) else { return ("unknown".to_owned(), true) };
    let mut shown: Vec<String> = Vec::new();
    for label in &labels {
        for label in of_matrix(job, label).unwrap_or_else(|| vec![label.clone()]) {
            if !shown.contains(&label) {
                shown.push(label);
            }
        }
    }
    let own = shown.is_empty() || !shown.iter().all(|label| is_githubs(label));
    (joined(&shown), own)
}

fn joined(labels: &[String]) -> String {
    text::shorten(&labels.join(", "), NAME)
}

/// Source: "GitHub-hosted runners reference". A larger runner has a name of its owner's choosing, which a machine of the
/// owner's may have as well.
fn is_githubs(label: &str) -> bool {
    let label = label.to_ascii_lowercase();
    let known = pattern!(
        r"^(ubuntu|windows|macos)-(latest|slim|\d{2,4}(\.\d{2})?)(-vs\d{4})?(-(arm|large|xlarge|intel))?$"
    );
    known.is_match(&label)
}

/// What `${{ matrix.os }}` can be, where the matrix says so itself.
fn of_matrix(job: &Value, label: &str) -> Option<Vec<String>> {
    let expression = pattern!(r"^\$\{\{\s*matrix\.([A-Za-z_][\w-]*)\s*\}\}$");
    let key = expression.captures(label.trim())?.get(1)?.as_str();
    let matrix = job.get("strategy")?.get("matrix")?.as_object()?;
    let mut labels = Vec::new();
    if let Some(values) = matrix.get(key) {
        for value in values.as_array()? {
            labels.extend(yaml::words(value)?);
        }
    }
    if let Some(include) = matrix.get("include") {
        for more in include.as_array()? {
            if let Some(value) = more.as_object()?.get(key) {
                labels.extend(yaml::words(value)?);
            }
        }
    }
    (!labels.is_empty()).then_some(labels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn machines_of_others_are_told_from_githubs() {
        for label in [
            "ubuntu-latest",
            "ubuntu-24.04",
            "ubuntu-22.04-arm",
            "windows-2025",
            "macos-15-intel",
            "macos-14-xlarge",
            "Ubuntu-Latest",
            "ubuntu-slim",
            "windows-11-arm",
        ] {
            assert_eq!(runner(&json!({ "runs-on": label })), (label.to_owned(), false));
        }
        for label in ["self-hosted", "ubuntu-latest-16-cores", "${{ inputs.runner }}", "gpu", "ubuntu"] {
            assert_eq!(runner(&json!({ "runs-on": label })), (label.to_owned(), true));
        }
        let matrix = json!({ "os": ["ubuntu-latest", "windows-latest"], "include": [{ "os": "macos-14" }, { "x": 1 }] });
        let job = json!({ "runs-on": "${{ matrix.os }}", "strategy": { "matrix": matrix } });
        assert_eq!(runner(&job), ("ubuntu-latest, windows-latest, macos-14".to_owned(), false));
        let own = json!({ "os": ["ubuntu-latest", ["self-hosted", "arm"]] });
        let job = json!({ "runs-on": ["${{ matrix.os }}"], "strategy": { "matrix": own } });
        assert_eq!(runner(&job), ("ubuntu-latest, self-hosted, arm".to_owned(), true));
        let job = json!({ "runs-on": "${{ matrix.os }}", "strategy": { "matrix": "${{ fromJSON(x) }}" } });
        assert!(runner(&job).1);
        let group = json!({ "runs-on": { "group": "big", "labels": ["linux"] } });
        assert_eq!(runner(&group), ("group big, linux".to_owned(), true));
        assert_eq!(runner(&json!({})), ("unknown".to_owned(), true));
    }
}
