//! Where a run works: the person's repository, or a clone made of an address.

use super::show::{Line, Show, Tone};
use crate::app::{Head, Local, Run, Unseen};
use anyhow::Context;
use std::path::{Path, PathBuf};

/// The longest name of a repository that the agent is told.
const NAME: usize = 80;

/// The repository of a run.
pub(super) struct Place {
    pub(super) local: Local,
    pub(super) head: Head,
    /// Changes that are in no commit.
    unseen: Unseen,
    /// The address it was cloned from.
    url: Option<String>,
}

impl Place {
    /// Finds the repository, or clones it into the run's folder.
    pub(super) async fn find(repo: &str, run: &Run) -> anyhow::Result<Self> {
        let (local, url) = match is_address(repo) {
            true => (Local::clone_bare(repo, &run.file("clone.git")).await?, Some(repo.to_owned())),
            false => {
                let found = Local::find(Path::new(repo)).await;
                (found.context("--repo names a folder of a git repository, or an address")?, None)
            }
        };
        let head = local.head().await.with_context(|| format!("{repo} has nothing to start from"))?;
        let unseen = local.unseen().await?;
        Ok(Self { local, head, unseen, url })
    }

    /// Its folder or its address: what tells it from other repositories.
    pub(super) fn name(&self) -> String {
        let folder = || self.folder().display().to_string();
        self.url.clone().unwrap_or_else(|| folder().trim_end_matches('/').to_owned())
    }

    /// The address it was cloned from.
    pub(super) fn address(&self) -> Option<&str> {
        self.url.as_deref()
    }

    /// Its own folder.
    pub(super) fn folder(&self) -> PathBuf {
        self.local.files().unwrap_or_else(|| self.local.directory()).to_owned()
    }

    /// Whether it is a clone that nobody but this run knows of.
    pub(super) fn is_ours(&self) -> bool {
        self.url.is_some()
    }

    /// A name such as forges take, for the agent to read.
    pub(super) fn short_name(&self) -> String {
        let name = self.name();
        let last = name.trim_end_matches('/').trim_end_matches(".git").trim_end_matches('/');
        let last = last.rsplit(['/', ':']).next().unwrap_or_default();
        let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
        let name: String = last.chars().take(NAME).map(plain).collect();
        if name.chars().any(|c| c.is_ascii_alphanumeric()) { name } else { "repository".to_owned() }
    }

    /// `git` or `git -C FOLDER`, as it has to be typed here.
    pub(super) fn git(&self) -> String {
        let here = std::env::current_dir().and_then(|here| here.canonicalize());
        let folder = self.folder();
        let inside =
            folder.canonicalize().is_ok_and(|folder| here.is_ok_and(|here| here.starts_with(folder)));
        if inside {
            "git".to_owned()
        } else {
            format!("git -C {}", folder.display()).trim_end_matches('/').to_owned()
        }
    }

    /// Says what the run sees, and what it does not.
    pub(super) fn tell(&self, show: &mut Show) {
        let at = self.head.commit.short();
        let on = self.head.branch.as_deref().unwrap_or("a detached HEAD");
        let line = Line::new("repo", format!("{} at {at}, {on}", self.short_name()), Tone::Plain);
        let line = line.event("repository").with("repository", self.name());
        show.line(&line.with("commit", self.head.commit.as_str()));
        let Unseen { staged, unstaged, untracked } = self.unseen;
        let kinds = [(staged, "staged"), (unstaged, "unstaged"), (untracked, "new")];
        let files = |n: usize| if n == 1 { "file" } else { "files" };
        let told = kinds.iter().filter(|(n, _)| *n > 0);
        let told: Vec<String> = told.map(|(n, kind)| format!("{n} {kind} {}", files(*n))).collect();
        if !told.is_empty() {
            let what = format!("not committed, so not seen: {}", told.join(", "));
            let line = Line::new("", what, Tone::Plain).event("unseen").with("staged", staged);
            show.line(&line.with("unstaged", unstaged).with("untracked", untracked));
        }
    }
}

/// What git takes for an address: a scheme, or `host:path`; a folder of that name comes first.
fn is_address(repo: &str) -> bool {
    let scp = repo.split_once(':').is_some_and(|(host, _)| !host.is_empty() && !host.contains('/'));
    (repo.contains("://") || scp) && !Path::new(repo).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_folders_are_told_apart() {
        for address in ["https://github.com/a/b", "file:///tmp/x", "git@github.com:a/b.git", "host:a"] {
            assert!(is_address(address), "{address}");
        }
        for folder in [".", "../a", "/a/b", "a/b:c", "src", ":"] {
            assert!(!is_address(folder), "{folder}");
        }
    }
}
