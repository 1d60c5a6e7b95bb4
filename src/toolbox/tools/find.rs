//! Finding files: a folder's entries, and paths by pattern. Ignore rules hold, as for whoever reviews the change.

use super::{Told, paths::Paths, read::reason, text};
use globset::GlobBuilder;
use ignore::WalkBuilder;
use std::{fs, path::Path};

/// Entries shown: past this a pattern is wanted, not more entries.
const ENTRIES: usize = 1_000;

/// A walk over what a repository would hold: hidden files too, ignored ones not.
pub(super) fn walk(root: &Path) -> WalkBuilder {
    let mut walk = WalkBuilder::new(root);
    walk.hidden(false)
        .parents(true)
        .require_git(false)
        .git_global(false)
        .follow_links(false)
        .sort_by_file_path(std::cmp::Ord::cmp)
        .filter_entry(|entry| entry.file_name() != ".git");
    walk
}

/// The entries of a folder; folders end in `/`.
pub(in crate::toolbox) fn list(paths: &Paths, path: &str) -> Told<String> {
    let real = paths.resolve(path)?;
    let entries = fs::read_dir(&real).map_err(|e| format!("{path}: {}", reason(&e)))?;
    let mut names: Vec<_> = entries.flatten().map(|entry| describe(&entry)).collect();
    names.sort();
    if names.is_empty() {
        return Ok(format!("[{path} is empty]"));
    }
    Ok(bounded(names))
}

fn describe(entry: &fs::DirEntry) -> String {
    let name = entry.file_name().to_string_lossy().into_owned();
    match entry.file_type() {
        Ok(kind) if kind.is_dir() => format!("{name}/"),
        Ok(kind) if kind.is_symlink() => {
            let target = fs::read_link(entry.path()).unwrap_or_default();
            format!("{name} -> {}", target.display())
        }
        _ => name,
    }
}

/// The files below `path` whose path, or name where the pattern holds no `/`, matches.
pub(in crate::toolbox) fn glob(paths: &Paths, pattern: &str, path: &str) -> Told<String> {
    let real = paths.resolve(path)?;
    let matcher = matcher(pattern)?;
    let found = walk(&real).build().flatten().filter(|entry| entry.file_type().is_some_and(|t| !t.is_dir()));
    let found = found.filter(|entry| entry.path().strip_prefix(&real).is_ok_and(|p| matcher.is_match(p)));
    let names: Vec<_> = found.map(|entry| paths.name(entry.path())).take(ENTRIES + 1).collect();
    if names.is_empty() {
        return Ok(format!("[no file matches {pattern}; ignored files are not looked at]"));
    }
    Ok(bounded(names))
}

/// `*.rs` means any folder's, as in ignore files.
pub(super) fn matcher(pattern: &str) -> Told<globset::GlobMatcher> {
    let anywhere = if pattern.contains('/') { pattern.to_owned() } else { format!("**/{pattern}") };
    let pattern = anywhere.trim_start_matches("./");
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    Ok(glob.map_err(|e| format!("the pattern {pattern} cannot be read: {e}"))?.compile_matcher())
}

fn bounded(mut names: Vec<String>) -> String {
    if names.len() > ENTRIES {
        names.truncate(ENTRIES);
        names.push("[more follow; use a narrower pattern or folder]".into());
    }
    text::shown(names.join("\n"))
}
