//! Pull requests: found before they are opened, opened once, draft or ready.

use super::issues::{LabelRow, is_newcomer};
use super::repository::AccountRow;
use super::{GitHubError, Repository};
use crate::domain::{Actor, Fault, Number, Repo, RepoId, Sha, seeded};
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// A pull request.
#[derive(Clone, Debug)]
pub struct PullRequest {
    /// Its number.
    pub number: Number,
    /// Its GraphQL id.
    pub node_id: String,
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: String,
    /// `open` or `closed`.
    pub open: bool,
    /// Closed by a merge.
    pub merged: bool,
    /// A draft.
    pub draft: bool,
    /// Its head commit.
    pub head: Sha,
    /// Its head branch.
    pub head_branch: String,
    /// The repository of its head, this one or a fork (compare the ids); `None` when it was deleted.
    pub head_repo: Option<Repo>,
    /// Its base branch.
    pub base_branch: String,
    /// Those who may push to the base may push to the head, a fork's, too. Lists never say: false there.
    pub maintainer_can_modify: bool,
    /// Whether it merges cleanly, once GitHub knows: it begins to find out when it is asked. Lists never say.
    pub mergeable: Option<bool>,
    /// Where people read it.
    pub url: String,
    /// Who opened it.
    pub author: Actor,
    /// It was opened by a bot.
    pub by_bot: bool,
    /// See [`super::Issue::newcomer`].
    pub newcomer: bool,
    /// Its labels.
    pub labels: Vec<String>,
    /// Logins a review is asked of and not given yet.
    pub reviewers: Vec<String>,
}

#[derive(Deserialize)]
pub(super) struct PullRow {
    number: Number,
    #[serde(default)]
    node_id: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    body: String,
    #[serde(default)]
    state: String,
    merged_at: Option<String>,
    #[serde(default)]
    draft: bool,
    head: EndRow,
    base: EndRow,
    #[serde(default)]
    maintainer_can_modify: bool,
    mergeable: Option<bool>,
    #[serde(default)]
    html_url: String,
    #[serde(default)]
    user: AccountRow,
    #[serde(default)]
    author_association: String,
    #[serde(default)]
    labels: Vec<LabelRow>,
    #[serde(default)]
    requested_reviewers: Vec<AccountRow>,
}

#[derive(Deserialize)]
struct EndRow {
    sha: Sha,
    #[serde(rename = "ref")]
    branch: String,
    repo: Option<EndRepoRow>,
}

#[derive(Deserialize)]
struct EndRepoRow {
    id: RepoId,
    #[serde(default)]
    name: String,
    #[serde(default)]
    owner: AccountRow,
}

/// Pull requests of one branch over all time.
const PULLS_READ: usize = 300;
/// Pages of open pull requests, those changed last first, among which one of a fork is looked for by its head: what
/// was pushed to a moment ago stands at the top.
const OPEN_PAGES: usize = 2;
/// GitHub's list may lag behind a pull request that it says exists already.
const LOOKS: u32 = 4;
const LAG: Duration = Duration::from_millis(500);

impl Repository {
    /// A pull request as it is now.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn pull(&self, number: Number) -> Result<PullRequest, GitHubError> {
        let row: PullRow = self.client.get(&self.url(["pulls", &number.to_string()])).await?;
        Ok(row.into())
    }

    /// Pull requests of one of this repository's own branches, every state, newest first.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn pulls_of(&self, branch: &str) -> Result<Vec<PullRequest>, GitHubError> {
        let mut url = self.url(["pulls"]);
        url.query_pairs_mut()
            .append_pair("state", "all")
            .append_pair("head", &format!("{}:{branch}", self.repo.owner));
        let rows: Vec<PullRow> = self.client.list(&url, None, PULLS_READ).await?;
        let mut pulls: Vec<PullRequest> = rows.into_iter().map(PullRequest::from).collect();
        // GitHub ignores a head filter that it cannot read, and an owner may hold a fork beside the repository.
        let repo = self.repo.id;
        pulls.retain(|pull| {
            pull.head_branch == branch && pull.head_repo.as_ref().is_none_or(|head| head.id == repo)
        });
        pulls.sort_by_key(|pull| std::cmp::Reverse(pull.number));
        Ok(pulls)
    }

    /// The open pull requests with this head commit. `from` is owner and branch of the head, where they are known:
    /// what GitHub says of a commit leaves out pull requests from forks, and those are found by it, or else among the
    /// open ones that changed last.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn pulls_at(
        &self,
        head: &Sha,
        from: Option<(&str, &str)>,
    ) -> Result<Vec<PullRequest>, GitHubError> {
        let url = self.url(["commits", head.as_str(), "pulls"]);
        let rows = match self.client.list(&url, None, PULLS_READ).await {
            // GitHub's answer to a commit that it does not hold here is a 422.
            Err(GitHubError::NotFound(_) | GitHubError::Invalid(_)) => Vec::new(),
            other => other?,
        };
        let found = open_at(rows, head);
        if !found.is_empty() {
            return Ok(found);
        }
        let mut url = self.url(["pulls"]);
        url.query_pairs_mut().append_pair("state", "open");
        match from {
            Some((owner, branch)) => {
                url.query_pairs_mut().append_pair("head", &format!("{owner}:{branch}"));
            }
            None => {
                url.query_pairs_mut().append_pair("sort", "updated").append_pair("direction", "desc");
            }
        }
        let rows = self.client.list_until(&url, None, OPEN_PAGES, |row: &PullRow| row.head.sha == *head);
        Ok(open_at(rows.await?, head))
    }

    /// The open pull request of the branch: found, else opened as a draft (an ordinary one where drafts are refused).
    /// A closed one that was not merged is given back too: a person closed it, and it is not opened a second time.
    ///
    /// # Errors
    /// [`GitHubError::Invalid`] when the branch holds nothing new; else any of [`GitHubError`], and calling again looks
    /// first.
    pub async fn pull_once(
        &self,
        branch: &str,
        base: &str,
        title: &str,
        body: &str,
    ) -> Result<PullRequest, GitHubError> {
        let mut draft = true;
        let mut refusal = None;
        for look in 0..LOOKS {
            tokio::time::sleep(LAG * look).await;
            let found = unmerged(self.pulls_of(branch).await?);
            if let Some(found) = found.filter(|_| !seeded(Fault::PullBlindly)) {
                return Ok(found);
            }
            match self.open_pull(branch, base, title, body, draft).await {
                Err(GitHubError::Invalid(why)) if why.contains("already exists") => refusal = Some(why),
                Err(GitHubError::Invalid(why)) if draft && refuses_drafts(&why) => {
                    draft = false;
                    refusal = Some(why);
                }
                opened => return opened,
            }
        }
        let why = refusal.unwrap_or_default();
        Err(GitHubError::Unavailable(format!("the pull request of {branch} is not to be found: {why}")))
    }

    /// Replaces title or text; what is not given stands.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn edit_pull(
        &self,
        number: Number,
        title: Option<&str>,
        body: Option<&str>,
    ) -> Result<(), GitHubError> {
        let given = [("title", title), ("body", body)];
        let given: Value = given.into_iter().filter_map(|(name, text)| Some((name, text?))).collect();
        let url = self.url(["pulls", &number.to_string()]);
        self.client.tell(Method::PATCH, &url, Some(&given)).await
    }

    /// Asks somebody for a review; where it is asked already nobody is told again.
    ///
    /// # Errors
    /// [`GitHubError::Invalid`] when the login may not review.
    pub async fn request_review(&self, number: Number, login: &str) -> Result<(), GitHubError> {
        if self.pull(number).await?.reviewers.iter().any(|asked| asked.eq_ignore_ascii_case(login)) {
            return Ok(());
        }
        let url = self.url(["pulls", &number.to_string(), "requested_reviewers"]);
        self.client.tell(Method::POST, &url, Some(&json!({ "reviewers": [login] }))).await
    }

    async fn open_pull(
        &self,
        branch: &str,
        base: &str,
        title: &str,
        body: &str,
        draft: bool,
    ) -> Result<PullRequest, GitHubError> {
        let body = json!({ "title": title, "head": branch, "base": base, "body": body, "draft": draft });
        let row: PullRow = self.client.write(Method::POST, &self.url(["pulls"]), &body).await?;
        Ok(row.into())
    }
}

fn open_at(rows: Vec<PullRow>, head: &Sha) -> Vec<PullRequest> {
    let pulls = rows.into_iter().map(PullRequest::from);
    pulls.filter(|pull| pull.open && pull.head == *head).collect()
}

/// The open one; else the newest, if it was closed without a merge.
fn unmerged(pulls: Vec<PullRequest>) -> Option<PullRequest> {
    let open = pulls.iter().find(|pull| pull.open).cloned();
    open.or_else(|| pulls.into_iter().next().filter(|newest| !newest.merged))
}

/// Private repositories on some plans have no drafts.
fn refuses_drafts(why: &str) -> bool {
    why.to_ascii_lowercase().contains("draft pull requests are not supported")
}

impl From<EndRepoRow> for Repo {
    fn from(row: EndRepoRow) -> Self {
        Self { id: row.id, owner: row.owner.login, name: row.name }
    }
}

impl From<PullRow> for PullRequest {
    fn from(row: PullRow) -> Self {
        Self {
            number: row.number,
            node_id: row.node_id,
            title: row.title,
            body: row.body,
            open: row.state == "open",
            merged: row.merged_at.is_some(),
            draft: row.draft,
            head: row.head.sha,
            head_branch: row.head.branch,
            head_repo: row.head.repo.map(Repo::from),
            base_branch: row.base.branch,
            maintainer_can_modify: row.maintainer_can_modify,
            mergeable: row.mergeable,
            url: row.html_url,
            by_bot: row.user.is_bot(),
            author: row.user.into(),
            newcomer: is_newcomer(&row.author_association),
            labels: row.labels.into_iter().map(LabelRow::name).collect(),
            reviewers: row.requested_reviewers.into_iter().map(|account| account.login).collect(),
        }
    }
}
