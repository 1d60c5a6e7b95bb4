//! What broken-off work leaves in a mirror, and packs that have become many.

use super::mirrors::Mirrors;
use super::program::{git, words};
use super::{GitError, Mirror, Remote};
use crate::domain::SessionId;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A ref is locked for milliseconds; a lock of this age belongs to a process that was killed.
pub(super) const STALE_LOCK: Duration = Duration::from_secs(60);
/// Half a pack of this age belongs to a fetch whose time was over long ago.
const STALE_PACK: Duration = Duration::from_secs(2 * 3600);
/// Every fetch brings a pack; with many of them each lookup asks them all.
const PACKS: usize = 50;

impl Mirror {
    /// Removes what a killed process left: a lock would stop every later fetch, half a pack only fills the disk.
    pub(super) async fn sweep(&self) -> Result<(), GitError> {
        let dir = self.dir.clone();
        self.blocking(move |_| {
            let mut files = Vec::new();
            walk(&dir.join("refs"), &mut files);
            files.extend(["packed-refs.lock", "HEAD.lock", "config.lock"].map(|name| dir.join(name)));
            files.retain(|file| file.extension().is_some_and(|end| end == "lock"));
            remove(&files, STALE_LOCK);
            let mut packs = Vec::new();
            walk(&dir.join("objects/pack"), &mut packs);
            packs.retain(|file| name(file).starts_with("tmp_"));
            remove(&packs, STALE_PACK);
            Ok(())
        })
        .await
    }

    /// Puts small packs together when they have become many. What nothing refers to is kept: it may be a checkpoint in the
    /// making.
    pub(super) async fn repack(&self, remote: &Remote) -> Result<(), GitError> {
        let packs = self.dir.join("objects/pack");
        let many = move |_: &git2::Repository| {
            let mut files = Vec::new();
            walk(&packs, &mut files);
            Ok(files.iter().filter(|file| file.extension().is_some_and(|end| end == "pack")).count() > PACKS)
        };
        if !self.blocking(many).await? {
            return Ok(());
        }
        let printed = git(self, remote, &["repack", "--quiet", "-d", "--geometric=2"]).await?;
        if !printed.status.success() {
            // The mirror works as before, only slower.
            tracing::warn!(mirror = %self.dir.display(), why = words(&printed.stderr), "cannot repack");
        }
        Ok(())
    }
}

/// Where sessions' checkpoints are held, as [`Mirror::hold`] names them.
const SESSIONS: &str = "refs/fixpoint/session/";

/// What nothing refers to any more stays for so long: work that has just begun makes its objects before it names them.
const UNNAMED: &str = "--prune=2.days.ago";

impl Mirrors {
    /// The keys of all mirrors on this disk.
    pub async fn all(&self) -> Vec<String> {
        let root = self.root.clone();
        let keys = tokio::task::spawn_blocking(move || {
            let folders = std::fs::read_dir(root).into_iter().flatten().flatten();
            folders.filter_map(|entry| Some(name(&entry.path()).strip_suffix(".git")?.to_owned())).collect()
        });
        keys.await.unwrap_or_default()
    }

    /// Removes a mirror; false: there was none.
    ///
    /// # Errors
    /// [`GitError::Other`] when it cannot be removed whole.
    pub async fn remove(&self, key: &str) -> Result<bool, GitError> {
        let mirror = self.open(key).await?;
        let _alone = mirror.network.lock().await;
        match tokio::fs::remove_dir_all(&mirror.dir).await {
            Ok(()) => Ok(true),
            Err(error) => {
                Err(GitError::Other(format!("{} cannot be removed: {error}", mirror.dir.display())))
            }
        }
    }
}

impl Mirror {
    /// The sessions that something is held for.
    ///
    /// # Errors
    /// [`GitError::Other`] when its refs cannot be read.
    pub async fn held(&self) -> Result<Vec<SessionId>, GitError> {
        self.blocking(|repo| {
            let mut sessions = Vec::new();
            for reference in repo.references_glob(&format!("{SESSIONS}*"))? {
                let reference = reference?;
                let id = reference.name().ok().and_then(|name| name.strip_prefix(SESSIONS));
                sessions.extend(id.and_then(|id| id.parse().ok()).map(SessionId));
            }
            Ok(sessions)
        })
        .await
    }

    /// Lets go what is held for these sessions.
    ///
    /// # Errors
    /// [`GitError::Other`] when a ref cannot be removed.
    pub async fn let_go(&self, sessions: &[SessionId]) -> Result<(), GitError> {
        let names: Vec<String> = sessions.iter().map(|id| format!("{SESSIONS}{id}")).collect();
        self.blocking(move |repo| {
            for name in names {
                match repo.find_reference(&name) {
                    Ok(mut reference) => reference.delete()?,
                    Err(error) if error.code() == git2::ErrorCode::NotFound => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Ok(())
        })
        .await
    }

    /// Removes what nothing refers to any more, and packs the rest. Only where no session is at work.
    ///
    /// # Errors
    /// [`GitError::Other`] with git's words.
    pub async fn collect(&self) -> Result<(), GitError> {
        let _alone = self.network.lock().await;
        // It talks to nobody; that nobody has to have an address.
        let nobody = url::Url::parse("https://localhost/").map_err(|e| GitError::Other(e.to_string()))?;
        let remote = Remote { url: nobody, token: None };
        let printed = git(self, &remote, &["gc", "--quiet", UNNAMED]).await?;
        match printed.status.success() {
            true => Ok(()),
            false => Err(GitError::Other(words(&printed.stderr))),
        }
    }
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(&entry.path(), files),
            _ => files.push(entry.path()),
        }
    }
}

fn remove(files: &[PathBuf], age: Duration) {
    for file in files {
        let changed = std::fs::metadata(file).and_then(|facts| facts.modified());
        if changed.is_ok_and(|at| at.elapsed().is_ok_and(|since| since > age)) {
            tracing::info!(file = %file.display(), "left by a killed process; removed");
            // Who else removed it has done the same.
            let _ = std::fs::remove_file(file);
        }
    }
}

fn name(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
