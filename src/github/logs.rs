//! Logs of jobs and archives of runs: over the redirect to the store that holds them, without the token, and never more of them in memory than
//! asked for.

use super::Repository;
use super::errors::GitHubError;
use super::wire::{Outgoing, location};
use backon::{ExponentialBuilder, Retryable};
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use std::time::Duration;

/// A log, cut to a cap while it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobLog {
    /// The log's bytes (its end, when it was longer than the cap).
    Text(Vec<u8>),
    /// Not there yet (404 while the job is young).
    NotYet,
    /// Gone (410), or never written.
    Gone,
}

/// A log is read this far; what a job writes beyond it is lost. The largest logs that are known are some hundred MB.
const LONGEST: u64 = 2 << 30;
/// A store that sends nothing for this long is given up.
const SILENCE: Duration = Duration::from_secs(30);
const TRIES: ExponentialBuilder = ExponentialBuilder::new()
    .with_min_delay(Duration::from_millis(500))
    .with_factor(3.0)
    .with_max_times(2)
    .with_jitter();

impl Repository {
    /// A job's log; the redirect is followed without the token; at most `cap` bytes are kept, the end of it.
    ///
    /// # Errors
    /// [`GitHubError::Forbidden`] where the installation grants no `actions: read`; else any of [`GitHubError`].
    pub async fn job_log(&self, job: u64, cap: usize) -> Result<JobLog, GitHubError> {
        self.log(&["actions", "jobs", &job.to_string(), "logs"], cap, Keep::End).await
    }

    /// The archive of all logs of a workflow run's last attempt, a zip; [`JobLog::Gone`] also when it is larger than `cap`
    /// bytes, since half a zip cannot be read.
    ///
    /// # Errors
    /// [`GitHubError::Forbidden`] where the installation grants no `actions: read`; else any of [`GitHubError`].
    pub async fn run_archive(&self, run: u64, cap: usize) -> Result<JobLog, GitHubError> {
        self.log(&["actions", "runs", &run.to_string(), "logs"], cap, Keep::All).await
    }

    async fn log(&self, below: &[&str], cap: usize, keep: Keep) -> Result<JobLog, GitHubError> {
        (|| self.read_log(below, cap, keep))
            .retry(TRIES)
            .when(|error: &GitHubError| matches!(error, GitHubError::Unavailable(_)))
            .await
    }

    async fn read_log(&self, below: &[&str], cap: usize, keep: Keep) -> Result<JobLog, GitHubError> {
        let out = self.log_request(below);
        let response = self.open_log(&out).await?;
        let response = match location(&response) {
            // The address is signed and opens the log by itself.
            Some(store) => self.client.service.wire.fetch(store).await?,
            None => response,
        };
        match response.status() {
            StatusCode::NOT_FOUND => Ok(JobLog::NotYet),
            StatusCode::GONE => Ok(JobLog::Gone),
            status if status.is_success() => Ok(match keep {
                Keep::End => JobLog::Text(end_of(response, cap).await?),
                Keep::All => whole(response, cap).await?.map_or(JobLog::Gone, JobLog::Text),
            }),
            status => {
                let text = format!("{}: the log's store answers {status}", out.what());
                Err(GitHubError::Unavailable(text))
            }
        }
    }

    /// The answer that leads to the log; 404 and 410 are answers too.
    async fn open_log(&self, out: &Outgoing) -> Result<reqwest::Response, GitHubError> {
        let service = &self.client.service;
        service.wire.limits.pass(out.who, false)?;
        let bearer = service.bearer(out).await?;
        let mut response = service.wire.open(out, &bearer).await?;
        if response.status() == StatusCode::UNAUTHORIZED {
            service.refuse(out, &bearer).await;
            response = service.wire.open(out, &service.bearer(out).await?).await?;
        }
        let status = response.status();
        if status.as_u16() < 400 || matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE) {
            service.wire.limits.learn(out.who, status, response.headers(), &[]);
            return Ok(response);
        }
        Err(service.wire.refused(out, response).await)
    }

    fn log_request(&self, below: &[&str]) -> Outgoing {
        Outgoing {
            who: Some(self.installation),
            method: Method::GET,
            url: self.url(below.iter().copied()),
            headers: HeaderMap::new(),
            body: Bytes::new(),
        }
    }
}

/// What is kept of more than was asked for.
#[derive(Clone, Copy, Debug)]
enum Keep {
    /// Its end.
    End,
    /// All or nothing.
    All,
}

/// A stream of at most `cap` bytes, or nothing.
async fn whole(mut response: reqwest::Response, cap: usize) -> Result<Option<Vec<u8>>, GitHubError> {
    let mut all: Vec<u8> = Vec::new();
    while let Some(chunk) = next(&mut response).await? {
        if all.len() + chunk.len() > cap {
            return Ok(None);
        }
        all.extend_from_slice(&chunk);
    }
    Ok(Some(all))
}

async fn next(response: &mut reqwest::Response) -> Result<Option<Bytes>, GitHubError> {
    tokio::time::timeout(SILENCE, response.chunk())
        .await
        .map_err(|_| GitHubError::Unavailable("a log stopped in the middle".into()))?
        .map_err(GitHubError::network)
}

/// The last `cap` bytes of a stream, in twice the memory.
async fn end_of(mut response: reqwest::Response, cap: usize) -> Result<Vec<u8>, GitHubError> {
    let mut end: Vec<u8> = Vec::new();
    let mut read = 0_u64;
    while read < LONGEST {
        let Some(chunk) = next(&mut response).await? else { break };
        read += chunk.len() as u64;
        end.extend_from_slice(&chunk);
        if end.len() > cap.saturating_mul(2) {
            end.drain(..end.len() - cap);
        }
    }
    end.drain(..end.len().saturating_sub(cap));
    Ok(end)
}
