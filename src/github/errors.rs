//! What a call can fail with, sorted by what can be done about it, and how GitHub's answers are sorted so.

use http::{HeaderMap, StatusCode};
use std::time::Duration;

/// What a call can fail with, sorted by what can be done.
#[derive(Clone, Debug, thiserror::Error)]
pub enum GitHubError {
    /// A limit of GitHub's; nothing is sent until then.
    #[error("GitHub asks to wait {} s", .0.as_secs())]
    Limited(Duration),
    /// GitHub, or the way to it, is broken for now.
    #[error("GitHub cannot be reached for now: {0}")]
    Unavailable(String),
    /// The thing is not there, or hidden from us.
    #[error("not found: {0}")]
    NotFound(String),
    /// A permission is missing.
    #[error("GitHub refuses: {0}")]
    Forbidden(String),
    /// GitHub will never take this.
    #[error("GitHub does not accept it: {0}")]
    Invalid(String),
    /// A comment's line is no part of the pull request's difference.
    #[error("GitHub shows no such line: {0}")]
    NotInDiff(String),
    /// The App's credentials are refused.
    #[error("the App's credentials are refused: {0}")]
    Unauthorized(String),
    /// The answer cannot be read.
    #[error("GitHub's answer cannot be read: {0}")]
    Unreadable(String),
}

impl GitHubError {
    /// When a further try makes sense; `None`: never.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Limited(wait) => Some(*wait),
            Self::Unavailable(_) | Self::Unreadable(_) => Some(Duration::from_secs(1)),
            _ => None,
        }
    }

    /// A failure of the connection. The address is left out: a log's address holds a signature that opens it.
    pub(super) fn network(error: reqwest::Error) -> Self {
        let error = error.without_url();
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
        Self::Unavailable(format!("{error}{cause}"))
    }

    /// Sorts an answer that is no success. `what` is method and path; `wait` is the limit it tells of, if it does.
    pub(super) fn sort(what: &str, status: StatusCode, body: &[u8], wait: Option<Duration>) -> Self {
        if let Some(wait) = wait {
            return Self::Limited(wait);
        }
        let text = format!("{what}: {} ({})", message(body), status.as_u16());
        match status.as_u16() {
            401 => Self::Unauthorized(text),
            403 | 451 => Self::Forbidden(text),
            404 | 410 => Self::NotFound(text),
            408 | 500..=599 => Self::Unavailable(text),
            422 if NOT_IN_DIFF.iter().any(|words| text.to_ascii_lowercase().contains(words)) => {
                Self::NotInDiff(text)
            }
            _ => Self::Invalid(text),
        }
    }
}

/// GitHub's words for a comment that it cannot place, old and new.
const NOT_IN_DIFF: [&str; 4] =
    ["part of the diff", "part of the same hunk", "line could not be resolved", "path could not be resolved"];

/// GitHub's own words in an error's body: `message`, and what `errors` add to it. A proxy's page is cut short.
/// Source: GitHub REST, "Troubleshooting the REST API".
fn message(body: &[u8]) -> String {
    const SHOWN: usize = 300;
    let Ok(json) = serde_json::from_slice::<serde_json::Value>(body) else {
        return String::from_utf8_lossy(body).trim().chars().take(SHOWN).collect();
    };
    let mut words = vec![json["message"].as_str().unwrap_or("no message").to_owned()];
    for error in json["errors"].as_array().into_iter().flatten() {
        let detail = error.as_str().or_else(|| error["message"].as_str()).map(str::to_owned);
        words.push(detail.unwrap_or_else(|| {
            format!("{}: {}", error["field"].as_str().unwrap_or("?"), error["code"].as_str().unwrap_or("?"))
        }));
    }
    words.join("; ").chars().take(SHOWN).collect()
}

/// How long an answer asks us to be silent. `streak` is how many answers in a row have said so without a time.
///
/// Source: GitHub REST, "Rate limits": `Retry-After` first, then `x-ratelimit-reset` where nothing remains, else at
/// least a minute, growing.
pub(super) fn asked_to_wait(
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    streak: u32,
) -> Option<Duration> {
    if !matches!(status.as_u16(), 403 | 429) {
        return None;
    }
    if let Some(seconds) = number(headers, "retry-after") {
        return Some(Duration::from_secs(seconds.clamp(1, LONGEST_WAIT.as_secs())));
    }
    if number(headers, "x-ratelimit-remaining") == Some(0) {
        return Some(until_reset(headers));
    }
    let words = String::from_utf8_lossy(body).to_ascii_lowercase();
    let secondary = words.contains("secondary rate limit") || words.contains("abuse detection");
    (secondary || status == StatusCode::TOO_MANY_REQUESTS)
        .then(|| Duration::from_secs(60 << streak.min(6)).min(LONGEST_WAIT))
}

/// No limit of GitHub's lasts longer than its hourly window.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// From the answer's own clock to the limit's reset, so that a wrong clock of this host changes nothing.
pub(super) fn until_reset(headers: &HeaderMap) -> Duration {
    let now = headers
        .get(http::header::DATE)
        .and_then(|date| chrono::DateTime::parse_from_rfc2822(date.to_str().ok()?).ok())
        .map_or_else(|| chrono::Utc::now().timestamp(), |date| date.timestamp());
    let reset = number(headers, "x-ratelimit-reset").and_then(|at| i64::try_from(at).ok());
    let left = u64::try_from(reset.unwrap_or(now + 60) - now).unwrap_or(0);
    // A second more: the reset is a whole second, and the request after it must not be early.
    Duration::from_secs(left + 1).min(LONGEST_WAIT)
}

/// A header that holds a whole number.
pub(super) fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(k, v)| (http::HeaderName::from_static(k), v.parse().unwrap())).collect()
    }

    #[test]
    fn c20_the_wait_is_what_github_says_by_its_own_clock() {
        let date = "Sun, 29 Nov 2026 10:00:00 GMT";
        let at = chrono::DateTime::parse_from_rfc2822(date).unwrap().timestamp();
        let spent = headers(&[
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", &(at + 90).to_string()),
            ("date", date),
        ]);
        let wait = |status, headers: &HeaderMap, body: &str, streak| {
            asked_to_wait(StatusCode::from_u16(status).unwrap(), headers, body.as_bytes(), streak)
                .map(|d| d.as_secs())
        };
        let secondary = "You have exceeded a secondary rate limit.";
        assert_eq!(wait(403, &spent, "", 0), Some(91));
        assert_eq!(wait(429, &headers(&[("retry-after", "7")]), "", 0), Some(7));
        assert_eq!(wait(403, &headers(&[]), secondary, 0), Some(60));
        assert_eq!(wait(403, &headers(&[]), secondary, 2), Some(240));
        assert_eq!(wait(403, &headers(&[]), secondary, 40), Some(3600));
        assert_eq!(wait(403, &headers(&[]), "Resource not accessible by integration", 0), None);
        assert_eq!(wait(200, &spent, "", 0), None);
    }

    #[test]
    fn a_refusal_is_told_in_githubs_words() {
        let body = br#"{"message":"Validation Failed","errors":[{"message":"A pull request already exists for o:b."},
            {"field":"head","code":"invalid"}]}"#;
        let error = GitHubError::sort("POST /repos/o/r/pulls", StatusCode::UNPROCESSABLE_ENTITY, body, None);
        insta::assert_snapshot!(error, @"GitHub does not accept it: POST /repos/o/r/pulls: Validation Failed; A pull request already exists for o:b.; head: invalid (422)");
    }
}
