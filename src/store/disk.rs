//! Whether there is room: what is acknowledged must be stored, and what is begun must be ended.

use std::path::PathBuf;

/// Below so much free space nothing new is begun.
#[derive(Clone, Debug)]
pub struct DiskMark {
    /// A folder on the file system that is meant.
    pub folder: PathBuf,
    /// Bytes that must be free.
    pub bytes: u64,
}

impl DiskMark {
    /// What is wrong with the disk, if anything is.
    pub fn problem(&self) -> Option<String> {
        let folder = self.folder.display();
        match rustix::fs::statvfs(&self.folder) {
            Ok(space) => {
                let free = space.f_bavail.saturating_mul(space.f_frsize);
                (free < self.bytes).then(|| {
                    format!("{folder} has {} MiB free and needs {}", free >> 20, self.bytes.div_ceil(1 << 20))
                })
            }
            Err(error) => Some(format!("{folder} cannot be looked at: {error}")),
        }
    }
}
