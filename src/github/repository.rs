//! The repository itself: its facts, its branches and files, and what people may do in it.

use super::{GitHubError, Repository};
use crate::domain::trust::Permission;
use crate::domain::{Actor, Repo, RepoId, Sha, UserId};
use base64::Engine as _;
use serde::Deserialize;
use std::collections::BTreeSet;

/// A repository's facts.
#[derive(Clone, Debug)]
pub struct RepositoryInfo {
    /// Id and present names.
    pub repo: Repo,
    /// Not everybody may read it.
    pub private: bool,
    /// Where pull requests go by default.
    pub default_branch: String,
    /// Nothing may be written.
    pub archived: bool,
}

/// An account as GitHub's answers hold it. One that was deleted is absent: then it is the ghost, whom no id matches.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct AccountRow {
    pub(super) id: u64,
    pub(super) login: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
}

impl AccountRow {
    pub(super) fn is_bot(&self) -> bool {
        self.kind == "Bot"
    }
}

impl From<AccountRow> for Actor {
    fn from(row: AccountRow) -> Self {
        let login = if row.login.is_empty() { "ghost".to_owned() } else { row.login };
        Self { id: UserId(row.id), login }
    }
}

#[derive(Deserialize)]
struct RepositoryRow {
    id: RepoId,
    name: String,
    #[serde(default)]
    owner: AccountRow,
    /// Absent in no answer that is known; then the careful reading.
    #[serde(default = "yes")]
    private: bool,
    #[serde(default)]
    default_branch: String,
    #[serde(default)]
    archived: bool,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
struct PermissionRow {
    permission: String,
    #[serde(default)]
    user: AccountRow,
}

#[derive(Deserialize)]
struct BranchRow {
    commit: CommitRow,
    #[serde(default)]
    protection: Protection,
}

#[derive(Deserialize)]
struct CommitRow {
    sha: Sha,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Protection {
    required_status_checks: RequiredChecks,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RequiredChecks {
    contexts: Vec<String>,
    checks: Vec<RequiredCheck>,
}

#[derive(Deserialize)]
struct RequiredCheck {
    context: String,
}

#[derive(Deserialize)]
struct RuleRow {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    parameters: RuleParameters,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RuleParameters {
    required_status_checks: Vec<RequiredCheck>,
}

#[derive(Deserialize)]
struct ContentRow {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    encoding: String,
    #[serde(default)]
    content: String,
}

/// Rules of one branch: GitHub allows 75 rulesets a repository.
const MOST_RULES: usize = 2_000;

impl From<RepositoryRow> for RepositoryInfo {
    fn from(row: RepositoryRow) -> Self {
        Self {
            repo: Repo { id: row.id, owner: row.owner.login, name: row.name },
            private: row.private,
            default_branch: row.default_branch,
            archived: row.archived,
        }
    }
}

impl Repository {
    /// The repository's facts, with its present names: it is asked for by its id, for another repository may have taken
    /// over a name that was given up.
    ///
    /// # Errors
    /// [`GitHubError::NotFound`] when it is gone or out of reach.
    pub async fn info(&self) -> Result<RepositoryInfo, GitHubError> {
        let url = self.client.url(["repositories", &self.repo.id.to_string()]);
        let row: RepositoryRow = self.client.get(&url).await?;
        Ok(row.into())
    }

    /// The facts of whatever repository has the name now: where only the name is known.
    ///
    /// # Errors
    /// [`GitHubError::NotFound`] when there is none, or it is out of reach.
    pub async fn named(&self) -> Result<RepositoryInfo, GitHubError> {
        let row: RepositoryRow = self.client.get(&self.url([])).await?;
        Ok(row.into())
    }

    /// What an account may do; refused (`None`) when the answer is about another id than `actor.id`, for logins can be
    /// given up and taken over. Cached for a minute.
    ///
    /// # Errors
    /// Any of [`GitHubError`]; whoever asks refuses then.
    pub async fn permission(&self, actor: &Actor) -> Result<Permission, GitHubError> {
        let key = (self.repo.id, actor.id);
        if let Some(known) = self.github.permissions.get(&key).await {
            return Ok(known);
        }
        self.permission_now(actor).await
    }

    /// The same, asked anew: before something is published a minute is too old.
    ///
    /// # Errors
    /// Any of [`GitHubError`]; whoever asks refuses then.
    pub async fn permission_now(&self, actor: &Actor) -> Result<Permission, GitHubError> {
        let url = self.url(["collaborators", &actor.login, "permission"]);
        let row: Option<PermissionRow> = self.client.find(&url).await?;
        let found = row
            .filter(|row| row.user.id == actor.id.0)
            .map_or(Permission::None, |row| Permission::parse(&row.permission));
        self.github.permissions.insert((self.repo.id, actor.id), found).await;
        Ok(found)
    }

    /// The commit a branch points to; `None`: no such branch.
    ///
    /// # Errors
    /// Any of [`GitHubError`] but that the branch is not there.
    pub async fn branch(&self, branch: &str) -> Result<Option<Sha>, GitHubError> {
        let row: Option<BranchRow> = self.client.find(&self.url(["branches", branch])).await?;
        Ok(row.map(|row| row.commit.sha))
    }

    /// Names of checks the branch requires, from the branch itself and its rules: no administration permission needed.
    ///
    /// # Errors
    /// Any of [`GitHubError`] but that the branch or its rules are not there.
    pub async fn required_checks(&self, branch: &str) -> Result<Vec<String>, GitHubError> {
        let row: Option<BranchRow> = self.client.find(&self.url(["branches", branch])).await?;
        let classic = row.map(|row| row.protection.required_status_checks).unwrap_or_default();
        let rules: Vec<RuleRow> =
            match self.client.list(&self.url(["rules", "branches", branch]), None, MOST_RULES).await {
                // An older GitHub Enterprise knows no rulesets.
                Err(GitHubError::NotFound(_)) => Vec::new(),
                other => other?,
            };
        let ruled = rules.into_iter().filter(|rule| rule.kind == "required_status_checks");
        let names: BTreeSet<String> = classic
            .contexts
            .into_iter()
            .chain(classic.checks.into_iter().map(|check| check.context))
            .chain(ruled.flat_map(|rule| rule.parameters.required_status_checks).map(|check| check.context))
            .collect();
        Ok(names.into_iter().collect())
    }

    /// Whether the App may push changes of workflow files here: without the permission GitHub refuses the whole push.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn may_write_workflows(&self) -> Result<bool, GitHubError> {
        let service = &self.client.service;
        service.auth.may_write(&service.wire, self.installation, "workflows").await
    }

    /// A file of a commit or branch, up to GitHub's own megabyte; `None`: not there, or no file.
    ///
    /// # Errors
    /// [`GitHubError::Invalid`] when it is larger.
    pub async fn file(&self, path: &str, at: &str) -> Result<Option<Vec<u8>>, GitHubError> {
        let mut url = self.url(["contents"].into_iter().chain(path.split('/')));
        url.query_pairs_mut().append_pair("ref", at);
        let found: Option<serde_json::Value> = self.client.find(&url).await?;
        // A folder is answered with a list.
        let Some(object) = found.filter(serde_json::Value::is_object) else { return Ok(None) };
        let row: ContentRow =
            serde_json::from_value(object).map_err(|e| GitHubError::Unreadable(format!("{path}: {e}")))?;
        if row.kind != "file" {
            return Ok(None);
        }
        if row.encoding != "base64" {
            return Err(GitHubError::Invalid(format!("{path} is larger than a megabyte")));
        }
        let packed: String = row.content.split_ascii_whitespace().collect();
        let bytes = base64::engine::general_purpose::STANDARD.decode(packed);
        bytes.map(Some).map_err(|e| GitHubError::Unreadable(format!("{path}: {e}")))
    }
}
