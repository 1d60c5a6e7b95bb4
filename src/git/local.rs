//! A repository of the person at the terminal: read, lent to others, and given a branch. Its files, its index, its stash
//! and its HEAD are never written.

use super::objects::{oid, sha};
use super::{GitError, Mirror};
use crate::domain::Sha;
use git2::{ErrorCode, ObjectType, Odb, Oid, Repository, RepositoryOpenFlags, Status, StatusOptions};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// A name that is taken gets a number; past this many the person has another problem.
const NAMES: u32 = 50;
/// What git calls the place that a repository was cloned from.
const ORIGIN: &str = "origin";
/// Changed files that are counted: past these the number says nothing more.
const COUNTED: usize = 10_000;

/// A repository on this disk.
#[derive(Clone, Debug)]
pub struct Local {
    /// Its git directory: `.git` of a clone, the folder itself of a bare one.
    dir: PathBuf,
    /// Its files, where it has any.
    files: Option<PathBuf>,
    /// Where a branch of it would be pushed to.
    remote: Option<&'static str>,
}

/// What HEAD stands on.
#[derive(Clone, Debug)]
pub struct Head {
    /// The commit.
    pub commit: Sha,
    /// The branch; `None`: it is detached.
    pub branch: Option<String>,
}

/// What stands in the files and in no commit: paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unseen {
    /// In the index.
    pub staged: usize,
    /// In the files and not in the index.
    pub unstaged: usize,
    /// New files that nothing ignores.
    pub untracked: usize,
}

/// Where a repository keeps its objects, for others to use.
#[derive(Clone, Debug)]
pub struct Objects {
    /// The folder.
    pub folder: PathBuf,
    /// The list of commits whose parents are not there, where it is shallow.
    pub shallow: Option<PathBuf>,
}

/// A branch that a repository was given.
#[derive(Clone, Debug)]
pub struct Given {
    /// Its name.
    pub branch: String,
    /// What it points to.
    pub commit: Sha,
}

impl Local {
    /// The repository that a folder is in.
    ///
    /// # Errors
    /// [`GitError::NotFound`] when it is in none.
    pub async fn find(path: &Path) -> Result<Self, GitError> {
        let path = path.to_owned();
        blocking(move || {
            let none: [&OsStr; 0] = [];
            let found = Repository::open_ext(&path, RepositoryOpenFlags::empty(), none);
            let repo = found.map_err(|error| match error.code() {
                ErrorCode::NotFound => GitError::NotFound(format!("a git repository in {}", path.display())),
                _ => error.into(),
            })?;
            let remote = repo.find_remote(ORIGIN).is_ok().then_some(ORIGIN);
            Ok(Self { dir: repo.path().to_owned(), files: repo.workdir().map(Path::to_owned), remote })
        })
        .await
    }

    /// Clones, bare, as the person would: with their configuration, their credentials and their terminal.
    ///
    /// # Errors
    /// [`GitError::Unavailable`] when git did not manage to; it has told the terminal why.
    pub async fn clone_bare(url: &str, to: &Path) -> Result<Self, GitError> {
        let mut git = tokio::process::Command::new("git");
        git.args(["clone", "--bare", "--quiet", "--"]).arg(url).arg(to);
        as_the_person(git, &format!("git clone {url}")).await?;
        Self::find(to).await
    }

    /// Its files, where it has any.
    pub fn files(&self) -> Option<&Path> {
        self.files.as_deref()
    }

    /// The remote that branches of it are pushed to, where it has the usual one.
    pub fn remote(&self) -> Option<&'static str> {
        self.remote
    }

    /// Where that remote is.
    ///
    /// # Errors
    /// [`GitError::Other`] when the repository cannot be read.
    pub async fn remote_url(&self) -> Result<Option<String>, GitError> {
        let Some(name) = self.remote else { return Ok(None) };
        let dir = self.dir.clone();
        blocking(move || {
            let repo = Repository::open(dir)?;
            let remote = repo.find_remote(name)?;
            Ok(remote.url().ok().map(str::to_owned))
        })
        .await
    }

    /// Pushes a branch to that remote as the person would: with their configuration, credentials and terminal.
    ///
    /// # Errors
    /// [`GitError::Unavailable`] when git did not manage to; it has told the terminal why.
    pub async fn push(&self, branch: &str) -> Result<(), GitError> {
        let remote = self.remote.unwrap_or(ORIGIN);
        let mut git = tokio::process::Command::new("git");
        git.arg("--git-dir").arg(&self.dir).args(["push", "--quiet", remote]);
        git.arg(format!("refs/heads/{branch}:refs/heads/{branch}"));
        as_the_person(git, &format!("git push {remote} {branch}")).await
    }

    /// Its git directory.
    pub fn directory(&self) -> &Path {
        &self.dir
    }

    /// What HEAD stands on.
    ///
    /// # Errors
    /// [`GitError::NotFound`] where there is no commit yet.
    pub async fn head(&self) -> Result<Head, GitError> {
        self.blocking(|repo| {
            let head = repo.head().map_err(|error| match error.code() {
                ErrorCode::UnbornBranch | ErrorCode::NotFound => GitError::NotFound("a first commit".into()),
                _ => error.into(),
            })?;
            let branch = head.shorthand().ok().filter(|_| head.is_branch()).map(str::to_owned);
            Ok(Head { commit: sha(head.peel_to_commit()?.id()), branch })
        })
        .await
    }

    /// What stands in its files and in no commit.
    ///
    /// # Errors
    /// [`GitError::Other`] when the files cannot be read.
    pub async fn unseen(&self) -> Result<Unseen, GitError> {
        self.blocking(|repo| {
            if repo.is_bare() {
                return Ok(Unseen::default());
            }
            let mut options = StatusOptions::new();
            // The index may be newer than it: nothing of the person's is refreshed.
            options.include_untracked(true).exclude_submodules(true).update_index(false);
            let mut unseen = Unseen::default();
            for entry in repo.statuses(Some(&mut options))?.iter().take(COUNTED) {
                let status = entry.status();
                let staged = Status::INDEX_NEW
                    | Status::INDEX_MODIFIED
                    | Status::INDEX_DELETED
                    | Status::INDEX_RENAMED
                    | Status::INDEX_TYPECHANGE;
                let unstaged =
                    Status::WT_MODIFIED | Status::WT_DELETED | Status::WT_RENAMED | Status::WT_TYPECHANGE;
                unseen.staged += usize::from(status.intersects(staged));
                unseen.unstaged += usize::from(status.intersects(unstaged));
                unseen.untracked += usize::from(status.contains(Status::WT_NEW));
            }
            Ok(unseen)
        })
        .await
    }

    /// Where its objects are.
    ///
    /// # Errors
    /// [`GitError::Other`] where others cannot use them: their list of such folders cannot hold every path.
    pub async fn objects(&self) -> Result<Objects, GitError> {
        self.blocking(|repo| {
            let folder = std::fs::canonicalize(repo.commondir().join("objects"))
                .map_err(|e| GitError::Other(format!("its objects cannot be found: {e}")))?;
            if folder.as_os_str().as_encoded_bytes().contains(&b'\n') {
                return Err(GitError::Other(format!("{folder:?} has a line end in its name")));
            }
            let shallow = repo.commondir().join("shallow");
            Ok(Objects { folder, shallow: shallow.exists().then_some(shallow) })
        })
        .await
    }

    /// Takes the commits from `base` (not among them) to `head` out of another repository and puts a branch on them:
    /// `name`, or with a number where that is taken. Their messages are said again by `reword`; author and committer are
    /// the person whose repository it is, as their configuration names them.
    ///
    /// # Errors
    /// [`GitError::Other`] when it cannot be written.
    pub async fn take(
        &self,
        from: &Path,
        (base, head): (&Sha, &Sha),
        name: &str,
        reword: fn(&str) -> String,
    ) -> Result<Given, GitError> {
        let (from, base, head, name) = (from.to_owned(), oid(base)?, oid(head)?, name.to_owned());
        self.blocking(move |repo| {
            let source = Repository::open_bare(from)?;
            let commit = retell(&source, repo, (base, head), reword)?;
            Ok(Given { branch: put_branch(repo, &name, commit)?, commit: sha(commit) })
        })
        .await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Repository) -> Result<T, GitError> + Send + 'static,
    ) -> Result<T, GitError> {
        let dir = self.dir.clone();
        blocking(move || work(&Repository::open(dir)?)).await
    }
}

impl Mirror {
    /// A bare repository that somebody else keeps, to be read.
    pub fn at(dir: PathBuf) -> Self {
        Self { dir, proxy: None, network: std::sync::Arc::default() }
    }

    /// Uses another repository's objects for as long as both live: what that one holds is never fetched.
    ///
    /// # Errors
    /// [`GitError::Other`] when it cannot be written down.
    pub async fn borrow_from(&self, from: &Objects) -> Result<(), GitError> {
        let (dir, from) = (self.dir.clone(), from.clone());
        blocking(move || {
            let mut line = from.folder.as_os_str().as_encoded_bytes().to_vec();
            line.push(b'\n');
            let info = dir.join("objects/info");
            let written = std::fs::create_dir_all(&info)
                .and_then(|()| std::fs::write(info.join("alternates"), line))
                .and_then(|()| match &from.shallow {
                    Some(shallow) => std::fs::copy(shallow, dir.join("shallow")).map(drop),
                    None => Ok(()),
                });
            written.map_err(|e| GitError::Other(format!("{} cannot be written: {e}", dir.display())))
        })
        .await
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, GitError> + Send + 'static,
) -> Result<T, GitError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|e| GitError::Other(format!("the work broke off: {e}")))?
}

/// The commits once more in another repository; gives the last.
fn retell(
    source: &Repository,
    to: &Repository,
    (base, head): (Oid, Oid),
    reword: fn(&str) -> String,
) -> Result<Oid, GitError> {
    let (from_odb, to_odb) = (source.odb()?, to.odb()?);
    // By first parents, and no further than the base: beyond it a shallow repository has nothing.
    let (mut chain, mut next) = (Vec::new(), Some(head));
    while let Some(id) = next.filter(|id| *id != base) {
        let commit = source.find_commit(id)?;
        next = commit.parent_id(0).ok();
        chain.push(commit);
    }
    let mut told: HashMap<Oid, Oid> = HashMap::new();
    for commit in chain.into_iter().rev() {
        copy(source, (&from_odb, &to_odb), commit.tree_id())?;
        let parents = commit.parent_ids().map(|id| to.find_commit(*told.get(&id).unwrap_or(&id)));
        let parents = parents.collect::<Result<Vec<_>, _>>()?;
        let who = person(to, commit.time())?;
        let message = reword(&String::from_utf8_lossy(commit.message_bytes()));
        let tree = to.find_tree(commit.tree_id())?;
        let made = to.commit(None, &who, &who, &message, &tree, &parents.iter().collect::<Vec<_>>())?;
        told.insert(commit.id(), made);
    }
    Ok(*told.get(&head).unwrap_or(&head))
}

/// Whom the repository's configuration names.
fn person(repo: &Repository, at: git2::Time) -> Result<git2::Signature<'static>, GitError> {
    let named = repo.signature().ok();
    let named = named.as_ref().and_then(|who| Some((who.name().ok()?, who.email().ok()?)));
    let (name, email) = named.unwrap_or(("fixpoint", "fixpoint@localhost"));
    Ok(git2::Signature::new(name, email, &at)?)
}

/// A tree with all that is below it, as far as it is not there. What has a tree has what is in it.
fn copy(source: &Repository, (from, to): (&Odb<'_>, &Odb<'_>), root: Oid) -> Result<(), GitError> {
    let mut open = vec![root];
    let mut trees = Vec::new();
    while let Some(id) = open.pop() {
        if to.exists(id) {
            continue;
        }
        for entry in &source.find_tree(id)? {
            match entry.kind() {
                Some(ObjectType::Tree) => open.push(entry.id()),
                Some(ObjectType::Blob) if !to.exists(entry.id()) => {
                    to.write(ObjectType::Blob, from.read(entry.id())?.data())?;
                }
                _ => {}
            }
        }
        trees.push(id);
    }
    // The root last: whatever breaks off, no tree is there without its own.
    for id in trees.into_iter().rev() {
        to.write(ObjectType::Tree, from.read(id)?.data())?;
    }
    Ok(())
}

/// Puts a branch on a commit, under a name that is free; gives it.
fn put_branch(repo: &Repository, name: &str, commit: Oid) -> Result<String, GitError> {
    // Where there is a branch `fixpoint`, none can be below it.
    let folder = name.split('/').next().unwrap_or_default();
    let below = repo.find_reference(&format!("refs/heads/{folder}")).is_err();
    let name = if below { name.to_owned() } else { name.replace('/', "-") };
    let mut last = None;
    for n in 1..=NAMES {
        let name = if n == 1 { name.clone() } else { format!("{name}-{n}") };
        match repo.reference(&format!("refs/heads/{name}"), commit, false, "fixpoint run") {
            Ok(_) => return Ok(name),
            Err(error) => last = Some(error),
        }
    }
    Err(last.map_or_else(|| GitError::Other("no name was tried".into()), GitError::from))
}

/// Runs git as the person would; `what` is how it is called where it fails, having told the terminal why.
async fn as_the_person(mut git: tokio::process::Command, what: &str) -> Result<(), GitError> {
    // What others read as our output is not for git's words.
    git.stdout(Stdio::null()).kill_on_drop(true);
    let status = git.status().await.map_err(|e| GitError::Other(format!("cannot start git: {e}")))?;
    if status.success() { Ok(()) } else { Err(GitError::Unavailable(format!("`{what}` failed"))) }
}

#[cfg(test)]
mod tests;
