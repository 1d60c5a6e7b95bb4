//! Reading and making objects: trees, commits, files, and the refs that keep them.

use super::{GitError, Mirror, tidy::STALE_LOCK};
use crate::domain::{Sha, Timestamp};
use backon::{ExponentialBuilder, Retryable};
use git2::{ObjectType, Oid, Repository, Tree, TreeWalkMode, TreeWalkResult};
use std::time::Duration;

/// Who is named in a commit.
#[derive(Clone, Debug)]
pub struct Signature {
    /// Name.
    pub name: String,
    /// Address.
    pub email: String,
    /// When, to the second: part of the commit's name, so a retry makes the same commit.
    pub at: Timestamp,
}

/// How long a locked ref is waited for: a little longer than it takes until its lock is stale.
const LOCKED: ExponentialBuilder = ExponentialBuilder::new()
    .with_min_delay(Duration::from_millis(50))
    .with_max_delay(Duration::from_secs(2))
    .without_max_times()
    .with_total_delay(Some(Duration::from_secs(STALE_LOCK.as_secs() + 10)));

/// Links followed to a file: `AGENTS.md` is often one to another file.
const LINKS: usize = 5;

impl Mirror {
    /// The tree of a commit.
    ///
    /// # Errors
    /// [`GitError::NotFound`] when the mirror does not hold it.
    pub async fn tree_of(&self, commit: &Sha) -> Result<Sha, GitError> {
        let commit = oid(commit)?;
        self.blocking(move |repo| Ok(sha(repo.find_commit(commit)?.tree_id()))).await
    }

    /// Makes a commit object; same input, same commit.
    ///
    /// # Errors
    /// [`GitError::NotFound`] when the mirror lacks the tree or a parent.
    pub async fn commit(
        &self,
        tree: &Sha,
        parents: &[Sha],
        message: &str,
        author: &Signature,
    ) -> Result<Sha, GitError> {
        let tree = oid(tree)?;
        let parents = parents.iter().map(oid).collect::<Result<Vec<_>, _>>()?;
        let message = format!("{}\n", message.trim_end());
        let author = author.clone();
        self.blocking(move |repo| {
            let at = git2::Time::new(author.at.0.div_euclid(1000), 0);
            let who = git2::Signature::new(&author.name, &author.email, &at)?;
            let tree = repo.find_tree(tree)?;
            let parents =
                parents.into_iter().map(|id| repo.find_commit(id)).collect::<Result<Vec<_>, _>>()?;
            let parents: Vec<_> = parents.iter().collect();
            Ok(sha(repo.commit(None, &who, &who, &message, &tree, &parents)?))
        })
        .await
    }

    /// A file of a commit or tree, up to `cap` bytes; links within the tree are followed. `None`: not there, or no file.
    ///
    /// # Errors
    /// [`GitError::NotFound`] when the mirror does not hold the commit or tree.
    pub async fn file(&self, treeish: &Sha, path: &str, cap: usize) -> Result<Option<Vec<u8>>, GitError> {
        let (treeish, path) = (oid(treeish)?, path.to_owned());
        self.blocking(move |repo| {
            let tree = tree_at(repo, treeish)?;
            let mut path = path;
            for _ in 0..LINKS {
                let Some((mode, content)) = blob(repo, &tree, &path)? else { return Ok(None) };
                if mode != 0o120_000 {
                    return Ok(Some(content[..content.len().min(cap)].to_vec()));
                }
                let Some(target) = target(&path, &content) else { return Ok(None) };
                path = target;
            }
            Ok(None)
        })
        .await
    }

    /// All paths below a folder of a commit or tree, at most `cap`; folders and submodules are left out. Nothing outside the
    /// folder is walked. None where there is no such folder.
    ///
    /// # Errors
    /// [`GitError::NotFound`] when the mirror does not hold the commit or tree.
    pub async fn paths(&self, treeish: &Sha, folder: &str, cap: usize) -> Result<Vec<String>, GitError> {
        let (treeish, top) = (oid(treeish)?, folder.to_owned());
        self.blocking(move |repo| {
            let tree = match tree_at(repo, treeish)?.get_path(top.as_ref()) {
                Ok(entry) if entry.kind() == Some(ObjectType::Tree) => repo.find_tree(entry.id())?,
                Ok(_) => return Ok(Vec::new()),
                Err(error) if error.code() == git2::ErrorCode::NotFound => return Ok(Vec::new()),
                Err(error) => return Err(error.into()),
            };
            let mut paths = Vec::new();
            let walk = tree.walk(TreeWalkMode::PreOrder, |folder, entry| {
                if paths.len() == cap {
                    return TreeWalkResult::Abort;
                }
                if entry.kind() == Some(ObjectType::Blob) {
                    let name = String::from_utf8_lossy(entry.name_bytes());
                    paths.push(format!("{top}/{folder}{name}"));
                }
                TreeWalkResult::Ok
            });
            match walk {
                Err(error) if paths.len() < cap => Err(error.into()),
                _ => Ok(paths),
            }
        })
        .await
    }

    /// The files of a commit or tree whose paths are wanted, with their texts: `None` for one over `cap` bytes. `None`
    /// altogether where there are more than `most`.
    ///
    /// # Errors
    /// [`GitError::NotFound`] when the mirror does not hold the commit or tree.
    pub async fn texts(
        &self,
        treeish: &Sha,
        wanted: fn(&str) -> bool,
        (most, cap): (usize, usize),
    ) -> Result<Option<Vec<(String, Option<String>)>>, GitError> {
        let treeish = oid(treeish)?;
        self.blocking(move |repo| {
            let mut found = Vec::new();
            let walk = tree_at(repo, treeish)?.walk(TreeWalkMode::PreOrder, |folder, entry| {
                let path = format!("{folder}{}", String::from_utf8_lossy(entry.name_bytes()));
                if entry.kind() == Some(ObjectType::Blob) && wanted(&path) {
                    found.push((path, entry.id()));
                }
                if found.len() > most { TreeWalkResult::Abort } else { TreeWalkResult::Ok }
            });
            if found.len() > most {
                return Ok(None);
            }
            walk?;
            let objects = repo.odb()?;
            let text = |(path, id): (String, Oid)| {
                let fits = objects.read_header(id)?.0 <= cap;
                let content = fits.then(|| repo.find_blob(id)).transpose()?;
                Ok((path, content.map(|blob| String::from_utf8_lossy(blob.content()).into_owned())))
            };
            found.into_iter().map(text).collect::<Result<Vec<_>, GitError>>().map(Some)
        })
        .await
    }

    /// Does the mirror hold all of these?
    ///
    /// # Errors
    /// [`GitError::Other`] when it cannot be read.
    pub async fn has(&self, objects: &[Sha]) -> Result<bool, GitError> {
        let objects = objects.iter().map(oid).collect::<Result<Vec<_>, _>>()?;
        self.blocking(move |repo| {
            let objects_of = repo.odb()?;
            Ok(objects.into_iter().all(|object| objects_of.exists(object)))
        })
        .await
    }

    /// Keeps objects from being collected under `refs/fixpoint/<name>`.
    ///
    /// # Errors
    /// [`GitError::NotFound`] when the mirror does not hold the object.
    pub async fn hold(&self, name: &str, object: &Sha) -> Result<(), GitError> {
        self.point(&format!("refs/fixpoint/{name}"), oid(object)?, "held").await
    }

    /// Points a ref to an object. The lock that a killed process has left on it is waited for until it is old enough to be
    /// known for one, and removed.
    ///
    /// # Errors
    /// [`GitError::NotFound`] when the mirror does not hold the object; [`GitError::Locked`] when the ref is not free by then.
    pub(super) async fn point(&self, name: &str, object: Oid, why: &'static str) -> Result<(), GitError> {
        let set = || async {
            let name = name.to_owned();
            let set = self.blocking(move |repo| {
                repo.find_object(object, None)?;
                repo.reference(&name, object, true, why)?;
                Ok(())
            });
            let set = set.await;
            if matches!(set, Err(GitError::Locked(_))) {
                self.sweep().await?;
            }
            set
        };
        set.retry(LOCKED).when(|error| matches!(error, GitError::Locked(_))).await
    }
}

/// libgit2's name of an object.
pub(super) fn oid(sha: &Sha) -> Result<Oid, GitError> {
    Oid::from_str(sha.as_str()).map_err(|_| {
        GitError::Other(format!("{}: repositories with SHA-256 names are not supported", sha.short()))
    })
}

/// Our name of an object.
#[allow(clippy::expect_used)] // libgit2 writes 40 hexadecimal digits.
pub(super) fn sha(oid: Oid) -> Sha {
    Sha::parse(&oid.to_string()).expect("an object's name is hexadecimal")
}

/// A tree by its own name or its commit's.
pub(super) fn tree_at(repo: &Repository, treeish: Oid) -> Result<Tree<'_>, GitError> {
    Ok(repo.find_object(treeish, None)?.peel_to_tree()?)
}

fn blob(repo: &Repository, tree: &Tree<'_>, path: &str) -> Result<Option<(i32, Vec<u8>)>, GitError> {
    let entry = match tree.get_path(std::path::Path::new(path)) {
        Ok(entry) if entry.kind() == Some(ObjectType::Blob) => entry,
        Ok(_) => return Ok(None),
        Err(error) if error.code() == git2::ErrorCode::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    Ok(Some((entry.filemode(), repo.find_blob(entry.id())?.content().to_vec())))
}

/// Where a link leads within the tree; `None`: out of it, or nowhere.
fn target(link: &str, content: &[u8]) -> Option<String> {
    let to = std::str::from_utf8(content).ok().filter(|to| !to.starts_with('/'))?;
    let mut names: Vec<&str> = link.split('/').collect();
    names.pop();
    for name in to.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()?),
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}
