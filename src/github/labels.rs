//! Labels of issues and pull requests.

use super::issues::LabelRow;
use super::{GitHubError, Repository};
use crate::domain::Number;
use http::Method;
use serde_json::json;

/// GitHub allows a hundred on an issue.
const LABELS_READ: usize = 500;

impl Repository {
    /// The labels of an issue or pull request.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn labels(&self, number: Number) -> Result<Vec<String>, GitHubError> {
        let url = self.url(["issues", &number.to_string(), "labels"]);
        let rows: Vec<LabelRow> = self.client.list(&url, None, LABELS_READ).await?;
        Ok(rows.into_iter().map(LabelRow::name).collect())
    }

    /// Adds labels; those that are there stay. GitHub makes what the repository does not have yet, in grey (see
    /// [`Repository::make_label`]).
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

    /// Makes a label of the repository with a colour (six hexadecimal digits) and a description of at most 100
    /// characters; one of that name stays as it is.
    ///
    /// # Errors
    /// Any of [`GitHubError`] but that it is there already.
    pub async fn make_label(&self, name: &str, color: &str, description: &str) -> Result<(), GitHubError> {
        let wish = json!({ "name": name, "color": color, "description": description });
        match self.client.tell(Method::POST, &self.url(["labels"]), Some(&wish)).await {
            Err(GitHubError::Invalid(why)) if why.contains("already_exists") => Ok(()),
            other => other,
        }
    }
}
