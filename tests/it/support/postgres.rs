//! A PostgreSQL of these tests' own.

use tempfile::TempDir;

/// The store's tests have the same.
#[allow(clippy::print_stderr, reason = "a skipped test says why")]
#[path = "../../../src/store/tests/postgres.rs"]
mod cluster;

/// A database.
pub struct Place {
    url: String,
    _folder: Option<TempDir>,
}

/// The address of an empty database, or none where PostgreSQL is not installed.
pub async fn database() -> Option<String> {
    Some(cluster::place().await?.url)
}

pub use cluster::cluster as own;
