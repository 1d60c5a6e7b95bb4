//! Objects and references of the bare repositories.

use crate::emulator::reply::Refusal;
use crate::emulator::state::{Id, Pull, World};
use git2::{ObjectType, Oid, Repository, Signature, Tree};
use std::path::Path;
use std::process::Stdio;

/// Plain files: only what the owner may read and run matters to git.
const FILE: i32 = 0o100_644;
const EXECUTABLE: i32 = 0o100_755;

/// One changed file of a comparison.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) status: &'static str,
    pub(crate) sha: String,
    pub(crate) additions: usize,
    pub(crate) deletions: usize,
    /// Absent for binary files, as on GitHub.
    pub(crate) patch: Option<String>,
}

/// What a pull request or comparison adds: from the merge base to the head.
#[derive(Debug, Default)]
pub(crate) struct Difference {
    pub(crate) commits: usize,
    pub(crate) files: Vec<File>,
}

#[derive(Debug)]
pub(crate) enum Merge {
    Clean(Oid),
    Conflict,
}

/// The git program with nothing of the user's environment or configuration in it.
pub(crate) fn program(directory: &Path) -> std::process::Command {
    let mut git = std::process::Command::new("git");
    let path = std::env::var_os("PATH").unwrap_or_default();
    git.env_clear()
        .env("PATH", path)
        .env("HOME", directory)
        .env("LC_ALL", "C")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0")
        .current_dir(directory)
        .stdin(Stdio::null());
    git
}

/// Runs git to its end and gives back what it printed.
pub(crate) fn run(directory: &Path, arguments: &[&str]) -> Result<String, Refusal> {
    let output = program(directory).args(arguments).output().map_err(Refusal::broken)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let why = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(Refusal::broken(format!("git {}: {why}", arguments.join(" "))))
}

/// Makes an empty bare repository that behaves towards clients as GitHub's do.
pub(crate) fn create(path: &Path, default_branch: &str) -> Result<(), Refusal> {
    std::fs::create_dir_all(path).map_err(Refusal::broken)?;
    let repository = Repository::init_bare(path)?;
    repository.set_head(&format!("refs/heads/{default_branch}"))?;
    let mut config = repository.config()?;
    for (name, value) in [
        ("http.receivepack", "true"),
        ("uploadpack.allowAnySHA1InWant", "true"),
        ("uploadpack.allowFilter", "true"),
        ("receive.hideRefs", "refs/pull"),
        ("receive.fsckObjects", "true"),
        ("gc.auto", "0"),
        ("core.hooksPath", "hooks"),
    ] {
        config.set_str(name, value)?;
    }
    super::report::install_hook(path).map_err(Refusal::broken)
}

/// Lets a repository use the objects of another.
pub(crate) fn borrow(path: &Path, from: &crate::emulator::Lender) -> Result<(), Refusal> {
    let info = path.join("objects/info");
    std::fs::create_dir_all(&info).map_err(Refusal::broken)?;
    let mut line = from.objects.as_os_str().as_encoded_bytes().to_vec();
    line.push(b'\n');
    std::fs::write(info.join("alternates"), line).map_err(Refusal::broken)?;
    if let Some(shallow) = &from.shallow {
        std::fs::copy(shallow, path.join("shallow")).map_err(Refusal::broken)?;
    }
    Ok(())
}

pub(crate) fn signature(name: &str, email: &str) -> Result<Signature<'static>, git2::Error> {
    Signature::now(name, email)
}

/// A tree equal to `base` but for the given files; `None` removes one. Scripts with `#!` become executable.
fn tree_with(
    git: &Repository,
    base: Option<&Tree<'_>>,
    files: &[(String, Option<Vec<u8>>)],
) -> Result<Oid, git2::Error> {
    let mut index = git2::Index::new()?;
    if let Some(base) = base {
        index.read_tree(base)?;
    }
    for (path, content) in files {
        match content {
            None => index.remove(Path::new(path), 0)?,
            Some(bytes) => {
                let mode = if bytes.starts_with(b"#!") { EXECUTABLE } else { FILE };
                index.add(&entry(path, git.blob(bytes)?, mode))?;
            }
        }
    }
    index.write_tree_to(git)
}

fn entry(path: &str, id: Oid, mode: i32) -> git2::IndexEntry {
    let never = git2::IndexTime::new(0, 0);
    git2::IndexEntry {
        ctime: never,
        mtime: never,
        dev: 0,
        ino: 0,
        mode: mode.unsigned_abs(),
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: 0,
        flags_extended: 0,
        path: path.as_bytes().to_vec(),
    }
}

/// Commits `files` on top of `branch` (made from `from` when it is new) and moves it.
pub(crate) fn commit(
    git: &Repository,
    branch: &str,
    from: &str,
    files: &[(String, Option<Vec<u8>>)],
    message: &str,
    who: &Signature<'_>,
) -> Result<Oid, git2::Error> {
    let name = format!("refs/heads/{branch}");
    let start = git.refname_to_id(&name).or_else(|_| git.refname_to_id(&format!("refs/heads/{from}"))).ok();
    let parent = start.map(|id| git.find_commit(id)).transpose()?;
    let base = parent.as_ref().map(git2::Commit::tree).transpose()?;
    let tree = git.find_tree(tree_with(git, base.as_ref(), files)?)?;
    let parents: Vec<&git2::Commit<'_>> = parent.iter().collect();
    let id = git.commit(None, who, who, message, &tree, &parents)?;
    git.reference(&name, id, true, message)?;
    Ok(id)
}

/// Writes all files of a commit into `target`.
pub(crate) fn check_out(git: &Path, sha: &str, target: &Path) -> Result<(), git2::Error> {
    let git = Repository::open_bare(git)?;
    let object = git.find_object(Oid::from_str(sha)?, Some(ObjectType::Commit))?;
    let mut options = git2::build::CheckoutBuilder::new();
    options.force().target_dir(target).update_index(false);
    git.checkout_tree(&object, Some(&mut options))
}

/// The content of a file at a commit, or `None` where there is no such file.
pub(crate) fn file_at(git: &Path, sha: &str, path: &str) -> Option<Vec<u8>> {
    let git = Repository::open_bare(git).ok()?;
    let tree = git.find_commit(Oid::from_str(sha).ok()?).ok()?.tree().ok()?;
    let blob = tree.get_path(Path::new(path)).ok()?.to_object(&git).ok()?.peel_to_blob().ok()?;
    Some(blob.content().to_vec())
}

/// The names below a folder at a commit.
pub(crate) fn names_at(git: &Path, sha: &str, folder: &str) -> Vec<String> {
    let names = || -> Result<Vec<String>, git2::Error> {
        let git = Repository::open_bare(git)?;
        let tree = git.find_commit(Oid::from_str(sha)?)?.tree()?;
        let folder = tree.get_path(Path::new(folder))?.to_object(&git)?.peel_to_tree()?;
        Ok(folder.iter().map(|entry| String::from_utf8_lossy(entry.name_bytes()).into_owned()).collect())
    };
    names().unwrap_or_default()
}

impl World {
    pub(crate) fn open_git(&self, repo: Id) -> Result<Repository, git2::Error> {
        Repository::open_bare(&self.repositories[&repo].git)
    }

    /// The commit of a branch.
    pub(crate) fn tip(&self, repo: Id, branch: &str) -> Option<String> {
        let git = self.open_git(repo).ok()?;
        git.refname_to_id(&format!("refs/heads/{branch}")).ok().map(|id| id.to_string())
    }

    /// A branch, tag, full reference or (short) commit id.
    pub(crate) fn resolve(&self, repo: Id, name: &str) -> Result<String, Refusal> {
        let git = self.open_git(repo)?;
        let spellings =
            [format!("refs/heads/{name}"), format!("refs/tags/{name}"), format!("refs/{name}"), name.into()];
        let found = spellings.iter().find_map(|spelling| git.revparse_single(spelling).ok());
        let commit = found.and_then(|object| object.peel_to_commit().ok());
        let missing = || Refusal::unprocessable(&format!("No commit found for SHA: {name}"));
        commit.map(|commit| commit.id().to_string()).ok_or_else(missing)
    }

    /// From the merge base of the two to `head`.
    pub(crate) fn difference(&self, repo: Id, base: &str, head: &str) -> Result<Difference, git2::Error> {
        let git = self.open_git(repo)?;
        let (base, head) = (Oid::from_str(base)?, Oid::from_str(head)?);
        let fork_point = git.merge_base(base, head).ok();
        let old = fork_point.map(|id| git.find_commit(id).and_then(|commit| commit.tree())).transpose()?;
        let new = git.find_commit(head)?.tree()?;
        let mut diff = git.diff_tree_to_tree(old.as_ref(), Some(&new), None)?;
        diff.find_similar(None)?;
        let files = (0..diff.deltas().len()).filter_map(|at| file(&diff, at)).collect();
        let (commits, _) = git.graph_ahead_behind(head, base)?;
        Ok(Difference { commits, files })
    }

    /// Merges in memory; `None` when git could not tell.
    pub(crate) fn try_merge(&self, repo: Id, pull: &Pull) -> Option<Merge> {
        let git = self.open_git(repo).ok()?;
        let base = git.refname_to_id(&format!("refs/heads/{}", pull.base.branch)).ok()?;
        let ours = git.find_commit(base).ok()?;
        let theirs = git.find_commit(Oid::from_str(&pull.head.sha).ok()?).ok()?;
        let mut index = git.merge_commits(&ours, &theirs, None).ok()?;
        if index.has_conflicts() {
            return Some(Merge::Conflict);
        }
        index.write_tree_to(&git).ok().map(Merge::Clean)
    }

    /// Makes the commits of `from` known to `repo` under `reference`: forks share their objects on GitHub.
    pub(crate) fn bring(&self, repo: Id, from: Id, sha: &str, reference: &str) -> Result<(), Refusal> {
        if repo != from {
            let source = self.repositories[&from].git.to_string_lossy().into_owned();
            run(&self.repositories[&repo].git, &["fetch", "--quiet", "--no-tags", &source, sha])?;
        }
        self.open_git(repo)?.reference(reference, Oid::from_str(sha)?, true, "pull request")?;
        Ok(())
    }
}

fn file(diff: &git2::Diff<'_>, at: usize) -> Option<File> {
    let delta = diff.get_delta(at)?;
    let status = match delta.status() {
        git2::Delta::Added => "added",
        git2::Delta::Deleted => "removed",
        git2::Delta::Renamed => "renamed",
        git2::Delta::Copied => "copied",
        _ => "modified",
    };
    let side = if status == "removed" { delta.old_file() } else { delta.new_file() };
    let path = side.path()?.to_string_lossy().into_owned();
    let mut patch = git2::Patch::from_diff(diff, at).ok().flatten();
    let (additions, deletions) =
        patch.as_ref().and_then(|patch| patch.line_stats().ok()).map_or((0, 0), |(_, a, d)| (a, d));
    let text = patch
        .as_mut()
        .and_then(|patch| patch.to_buf().ok())
        .map(|text| String::from_utf8_lossy(&text).into_owned());
    // GitHub's patch starts at the first hunk.
    let patch = text.and_then(|text| text.find("@@").map(|hunk| text[hunk..].trim_end().to_owned()));
    Some(File { path, status, sha: side.id().to_string(), additions, deletions, patch })
}
