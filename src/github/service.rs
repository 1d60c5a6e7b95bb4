//! The way of every API request but logs: as whom, at most how often, and what a second asking may cost.
//!
//! It stands below octocrab as its `tower::Service`, for octocrab's own repeats writes on a 502, sends pages of other
//! hosts than api.github.com without a token, and sleeps out rate limits inside the call.

use super::auth::Auth;
use super::errors::GitHubError;
use super::tokens::{Key, Scope};
use super::wire::{Answer, Outgoing, Wire};
use crate::domain::{InstallationId, RepoId, Timestamp, policy::Secrets};
use backon::{ExponentialBuilder, Retryable};
use bytes::Bytes;
use http::{HeaderValue, Method, StatusCode, header};
use http_body_util::{BodyExt, Full};
use octocrab::OctoBody;
use secrecy::SecretString;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Caller {
    /// The App itself.
    App,
    /// The App, in a repository of an installation.
    Repository(InstallationId, RepoId),
}

/// The service, for one caller.
#[derive(Clone)]
pub(super) struct Service {
    pub(super) wire: Arc<Wire>,
    pub(super) auth: Arc<Auth>,
    pub(super) answers: Answers,
    pub(super) caller: Caller,
    /// It looks by the clock: nobody asked, and nothing told of news.
    pub(super) by_clock: bool,
    /// Ours: nothing that is written may hold one.
    pub(super) secrets: Arc<Secrets>,
}

/// Answers kept with their `ETag`: asking again with it costs nothing of the hourly limit while nothing changed.
pub(super) type Answers = moka::future::Cache<(Caller, String), (HeaderValue, Answer)>;

/// Memory that kept answers may take.
const ANSWERS_KEPT: u64 = 32 << 20;
/// A larger answer is rarely asked for twice.
const LARGEST_KEPT: usize = 512 << 10;
/// Reads are tried this often in all; with these pauses an outage of some seconds passes unseen.
const READS: ExponentialBuilder = ExponentialBuilder::new()
    .with_min_delay(Duration::from_millis(200))
    .with_factor(4.0)
    .with_max_times(3)
    .with_jitter();

/// The room for kept answers.
pub(super) fn answers() -> Answers {
    moka::future::Cache::builder()
        .max_capacity(ANSWERS_KEPT)
        .weigher(|_, (_, answer): &(HeaderValue, Answer)| {
            u32::try_from(answer.body.len()).unwrap_or(u32::MAX).saturating_add(1_000)
        })
        .time_to_idle(Duration::from_secs(4 * 3600))
        .build()
}

impl Service {
    async fn serve(self, request: http::Request<OctoBody>) -> Result<Answer, GitHubError> {
        let out = self.outgoing(request).await?;
        if out.method != Method::GET {
            return self.once(&out).await;
        }
        (|| self.read(&out))
            .retry(READS)
            .when(|error: &GitHubError| matches!(error, GitHubError::Unavailable(_)))
            .await
    }

    /// GitHub's clock, by the `Date` of an answer that nothing kept stands in for.
    pub(super) async fn clock(&self) -> Result<Timestamp, GitHubError> {
        let url = self.wire.api.join("app").map_err(|e| GitHubError::Invalid(e.to_string()))?;
        let out = Outgoing {
            who: self.caller.installation(),
            method: Method::GET,
            url,
            headers: http::HeaderMap::new(),
            body: Bytes::new(),
        };
        let answer = self.once(&out).await?;
        let date = answer.headers.get(header::DATE).and_then(|date| date.to_str().ok());
        let date = date.and_then(|date| chrono::DateTime::parse_from_rfc2822(date).ok());
        let date = date.ok_or_else(|| GitHubError::Unreadable("the answer has no date".to_owned()))?;
        Ok(Timestamp(date.timestamp_millis()))
    }

    async fn outgoing(&self, request: http::Request<OctoBody>) -> Result<Outgoing, GitHubError> {
        let (parts, body) = request.into_parts();
        let target = parts.uri.to_string();
        let url = match parts.uri.authority() {
            Some(_) => url::Url::parse(&target),
            None => self.wire.api.join(target.trim_start_matches('/')),
        };
        let url = url.map_err(|e| GitHubError::Invalid(format!("{target} is no address: {e}")))?;
        let body = body.collect().await.map_err(|e| GitHubError::Invalid(e.to_string()))?.to_bytes();
        let mut headers = parts.headers;
        // Set from the body when it is sent.
        headers.remove(header::CONTENT_LENGTH);
        Ok(Outgoing { who: self.caller.installation(), method: parts.method, url, headers, body })
    }

    /// A read, conditional where the last answer is kept.
    async fn read(&self, out: &Outgoing) -> Result<Answer, GitHubError> {
        let key = (self.caller, out.url.to_string());
        let kept = self.answers.get(&key).await;
        let mut out = out.clone();
        if let Some((tag, _)) = &kept {
            out.headers.insert(header::IF_NONE_MATCH, tag.clone());
        }
        if self.by_clock {
            self.wire.limits.look(out.who)?;
        }
        let answer = self.once(&out).await?;
        if answer.status == StatusCode::NOT_MODIFIED {
            if self.by_clock {
                self.wire.limits.look_was_free(out.who);
            }
            return kept.map(|(_, answer)| answer).ok_or_else(|| {
                GitHubError::Unreadable(format!("{}: 304 to an unconditional request", out.what()))
            });
        }
        match answer.headers.get(header::ETAG) {
            Some(tag) if answer.body.len() <= LARGEST_KEPT => {
                self.answers.insert(key, (tag.clone(), answer.clone())).await;
            }
            _ => self.answers.invalidate(&key).await,
        }
        Ok(answer)
    }

    /// Once; twice only where the credential was refused, for then nothing was done.
    async fn once(&self, out: &Outgoing) -> Result<Answer, GitHubError> {
        let asks_people = out.method != Method::GET && self.caller != Caller::App;
        self.wire.limits.pass(out.who, asks_people)?;
        let bearer = self.bearer(out).await?;
        let answer = self.wire.send(out, &bearer).await;
        if let Err(GitHubError::Unauthorized(_)) = answer {
            self.refuse(out, &bearer).await;
            return self.wire.send(out, &self.bearer(out).await?).await;
        }
        answer
    }

    pub(super) async fn bearer(&self, out: &Outgoing) -> Result<SecretString, GitHubError> {
        match self.caller.key(out) {
            None => self.auth.jwt(),
            Some(key) => self.auth.get(&self.wire, key).await,
        }
    }

    pub(super) async fn refuse(&self, out: &Outgoing, bearer: &SecretString) {
        match self.caller.key(out) {
            None => self.auth.refuse_jwt(bearer),
            Some(key) => self.auth.forget(key, Some(bearer)).await,
        }
    }
}

impl Caller {
    pub(super) fn installation(self) -> Option<InstallationId> {
        match self {
            Self::App => None,
            Self::Repository(installation, _) => Some(installation),
        }
    }

    /// The least token that will do: reads read, writes talk, only a ref's deletion and a draft's change need more.
    fn key(self, out: &Outgoing) -> Option<Key> {
        let Self::Repository(installation, repo) = self else { return None };
        let path = out.url.path();
        let scope = match out.method {
            Method::GET | Method::HEAD => Scope::Read,
            Method::DELETE if path.contains("/git/refs/") => Scope::Push,
            Method::POST if path.ends_with("/graphql") => Scope::Draft,
            _ => Scope::Talk,
        };
        Some(Key { installation, repo, scope })
    }
}

impl tower::Service<http::Request<OctoBody>> for Service {
    type Response = http::Response<Full<Bytes>>;
    type Error = GitHubError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, GitHubError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), GitHubError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<OctoBody>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move {
            let answer = service.serve(request).await?;
            let mut response = http::Response::new(Full::new(answer.body));
            *response.status_mut() = answer.status;
            *response.headers_mut() = answer.headers;
            Ok(response)
        })
    }
}
