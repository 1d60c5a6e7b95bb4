//! Labels of issues and pull requests.

use super::{GitHubError, Repository};
use crate::domain::Number;
use http::Method;
use serde_json::json;

impl Repository {
    /// Adds labels; those that are there stay. GitHub makes what the repository does not have yet, in grey.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn add_labels(&self, number: Number, labels: &[&str]) -> Result<(), GitHubError> {
        if labels.is_empty() {
            return Ok(());
        }
        let url = self.url(["issues", &number.to_string(), "labels"]);
        self.client.tell(Method::POST, &url, Some(&json!({ "labels": labels }))).await
    }

    /// Takes a label away; one that is not there is a success.
    ///
    /// # Errors
    /// Any of [`GitHubError`] but that it is not there.
    pub async fn remove_label(&self, number: Number, label: &str) -> Result<(), GitHubError> {
        let url = self.url(["issues", &number.to_string(), "labels", label]);
        match self.client.tell(Method::DELETE, &url, None).await {
            Err(GitHubError::NotFound(_)) => Ok(()),
            other => other,
        }
    }
}
