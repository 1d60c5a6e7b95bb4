//! One repository: whether the App reaches it, and what its base branch asks for.

use super::{Finding, Patient};
use crate::{
    domain::{
        repo_config::{self, Effective, Operator, PATH, Read, SecondPerson},
        say::SECOND_PERSON,
        text,
    },
    github::{GitHub, GitHubError, Repository, RepositoryInfo},
};

const SUBJECT: &str = "repository";

/// Each repository that was named.
pub(super) async fn all(patient: &Patient) -> Vec<Finding> {
    let Some(github) = patient.usable() else { return Vec::new() };
    let mut found = Vec::new();
    for named in &patient.repositories {
        let shown = text::terminal(named);
        match one(patient, &github, named).await {
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

async fn one(patient: &Patient, github: &GitHub, named: &str) -> Result<Vec<Finding>, GitHubError> {
    let (owner, name) = named.split_once('/').unwrap_or((named, ""));
    let (installation, repo) = github.installed(owner, name).await?;
    let repository = github.repository(installation, &repo);
    let info = repository.info().await?;
    let required = repository.required_checks(&info.default_branch).await?;
    let holds = configured(patient, &repository, &info).await?;
    let shown = text::terminal(&format!("{}/{}", info.repo.owner, info.repo.name));
    let branch = text::terminal(&info.default_branch);
    let mut found = vec![match info.archived {
        true => Finding::fail(SUBJECT, format!("{shown} is archived: nothing can be changed there")),
        false => {
            Finding::ok(SUBJECT, format!("{shown}: {}, {}", rules(&branch, &required), drafts(info.private)))
        }
    }];
    found.extend(holds.mistakes.iter().map(|mistake| {
        let told = text::terminal(&mistake.in_file(PATH).to_string());
        Finding::warn(SUBJECT, format!("{shown}: {told}")).mend("what is wrong there is left at its default")
    }));
    if !holds.enabled {
        found.push(Finding::warn(SUBJECT, format!("{shown}: {PATH} has it switched off")));
    }
    let is_required = required.iter().any(|check| check == SECOND_PERSON);
    found.push(second_person(&shown, &branch, holds.second_person, is_required));
    Ok(found)
}

/// What the repository's own file says.
async fn configured(
    patient: &Patient,
    repository: &Repository,
    info: &RepositoryInfo,
) -> Result<Effective, GitHubError> {
    // By its commit: a tag of the same name would be another file.
    let file = match repository.branch(&info.default_branch).await? {
        Some(tip) => repository.file(PATH, tip.as_str()).await,
        None => Ok(None),
    };
    let read = match file {
        Ok(file) => file.map_or_else(Read::default, |bytes| repo_config::read(&bytes)),
        Err(GitHubError::Invalid(why)) => Read::failed(&why),
        Err(error) => return Err(error),
    };
    let workflows = repository.may_write_workflows().await?;
    Ok(Effective::of(read, &Operator { workflows, ..patient.config.operator() }, !info.private))
}

/// Whether the rule and the configuration go together: one shows the check, the other makes GitHub wait for it.
fn second_person(shown: &str, branch: &str, wanted: SecondPerson, required: bool) -> Finding {
    let require = format!(
        "Settings, Rules, Rulesets, one for {branch}: Require status checks to pass, {SECOND_PERSON}; GitHub \
         offers it there once a pull request has shown it"
    );
    match (wanted == SecondPerson::Off, required) {
        (false, true) => {
            Finding::ok(SUBJECT, format!("{shown}: {branch} waits for the second person that {PATH} wants"))
        }
        (false, false) => Finding::warn(
            SUBJECT,
            format!(
                "{shown}: {SECOND_PERSON} is shown and {branch} does not require it: it holds nothing back"
            ),
        )
        .mend(require),
        (true, true) => Finding::fail(
            SUBJECT,
            format!("{shown}: {branch} requires {SECOND_PERSON}, which nothing shows: nothing can be merged"),
        )
        .mend(format!("set second_person in {PATH}, or take the check out of the rule")),
        (true, false) => Finding::ok(SUBJECT, format!("{shown}: {branch} does not require {SECOND_PERSON}"))
            .mend(format!("to have a second person agree, set second_person in {PATH}, then"))
            .mend(require),
    }
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
