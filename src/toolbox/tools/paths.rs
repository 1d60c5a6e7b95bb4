//! Which paths the file tools touch. The container is the boundary; this keeps a model from losing its way,
//! and file tools from reading other processes' memory.

use super::Told;
use std::path::{Component, Path, PathBuf};

/// The folders that file tools may touch.
#[derive(Clone, Debug)]
pub(in crate::toolbox) struct Paths {
    workspace: PathBuf,
    others: Vec<PathBuf>,
}

impl Paths {
    /// The workspace and the folders for temporary files.
    pub(in crate::toolbox) fn new(workspace: &Path, temporary: &[&Path]) -> Self {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Self { workspace: real(workspace), others: temporary.iter().map(|p| real(p)).collect() }
    }

    /// Where a path that the model wrote leads, links followed; the file itself need not be there.
    pub(in crate::toolbox) fn resolve(&self, path: &str) -> Told<PathBuf> {
        if path.contains('\0') {
            return Err("a path cannot hold a NUL character".into());
        }
        let wanted = plain(&self.workspace.join(path));
        let real = real(&wanted);
        let inside = |root: &PathBuf| real.starts_with(root);
        if inside(&self.workspace) || self.others.iter().any(inside) {
            return Ok(real);
        }
        let home = self.workspace.display();
        Err(format!(
            "{path} is outside the workspace ({home}) and /tmp; file tools work only there. \
             Use a path relative to the workspace, or the shell tool to look at files of the system."
        ))
    }

    /// As the model should call it: relative where it is in the workspace.
    pub(in crate::toolbox) fn name(&self, path: &Path) -> String {
        let inside = path.strip_prefix(&self.workspace).unwrap_or(path);
        let text = inside.display().to_string();
        if text.is_empty() { ".".into() } else { text }
    }
}

/// Without `.` and `..`, as if no part were a link.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// Links followed as far as the path exists; the rest as it is written.
fn real(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let Ok(real) = ancestor.canonicalize() {
            let rest = path.strip_prefix(ancestor).unwrap_or(Path::new(""));
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
        // A link to nowhere: what is written through it would be made there.
        if let Ok(target) = ancestor.read_link() {
            let from = ancestor.parent().unwrap_or(Path::new("/"));
            return plain(&from.join(target));
        }
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_the_workspace_and_the_temporary_folder_are_reached() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for folder in ["work/src", "tmp", "secret"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        std::fs::write(at("secret/key"), "k").unwrap();
        symlink(at("secret"), at("work/out")).unwrap();
        symlink(at("secret/new"), at("work/dangling")).unwrap();
        symlink("src", at("work/inner")).unwrap();
        let paths = Paths::new(&at("work"), &[&at("tmp")]);

        let real = root.path().canonicalize().unwrap();
        for (written, reached) in [
            ("src/a.rs", "work/src/a.rs"),
            ("./src/../src/new/deep.rs", "work/src/new/deep.rs"),
            ("inner/a.rs", "work/src/a.rs"),
            (at("tmp/x").to_str().unwrap(), "tmp/x"),
            (".", "work"),
        ] {
            assert_eq!(paths.resolve(written).unwrap(), real.join(reached), "{written}");
        }
        for refused in
            ["../secret/key", "/etc/passwd", "/proc/self/environ", "out/key", "dangling", "out/new", "a\0b"]
        {
            assert!(paths.resolve(refused).is_err(), "{refused}");
        }
    }
}
