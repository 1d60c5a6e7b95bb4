//! From changed files to a tree. Nothing git-shaped comes out of a sandbox: paths, modes and bytes do, and here they are
//! judged.

use super::objects::{oid, sha, tree_at};
use super::{GitError, Mirror, paths};
use crate::domain::{Fault, Limits, Sha, seeded};
use crate::toolbox::wire::Change;
use git2::{ObjectType, Oid, Repository, Tree};
use std::collections::{BTreeMap, HashMap};

/// Modes that a tree may be given: a file, a program, a link.
const MODES: [u32; 3] = [0o100_644, PROGRAM, LINK];
const PROGRAM: u32 = 0o100_755;
const LINK: u32 = 0o120_000;
const FOLDER: i32 = 0o040_000;

impl Mirror {
    /// A new tree: `base` (a tree or commit) with the changes that came from a sandbox, each path checked, caps applied.
    /// A path to be removed that is not there is no error.
    ///
    /// # Errors
    /// [`GitError::BadPath`] names the first path that is refused, [`GitError::TooMuch`] the cap.
    pub async fn apply(&self, base: &Sha, changes: &[Change], limits: &Limits) -> Result<Sha, GitError> {
        within(changes, limits)?;
        let base = oid(base)?;
        let changes = changes.to_vec();
        self.blocking(move |repo| {
            let wanted = Folder::read(&changes)?;
            let base = tree_at(repo, base)?;
            let made = wanted.write(repo, Some(&base), "")?;
            Ok(sha(made.map_or_else(|| empty(repo), Ok)?))
        })
        .await
    }
}

fn within(changes: &[Change], limits: &Limits) -> Result<(), GitError> {
    if changes.len() > limits.files {
        let (n, cap) = (changes.len(), limits.files);
        return Err(GitError::TooMuch(format!("{n} files are changed, more than the {cap} of a round")));
    }
    let mut total = 0_usize;
    for change in changes {
        let Change::File { path, bytes, .. } = change else { continue };
        if bytes.len() > limits.file_bytes {
            let cap = limits.file_bytes;
            return Err(GitError::TooMuch(format!("{path:?} is larger than the {cap} bytes of a file")));
        }
        total = total.saturating_add(bytes.len());
    }
    if total > limits.total_bytes {
        let cap = limits.total_bytes;
        return Err(GitError::TooMuch(format!("the changed files hold {total} bytes, more than {cap}")));
    }
    Ok(())
}

/// What is to become of the names in one folder.
#[derive(Default)]
struct Folder<'c>(BTreeMap<&'c str, Node<'c>>);

/// What is to become of one name.
#[derive(Default)]
struct Node<'c> {
    /// The name itself.
    own: Option<Own<'c>>,
    /// What lies below it.
    below: Folder<'c>,
}

#[derive(Clone, Copy)]
enum Own<'c> {
    File(u32, &'c [u8]),
    Removed,
}

impl<'c> Folder<'c> {
    fn read(changes: &'c [Change]) -> Result<Self, GitError> {
        let mut root = Self::default();
        for change in changes {
            match change {
                Change::File { path, mode, bytes } => root.put(path, judge(path, *mode, bytes)?)?,
                Change::Removed { path } => root.put(path, Own::Removed)?,
            }
        }
        Ok(root)
    }

    fn put(&mut self, path: &'c str, own: Own<'c>) -> Result<(), GitError> {
        let names = match seeded(Fault::PathsBelieved) {
            true => path.split('/').collect(),
            false => paths::check(path)?,
        };
        let (name, folders) = names.split_last().ok_or_else(|| bad(path, "it is empty"))?;
        let mut folder = self;
        for step in folders {
            folder = &mut folder.0.entry(step).or_default().below;
        }
        let node = folder.0.entry(name).or_default();
        if node.own.is_some() {
            return Err(bad(path, "it is named twice"));
        }
        node.own = Some(own);
        Ok(())
    }

    /// Writes the folder as it is after the changes; `None`: nothing is left in it. The recursion is as deep as a
    /// checked path may be.
    fn write(&self, repo: &Repository, base: Option<&Tree<'_>>, at: &str) -> Result<Option<Oid>, GitError> {
        let mut builder = repo.treebuilder(base)?;
        let mut added = Vec::new();
        for (name, node) in &self.0 {
            let path = below(at, name);
            let old = base.and_then(|tree| tree.get_name(name));
            let old = old.map(|entry| (entry.id(), entry.kind()));
            match node.becomes(repo, old, &path)? {
                Becomes::Same => {}
                Becomes::Nothing if old.is_some() => builder.remove(*name)?,
                Becomes::Nothing => {}
                Becomes::Entry(id, mode) => {
                    builder.insert(*name, id, mode)?;
                    if old.is_none() {
                        added.push(*name);
                    }
                }
            }
        }
        if builder.is_empty() {
            return Ok(None);
        }
        let made = builder.write()?;
        if !added.is_empty() {
            no_twins(&repo.find_tree(made)?, &added, at)?;
        }
        Ok(Some(made))
    }
}

enum Becomes {
    Same,
    Nothing,
    Entry(Oid, i32),
}

impl Node<'_> {
    fn becomes(
        &self,
        repo: &Repository,
        old: Option<(Oid, Option<ObjectType>)>,
        path: &str,
    ) -> Result<Becomes, GitError> {
        if let Some((_, Some(ObjectType::Commit))) = old {
            return Err(bad(path, "it is a submodule, and what that holds is another repository's"));
        }
        let folder = match old {
            Some((id, Some(ObjectType::Tree))) => Some(repo.find_tree(id)?),
            _ => None,
        };
        let stays_file = old.is_some() && folder.is_none() && self.own.is_none();
        let below = if self.below.0.is_empty() {
            folder.as_ref().map(Tree::id)
        } else {
            self.below.write(repo, folder.as_ref(), path)?
        };
        match (self.own, below) {
            (Some(Own::File(..)), Some(_)) => Err(bad(path, "it is a file and a folder")),
            (None, Some(_)) if stays_file => Err(bad(path, "it is a file and a folder")),
            (Some(Own::File(mode, bytes)), None) => {
                Ok(Becomes::Entry(repo.blob(bytes)?, i32::try_from(mode).unwrap_or_default()))
            }
            (_, Some(tree)) => Ok(Becomes::Entry(tree, FOLDER)),
            (None, None) if stays_file => Ok(Becomes::Same),
            (_, None) => Ok(Becomes::Nothing),
        }
    }
}

fn judge<'c>(path: &str, mode: u32, bytes: &'c [u8]) -> Result<Own<'c>, GitError> {
    if !MODES.contains(&mode) {
        return Err(bad(path, "it is neither a file, nor a program, nor a link"));
    }
    if mode == LINK {
        let name = path.rsplit('/').next().unwrap_or_default();
        if paths::is_read_by_git(name) {
            return Err(bad(path, "git reads it, so it must not be a link"));
        }
        if bytes.is_empty() || bytes.contains(&0) || bytes.len() > 4_096 {
            return Err(bad(path, "it is a link to nowhere"));
        }
    }
    Ok(Own::File(mode, bytes))
}

/// No name that was added may equal another one but for case: half of all systems could not check both out. Twins that
/// the repository had before are its own affair.
fn no_twins(tree: &Tree<'_>, added: &[&str], at: &str) -> Result<(), GitError> {
    let mut spellings: HashMap<String, usize> = HashMap::new();
    for entry in tree {
        *spellings.entry(paths::fold(&String::from_utf8_lossy(entry.name_bytes()))).or_default() += 1;
    }
    match added.iter().find(|name| spellings.get(&paths::fold(name)).is_some_and(|n| *n > 1)) {
        None => Ok(()),
        Some(name) => Err(bad(&below(at, name), "it differs from another path only in case")),
    }
}

fn below(at: &str, name: &str) -> String {
    if at.is_empty() { name.to_owned() } else { format!("{at}/{name}") }
}

fn empty(repo: &Repository) -> Result<Oid, GitError> {
    Ok(repo.treebuilder(None)?.write()?)
}

fn bad(path: &str, why: &'static str) -> GitError {
    GitError::BadPath { path: path.chars().take(200).collect(), why }
}
