//! One request over the network and one answer, whole or as a stream: redirects, caps and limits, but no token logic.

use super::errors::GitHubError;
use super::limits::Limits;
use crate::domain::InstallationId;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use secrecy::{ExposeSecret, SecretString};
use std::time::Duration;
use url::Url;

/// The largest answer that is read. The largest we ask for, a page of a hundred check runs with their output, is below
/// 13 MB (64 kB of summary and of text each).
const ANSWER_CAP: usize = 16 << 20;
/// GitHub itself gives up on a request after ten seconds; the rest is the way there and back.
const ANSWER_TIME: Duration = Duration::from_secs(30);
/// A renamed repository that was moved as well takes two.
const REDIRECTS: usize = 3;
pub(super) const AGENT: &str = concat!("fixpoint/", env!("CARGO_PKG_VERSION"));

/// The network's end, shared by every caller.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) api: Url,
    pub(super) http: reqwest::Client,
    pub(super) limits: Limits,
}

/// A request, ready to be sent as often as needed.
#[derive(Clone, Debug)]
pub(super) struct Outgoing {
    /// Whose limits it counts against.
    pub(super) who: Option<InstallationId>,
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// An answer below 400, read to its end.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Outgoing {
    /// Method and path, for messages.
    pub(super) fn what(&self) -> String {
        format!("{} {}", self.method, self.url.path())
    }
}

impl Wire {
    /// Sends once and reads the answer; what is no success becomes an error.
    pub(super) async fn send(&self, out: &Outgoing, bearer: &SecretString) -> Result<Answer, GitHubError> {
        let response = self.follow(out, bearer).await?;
        let status = response.status();
        if !(status.is_success() || status == StatusCode::NOT_MODIFIED) {
            return Err(self.refused(out, response).await);
        }
        let headers = response.headers().clone();
        self.limits.learn(out.who, status, &headers, &[]);
        Ok(Answer { status, headers, body: read(response).await? })
    }

    /// The error that an answer is which is no success.
    pub(super) async fn refused(&self, out: &Outgoing, response: reqwest::Response) -> GitHubError {
        let (status, headers) = (response.status(), response.headers().clone());
        // What cannot be read explains nothing; the status still does.
        let body = read(response).await.unwrap_or_default();
        let wait = self.limits.learn(out.who, status, &headers, &body);
        GitHubError::sort(&out.what(), status, &body, wait)
    }

    /// Reads an address that is no part of the API: without a token, and without a word about it in any error.
    pub(super) async fn fetch(&self, url: Url) -> Result<reqwest::Response, GitHubError> {
        let request = self.http.get(url).header(header::USER_AGENT, AGENT).send();
        tokio::time::timeout(ANSWER_TIME, request)
            .await
            .map_err(|_| GitHubError::Unavailable("no answer in 30 s".into()))?
            .map_err(GitHubError::network)
    }

    /// Sends once and gives the answer unread, whatever it is. The token goes to the API's own origin and nowhere else.
    pub(super) async fn open(
        &self,
        out: &Outgoing,
        bearer: &SecretString,
    ) -> Result<reqwest::Response, GitHubError> {
        if out.url.origin() != self.api.origin() {
            let host = out.url.host_str().unwrap_or("?");
            return Err(GitHubError::Invalid(format!("the API's answer leads to another server, {host}")));
        }
        let mut headers = out.headers.clone();
        headers.entry(header::ACCEPT).or_insert(HeaderValue::from_static("application/vnd.github+json"));
        headers.insert("x-github-api-version", HeaderValue::from_static("2022-11-28"));
        // GitHub refuses requests that do not say who sends them.
        headers.insert(header::USER_AGENT, HeaderValue::from_static(AGENT));
        let request = self
            .http
            .request(out.method.clone(), out.url.clone())
            .headers(headers)
            .bearer_auth(bearer.expose_secret())
            .body(out.body.clone());
        tokio::time::timeout(ANSWER_TIME, request.send())
            .await
            .map_err(|_| GitHubError::Unavailable(format!("{}: no answer in 30 s", out.what())))?
            .map_err(GitHubError::network)
    }

    /// [`Wire::open`], and on where GitHub says a renamed or moved repository is now.
    async fn follow(&self, out: &Outgoing, bearer: &SecretString) -> Result<reqwest::Response, GitHubError> {
        let mut out = out.clone();
        for _ in 0..REDIRECTS {
            let response = self.open(&out, bearer).await?;
            let keeps_method = matches!(response.status().as_u16(), 307 | 308) || out.method == Method::GET;
            match location(&response).filter(|_| keeps_method) {
                Some(next) => out.url = next,
                None => return Ok(response),
            }
        }
        Err(GitHubError::Invalid(format!("{}: redirected in a circle", out.what())))
    }
}

/// Where a redirect leads.
pub(super) fn location(response: &reqwest::Response) -> Option<Url> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    response.url().join(response.headers().get(header::LOCATION)?.to_str().ok()?).ok()
}

pub(super) async fn read(mut response: reqwest::Response) -> Result<Bytes, GitHubError> {
    let mut body = BytesMut::new();
    loop {
        let chunk = tokio::time::timeout(ANSWER_TIME, response.chunk())
            .await
            .map_err(|_| GitHubError::Unavailable("the answer stopped in the middle".into()))?
            .map_err(GitHubError::network)?;
        let Some(chunk) = chunk else { return Ok(body.freeze()) };
        if body.len() + chunk.len() > ANSWER_CAP {
            return Err(GitHubError::Invalid(format!("an answer of more than {} MB", ANSWER_CAP >> 20)));
        }
        body.extend_from_slice(&chunk);
    }
}
