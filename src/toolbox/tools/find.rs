//! Finding files: a folder's entries, and paths by pattern. Ignore rules hold, as for whoever reviews the
//! change.

use super::{Told, paths::Paths, read::reason, text};
use globset::{GlobBuilder, GlobMatcher};
use ignore::{DirEntry, WalkBuilder};
use std::{fs, path::Path};

/// Entries shown: past this a pattern is wanted, not more entries.
const ENTRIES: usize = 1_000;

/// The files below `root` that a repository would hold: hidden ones too, ignored ones not. Where that leaves
/// none, `root` was named although it is ignored: then all.
pub(super) fn files(root: &Path) -> impl Iterator<Item = DirEntry> {
    let mut respected = walk(root, true).peekable();
    let ignored = respected.peek().is_none();
    respected.chain(walk(root, false).take_while(move |_| ignored))
}

fn walk(root: &Path, rules: bool) -> impl Iterator<Item = DirEntry> {
    let mut walk = WalkBuilder::new(root);
    walk.standard_filters(rules)
        .hidden(false)
        .require_git(false)
        .git_global(false)
        .follow_links(false)
        .sort_by_file_path(std::cmp::Ord::cmp)
        .filter_entry(|entry| entry.file_name() != ".git");
    walk.build().flatten().filter(|entry| entry.file_type().is_some_and(|kind| !kind.is_dir()))
}

/// Whether a glob means this file, by its path below `root`; a file that was named itself by its name.
pub(super) fn means(glob: &GlobMatcher, root: &Path, file: &Path) -> bool {
    match file.strip_prefix(root) {
        Ok(below) if !below.as_os_str().is_empty() => glob.is_match(below),
        _ => glob.is_match(file.file_name().unwrap_or_default()),
    }
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
    let found = files(&real).filter(|entry| means(&matcher, &real, entry.path()));
    let names: Vec<_> = found.map(|entry| paths.name(entry.path())).take(ENTRIES + 1).collect();
    if names.is_empty() {
        return Ok(format!("[no file matches {pattern}; ignored files are not looked at]"));
    }
    Ok(bounded(names))
}

/// `*.rs` means any folder's, as in ignore files.
pub(super) fn matcher(pattern: &str) -> Told<GlobMatcher> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_files_are_left_out_unless_their_folder_is_named() {
        let root = tempfile::tempdir().unwrap();
        for (path, content) in
            [(".gitignore", "out/\n"), (".hidden", ""), ("a.py", ""), ("src/b.py", ""), ("out/c.py", "")]
        {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let paths = Paths::new(root.path(), &[]);
        let glob = |pattern, path| glob(&paths, pattern, path).unwrap();
        assert_eq!(glob("*.py", "."), "a.py\nsrc/b.py");
        assert_eq!(glob("*.py", "out"), "out/c.py");
        assert_eq!(glob("*.py", "a.py"), "a.py");
        assert_eq!(glob("src/*", "."), "src/b.py");
        assert_eq!(glob("*", "."), ".gitignore\n.hidden\na.py\nsrc/b.py");
        assert!(glob("*.rs", ".").starts_with("[no file matches"));
        assert_eq!(list(&paths, ".").unwrap(), ".gitignore\n.hidden\na.py\nout/\nsrc/");
    }
}
