//! What a red check left behind, best first: the job's own log, the run's archive, annotations, the check's output. Which
//! of them was used is said.

use super::{aid::Aid, greens::Greens};
use crate::{
    digest::{Digester, GreenIndex, Kind as LogKind, Options, archive::Archive},
    domain::{
        Failure,
        failure::{Kind, Source},
        verdict::RedCheck,
    },
    github::{GitHubError, JobLog, Repository},
    work::Halt,
};
use std::{sync::Arc, time::Duration};

/// What of a job's log is read: the end of it. Larger logs exist; what failed stands near the end.
const LOG: usize = 64 << 20;
/// The largest archive that is held in memory: packed, that is some gigabytes of logs.
const ARCHIVE: usize = 128 << 20;
/// What of each log the model is given.
const EXCERPT: usize = 8_000;
/// The one line people see, in characters.
const LINE: usize = 200;

/// Reads logs of one repository; keeps the archive it read last, since the jobs of a run lose their logs together.
pub(in crate::work) struct Logs<'a> {
    repository: &'a Repository,
    archive: Option<(u64, Option<Arc<Vec<u8>>>)>,
    aid: Arc<Aid>,
    greens: Option<Greens>,
}

/// A log that is about to be digested, and what it is compared with.
struct Asked {
    check: RedCheck,
    aid: Arc<Aid>,
    green: Option<Arc<GreenIndex>>,
}

impl<'a> Logs<'a> {
    pub(in crate::work) fn new(repository: &'a Repository) -> Self {
        Self { repository, archive: None, aid: Arc::default(), greens: None }
    }

    /// The same, with what else is known of the repository and of its base.
    pub(super) fn with(self, aid: Aid, greens: Greens) -> Self {
        Self { aid: Arc::new(aid), greens: Some(greens), ..self }
    }

    /// The failure that a red check tells of; `None` while its log may still come: a `young` job's is not there yet.
    pub(in crate::work) async fn read(
        &mut self,
        check: &RedCheck,
        young: bool,
    ) -> Result<Option<Failure>, Halt> {
        if let (true, Some(job)) = (check.is_actions, check.check_run) {
            match self.repository.job_log(job, LOG).await {
                Ok(JobLog::Text(log)) if !log.is_empty() => {
                    let asked = self.asked(check, true).await?;
                    return told(asked, Source::JobLog, log).await.map(Some);
                }
                Ok(JobLog::NotYet) if young => return Ok(None),
                Err(GitHubError::Unavailable(why)) if !young => {
                    tracing::warn!(why, "a job's log cannot be had");
                }
                Ok(_) | Err(GitHubError::Forbidden(_)) => {}
                Err(other) => return Err(other.into()),
            }
            if let Some(failure) = self.archived(check).await? {
                return Ok(Some(failure));
            }
        }
        if let Some(run) = check.check_run {
            let lines = self.repository.annotations(run).await?;
            if !lines.is_empty() {
                let asked = self.asked(check, false).await?;
                return told(asked, Source::Annotations, lines.join("\n").into_bytes()).await.map(Some);
            }
        }
        let output = check.output.trim();
        let source = if output.is_empty() { Source::Nothing } else { Source::Output };
        let asked = self.asked(check, false).await?;
        told(asked, source, output.as_bytes().to_vec()).await.map(Some)
    }

    /// With the green log of the job where `compare`d: what is no log has none to be compared with.
    async fn asked(&mut self, check: &RedCheck, compare: bool) -> Result<Asked, Halt> {
        let green = match &mut self.greens {
            Some(greens) if compare => greens.of(&check.name).await?,
            _ => None,
        };
        Ok(Asked { check: check.clone(), aid: self.aid.clone(), green })
    }

    async fn archived(&mut self, check: &RedCheck) -> Result<Option<Failure>, Halt> {
        let Some(run) = check.workflow_run else { return Ok(None) };
        let Some(bytes) = self.archive(run).await? else { return Ok(None) };
        let asked = self.asked(check, true).await?;
        let found = tokio::task::spawn_blocking(move || in_archive(&asked, &bytes));
        found.await.map_err(|error| broken(&error))
    }

    async fn archive(&mut self, run: u64) -> Result<Option<Arc<Vec<u8>>>, Halt> {
        if let Some((_, known)) = self.archive.as_ref().filter(|(of, _)| *of == run) {
            return Ok(known.clone());
        }
        let read = match self.repository.run_archive(run, ARCHIVE).await {
            Ok(JobLog::Text(bytes)) => Some(Arc::new(bytes)),
            Ok(JobLog::NotYet | JobLog::Gone)
            | Err(GitHubError::Forbidden(_) | GitHubError::Unavailable(_)) => None,
            Err(other) => return Err(other.into()),
        };
        self.archive = Some((run, read.clone()));
        Ok(read)
    }
}

/// The failure in the log that an archive holds of a job. An archive that cannot be read is as good as none: there is more
/// to fall back on.
fn in_archive(asked: &Asked, bytes: &[u8]) -> Option<Failure> {
    let mut archive = Archive::open(bytes).inspect_err(|error| tracing::warn!(%error)).ok()?;
    let wanted = bare(&asked.check.name);
    let job = archive.jobs().iter().find(|job| bare(&job.name) == wanted)?.clone();
    let mut digester = asked.digester();
    let mut any = false;
    let read = archive.read(&job, |chunk| {
        any = true;
        digester.push(chunk);
    });
    read.inspect_err(|error| tracing::warn!(%error)).ok()?;
    any.then(|| failure(&asked.check, Source::Archive, digester))
}

/// A job's name as far as file names keep it: slashes, colons and the like are replaced there.
fn bare(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).collect()
}

async fn told(asked: Asked, source: Source, bytes: Vec<u8>) -> Result<Failure, Halt> {
    let read = tokio::task::spawn_blocking(move || {
        let mut digester = asked.digester();
        digester.push(&bytes);
        failure(&asked.check, source, digester)
    });
    read.await.map_err(|error| broken(&error))
}

pub(super) fn broken(error: &tokio::task::JoinError) -> Halt {
    Halt::Later(error.to_string(), Duration::from_secs(60))
}

impl Asked {
    fn digester(&self) -> Digester<'_> {
        Digester::new(Options {
            budget: EXCERPT,
            check: &self.check.name,
            green: self.green.as_deref(),
            matchers: &self.aid.matchers,
            secrets: &self.aid.secrets,
        })
    }
}

fn failure(check: &RedCheck, source: Source, digester: Digester<'_>) -> Failure {
    let digest = digester.finish();
    let line = match digest.line_text.is_empty() {
        true => format!("it ended with {}", check.conclusion),
        false => digest.line_text,
    };
    Failure {
        check: check.name.clone(),
        kind: if digest.kind == LogKind::Infrastructure { Kind::Infrastructure } else { Kind::Change },
        signature: digest.signature,
        line: line.chars().take(LINE).collect(),
        excerpt: digest.text,
        tests: digest.tests,
        url: check.url.clone(),
        source,
        evidence: None,
    }
}
