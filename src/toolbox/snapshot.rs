//! `toolbox snapshot`: what differs from the state that was seeded.
//!
//! Always against the seeded state, never against an earlier snapshot: an answer that is lost costs nothing.
//! Ignore rules are respected, filters are not run, and nothing is stored.

use super::{
    seed::shadow,
    wire::{self, Caps, Change, Skipped, Why, WireError},
};
use git2::{Delta, DiffDelta, DiffOptions, FileMode, Repository};
use std::{
    ffi::OsStr,
    fs,
    io::{Read, Write},
    os::unix::{ffi::OsStrExt, fs::MetadataExt, fs::OpenOptionsExt},
    path::{Path, PathBuf},
};

/// Answers on `output` with what changed in the workspace.
///
/// # Errors
/// Only where the answer itself cannot be written; a failed snapshot is an answer.
pub fn run(workspace: &Path, caps: &Caps, output: &mut impl Write) -> Result<bool, WireError> {
    let result = match look(workspace, caps, output) {
        Ok(()) => Ok(()),
        Err(Trouble::Wire(error)) => return Err(error),
        Err(Trouble::Told(said)) => Err(format!("snapshot: {said}")),
    };
    let good = result.is_ok();
    wire::answer(output, result)?;
    Ok(good)
}

enum Trouble {
    /// The stream is broken: nobody listens.
    Wire(WireError),
    /// A sentence for the host.
    Told(String),
}

impl From<WireError> for Trouble {
    fn from(error: WireError) -> Self {
        Self::Wire(error)
    }
}

impl From<git2::Error> for Trouble {
    fn from(error: git2::Error) -> Self {
        Self::Told(error.message().to_owned())
    }
}

fn look(workspace: &Path, caps: &Caps, output: &mut impl Write) -> Result<(), Trouble> {
    let shadow = Repository::open_bare(shadow(workspace))?;
    shadow.set_workdir(workspace, false)?;
    let mut options = DiffOptions::new();
    options
        .include_untracked(true)
        .recurse_untracked_dirs(true)
        .include_typechange(true)
        .include_unreadable_as_untracked(true)
        .ignore_submodules(true)
        // What was only touched is not read again the next time.
        .update_index(true);
    let diff = shadow.diff_index_to_workdir(None, Some(&mut options))?;

    let mut bytes = 0;
    let mut files = 0;
    for found in diff.deltas().filter_map(|delta| inspect(workspace, &delta, caps)) {
        match found {
            Found::Skipped(skipped) => wire::put_skipped(output, &skipped)?,
            Found::Changed(change) => {
                files += 1;
                bytes += size(&change);
                hold(files, bytes, caps)?;
                wire::put(output, &change)?;
            }
        }
    }
    Ok(())
}

fn hold(files: usize, bytes: usize, caps: &Caps) -> Result<(), Trouble> {
    if files > caps.files {
        let said =
            format!("more than {} paths changed; is something built that no .gitignore names?", caps.files);
        return Err(Trouble::Told(said));
    }
    if bytes > caps.total_bytes {
        return Err(Trouble::Told(format!("the changed files are over {} bytes together", caps.total_bytes)));
    }
    Ok(())
}

fn size(change: &Change) -> usize {
    match change {
        Change::File { bytes, .. } => bytes.len(),
        Change::Removed { .. } => 0,
    }
}

enum Found {
    Changed(Change),
    Skipped(Skipped),
}

/// What one difference means for the host; `None` where it is none for us.
fn inspect(workspace: &Path, delta: &DiffDelta<'_>, caps: &Caps) -> Option<Found> {
    let raw = delta.new_file().path_bytes().or_else(|| delta.old_file().path_bytes())?;
    // A submodule is only ever a name here: its commit cannot be changed from a sandbox.
    if delta.old_file().mode() == FileMode::Commit {
        return None;
    }
    let skip = |why| Some(Found::Skipped(Skipped { path: String::from_utf8_lossy(raw).into_owned(), why }));
    let Ok(path) = std::str::from_utf8(raw) else { return skip(Why::Name) };
    if let Some(nested) = path.strip_suffix('/') {
        return Some(Found::Skipped(Skipped { path: nested.to_owned(), why: Why::Nested }));
    }
    let full = workspace.join(OsStr::from_bytes(raw));
    match take(&full, caps) {
        Taken::File { mode, bytes } => {
            Some(Found::Changed(Change::File { path: path.to_owned(), mode, bytes }))
        }
        Taken::Absent if delta.status() == Delta::Untracked => None,
        Taken::Absent => Some(Found::Changed(Change::Removed { path: path.to_owned() })),
        Taken::Not(why) => skip(why),
    }
}

enum Taken {
    File {
        mode: u32,
        bytes: Vec<u8>,
    },
    /// Nothing that a repository could hold: gone, or a directory, a socket, a device.
    Absent,
    Not(Why),
}

fn take(path: &Path, caps: &Caps) -> Taken {
    let Ok(metadata) = fs::symlink_metadata(path) else { return Taken::Absent };
    if metadata.is_symlink() {
        return match fs::read_link(path) {
            Ok(target) => Taken::File { mode: 0o120_000, bytes: bytes_of(target) },
            Err(_) => Taken::Not(Why::Unreadable),
        };
    }
    if !metadata.is_file() {
        return Taken::Absent;
    }
    match read(path, caps.file_bytes) {
        Ok(bytes) if bytes.len() > caps.file_bytes => Taken::Not(Why::Large),
        Ok(bytes) => {
            let mode = if metadata.mode() & 0o100 == 0 { 0o100_644 } else { 0o100_755 };
            Taken::File { mode, bytes }
        }
        Err(_) => Taken::Not(Why::Unreadable),
    }
}

/// One byte more than the cap at most. Not following a link nor waiting for a pipe that has taken the file's
/// place meanwhile.
fn read(path: &Path, most: usize) -> std::io::Result<Vec<u8>> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let mut bytes = Vec::new();
    file.take(most as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn bytes_of(target: PathBuf) -> Vec<u8> {
    use std::os::unix::ffi::OsStringExt;
    target.into_os_string().into_vec()
}
