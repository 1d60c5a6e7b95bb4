//! What broken-off work leaves in a mirror, and packs that have become many.

use super::program::{git, words};
use super::{GitError, Mirror, Remote};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A ref is locked for milliseconds; a lock of this age belongs to a process that was killed.
const STALE_LOCK: Duration = Duration::from_secs(60);
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
        let printed = git(&self.dir, remote, &["repack", "--quiet", "-d", "--geometric=2"]).await?;
        if !printed.status.success() {
            // The mirror works as before, only slower.
            tracing::warn!(mirror = %self.dir.display(), why = words(&printed.stderr), "cannot repack");
        }
        Ok(())
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
