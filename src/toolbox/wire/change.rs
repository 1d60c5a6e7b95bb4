//! What changed in a workspace, as it travels.

use super::{WireError, frame, frame::Kind};
use crate::domain::Limits;
use std::io::Write;

/// One changed path of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The file is there with this content.
    File {
        /// Relative, `/`-separated; not yet checked.
        path: String,
        /// 0o100644, 0o100755 or 0o120000.
        mode: u32,
        /// Its bytes (for a symbolic link its target).
        bytes: Vec<u8>,
    },
    /// The path is gone.
    Removed {
        /// Relative, `/`-separated; not yet checked.
        path: String,
    },
}

/// A path that differs but was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Relative, `/`-separated; not yet checked, and with replacement characters where it is not UTF-8.
    pub path: String,
    /// Which rule.
    pub why: Why,
}

/// Why a path was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Why {
    /// A repository of its own lies there.
    Nested = b'n',
    /// It is larger than a file may be.
    Large = b'l',
    /// It cannot be read.
    Unreadable = b'u',
    /// Its name is not UTF-8.
    Name = b'x',
}

/// What changed since the workspace was seeded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The changed paths.
    pub changes: Vec<Change>,
    /// The paths that differ but were not taken.
    pub skipped: Vec<Skipped>,
}

/// The most that is taken from a sandbox at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Changed paths.
    pub files: usize,
    /// Bytes a file.
    pub file_bytes: usize,
    /// Bytes of all files.
    pub total_bytes: usize,
}

impl Caps {
    /// The longest path: what Linux takes (`PATH_MAX`).
    const PATH: usize = 4096;

    /// The arguments of `toolbox snapshot`.
    pub fn arguments(&self) -> Vec<String> {
        let caps =
            [("--files", self.files), ("--file-bytes", self.file_bytes), ("--total-bytes", self.total_bytes)];
        let caps = caps.into_iter().flat_map(|(name, most)| [name.to_owned(), most.to_string()]);
        std::iter::once("snapshot".to_owned()).chain(caps).collect()
    }

    /// The longest frame that can be within these caps.
    pub(crate) fn frame(&self) -> usize {
        FILE_HEAD + Self::PATH + self.file_bytes
    }
}

impl From<&Limits> for Caps {
    fn from(limits: &Limits) -> Self {
        Self { files: limits.files, file_bytes: limits.file_bytes, total_bytes: limits.total_bytes }
    }
}

/// Mode and length of the path.
const FILE_HEAD: usize = 6;

/// Writes one change.
pub(crate) fn put(to: &mut impl Write, change: &Change) -> Result<(), WireError> {
    match change {
        Change::File { path, mode, bytes } => {
            let length = u16::try_from(path.len()).map_err(|_| WireError::Garbled("a path over 64 KiB"))?;
            let parts = [&mode.to_be_bytes()[..], &length.to_be_bytes(), path.as_bytes(), bytes];
            frame::write(to, Kind::File, &parts)
        }
        Change::Removed { path } => frame::write(to, Kind::Removed, &[path.as_bytes()]),
    }
}

/// Writes that a path was left out.
pub(crate) fn put_skipped(to: &mut impl Write, skipped: &Skipped) -> Result<(), WireError> {
    frame::write(to, Kind::Skipped, &[&[skipped.why as u8], skipped.path.as_bytes()])
}

/// Collects a snapshot and holds it to its caps.
pub(super) struct Tally<'a> {
    caps: &'a Caps,
    bytes: usize,
    so_far: Snapshot,
}

impl<'a> Tally<'a> {
    pub(super) fn new(caps: &'a Caps) -> Self {
        Self { caps, bytes: 0, so_far: Snapshot::default() }
    }

    pub(super) fn take(&mut self, kind: Kind, body: &[u8]) -> Result<(), WireError> {
        match kind {
            Kind::File => self.file(body),
            Kind::Removed => self.change(Change::Removed { path: path(body)? }),
            Kind::Skipped => self.skipped(body),
            _ => Err(WireError::Garbled("a changed path was expected")),
        }
    }

    pub(super) fn done(self) -> Snapshot {
        self.so_far
    }

    fn file(&mut self, body: &[u8]) -> Result<(), WireError> {
        const SHORT: WireError = WireError::Garbled("a file's frame is too short");
        let (mode, rest) = body.split_first_chunk::<4>().ok_or(SHORT)?;
        let (length, rest) = rest.split_first_chunk::<2>().ok_or(SHORT)?;
        let (name, bytes) = rest.split_at_checked(u16::from_be_bytes(*length).into()).ok_or(SHORT)?;
        if bytes.len() > self.caps.file_bytes {
            return Err(WireError::TooMuch(format!("a file over {} bytes", self.caps.file_bytes)));
        }
        self.bytes += bytes.len();
        if self.bytes > self.caps.total_bytes {
            return Err(WireError::TooMuch(format!("changed files over {} bytes", self.caps.total_bytes)));
        }
        self.change(Change::File {
            path: path(name)?,
            mode: u32::from_be_bytes(*mode),
            bytes: bytes.to_vec(),
        })
    }

    fn change(&mut self, change: Change) -> Result<(), WireError> {
        if self.so_far.changes.len() >= self.caps.files {
            return Err(WireError::TooMuch(format!("more than {} changed paths", self.caps.files)));
        }
        self.so_far.changes.push(change);
        Ok(())
    }

    fn skipped(&mut self, body: &[u8]) -> Result<(), WireError> {
        let (why, name) = body.split_first().ok_or(WireError::Garbled("an empty frame"))?;
        let why =
            [Why::Nested, Why::Large, Why::Unreadable, Why::Name].into_iter().find(|w| *w as u8 == *why);
        let why = why.ok_or(WireError::Garbled("a path left out for no known reason"))?;
        // Only people read these: past the cap there is nothing to learn from more.
        if self.so_far.skipped.len() < self.caps.files {
            self.so_far.skipped.push(Skipped { path: path(name)?, why });
        }
        Ok(())
    }
}

fn path(bytes: &[u8]) -> Result<String, WireError> {
    if bytes.len() > Caps::PATH {
        return Err(WireError::TooMuch(format!("a path over {} bytes", Caps::PATH)));
    }
    String::from_utf8(bytes.to_vec()).map_err(|_| WireError::Garbled("a path that is not UTF-8"))
}
