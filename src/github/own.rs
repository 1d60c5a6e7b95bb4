//! What is ours in a repository: by the account's id and never by its name or its words.

use super::issues::{Comment, CommentRow};
use super::{GitHubError, Identity, Repository};
use crate::domain::{CommentId, Number, Timestamp};
use http::Method;
use serde::Deserialize;
use serde_json::json;

/// Comments of a repository that are read to find our own: those of a month in all but the busiest.
const COMMENTS_READ: usize = 3_000;

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
