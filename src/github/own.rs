//! What is ours in a repository: by the account's id and never by its name or its words.

use super::issues::{Comment, CommentRow};
use super::pulls::PullRow;
use super::repository::AccountRow;
use super::{GitHubError, Identity, PullRequest, Repository};
use crate::domain::{Actor, CommentId, Number, Timestamp};
use http::Method;
use serde::Deserialize;
use serde_json::json;

/// Comments of a repository that are read to find our own: those of a month in all but the busiest.
const COMMENTS_READ: usize = 3_000;

/// Open pull requests of a repository that are read to find our own.
const PULLS_READ: usize = 3_000;
/// Comments whose reactions are read, a request each: only where a session's own memory is gone.
const REACTIONS_READ: usize = 20;

#[derive(Deserialize)]
struct ReactionRow {
    #[serde(default)]
    user: AccountRow,
}

#[derive(Deserialize)]
struct NumberRow {
    number: Number,
}

impl Repository {
    /// Whether a comment is ours.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub(super) async fn is_own(&self) -> Result<impl Fn(&Comment) -> bool + use<>, GitHubError> {
        let (app, account) = match self.github.identity() {
            Identity::App { .. } => (Some(self.github.app().await?), None),
            Identity::Token { .. } => (None, Some(self.bot().await?.id)),
        };
        Ok(move |comment: &Comment| match (&app, account, comment.app) {
            (_, Some(account), _) => comment.author.id == account,
            (Some(app), _, Some(through)) => through == app.id,
            // Bots' logins end in a suffix that no person can take.
            (Some(app), _, None) => comment.by_bot && comment.author.login == format!("{}[bot]", app.slug),
            (None, None, _) => false,
        })
    }

    /// Our own comments on a thread, oldest first.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn own_comments_on(&self, number: Number) -> Result<Vec<Comment>, GitHubError> {
        let is_own = self.is_own().await?;
        let mut own = self.all_comments(number).await?;
        own.retain(|comment| is_own(comment));
        own.sort_by_key(|comment| comment.id);
        Ok(own)
    }

    /// Our own comments anywhere in the repository that were written or edited since then.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn own_comments_since(&self, since: Timestamp) -> Result<Vec<Comment>, GitHubError> {
        let is_own = self.is_own().await?;
        let mut url = self.url(["issues", "comments"]);
        let since = chrono::DateTime::from_timestamp_millis(since.0).unwrap_or_default();
        url.query_pairs_mut()
            .append_pair("since", &since.to_rfc3339_opts(chrono::SecondsFormat::Secs, true))
            .append_pair("sort", "updated")
            .append_pair("direction", "desc");
        let rows: Vec<CommentRow> = self.client.list(&url, None, COMMENTS_READ).await?;
        let mut own: Vec<Comment> = rows.into_iter().map(Comment::from).collect();
        own.retain(|comment| is_own(comment));
        Ok(own)
    }

    /// Open pull requests from this repository's own branches that our account opened.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn own_pulls(&self) -> Result<Vec<PullRequest>, GitHubError> {
        let account = self.bot().await?.id;
        let mut url = self.url(["pulls"]);
        url.query_pairs_mut().append_pair("state", "open");
        let rows: Vec<PullRow> = self.client.list(&url, None, PULLS_READ).await?;
        let pulls = rows.into_iter().map(PullRequest::from);
        Ok(pulls
            .filter(|pull| {
                pull.author.id == account && pull.head_repo.as_ref().map(|r| r.id) == Some(self.repo.id)
            })
            .collect())
    }

    /// The comments of a thread that our account put a reaction on: the newest that can be commands.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn reacted_on(&self, number: Number) -> Result<Vec<CommentId>, GitHubError> {
        let account = self.bot().await?.id;
        let mut found = Vec::new();
        let comments = self.comments(number).await?;
        for comment in comments.iter().rev().filter(|c| !c.by_bot).take(REACTIONS_READ) {
            let url = self.url(["issues", "comments", &comment.id.to_string(), "reactions"]);
            let rows: Vec<ReactionRow> = self.client.list(&url, None, 100).await?;
            if rows.iter().any(|row| row.user.id == account.0) {
                found.push(comment.id);
            }
        }
        Ok(found)
    }

    /// The account of that login; `None`: nobody has it.
    ///
    /// # Errors
    /// Any of [`GitHubError`] but that nobody has it.
    pub async fn person(&self, login: &str) -> Result<Option<Actor>, GitHubError> {
        let row: Option<AccountRow> = self.client.find(&self.client.url(["users", login])).await?;
        Ok(row.map(Actor::from))
    }

    /// A comment as it reads now; `None`: deleted.
    ///
    /// # Errors
    /// Any of [`GitHubError`] but that it is not there.
    pub async fn comment(&self, id: CommentId) -> Result<Option<Comment>, GitHubError> {
        let row: Option<CommentRow> =
            self.client.find(&self.url(["issues", "comments", &id.to_string()])).await?;
        Ok(row.map(Comment::from))
    }

    /// Writes a comment, whether or not the same was written before; gives its id.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn say(&self, number: Number, body: &str) -> Result<CommentId, GitHubError> {
        let url = self.url(["issues", &number.to_string(), "comments"]);
        let written: CommentRow = self.client.write(Method::POST, &url, &json!({ "body": body })).await?;
        Ok(Comment::from(written).id)
    }

    /// Opens an issue; gives its number.
    ///
    /// # Errors
    /// [`GitHubError::Invalid`] where the repository has no issues.
    pub async fn open_issue(&self, title: &str, body: &str) -> Result<Number, GitHubError> {
        let made: NumberRow = self
            .client
            .write(Method::POST, &self.url(["issues"]), &json!({ "title": title, "body": body }))
            .await?;
        Ok(made.number)
    }
}
