//! Issues and the conversations below them, and how one comment stays one.

use super::once::{Own, Place};
use super::repository::AccountRow;
use super::{GitHubError, Repository};
use crate::domain::{Actor, CommentId, Number, session::Subject};
use http::Method;
use serde::Deserialize;
use serde_json::json;

/// An issue, or a pull request seen as one.
#[derive(Clone, Debug)]
pub struct Issue {
    /// Its number.
    pub number: Number,
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: String,
    /// Who wrote it.
    pub author: Actor,
    /// Whether it is open.
    pub open: bool,
    /// Whether it is a pull request.
    pub is_pull: bool,
    /// Who wrote it is not known here: GitHub tells `FIRST_TIME_CONTRIBUTOR`, `FIRST_TIMER` or `NONE`. A reason to
    /// refuse at most, never one to trust: it also tells `NONE` of members who hide that they are.
    pub newcomer: bool,
    /// When anything of it was last changed (GitHub tells no time of the text alone here).
    pub updated_at: Option<String>,
    /// Its labels.
    pub labels: Vec<String>,
}

/// A comment.
#[derive(Clone, Debug)]
pub struct Comment {
    /// Its id.
    pub id: CommentId,
    /// Who wrote it.
    pub author: Actor,
    /// Written by a bot or through an App.
    pub by_bot: bool,
    /// The App it was written through.
    pub app: Option<u64>,
    /// Its text.
    pub body: String,
    /// Where people read it.
    pub url: String,
    /// When it was written, RFC 3339.
    pub created_at: String,
    /// The issue or pull request it stands on.
    pub thread: Option<Number>,
}

#[derive(Deserialize)]
struct IssueRow {
    number: Number,
    #[serde(default)]
    title: String,
    #[serde(default)]
    body: String,
    #[serde(default)]
    user: AccountRow,
    #[serde(default)]
    state: String,
    pull_request: Option<serde::de::IgnoredAny>,
    updated_at: Option<String>,
    #[serde(default)]
    author_association: String,
    #[serde(default)]
    labels: Vec<LabelRow>,
}

/// GitHub documents both forms.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum LabelRow {
    Name(String),
    Object {
        #[serde(default)]
        name: String,
    },
}

impl LabelRow {
    pub(super) fn name(self) -> String {
        match self {
            Self::Name(name) | Self::Object { name } => name,
        }
    }
}

/// See [`Issue::newcomer`]. What is not told counts as known: then nothing is refused for it.
pub(super) fn is_newcomer(association: &str) -> bool {
    matches!(association, "FIRST_TIME_CONTRIBUTOR" | "FIRST_TIMER" | "NONE")
}

#[derive(Deserialize)]
pub(super) struct CommentRow {
    id: CommentId,
    #[serde(default)]
    user: AccountRow,
    performed_via_github_app: Option<AppRow>,
    #[serde(default)]
    body: String,
    #[serde(default)]
    html_url: String,
    #[serde(default)]
    created_at: String,
    #[serde(default)]
    issue_url: String,
}

#[derive(Deserialize)]
struct AppRow {
    id: u64,
}

/// Comments a reader is given: more than any model is shown of a thread.
const COMMENTS_SHOWN: usize = 300;
/// Comments that are read for it and to find our own. GitHub itself closes threads at 2,500.
const COMMENTS_READ: usize = 3_000;

impl Repository {
    /// An issue, or a pull request seen as one.
    ///
    /// # Errors
    /// [`GitHubError::NotFound`] also when it was deleted or moved away.
    pub async fn issue(&self, number: Number) -> Result<Issue, GitHubError> {
        let row: IssueRow = self.client.get(&self.url(["issues", &number.to_string()])).await?;
        Ok(row.into())
    }

    /// The comments of a thread, oldest first; of a longer thread the newest 300.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn comments(&self, number: Number) -> Result<Vec<Comment>, GitHubError> {
        let mut all = self.all_comments(number).await?;
        all.drain(..all.len().saturating_sub(COMMENTS_SHOWN));
        Ok(all)
    }

    /// 👀; GitHub gives the same reaction twice only once.
    ///
    /// # Errors
    /// [`GitHubError::NotFound`] when what asked was deleted.
    pub async fn react(&self, number: Number, on: Subject) -> Result<(), GitHubError> {
        let url = match on {
            Subject::Comment(id) => self.url(["issues", "comments", &id.to_string(), "reactions"]),
            // Nothing else can be reacted to; the thread's own text stands for it.
            _ => self.url(["issues", &number.to_string(), "reactions"]),
        };
        self.client.tell(Method::POST, &url, Some(&json!({ "content": "eyes" }))).await
    }

    /// Finds our comment by its hidden marker (the oldest), or writes it, then looks again, keeps the oldest and
    /// deletes our own extras: GitHub knows no key that would make a repeated write the same write. The marker is
    /// added where `body` does not hold it. Gives id and address.
    ///
    /// # Errors
    /// Any of [`GitHubError`]; whether it was written is found out by calling again.
    pub async fn comment_once(
        &self,
        number: Number,
        marker: &str,
        body: &str,
    ) -> Result<(CommentId, String), GitHubError> {
        let (id, url, _) = self.comment_found(number, marker, body).await?;
        Ok((id, url))
    }

    /// [`Repository::comment_once`], with what stands there: where it was found, that may be something older.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn comment_found(
        &self,
        number: Number,
        marker: &str,
        body: &str,
    ) -> Result<(CommentId, String, String), GitHubError> {
        let own = self.write_once(Place::Conversation(number), marker, body).await?;
        Ok((CommentId(own.id), own.url, own.body))
    }

    /// Replaces a comment's text.
    ///
    /// # Errors
    /// [`GitHubError::NotFound`] when somebody deleted it.
    pub async fn edit_comment(&self, comment: CommentId, body: &str) -> Result<(), GitHubError> {
        let url = self.url(["issues", "comments", &comment.to_string()]);
        self.client.tell(Method::PATCH, &url, Some(&json!({ "body": body }))).await
    }

    /// Deletes a comment of ours; one that is gone is a success.
    ///
    /// # Errors
    /// Any other of [`GitHubError`].
    pub async fn delete_comment(&self, comment: CommentId) -> Result<(), GitHubError> {
        self.take_back(Place::Conversation(Number(0)), comment.0).await
    }

    /// Our own comments with this marker.
    pub(super) async fn own_comments(&self, number: Number, marker: &str) -> Result<Vec<Own>, GitHubError> {
        let own = self.own_comments_on(number).await?.into_iter().filter(|own| own.body.contains(marker));
        Ok(own.map(|comment| Own { id: comment.id.0, url: comment.url, body: comment.body }).collect())
    }

    pub(super) async fn all_comments(&self, number: Number) -> Result<Vec<Comment>, GitHubError> {
        let url = self.url(["issues", &number.to_string(), "comments"]);
        let rows: Vec<CommentRow> = self.client.list(&url, None, COMMENTS_READ).await?;
        Ok(rows.into_iter().map(Comment::from).collect())
    }
}

impl From<IssueRow> for Issue {
    fn from(row: IssueRow) -> Self {
        Self {
            number: row.number,
            title: row.title,
            body: row.body,
            author: row.user.into(),
            open: row.state == "open",
            is_pull: row.pull_request.is_some(),
            newcomer: is_newcomer(&row.author_association),
            updated_at: row.updated_at,
            labels: row.labels.into_iter().map(LabelRow::name).collect(),
        }
    }
}

impl From<CommentRow> for Comment {
    fn from(row: CommentRow) -> Self {
        let app = row.performed_via_github_app.map(|app| app.id);
        Self {
            id: row.id,
            by_bot: app.is_some() || row.user.is_bot(),
            author: row.user.into(),
            app,
            body: row.body,
            url: row.html_url,
            created_at: row.created_at,
            thread: row.issue_url.rsplit('/').next().and_then(|n| n.parse().ok()).map(Number),
        }
    }
}
