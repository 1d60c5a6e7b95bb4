//! Files that two sides have changed differently, put into a tree: between markers where they can, else one of the two.

use super::GitError;
use git2::{DiffFindOptions, Index, IndexEntry, IndexTime, MergeFileOptions, Oid, Repository, Tree};
use std::collections::BTreeMap;
use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _, path::Path};

/// Files that may be in conflict: nobody resolves more by one request, and each is held in memory.
const CONFLICTS: usize = 500;
/// A file that is merged line by line; a larger one is no person's to edit between markers.
const LARGEST_TEXT: usize = 5 << 20;
/// What begins a marker's line: ours, the common ancestor, theirs. The fourth, seven times `=`, also underlines titles.
const MARKERS: [&[u8]; 3] = [b"<<<<<<<", b"|||||||", b">>>>>>>"];

/// Object and mode of a file.
type File = (Oid, u32);
type Name = Vec<u8>;

/// One file in conflict.
#[derive(Clone, Copy, Default)]
struct Sides {
    ancestor: Option<File>,
    ours: Option<File>,
    theirs: Option<File>,
}

/// Takes every conflict out of the index and puts a file in its place; gives the paths. `trees` are those of the common
/// ancestor, ours and theirs.
pub(super) fn settle(
    repo: &Repository,
    index: &mut Index,
    trees: &[Tree<'_>; 3],
) -> Result<Vec<String>, GitError> {
    let mut conflicts = BTreeMap::new();
    for conflict in index.conflicts()? {
        let conflict = conflict?;
        let path = [&conflict.our, &conflict.their, &conflict.ancestor].into_iter().flatten().next();
        let Some(path) = path.map(|entry| entry.path.clone()) else { continue };
        let file = |entry: Option<IndexEntry>| entry.map(|entry| (entry.id, entry.mode));
        let sides = Sides {
            ancestor: file(conflict.ancestor),
            ours: file(conflict.our),
            theirs: file(conflict.their),
        };
        conflicts.insert(path, sides);
        if conflicts.len() > CONFLICTS {
            return Err(GitError::TooMuch(format!("more than {CONFLICTS} files are in conflict")));
        }
    }
    for path in conflicts.keys() {
        index.conflict_remove(as_path(path))?;
    }
    reunite(repo, &mut conflicts, trees)?;
    let mut files = Vec::with_capacity(conflicts.len());
    for (path, sides) in &conflicts {
        // Removed by both, and put elsewhere.
        let Some(file) = settled(repo, sides)? else { continue };
        files.push(String::from_utf8_lossy(path).into_owned());
        if clear(index, as_path(path), sides.ours.is_some())? {
            index.add(&entry(path, file))?;
        }
    }
    Ok(files)
}

/// Puts the two paths of a renamed file together under the new one: libgit2 tells of the old path and of the new one,
/// each with one side.
fn reunite(
    repo: &Repository,
    conflicts: &mut BTreeMap<Name, Sides>,
    [base, ours, theirs]: &[Tree<'_>; 3],
) -> Result<(), GitError> {
    let is_new = |sides: &Sides| sides.ancestor.is_none() && (sides.ours.is_none() || sides.theirs.is_none());
    if !conflicts.values().any(is_new) {
        return Ok(());
    }
    for side in [ours, theirs] {
        for (old, new) in renames(repo, base, side)? {
            let (Some(there), Some(here)) = (conflicts.get(&old), conflicts.get(&new)) else { continue };
            let whole = Sides {
                ancestor: there.ancestor,
                ours: there.ours.xor(here.ours),
                theirs: there.theirs.xor(here.theirs),
            };
            if is_new(here) && whole.ours.is_some() && whole.theirs.is_some() {
                conflicts.remove(&old);
                conflicts.insert(new, whole);
            }
        }
    }
    Ok(())
}

/// What one side has renamed, old and new paths.
fn renames(repo: &Repository, base: &Tree<'_>, side: &Tree<'_>) -> Result<Vec<(Name, Name)>, GitError> {
    let mut diff = repo.diff_tree_to_tree(Some(base), Some(side), None)?;
    diff.find_similar(Some(DiffFindOptions::new().renames(true)))?;
    let renamed = diff.deltas().filter(|delta| delta.status() == git2::Delta::Renamed);
    let paths = renamed.filter_map(|delta| {
        Some((delta.old_file().path_bytes()?.to_vec(), delta.new_file().path_bytes()?.to_vec()))
    });
    Ok(paths.collect())
}

/// Makes room for a file where the other side has a folder of its name, or a file of its folder's name. Ours stays.
fn clear(index: &mut Index, path: &Path, ours: bool) -> Result<bool, GitError> {
    let folders = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    let above: Vec<&Path> = folders.filter(|folder| index.get_path(folder, 0).is_some()).collect();
    let below = index.find_prefix(path.join("")).is_ok();
    if !ours && (below || !above.is_empty()) {
        return Ok(false);
    }
    above.into_iter().try_for_each(|file| index.remove(file, 0))?;
    if below {
        index.remove_dir(path, 0)?;
    }
    Ok(true)
}

/// What stands in the tree for a file in conflict.
fn settled(repo: &Repository, sides: &Sides) -> Result<Option<File>, GitError> {
    let (Some(ours), Some(theirs)) = (sides.ours, sides.theirs) else {
        return Ok(sides.ours.or(sides.theirs));
    };
    // Two new files of one name: their ancestor is an empty one.
    let empty = || Ok::<_, GitError>((repo.blob(b"")?, ours.1));
    let ancestor = sides.ancestor.map_or_else(empty, Ok)?;
    for side in [ancestor, ours, theirs] {
        if !is_text(repo, side)? {
            return Ok(Some(ours));
        }
    }
    let mut options = MergeFileOptions::new();
    options.style_diff3(true).our_label("ours").ancestor_label("ancestor").their_label("theirs");
    let [ancestor, one, other] = [ancestor, ours, theirs].map(|file| entry(b"file", file));
    let merged = repo.merge_file_from_index(&ancestor, &one, &other, Some(&mut options))?;
    Ok(Some((repo.blob(merged.content())?, ours.1)))
}

/// Whether lines of it can stand between markers: a regular file without a NUL where git looks for one.
fn is_text(repo: &Repository, (id, mode): File) -> Result<bool, GitError> {
    const LOOKED_AT: usize = 8_000;
    if !matches!(mode, 0o100_644 | 0o100_755) || repo.odb()?.read_header(id)?.0 > LARGEST_TEXT {
        return Ok(false);
    }
    let blob = repo.find_blob(id)?;
    Ok(!blob.content().iter().take(LOOKED_AT).any(|byte| *byte == 0))
}

/// Whether a line of it is a conflict's marker.
pub(super) fn holds_markers(content: &[u8]) -> bool {
    let is_marker = |line: &[u8]| {
        line.split_at_checked(7).is_some_and(|(signs, rest)| {
            MARKERS.contains(&signs) && matches!(rest.first(), None | Some(b' ' | b'\r'))
        })
    };
    content.split(|byte| *byte == b'\n').any(is_marker)
}

/// An index's entry; of its numbers a tree keeps mode and id.
fn entry(path: &[u8], (id, mode): File) -> IndexEntry {
    IndexEntry {
        ctime: IndexTime::new(0, 0),
        mtime: IndexTime::new(0, 0),
        dev: 0,
        ino: 0,
        mode,
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: 0,
        flags_extended: 0,
        path: path.to_vec(),
    }
}

fn as_path(path: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(path))
}
