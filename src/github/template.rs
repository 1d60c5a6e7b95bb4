//! The text that a repository wants every pull request to begin with.

use super::{GitHubError, Repository};
use serde::Deserialize;
use serde_json::Value;

/// Where GitHub looks for it, the first one wins.
/// Source: GitHub, "Creating a pull request template for your repository".
const FOLDERS: [&str; 3] = [".github", "", "docs"];

#[derive(Deserialize)]
struct EntryRow {
    #[serde(default)]
    name: String,
    #[serde(default)]
    path: String,
    #[serde(rename = "type", default)]
    kind: String,
}

impl Repository {
    /// The repository's template of a pull request, as of a branch or commit; `None` where it has none. Where it has
    /// several to choose from, none is chosen.
    ///
    /// # Errors
    /// Any of [`GitHubError`].
    pub async fn pull_template(&self, at: &str) -> Result<Option<String>, GitHubError> {
        for folder in FOLDERS {
            let mut url = self.url(["contents", folder]);
            url.query_pairs_mut().append_pair("ref", at);
            let entries: Option<Value> = self.client.find(&url).await?;
            // A file of the folder's name is answered with an object.
            let entries: Vec<EntryRow> = entries
                .filter(Value::is_array)
                .map(serde_json::from_value)
                .transpose()
                .map_err(|e| GitHubError::Unreadable(format!("{}: {e}", url.path())))?
                .unwrap_or_default();
            let Some(path) = entries.into_iter().find(is_template).map(|entry| entry.path) else { continue };
            let file = self.file(&path, at).await?;
            return Ok(file.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()));
        }
        Ok(None)
    }
}

/// GitHub takes any case, and these endings.
fn is_template(entry: &EntryRow) -> bool {
    let name = entry.name.to_ascii_lowercase();
    let names = ["pull_request_template.md", "pull_request_template.txt", "pull_request_template"];
    entry.kind == "file" && names.contains(&name.as_str())
}
