//! `toolbox pack` and `toolbox unpack`: what was installed, out of one sandbox and into another.
//!
//! What was installed is all that lies in the workspace beside the repository's own files, and all of the home folder. The
//! archive is only ever opened in a sandbox, by this file; the host keeps its bytes and their hash.

use super::{keep, seed::shadow, wire};
use git2::Index;
use std::{
    ffi::OsStr,
    fs::{self, Permissions},
    io::{self, Read, Write},
    os::unix::fs::PermissionsExt,
    path::{Component, Path, PathBuf},
};
use tar::{EntryType, Header, HeaderMode};

/// The names in the archive of the two folders that are packed.
const WORKSPACE: &str = "repo";
/// The same.
const HOME: &str = "home";

/// The two folders.
pub struct Folders<'a> {
    /// The checked-out repository.
    pub workspace: &'a Path,
    /// The home folder.
    pub home: &'a Path,
}

/// Answers on `output` with an archive of what was installed, of at most so many bytes.
///
/// # Errors
/// Only where the answer itself cannot be written; what cannot be packed is an answer.
pub fn pack(folders: &Folders<'_>, most: u64, output: &mut impl Write) -> Result<bool, wire::WireError> {
    let result = write(folders, &mut wire::Outgoing::new(&mut *output, most));
    answer(output, "pack", result)
}

/// Lays the archive from `input` out, answers on `output`. What is there already stays as it is.
///
/// # Errors
/// Only where the answer itself cannot be written; what cannot be unpacked is an answer.
pub fn unpack(
    folders: &Folders<'_>,
    input: &mut impl Read,
    output: &mut impl Write,
) -> Result<bool, wire::WireError> {
    let mut incoming = wire::Incoming::new(input);
    // To the end of the stream in any case: the host is heard out before it is answered.
    let laid = lay(folders, &mut incoming).and_then(|()| {
        io::copy(&mut incoming, &mut io::sink())?;
        Ok(())
    });
    answer(output, "unpack", laid)
}

fn answer(output: &mut impl Write, what: &str, result: anyhow::Result<()>) -> Result<bool, wire::WireError> {
    let good = result.is_ok();
    wire::answer(output, result.map_err(|error| format!("{what}: {error:#}")))?;
    Ok(good)
}

fn write(folders: &Folders<'_>, to: &mut impl Write) -> anyhow::Result<()> {
    let tracked = Index::open(&shadow(folders.workspace).join("index"))?;
    let mut archive = tar::Builder::new(&mut *to);
    add(&mut archive, folders.workspace, Path::new(WORKSPACE), &|inner| {
        // The repository's own are checked out anew; what lies in `.git` would only ever be of another commit.
        inner.starts_with(".git") || tracked.get_path(inner, 0).is_some()
    })?;
    add(&mut archive, folders.home, Path::new(HOME), &|_| false)?;
    archive.finish()?;
    drop(archive);
    to.flush()?;
    Ok(())
}

/// Adds all that lies in a folder, but for what is left out, by its path within.
fn add(
    archive: &mut tar::Builder<impl Write>,
    folder: &Path,
    name: &Path,
    left_out: &dyn Fn(&Path) -> bool,
) -> anyhow::Result<()> {
    let mut open = vec![PathBuf::new()];
    while let Some(inner) = open.pop() {
        let Ok(entries) = fs::read_dir(folder.join(&inner)) else { continue };
        for entry in entries {
            let inner = inner.join(entry?.file_name());
            if left_out(&inner) {
                continue;
            }
            let found = folder.join(&inner);
            let Ok(metadata) = fs::symlink_metadata(&found) else { continue };
            let mut header = Header::new_gnu();
            header.set_metadata_in_mode(&metadata, HeaderMode::Complete);
            let name = name.join(&inner);
            if metadata.is_dir() {
                header.set_size(0);
                archive.append_data(&mut header, &name, io::empty())?;
                open.push(inner);
            } else if metadata.is_symlink() {
                header.set_size(0);
                archive.append_link(&mut header, &name, fs::read_link(&found)?)?;
            } else if metadata.is_file() {
                let file = fs::File::open(&found)?;
                // Exactly as long as was said, also where somebody writes to it meanwhile.
                let content = file.chain(io::repeat(0)).take(metadata.len());
                archive.append_data(&mut header, &name, content)?;
            }
        }
    }
    Ok(())
}

fn lay(folders: &Folders<'_>, from: &mut impl Read) -> anyhow::Result<()> {
    let mut archive = tar::Archive::new(from);
    // A folder that is closed to writing is closed once all is in it.
    let mut modes = Vec::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let Some((root, inner)) = place(folders, &path) else {
            anyhow::bail!("the archive holds {}", path.display());
        };
        let to = root.join(&inner);
        match entry.header().entry_type() {
            EntryType::Directory if fs::symlink_metadata(&to).is_err() => {
                fs::create_dir_all(&to)?;
                modes.push((to, entry.header().mode()? & 0o777));
            }
            EntryType::Regular | EntryType::Symlink if fs::symlink_metadata(&to).is_err() => {
                let parent = to.parent().unwrap_or(root);
                fs::create_dir_all(parent)?;
                anyhow::ensure!(
                    parent.canonicalize()?.starts_with(root.canonicalize()?),
                    "{} leads out of its folder",
                    path.display()
                );
                entry.unpack(&to)?;
            }
            // There already, or nothing that is packed.
            _ => {}
        }
    }
    for (folder, mode) in modes.into_iter().rev() {
        fs::set_permissions(folder, Permissions::from_mode(mode))?;
    }
    Ok(())
}

/// Where an entry belongs: a folder, and the path within. Nothing outside of the two, and nothing that git or the toolbox keep.
fn place<'a>(folders: &Folders<'a>, path: &Path) -> Option<(&'a Path, PathBuf)> {
    let mut parts = path.components();
    let root = match parts.next()? {
        Component::Normal(top) if top == OsStr::new(WORKSPACE) => folders.workspace,
        Component::Normal(top) if top == OsStr::new(HOME) => folders.home,
        _ => return None,
    };
    let inner = parts.as_path();
    let plain = inner.components().all(|part| matches!(part, Component::Normal(_)));
    let ours = root == folders.workspace && inner.starts_with(".git");
    let to = root.join(inner);
    (plain && !ours && inner != Path::new("") && !to.starts_with(keep(folders.workspace)))
        .then(|| (root, inner.to_owned()))
}

#[cfg(test)]
mod tests;
