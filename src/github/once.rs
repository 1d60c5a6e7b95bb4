//! How one comment stays one, in a conversation or in the thread below a line.
//!
//! GitHub knows no key that would make a repeated write the same write. So it is looked for by a hidden marker before
//! it is written and again afterwards; the oldest is kept, and our own extras are deleted.

use super::{GitHubError, Repository};
use crate::domain::{Fault, Number, seeded};
use http::Method;
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;
use url::Url;

/// Where a comment is written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// The conversation of an issue or a pull request.
    Conversation(Number),
    /// The thread that a comment on a line began.
    Thread { pull: Number, first: u64 },
}

/// A comment of ours.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Own {
    pub(super) id: u64,
    #[serde(default, rename = "html_url")]
    pub(super) url: String,
    /// As it stands there: a comment that is found may say something older than was wanted.
    #[serde(default)]
    pub(super) body: String,
}

/// GitHub's lists lag behind its writes for a moment.
const LAG: Duration = Duration::from_millis(300);
/// Twice is what leaves no duplicate behind in every order of two writers, with a list that lags by one read.
const LOOKS_AFTER: usize = 2;

impl Repository {
    /// Finds our comment by its marker (the oldest), or writes it. The marker is added where `body` does not hold it.
    pub(super) async fn write_once(
        &self,
        place: Place,
        marker: &str,
        body: &str,
    ) -> Result<Own, GitHubError> {
        let found = self.own(place, marker).await?.into_iter().next();
        if let Some(found) = found.filter(|_| !seeded(Fault::CommentBlindly)) {
            return Ok(found);
        }
        let body = json!({ "body": marked(body, marker) });
        let written: Own = self.client.write(Method::POST, &self.writing(place), &body).await?;
        let mut oldest = written.clone();
        for _ in 0..LOOKS_AFTER {
            tokio::time::sleep(LAG).await;
            let own = self.own(place, marker).await?;
            if let Some(first) = own.first().filter(|first| first.id < oldest.id) {
                oldest = first.clone();
            }
            for extra in own.into_iter().filter(|comment| comment.id != oldest.id) {
                self.take_back(place, extra.id).await?;
            }
        }
        if oldest.id != written.id {
            // A list that still lags does not show ours.
            self.take_back(place, written.id).await?;
        }
        Ok(oldest)
    }

    /// Our comments with this marker, oldest first. Whoever copies the marker into a comment of theirs gains nothing.
    async fn own(&self, place: Place, marker: &str) -> Result<Vec<Own>, GitHubError> {
        let mut own = match place {
            Place::Conversation(number) => self.own_comments(number, marker).await?,
            Place::Thread { pull, first } => self.own_replies(pull, first, marker).await?,
        };
        own.sort_by_key(|comment| comment.id);
        Ok(own)
    }

    fn writing(&self, place: Place) -> Url {
        match place {
            Place::Conversation(number) => self.url(["issues", &number.to_string(), "comments"]),
            Place::Thread { pull, first } => {
                self.url(["pulls", &pull.to_string(), "comments", &first.to_string(), "replies"])
            }
        }
    }

    /// Where exactly in the conversation does not matter.
    pub(super) async fn take_back(&self, place: Place, id: u64) -> Result<(), GitHubError> {
        let below = match place {
            Place::Conversation(_) => "issues",
            Place::Thread { .. } => "pulls",
        };
        let url = self.url([below, "comments", &id.to_string()]);
        match self.client.tell(Method::DELETE, &url, None).await {
            Err(GitHubError::NotFound(_)) => Ok(()),
            other => other,
        }
    }
}

/// The text with its marker.
pub(super) fn marked(body: &str, marker: &str) -> String {
    if body.contains(marker) { body.to_owned() } else { format!("{body}\n\n{marker}") }
}
