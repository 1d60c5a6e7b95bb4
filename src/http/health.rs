//! Whether the process lives, and whether it can take work.

use super::HttpState;
use axum::{extract::State, http::StatusCode};
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

/// `GET /healthz`.
pub(super) async fn alive() -> &'static str {
    "alive\n"
}

/// `GET /readyz`. Says what is missing in a word; the details are the operator's, in the log.
pub(super) async fn ready(State(state): State<HttpState>) -> (StatusCode, &'static str) {
    if let Err(error) = state.store.ready().await {
        tracing::warn!(%error, "not ready");
        return (StatusCode::SERVICE_UNAVAILABLE, "the database cannot be used\n");
    }
    if let Some(problem) = state.disk.as_ref().and_then(DiskMark::problem) {
        tracing::warn!(problem, "not ready");
        return (StatusCode::SERVICE_UNAVAILABLE, "the disk is full\n");
    }
    (StatusCode::OK, "ready\n")
}
