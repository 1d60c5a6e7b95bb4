//! A copy of a SQLite database while it is worked on.
//!
//! `VACUUM INTO` reads one consistent state, whatever is written meanwhile, and writes a file without a log beside it.
//! PostgreSQL has tools of its own for that.

use super::StoreError;
use sqlx::{ConnectOptions, Connection, sqlite::SqliteConnectOptions};
use std::{fs::OpenOptions, os::unix::fs::OpenOptionsExt, path::Path};

/// Copies the database of that address into a new file, for its owner alone; gives its size in bytes.
///
/// # Errors
/// [`StoreError::Database`]: a sentence that says why there is no copy. No half file stays.
pub async fn backup(url: &str, to: &Path) -> Result<u64, StoreError> {
    let wrong = |why: String| StoreError::Database(why);
    let Some(path) = url.strip_prefix("sqlite:") else {
        return Err(wrong(
            "this copies SQLite; of PostgreSQL `pg_dump --format=custom` makes a backup".into(),
        ));
    };
    let path = Path::new(path.strip_prefix("//").unwrap_or(path));
    if !path.exists() {
        return Err(wrong(format!("there is no database at {}", path.display())));
    }
    let shown = to.display().to_string();
    // Made by us, so that what people wrote in private repositories is never readable for others, not for a moment.
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(to)
        .map_err(|e| wrong(format!("{shown} cannot be made: {e}")))?;
    let copied = copy(path, to).await;
    if copied.is_err() {
        // What is half must not be taken for a backup.
        let _ = std::fs::remove_file(to);
    }
    copied
}

async fn copy(from: &Path, to: &Path) -> Result<u64, StoreError> {
    let name = to.to_str().ok_or_else(|| StoreError::Database("the file's name is not UTF-8".into()))?;
    let mut source = SqliteConnectOptions::new().filename(from).connect().await?;
    sqlx::query("VACUUM INTO $1").bind(name).execute(&mut source).await?;
    source.close().await?;
    let mut copy = SqliteConnectOptions::new().filename(to).read_only(true).connect().await?;
    let sound: String = sqlx::query_scalar("PRAGMA quick_check(1)").fetch_one(&mut copy).await?;
    copy.close().await?;
    if sound != "ok" {
        return Err(StoreError::Database(format!("the copy is not sound: {sound}")));
    }
    let file = std::fs::File::open(to).and_then(|file| file.sync_all().map(|()| file));
    let size = file.and_then(|file| Ok(file.metadata()?.len()));
    size.map_err(|e| StoreError::Database(format!("{} cannot be kept: {e}", to.display())))
}
