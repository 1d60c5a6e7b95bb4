//! One repository: whether the App reaches it, and what its base branch asks for.

use super::{Finding, Patient};
use crate::{
    domain::text,
    github::{GitHub, GitHubError},
};

const SUBJECT: &str = "repository";

/// The check by which a person other than the one who asked agrees to a change.
const SECOND_PERSON: &str = "fixpoint/second-person";

/// Each repository that was named.
pub(super) async fn all(patient: &Patient) -> Vec<Finding> {
    let Some(github) = patient.usable() else { return Vec::new() };
    let mut found = Vec::new();
    for named in &patient.repositories {
        let shown = text::terminal(named);
        match one(&github, named).await {
            Ok(findings) => found.extend(findings),
            Err(GitHubError::NotFound(_)) => found.push(
                Finding::fail(SUBJECT, format!("{shown}: the App is not installed on it"))
                    .mend("look at the name, or install the App on it"),
            ),
            Err(error) => {
                found
                    .push(Finding::fail(SUBJECT, format!("{shown}: {}", text::terminal(&error.to_string()))));
            }
        }
    }
    found
}

async fn one(github: &GitHub, named: &str) -> Result<Vec<Finding>, GitHubError> {
    let (owner, name) = named.split_once('/').unwrap_or((named, ""));
    let (installation, repo) = github.installed(owner, name).await?;
    let repository = github.repository(installation, &repo);
    let info = repository.info().await?;
    let required = repository.required_checks(&info.default_branch).await?;
    let shown = text::terminal(&format!("{}/{}", info.repo.owner, info.repo.name));
    let branch = text::terminal(&info.default_branch);
    let mut found = vec![match info.archived {
        true => Finding::fail(SUBJECT, format!("{shown} is archived: nothing can be changed there")),
        false => {
            Finding::ok(SUBJECT, format!("{shown}: {}, {}", rules(&branch, &required), drafts(info.private)))
        }
    }];
    found.push(match required.iter().any(|check| check == SECOND_PERSON) {
        true => Finding::ok(SUBJECT, format!("{shown}: {branch} requires {SECOND_PERSON}")),
        false => Finding::ok(SUBJECT, format!("{shown}: {branch} does not require {SECOND_PERSON}")).mend(
            format!(
                "to have a second person agree: Settings, Rules, Rulesets, a rule for {branch}, Require status \
                 checks to pass; GitHub offers the check there once a pull request has shown it"
            ),
        ),
    });
    Ok(found)
}

fn rules(branch: &str, required: &[String]) -> String {
    match required {
        [] => format!("{branch} requires no check"),
        names => format!("{branch} requires {}", text::terminal(&names.join(", "))),
    }
}

/// GitHub tells of a plan only to the account's owners.
fn drafts(private: bool) -> &'static str {
    match private {
        false => "drafts possible",
        true => "drafts if its plan has them (else an ordinary pull request is opened)",
    }
}
