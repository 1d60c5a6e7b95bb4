//! What GitHub offers by GraphQL alone: draft and ready.

use super::{GitHubError, PullRequest, Repository};
use http::Method;
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;
use url::Url;

const READY: &str = "mutation($id: ID!) { \
    markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { isDraft } } }";
const DRAFT: &str = "mutation($id: ID!) { \
    convertPullRequestToDraft(input: {pullRequestId: $id}) { pullRequest { isDraft } } }";

#[derive(Deserialize)]
struct AnswerRow {
    #[serde(default)]
    errors: Vec<ErrorRow>,
}

#[derive(Deserialize)]
struct ErrorRow {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    message: String,
}

impl Repository {
    /// Draft or ready. What is so already is a success.
    ///
    /// # Errors
    /// [`GitHubError::Forbidden`] or [`GitHubError::Invalid`] where the repository has no drafts; else any of
    /// [`GitHubError`].
    pub async fn set_draft(&self, pull: &PullRequest, draft: bool) -> Result<(), GitHubError> {
        let query = if draft { DRAFT } else { READY };
        let body = json!({ "query": query, "variables": { "id": pull.node_id } });
        let url = graphql_url(&self.client.service.wire.api);
        let answer: AnswerRow = self.client.write(Method::POST, &url, &body).await?;
        let Some(error) = answer.errors.into_iter().next() else { return Ok(()) };
        let now = self.pull(pull.number).await?;
        if now.draft == draft { Ok(()) } else { Err(sort(error)) }
    }
}

/// `https://HOST/api/v3/` has its GraphQL at `https://HOST/api/graphql`.
/// Source: GitHub Enterprise Server, "Forming calls with GraphQL".
fn graphql_url(api: &Url) -> Url {
    let mut url = api.clone();
    let path = api.path().trim_end_matches('/');
    url.set_path(&format!("{}/graphql", path.strip_suffix("/v3").unwrap_or(path)));
    url
}

/// GraphQL answers 200 to everything; what went wrong stands in `errors`.
fn sort(error: ErrorRow) -> GitHubError {
    match error.kind.as_str() {
        "RATE_LIMITED" => GitHubError::Limited(Duration::from_secs(60)),
        "NOT_FOUND" => GitHubError::NotFound(error.message),
        "FORBIDDEN" => GitHubError::Forbidden(error.message),
        _ if error.message.starts_with("Something went wrong") => GitHubError::Unavailable(error.message),
        _ => GitHubError::Invalid(error.message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphql_stands_beside_the_api() {
        let of = |api: &str| graphql_url(&Url::parse(api).unwrap()).to_string();
        assert_eq!(of("https://api.github.com/"), "https://api.github.com/graphql");
        assert_eq!(of("https://ghe.example/api/v3/"), "https://ghe.example/api/graphql");
    }
}
