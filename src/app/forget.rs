//! Forgetting a repository or a person, and backing up: what an operator does with what is kept.

use super::{configured, existing_store};
use crate::{
    config::Config,
    domain::SessionId,
    git::Mirrors,
    sandbox::Kept,
    store::{self, Forgettable, KeptOf, Store},
};
use anyhow::Context;
use secrecy::ExposeSecret;
use std::{collections::BTreeMap, path::Path};

/// What is kept of somebody or something, ready to be removed.
#[derive(Debug)]
pub struct Forgetting {
    store: Store,
    mirrors: Mirrors,
    installed: Option<Kept>,
    whom: Forgettable,
    kept: KeptOf,
}

/// Looks for what is kept; changes nothing.
///
/// # Errors
/// When the database is not there or cannot be read; when a session of it is at work.
pub async fn forgetting(config: &Config, whom: Forgettable) -> anyhow::Result<Forgetting> {
    let store = existing_store(config.database.expose_secret()).await?;
    let kept = store.kept_of(&whom).await?;
    if !kept.live.is_empty() {
        let names: Vec<String> = kept.live.iter().map(SessionId::short).collect();
        anyhow::bail!(
            "nothing is removed while a session is at work: {}; end each with `fixpoint session cancel ID` first",
            names.join(", ")
        );
    }
    let mirrors = Mirrors::new(config.data_dir.join("mirrors"));
    let installed = configured::kept(&config.data_dir, u64::MAX);
    Ok(Forgetting { store, mirrors, installed, whom, kept })
}

impl Forgetting {
    /// Nothing is kept.
    pub fn is_nothing(&self) -> bool {
        let KeptOf { sessions, repositories, deliveries, names, .. } = &self.kept;
        sessions.is_empty() && repositories.is_empty() && deliveries.is_empty() && *names == 0
    }

    /// What is removed, a line each.
    pub fn removed(&self) -> Vec<String> {
        let KeptOf { sessions, repositories, deliveries, names, .. } = &self.kept;
        let mut lines = vec![
            format!(
                "{} with what was asked, said and done in them, and their patches",
                counted(sessions.len(), "session")
            ),
            format!("the content of {}", counted(deliveries.len(), "webhook")),
        ];
        match &self.whom {
            Forgettable::Repository { .. } => {
                lines.push("how its checks failed before".to_owned());
                let mirrors = counted(repositories.len(), "mirror");
                lines.push(format!("{mirrors} in this machine's data folder, and what was installed"));
            }
            Forgettable::User { .. } => {
                lines.push("their checkpoints in this machine's data folder".to_owned());
                let lines_of = usize::try_from(*names).unwrap_or(usize::MAX);
                lines.push(format!("the name and account in {} of the audit", counted(lines_of, "line")));
            }
        }
        lines
    }

    /// What stays, and why, a line each.
    pub fn stays(&self) -> Vec<&'static str> {
        let common = [
            "ids and hashes of webhooks and of what was asked: they say nothing, and keep it from being done again",
            "the sums that were spent, by day",
            "what stands on GitHub, and in backups and logs: that is not fixpoint's to remove",
        ];
        let own: &[&str] = match &self.whom {
            Forgettable::Repository { .. } => &[
                "the audit, which holds no content, until `retention.audit`",
                "mirrors and what was installed on other nodes: delete their `mirrors/<id>.git` and `installed/<id>-*` there",
            ],
            Forgettable::User { .. } => &[
                "the audit's lines, without name and account, until `retention.audit`",
                "where others' sessions mention them in plain text, until `retention.transcripts`",
            ],
        };
        own.iter().copied().chain(common).collect()
    }

    /// Removes it.
    ///
    /// # Errors
    /// When a session began to work meanwhile (nothing is removed then), or a mirror cannot be removed.
    pub async fn forget(&self) -> anyhow::Result<()> {
        self.store.forget(&self.whom, &self.kept).await.context("nothing was removed")?;
        match &self.whom {
            Forgettable::Repository { .. } => {
                for repo in &self.kept.repositories {
                    self.mirrors.remove(&repo.to_string()).await?;
                    if let Some(installed) = &self.installed {
                        installed.forget_repository(*repo).await?;
                    }
                }
            }
            Forgettable::User { .. } => {
                let mut of: BTreeMap<String, Vec<_>> = BTreeMap::new();
                for (session, repo) in &self.kept.sessions {
                    of.entry(repo.to_string()).or_default().push(*session);
                }
                for (repo, sessions) in of {
                    self.mirrors.open(&repo).await?.let_go(&sessions).await?;
                }
            }
        }
        Ok(())
    }
}

fn counted(n: usize, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}

/// Copies the database into a file that is not there yet, also while a server works on it; gives its size in bytes.
///
/// # Errors
/// A sentence: why there is no backup.
pub async fn backup(config: &Config, to: &Path) -> anyhow::Result<u64> {
    Ok(store::backup(config.database.expose_secret(), to).await?)
}
