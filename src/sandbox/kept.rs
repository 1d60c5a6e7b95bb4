//! What was installed in a sandbox, kept for the next one: archives in a folder of the host, each under its key and the hash of its
//! bytes.
//!
//! Nothing in here reads an archive. It is written whole or not at all, its hash is taken before it is handed out, and what no
//! longer fits its name is thrown away.

use crate::domain::{RepoId, repo_config::Key};
use sha2::{Digest, Sha256};
use std::{
    fs, io,
    path::{Path, PathBuf},
    pin::Pin,
    task::{Context, Poll},
    time::{Duration, SystemTime},
};
use tempfile::NamedTempFile;
use tokio::io::AsyncWrite;

/// Bytes of one archive: dependencies of a large repository. More would not fit into a sandbox's memory either.
const LARGEST: u64 = 2 << 30;

/// Archives of all repositories together: each has a handful at the most.
const MOST: usize = 1_000;

/// What nobody has used for so long goes.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// What a process that died was writing goes after this.
const UNFINISHED: Duration = Duration::from_secs(60 * 60);

/// How the name of what is being written begins.
const PART: &str = ".part-";

/// Read at a time, where a hash is taken.
const PIECE: usize = 1 << 20;

/// A folder of archives.
#[derive(Clone, Debug)]
pub struct Kept {
    folder: PathBuf,
    room: u64,
}

impl Kept {
    /// In this folder, which is made when it is needed; at most `room` bytes together.
    pub fn new(folder: PathBuf, room: u64) -> Self {
        Self { folder, room }
    }

    /// Bytes that one archive may have.
    pub fn largest(&self) -> u64 {
        self.room.min(LARGEST)
    }

    /// The archive under a key, whole and as it was written. One that is not is thrown away, and told in the log.
    ///
    /// # Errors
    /// Where the folder or a file in it cannot be read.
    pub async fn find(&self, key: &Key) -> io::Result<Option<tokio::fs::File>> {
        let (this, key) = (self.clone(), key.clone());
        let found = tokio::task::spawn_blocking(move || this.look(&key)).await??;
        Ok(found.map(tokio::fs::File::from_std))
    }

    fn look(&self, key: &Key) -> io::Result<Option<fs::File>> {
        for Archive { path, name, .. } in self.archives()? {
            let Some((of, hash)) = name.split_once('.') else { continue };
            if of != key.to_string() {
                continue;
            }
            let mut file = fs::File::open(&path)?;
            if digest(&mut file)? == hash {
                io::Seek::rewind(&mut file)?;
                // Whoever uses it keeps it: by this the longest unused is known.
                fs::File::options().append(true).open(&path)?.set_modified(SystemTime::now())?;
                return Ok(Some(file));
            }
            tracing::warn!(
                file = %path.display(),
                "what was installed before is not as it was kept; it is thrown away and installed anew"
            );
            fs::remove_file(&path)?;
        }
        Ok(None)
    }

    /// Throws away what is kept under a key.
    ///
    /// # Errors
    /// Where it cannot be removed.
    pub async fn forget(&self, key: &Key) -> io::Result<()> {
        self.forget_all(format!("{key}.")).await
    }

    /// Throws away what is kept of a repository.
    ///
    /// # Errors
    /// Where it cannot be removed.
    pub async fn forget_repository(&self, repository: RepoId) -> io::Result<()> {
        self.forget_all(Key::beginning(repository)).await
    }

    async fn forget_all(&self, beginning: String) -> io::Result<()> {
        let this = self.clone();
        let forget = move || {
            let all = this.archives()?;
            all.iter()
                .filter(|archive| archive.name.starts_with(&beginning))
                .try_for_each(|a| remove(&a.path))
        };
        tokio::task::spawn_blocking(forget).await?
    }

    /// Begins to write an archive; until [`Writing::done`] it is nowhere, and dropped it is gone.
    ///
    /// # Errors
    /// Where the folder or the file cannot be made.
    pub async fn begin(&self, key: &Key) -> io::Result<Writing> {
        let (this, key) = (self.clone(), key.clone());
        let begin = move || {
            fs::create_dir_all(&this.folder)?;
            let part = tempfile::Builder::new().prefix(PART).tempfile_in(&this.folder)?;
            let file = tokio::fs::File::from_std(part.reopen()?);
            Ok(Writing { kept: this, key, part, file, hasher: Sha256::new() })
        };
        tokio::task::spawn_blocking(begin).await?
    }

    /// Removes what is old, unfinished, or more than there is room for; gives how many.
    ///
    /// # Errors
    /// Where the folder cannot be read or a file not be removed.
    pub async fn tidy(&self) -> io::Result<u32> {
        let this = self.clone();
        tokio::task::spawn_blocking(move || this.tidy_now()).await?
    }

    fn tidy_now(&self) -> io::Result<u32> {
        let mut all = self.archives()?;
        // The longest unused comes last.
        all.sort_by_key(|archive| archive.age);
        let (mut bytes, mut count, mut removed) = (0, 0, 0);
        for archive in all {
            let part = archive.name.starts_with(PART);
            let old = archive.age > if part { UNFINISHED } else { UNUSED };
            let fits = bytes + archive.bytes <= self.room && count < MOST;
            if old || !(fits || part) {
                remove(&archive.path)?;
                removed += 1;
                continue;
            }
            (bytes, count) = (bytes + archive.bytes, count + 1);
        }
        Ok(removed)
    }

    fn archives(&self) -> io::Result<Vec<Archive>> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut all = Vec::new();
        for entry in entries {
            let entry = entry?;
            // Removed meanwhile by another process.
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_file() {
                let age = SystemTime::now().duration_since(metadata.modified()?).unwrap_or_default();
                let name = entry.file_name().to_string_lossy().into_owned();
                all.push(Archive { path: entry.path(), name, bytes: metadata.len(), age });
            }
        }
        Ok(all)
    }
}

struct Archive {
    path: PathBuf,
    name: String,
    bytes: u64,
    age: Duration,
}

/// An archive that is being written.
pub struct Writing {
    kept: Kept,
    key: Key,
    part: NamedTempFile,
    file: tokio::fs::File,
    hasher: Sha256,
}

impl Writing {
    /// All of it is written: from now on it is found.
    ///
    /// # Errors
    /// Where it does not reach the disk; nothing is kept then.
    pub async fn done(self) -> io::Result<()> {
        let Self { kept, key, part, mut file, hasher } = self;
        tokio::io::AsyncWriteExt::flush(&mut file).await?;
        file.sync_all().await?;
        let name = format!("{key}.{}", hex::encode(hasher.finalize()));
        let finish = move || {
            part.persist(kept.folder.join(name)).map_err(|error| error.error)?;
            fs::File::open(&kept.folder)?.sync_all()?;
            kept.tidy_now().map(drop)
        };
        tokio::task::spawn_blocking(finish).await?
    }
}

impl AsyncWrite for Writing {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.file).poll_write(context, bytes);
        if let Poll::Ready(Ok(n)) = written {
            self.hasher.update(&bytes[..n]);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.file).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.file).poll_shutdown(context)
    }
}

fn digest(file: &mut fs::File) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; PIECE];
    loop {
        match io::Read::read(file, &mut buffer)? {
            0 => return Ok(hex::encode(hasher.finalize())),
            n => hasher.update(&buffer[..n]),
        }
    }
}

/// What another process has removed already is no error.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests;
