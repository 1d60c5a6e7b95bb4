//! Reviews: what people said of which lines, answers in their threads, and a review of our own.

use super::once::{Own, Place, marked};
use super::repository::AccountRow;
use super::{GitHubError, Repository};
use crate::domain::{Actor, Number, Sha};
use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A submitted review.
#[derive(Clone, Debug)]
pub struct Review {
    /// Its id.
    pub id: u64,
    /// `APPROVED`, `CHANGES_REQUESTED`, `COMMENTED` or `DISMISSED`.
    pub state: String,
    /// Its summary; often empty where there are comments on lines.
    pub body: String,
    /// Who wrote it.
    pub author: Actor,
    /// Written by a bot.
    pub by_bot: bool,
    /// The commit that was looked at; `None` when it is gone.
    pub commit: Option<Sha>,
    /// Where people read it.
    pub url: String,
}

/// A comment on a line (or a whole file) of a pull request.
#[derive(Clone, Debug)]
pub struct ReviewComment {
    /// Its id; those of comments in conversations are other ones.
    pub id: u64,
    /// The review it belongs to; an answer in a thread is a review of its own.
    pub review: Option<u64>,
    /// The file.
    pub path: String,
    /// The (last) line in the file as it is now, from 1; `None` on a whole file, and where the line is gone.
    pub line: Option<u32>,
    /// The first of several lines.
    pub start_line: Option<u32>,
    /// The (last) line when it was written.
    pub original_line: Option<u32>,
    /// Which version of the file the line is of.
    pub side: Side,
    /// The lines of the difference that end at the line.
    pub hunk: String,
    /// The text.
    pub body: String,
    /// Who wrote it.
    pub author: Actor,
    /// Written by a bot.
    pub by_bot: bool,
    /// The commit that was looked at.
    pub commit: Option<Sha>,
    /// The comment that began the thread; `None`: this one does.
    pub in_reply_to: Option<u64>,
    /// Where people read it.
    pub url: String,
}

/// One of the two versions of a file in a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Side {
    /// The old one: lines that were removed.
    Left,
    /// The new one: lines that were added, and those around them.
    #[default]
    #[serde(other)]
    Right,
}

/// A comment on a line, to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineComment {
    /// The file.
    pub path: String,
    /// The (last) line, from 1.
    pub line: u32,
    /// The first of several lines.
    pub start_line: Option<u32>,
    /// Which version the lines are of.
    pub side: Side,
    /// The text.
    pub body: String,
}

#[derive(Deserialize)]
struct ReviewRow {
    id: u64,
    #[serde(default)]
    state: String,
    #[serde(default)]
    body: String,
    #[serde(default)]
    user: AccountRow,
    commit_id: Option<Sha>,
    #[serde(default)]
    html_url: String,
}

#[derive(Deserialize)]
struct LineRow {
    id: u64,
    pull_request_review_id: Option<u64>,
    #[serde(default)]
    path: String,
    line: Option<u32>,
    start_line: Option<u32>,
    original_line: Option<u32>,
    #[serde(default)]
    side: Side,
    #[serde(default)]
    diff_hunk: String,
    #[serde(default)]
    body: String,
    #[serde(default)]
    user: AccountRow,
    commit_id: Option<Sha>,
    in_reply_to_id: Option<u64>,
    #[serde(default)]
    html_url: String,
}

/// Of one pull request. A review bot can leave some hundreds.
const REVIEWS_READ: usize = 2_000;
/// Of one pull request, all threads together.
const LINES_READ: usize = 5_000;

impl Repository {
    /// The reviews of a pull request in the order in which they were submitted; those still being written are left out.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn reviews(&self, pull: Number) -> Result<Vec<Review>, GitHubError> {
        let url = self.url(["pulls", &pull.to_string(), "reviews"]);
        let rows: Vec<ReviewRow> = self.client.list(&url, None, REVIEWS_READ).await?;
        Ok(rows.into_iter().map(Review::from).filter(|review| review.state != "PENDING").collect())
    }

    /// The comments on lines that a review holds, in order.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn review_comments(
        &self,
        pull: Number,
        review: u64,
    ) -> Result<Vec<ReviewComment>, GitHubError> {
        // GitHub's list of one review's comments leaves out their lines and sides; that of all has them.
        let mut comments = self.line_comments(pull).await?;
        comments.retain(|comment| comment.review == Some(review));
        Ok(comments)
    }

    /// All comments on lines of a pull request, oldest first.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn line_comments(&self, pull: Number) -> Result<Vec<ReviewComment>, GitHubError> {
        let url = self.url(["pulls", &pull.to_string(), "comments"]);
        let rows: Vec<LineRow> = self.client.list(&url, None, LINES_READ).await?;
        Ok(rows.into_iter().map(ReviewComment::from).collect())
    }

    /// Answers once in the thread of a comment on a line, any comment of it: found again by the hidden marker. Gives
    /// the answer's id.
    ///
    /// # Errors
    /// [`GitHubError::NotFound`] when the thread was deleted; whether it was written is found out by calling again.
    pub async fn reply_once(
        &self,
        pull: Number,
        to: u64,
        marker: &str,
        body: &str,
    ) -> Result<u64, GitHubError> {
        // GitHub takes no answers to answers: they go to the comment that began the thread.
        let url = self.url(["pulls", "comments", &to.to_string()]);
        let row: LineRow = self.client.get(&url).await?;
        let first = row.in_reply_to_id.unwrap_or(to);
        Ok(self.write_once(Place::Thread { pull, first }, marker, body).await?.id)
    }

    /// Reviews a commit of a pull request once, with comments on lines and neither approval nor objection: found again
    /// by the hidden marker in its body. Gives its id. A submitted review cannot be taken back: two writers at the same
    /// moment can leave two, and the older one is given.
    ///
    /// # Errors
    /// [`GitHubError::NotInDiff`] when GitHub finds one of the lines not to be part of the difference: then nothing was
    /// written (see [`super::placeable`]). Whether it was written otherwise is found out by calling again.
    pub async fn review_once(
        &self,
        pull: Number,
        commit: &Sha,
        marker: &str,
        body: &str,
        comments: &[LineComment],
    ) -> Result<u64, GitHubError> {
        if let Some(found) = self.own_review(pull, marker).await? {
            return Ok(found);
        }
        let url = self.url(["pulls", &pull.to_string(), "reviews"]);
        let wish = json!({
            "commit_id": commit.as_str(),
            "event": "COMMENT",
            "body": marked(body, marker),
            "comments": comments.iter().map(wish).collect::<Vec<_>>(),
        });
        let written: ReviewRow = self.client.write(Method::POST, &url, &wish).await?;
        let found = self.own_review(pull, marker).await?;
        Ok(found.map_or(written.id, |found| found.min(written.id)))
    }

    async fn own_review(&self, pull: Number, marker: &str) -> Result<Option<u64>, GitHubError> {
        let bot = self.github.bot_login().await?;
        let reviews = self.reviews(pull).await?.into_iter();
        let own = reviews.filter(|review| review.by_bot && review.author.login == bot);
        Ok(own.filter(|review| review.body.contains(marker)).map(|review| review.id).min())
    }

    /// Our own answers with this marker in a thread.
    pub(super) async fn own_replies(
        &self,
        pull: Number,
        first: u64,
        marker: &str,
    ) -> Result<Vec<Own>, GitHubError> {
        let bot = self.github.bot_login().await?;
        let all = self.line_comments(pull).await?.into_iter();
        let thread = all.filter(|comment| comment.in_reply_to == Some(first));
        let own = thread.filter(|comment| comment.by_bot && comment.author.login == bot);
        let marked = own.filter(|comment| comment.body.contains(marker));
        Ok(marked.map(|comment| Own { id: comment.id, url: comment.url, body: comment.body }).collect())
    }
}

fn wish(comment: &LineComment) -> Value {
    let mut wish = json!({
        "path": comment.path, "line": comment.line, "side": comment.side, "body": comment.body,
    });
    if let Some(start) = comment.start_line.filter(|start| *start < comment.line) {
        wish["start_line"] = json!(start);
        wish["start_side"] = json!(comment.side);
    }
    wish
}

impl From<ReviewRow> for Review {
    fn from(row: ReviewRow) -> Self {
        Self {
            id: row.id,
            state: row.state.to_ascii_uppercase(),
            body: row.body,
            by_bot: row.user.is_bot(),
            author: row.user.into(),
            commit: row.commit_id,
            url: row.html_url,
        }
    }
}

impl From<LineRow> for ReviewComment {
    fn from(row: LineRow) -> Self {
        Self {
            id: row.id,
            review: row.pull_request_review_id,
            path: row.path,
            line: row.line,
            start_line: row.start_line,
            original_line: row.original_line,
            side: row.side,
            hunk: row.diff_hunk,
            body: row.body,
            by_bot: row.user.is_bot(),
            author: row.user.into(),
            commit: row.commit_id,
            in_reply_to: row.in_reply_to_id,
            url: row.html_url,
        }
    }
}
