//! The pack that seeds a sandbox: our own writer, without deltas, because finding them takes longer than sending without.

use super::objects::{oid, tree_at};
use super::{GitError, Mirror};
use crate::domain::Sha;
use flate2::{Compression, write::ZlibEncoder};
use git2::{ObjectType, Oid, Repository};
use sha1::{Digest, Sha1};
use std::collections::HashSet;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::ScopedJoinHandle;

/// What a checkout may weigh: the workspace lies in memory.
const LARGEST: usize = 2 << 30;
/// Threads a pack: more would take the cores of other sessions.
const WRITERS: usize = 4;

impl Mirror {
    /// A pack (no deltas) with `commit` (shallow), its tree and, where given, another tree: what `toolbox seed` reads.
    /// Submodules' commits are not in it, as they are in no pack of their parent.
    ///
    /// # Errors
    /// [`GitError::NotFound`] when the mirror lacks something of it; [`GitError::TooMuch`] past 2 GB of files.
    pub async fn pack(&self, commit: &Sha, tree: Option<&Sha>) -> Result<Vec<u8>, GitError> {
        let (commit, tree) = (oid(commit)?, tree.map(oid).transpose()?);
        self.blocking(move |repo| {
            repo.find_commit(commit)?;
            let mut objects = Objects::default();
            objects.add(commit);
            objects.add_tree(repo, tree_at(repo, commit)?.id())?;
            if let Some(tree) = tree {
                objects.add_tree(repo, tree_at(repo, tree)?.id())?;
            }
            write(repo, &objects.list)
        })
        .await
    }
}

/// Each object once, a tree before what it holds.
#[derive(Default)]
struct Objects {
    list: Vec<Oid>,
    seen: HashSet<Oid>,
}

impl Objects {
    fn add(&mut self, id: Oid) -> bool {
        let new = self.seen.insert(id);
        if new {
            self.list.push(id);
        }
        new
    }

    /// By a list of what is still to be opened, not by recursion: how deep folders lie is not ours to choose.
    fn add_tree(&mut self, repo: &Repository, root: Oid) -> Result<(), GitError> {
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            if !self.add(id) {
                continue;
            }
            for entry in &repo.find_tree(id)? {
                match entry.kind() {
                    Some(ObjectType::Tree) => open.push(entry.id()),
                    Some(ObjectType::Blob) => drop(self.add(entry.id())),
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

/// Source: git's `gitformat-pack`, version 2. Reading and compressing is the work, so it is shared among threads; without
/// deltas the order of the entries is free.
fn write(repo: &Repository, objects: &[Oid]) -> Result<Vec<u8>, GitError> {
    let count = u32::try_from(objects.len()).map_err(|_| GitError::TooMuch("too many files".into()))?;
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get().min(WRITERS));
    let (dir, weight) = (repo.path(), AtomicUsize::new(0));
    let entries = std::thread::scope(|scope| {
        let write = |nth: usize| {
            let (weight, share) = (&weight, objects.iter().skip(nth).step_by(threads));
            scope.spawn(move || write_entries(dir, share, weight))
        };
        let writers: Vec<_> = (0..threads).map(write).collect();
        let join = |writer: ScopedJoinHandle<'_, _>| {
            writer.join().unwrap_or_else(|_| Err(GitError::Other("a pack's writer broke off".into())))
        };
        writers.into_iter().map(join).collect::<Result<Vec<Vec<u8>>, GitError>>()
    })?;
    let mut pack = Vec::with_capacity(entries.iter().map(Vec::len).sum::<usize>() + 32);
    pack.extend_from_slice(b"PACK\0\0\0\x02");
    pack.extend_from_slice(&count.to_be_bytes());
    entries.iter().for_each(|part| pack.extend_from_slice(part));
    let checksum = Sha1::digest(&pack);
    pack.extend_from_slice(&checksum);
    Ok(pack)
}

/// A thread's share, through a repository of its own: libgit2's are not for two threads at once.
fn write_entries<'o>(
    dir: &Path,
    objects: impl Iterator<Item = &'o Oid>,
    weight: &AtomicUsize,
) -> Result<Vec<u8>, GitError> {
    let repo = Repository::open_bare(dir)?;
    let odb = repo.odb()?;
    let mut entries = Vec::new();
    for &id in objects {
        let object = odb.read(id)?;
        if weight.fetch_add(object.len(), Relaxed) > LARGEST {
            return Err(GitError::TooMuch(format!("the repository's files weigh over {} GB", LARGEST >> 30)));
        }
        header(&mut entries, object.kind(), object.len());
        let mut zlib = ZlibEncoder::new(entries, Compression::fast());
        let written = zlib.write_all(object.data()).and_then(|()| zlib.finish());
        entries = written.map_err(|e| GitError::Other(format!("cannot compress {id}: {e}")))?;
    }
    Ok(entries)
}

/// Three bits of kind, then the size, least significant bits first, four and then seven a byte.
fn header(pack: &mut Vec<u8>, kind: ObjectType, size: usize) {
    let kind = match kind {
        ObjectType::Commit => 1,
        ObjectType::Tree => 2,
        _ => 3,
    };
    let mut byte = kind << 4 | low_bits(size, 0x0f);
    let mut rest = size >> 4;
    while rest > 0 {
        pack.push(byte | 0x80);
        byte = low_bits(rest, 0x7f);
        rest >>= 7;
    }
    pack.push(byte);
}

#[allow(clippy::cast_possible_truncation)] // Masked to seven bits.
fn low_bits(number: usize, mask: u8) -> u8 {
    (number & usize::from(mask)) as u8
}
