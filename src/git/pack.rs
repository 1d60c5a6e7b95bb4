//! The pack that seeds a sandbox: our own writer, without deltas, because finding them takes longer than sending without.

use super::objects::{oid, tree_at};
use super::{GitError, Mirror};
use crate::domain::Sha;
use flate2::{Compression, write::ZlibEncoder};
use git2::{ObjectType, Odb, Oid, Repository};
use sha1::{Digest, Sha1};
use std::collections::HashSet;
use std::io::Write;

/// What a checkout may weigh: the workspace lies in memory.
const LARGEST: usize = 2 << 30;

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
            write(&repo.odb()?, &objects.list)
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

/// Source: git's `gitformat-pack`, version 2.
fn write(odb: &Odb<'_>, objects: &[Oid]) -> Result<Vec<u8>, GitError> {
    let count = u32::try_from(objects.len()).map_err(|_| GitError::TooMuch("too many files".into()))?;
    let mut pack = Vec::new();
    pack.extend_from_slice(b"PACK\0\0\0\x02");
    pack.extend_from_slice(&count.to_be_bytes());
    let mut total = 0_usize;
    for &id in objects {
        let object = odb.read(id)?;
        total += object.len();
        if total > LARGEST {
            return Err(GitError::TooMuch(format!("the repository's files weigh over {} GB", LARGEST >> 30)));
        }
        header(&mut pack, object.kind(), object.len());
        let mut zlib = ZlibEncoder::new(pack, Compression::fast());
        let written = zlib.write_all(object.data()).and_then(|()| zlib.finish());
        pack = written.map_err(|e| GitError::Other(format!("cannot compress {id}: {e}")))?;
    }
    let checksum = Sha1::digest(&pack);
    pack.extend_from_slice(&checksum);
    Ok(pack)
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
