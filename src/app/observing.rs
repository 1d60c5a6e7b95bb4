//! The server of the profile that only observes: it reads the past of every repository that the App is installed on, again
//! and again, and shows what it came to. No model, no database, no webhook, no write.

use super::observed::{forge, past};
use crate::{
    config::Config,
    domain::{
        Repo,
        observe::{Observed, Watched},
    },
    github::{GitHub, GitHubError},
    http,
};
use anyhow::Context as _;
use std::{net::SocketAddr, time::Duration};
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;

/// How far back is looked: a month shows a weekly build four times.
const DAYS: u32 = 30;
/// A past of a month changes little in less, and reading it may take a third of an hour's requests.
const EVERY: Duration = Duration::from_secs(6 * 60 * 60);
/// After this GitHub is asked again which repositories there are, where it did not answer.
const SOON: Duration = Duration::from_secs(300);

/// A running server that only observes.
#[derive(Debug)]
pub struct Observing {
    /// Where it listens.
    pub address: SocketAddr,
    shutdown: CancellationToken,
    tasks: Vec<JoinHandle<()>>,
}

impl Observing {
    /// Ends it.
    pub async fn stop(self) {
        self.shutdown.cancel();
        for task in self.tasks {
            // A panic of theirs was told where it happened.
            let _ = task.await;
        }
    }
}

/// Starts it: it listens and reads until [`Observing::stop`].
///
/// # Errors
/// When the App's id or key is missing, or the address is taken.
pub async fn observing(config: &Config, http: reqwest::Client) -> anyhow::Result<Observing> {
    let github = forge(config, http)?;
    let listen = config.server.listen;
    let listener = TcpListener::bind(listen)
        .await
        .with_context(|| format!("{listen} cannot be listened on; is another server running?"))?;
    let address = listener.local_addr()?;
    if !address.ip().is_loopback() {
        tracing::warn!(%address, "not on loopback: the report is told in this log alone");
    }
    let (known, shown) = watch::channel(Vec::new());
    let shutdown = CancellationToken::new();
    let stop = shutdown.clone().cancelled_owned();
    let serving = tokio::spawn(http::serve_observed(listener, shown, DAYS, stop));
    let reader = Reader { github, rounds: config.limits.session().rounds, known };
    let ended = shutdown.clone();
    let reading =
        tokio::spawn(async move { ended.run_until_cancelled(reader.read()).await.unwrap_or_default() });
    Ok(Observing { address, shutdown, tasks: vec![serving, reading] })
}

struct Reader {
    github: GitHub,
    rounds: u32,
    known: watch::Sender<Vec<Watched>>,
}

impl Reader {
    async fn read(&self) {
        loop {
            let pause = match self.repositories().await {
                Ok(repositories) => {
                    self.all(repositories).await;
                    EVERY
                }
                Err(error) => {
                    tracing::warn!(%error, "which repositories there are cannot be read");
                    error.retry_after().unwrap_or(SOON)
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    async fn repositories(&self) -> Result<Vec<Repo>, GitHubError> {
        let mut all = Vec::new();
        for installation in self.github.installations().await? {
            if installation.suspended {
                tracing::info!(account = installation.account, "suspended by its owner: left out");
                continue;
            }
            all.extend(self.github.reached(installation.id).await?);
        }
        Ok(all)
    }

    /// One after the other: there is no hurry, and each may take a good part of an hour's requests.
    async fn all(&self, repositories: Vec<Repo>) {
        let names: Vec<String> = repositories.iter().map(Repo::to_string).collect();
        self.known.send_modify(|known| {
            known.retain(|watched| names.contains(&watched.repository));
            for name in &names {
                if !known.iter().any(|watched| watched.repository == *name) {
                    known.push(Watched { repository: name.clone(), read: None });
                }
            }
        });
        for repo in repositories {
            self.one(&repo).await;
        }
    }

    async fn one(&self, repo: &Repo) {
        let name = repo.to_string();
        let (now, read) = past(&self.github, (&repo.owner, &repo.name), DAYS, self.rounds).await;
        match &read {
            Ok(Observed { report, runs, unread }) => tracing::info!(
                repository = name,
                runs,
                red = report.red,
                sessions = report.sessions,
                ci_minutes = report.ci_minutes,
                unread,
                "observed"
            ),
            Err(error) => tracing::warn!(repository = name, %error, "its history cannot be read"),
        }
        self.known.send_modify(|known| {
            if let Some(watched) = known.iter_mut().find(|watched| watched.repository == name) {
                watched.read = Some((now, read.map_err(|error| error.to_string())));
            }
        });
    }
}
