//! Runs of the terminal on disk: a folder each, with a database of its own. So two at once are in nobody's way, a killed one
//! is taken up by nobody, and what came of each can be looked at afterwards.

use super::{Store, presence};
use crate::{config, domain::Timestamp};
use anyhow::Context;
use serde::{Deserialize, Serialize};
use std::{
    fs,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    time::Duration,
};

/// Runs that are kept: a few weeks of somebody's work, some megabytes.
const KEPT: usize = 100;
/// Within this a run that has no process yet is about to have one.
const STARTING: Duration = Duration::from_secs(10 * 60);
/// What a run needs only while it runs.
const SCRATCH: [&str; 4] = ["forge", "mirrors", "sandboxes", "check"];
/// The file with what was asked.
const NOTE: &str = "run.json";

/// All runs of this person.
#[derive(Clone, Debug)]
pub struct Runs(PathBuf);

/// One run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its folder.
    pub folder: PathBuf,
}

/// What a run was asked, and what came of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Note {
    /// The repository, as a path or an address.
    pub repository: String,
    /// The instruction.
    pub instruction: String,
    /// The check's command.
    pub check: String,
    /// The commit it started from.
    pub base: String,
    /// When it began, in milliseconds since 1970.
    pub began: i64,
    /// How it ended, in a word; `None`: it did not.
    pub outcome: Option<String>,
    /// The branch it left in the repository.
    pub branch: Option<String>,
    /// What that branch pointed to.
    pub commit: Option<String>,
}

impl Runs {
    /// Runs kept in a folder, else where the system has such things.
    ///
    /// # Errors
    /// When the system names no such place.
    pub fn in_folder(folder: Option<PathBuf>) -> anyhow::Result<Self> {
        let folder = folder.or_else(config::state_folder);
        let folder = folder.context("neither HOME nor XDG_STATE_HOME is set: name a folder with --state")?;
        Ok(Self(std::path::absolute(folder)?.join("runs")))
    }

    /// Where they are.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// Makes the folder of a new run; the oldest go.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn begin(&self) -> anyhow::Result<Run> {
        for old in self.all().into_iter().skip(KEPT - 1).filter(|run| !run.is_alive()) {
            let _ = fs::remove_dir_all(old.folder);
        }
        for killed in self.all().iter().filter(|run| run.is_abandoned()) {
            killed.clear_away();
        }
        let name = uuid::Uuid::now_v7().simple().to_string();
        let folder = self.0.join(name);
        // Code that may be private: for its owner alone.
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.with_context(|| format!("{} cannot be made", folder.display()))?;
        Ok(Run { folder })
    }

    /// All runs, newest first.
    pub fn all(&self) -> Vec<Run> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let mut folders: Vec<PathBuf> =
            entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        // Their names begin with their time.
        folders.sort_by(|a, b| b.cmp(a));
        folders.into_iter().map(|folder| Run { folder }).collect()
    }

    /// What runs have spent today (UTC), in millionths of a dollar: on this repository, and in all.
    ///
    /// # Errors
    /// When the database of one cannot be read.
    pub async fn spent_today(&self, repository: &str) -> anyhow::Result<(u64, u64)> {
        let today = Timestamp(chrono::Utc::now().timestamp_millis());
        // One that began yesterday may have gone on past midnight.
        let recent = |note: &Note| today.since(Timestamp(note.began)).as_secs() < 2 * 24 * 60 * 60;
        let (mut here, mut all) = (0, 0);
        for run in self.all() {
            let Some(note) = run.note() else { continue };
            if !recent(&note) {
                break;
            }
            let Ok(store) = run.store().await else { continue };
            for session in store.sessions(1).await? {
                let facts = &session.state.facts;
                let (_, spent) = store.spent_today(facts.installation, facts.repo.id).await?;
                all += spent;
                here += if note.repository == repository { spent } else { 0 };
            }
        }
        Ok((here, all))
    }
}

impl Run {
    /// Its database, as the configuration names one.
    pub fn database(&self) -> String {
        format!("sqlite:{}", self.file("fixpoint.db").display())
    }

    /// Opens its database to look into it.
    ///
    /// # Errors
    /// When it is not there or cannot be opened.
    pub async fn store(&self) -> anyhow::Result<Store> {
        super::existing_store(&self.database()).await
    }

    /// A file or folder of it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// What was asked, where it can be read.
    pub fn note(&self) -> Option<Note> {
        serde_json::from_slice(&fs::read(self.file(NOTE)).ok()?).ok()
    }

    /// Writes down what was asked and what came of it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, note: &Note) -> anyhow::Result<()> {
        let path = self.file(NOTE);
        let written = fs::write(&path, serde_json::to_vec_pretty(note)?);
        written.with_context(|| format!("{} cannot be written", path.display()))
    }

    /// Whether its process lives.
    pub fn is_alive(&self) -> bool {
        presence::is_worked_on(&self.file("fixpoint.db"))
    }

    /// Whether it was killed: an end was never written down, and nobody works on it, nor is about to.
    fn is_abandoned(&self) -> bool {
        let ended = self.note().is_some_and(|note| note.outcome.is_some());
        let age = fs::metadata(&self.folder).and_then(|facts| facts.modified()).ok();
        let age = age.and_then(|at| at.elapsed().ok()).unwrap_or_default();
        !ended && age > STARTING && !self.is_alive()
    }

    /// Removes what only a running one needs.
    pub fn clear_away(&self) {
        for name in SCRATCH {
            let _ = fs::remove_dir_all(self.file(name));
        }
    }
}
