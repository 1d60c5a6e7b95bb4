//! Looking at a database without making or changing anything in it.

use super::{
    StoreError, Unreadable,
    db::{NOW, NOW_PG, POSTGRES, SQLITE},
    taking,
};
use crate::domain::Timestamp;
use rustix::fs::{Access, access};
use sqlx::{ConnectOptions, Connection, PgConnection, migrate::Migrator, sqlite::SqliteConnectOptions};
use std::{path::Path, time::Duration};

/// A server that does not answer in this time is not reachable.
const PATIENCE: Duration = Duration::from_secs(10);
/// Migrations that were made. The table is sqlx's.
const VERSION: &str = "SELECT max(version) FROM _sqlx_migrations WHERE success";

/// A commit waits for the disk, and the disk is told to be honest about it.
const DURABLE: &str =
    "SELECT current_setting('synchronous_commit') <> 'off' AND current_setting('fsync') = 'on'";

/// What is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Examined {
    /// Its schema; `None`: it is empty.
    pub schema: Option<i64>,
    /// The schema that this program makes of it.
    pub known: i64,
    /// What is committed is on the disk. Always so on SQLite, where we set it; PostgreSQL's administrator may think
    /// otherwise.
    pub durable: bool,
    /// Its clock.
    pub now: Timestamp,
}

/// Looks at the database of that address. `None`: a SQLite file that is not there yet.
///
/// # Errors
/// [`StoreError::Database`] when it cannot be reached or read.
pub async fn examine(url: &str) -> Result<Option<Examined>, StoreError> {
    let late = |_| StoreError::Database("no answer in 10 s".to_owned());
    tokio::time::timeout(PATIENCE, look(url)).await.map_err(late)?
}

async fn look(url: &str) -> Result<Option<Examined>, StoreError> {
    let Some(path) = url.strip_prefix("sqlite:") else {
        let mut connection = PgConnection::connect(url).await?;
        let there: bool = sqlx::query_scalar("SELECT to_regclass('_sqlx_migrations') IS NOT NULL")
            .fetch_one(&mut connection)
            .await?;
        let schema = match there {
            true => sqlx::query_scalar(VERSION).fetch_one(&mut connection).await?,
            false => None,
        };
        let durable = sqlx::query_scalar(DURABLE).fetch_one(&mut connection).await?;
        let now = Timestamp(sqlx::query_scalar(NOW_PG).fetch_one(&mut connection).await?);
        return Ok(Some(Examined { schema, known: newest(&POSTGRES), durable, now }));
    };
    let path = Path::new(path.strip_prefix("//").unwrap_or(path));
    if !path.exists() {
        return Ok(None);
    }
    let mut connection = SqliteConnectOptions::new().filename(path).read_only(true).connect().await?;
    let there: bool =
        sqlx::query_scalar("SELECT count(*) > 0 FROM sqlite_master WHERE name = '_sqlx_migrations'")
            .fetch_one(&mut connection)
            .await?;
    let schema = match there {
        true => sqlx::query_scalar(VERSION).fetch_one(&mut connection).await?,
        false => None,
    };
    let now = Timestamp(sqlx::query_scalar(NOW).fetch_one(&mut connection).await?);
    Ok(Some(Examined { schema, known: newest(&SQLITE), durable: true, now }))
}

/// Could a SQLite database be made there, or written where it is? The nearest folder that is there tells, without making
/// anything.
///
/// # Errors
/// [`StoreError::Database`] that names what is in the way.
pub fn writable(url: &str) -> Result<(), StoreError> {
    let Some(path) = url.strip_prefix("sqlite:") else { return Ok(()) };
    let path = Path::new(path.strip_prefix("//").unwrap_or(path));
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let blocked = |at: &Path, why: &str| Err(StoreError::Database(format!("{} {why}", at.display())));
    if path.is_dir() {
        return blocked(path, "is a folder");
    }
    if path.exists() && access(path, Access::WRITE_OK).is_err() {
        return blocked(path, "may not be written");
    }
    // Its log stands beside it, so the folder is written to as well.
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    match absolute.ancestors().find(|at| at.exists()) {
        Some(there) if !there.is_dir() => blocked(there, "is no folder"),
        Some(there) if access(there, Access::WRITE_OK | Access::EXEC_OK).is_err() => {
            blocked(there, "may not be written")
        }
        _ => Ok(()),
    }
}

/// How many deliveries were kept that could not be read, and the newest of them.
///
/// # Errors
/// [`StoreError::Database`] when it cannot be reached or read, or is of an older schema.
pub async fn examine_quarantine(url: &str, limit: u32) -> Result<(u64, Vec<Unreadable>), StoreError> {
    let late = |_| StoreError::Database("no answer in 10 s".to_owned());
    tokio::time::timeout(PATIENCE, quarantine(url, i64::from(limit))).await.map_err(late)?
}

async fn quarantine(url: &str, limit: i64) -> Result<(u64, Vec<Unreadable>), StoreError> {
    let (count, rows): (i64, Vec<taking::Row>) = match url.strip_prefix("sqlite:") {
        None => {
            let mut connection = PgConnection::connect(url).await?;
            let count = sqlx::query_scalar(taking::QUARANTINE).fetch_one(&mut connection).await?;
            let rows = sqlx::query_as(taking::QUARANTINED).bind(limit).fetch_all(&mut connection).await?;
            (count, rows)
        }
        Some(path) => {
            let path = Path::new(path.strip_prefix("//").unwrap_or(path));
            let mut connection = SqliteConnectOptions::new().filename(path).read_only(true).connect().await?;
            let count = sqlx::query_scalar(taking::QUARANTINE).fetch_one(&mut connection).await?;
            let rows = sqlx::query_as(taking::QUARANTINED).bind(limit).fetch_all(&mut connection).await?;
            (count, rows)
        }
    };
    Ok((u64::try_from(count).unwrap_or_default(), rows.into_iter().map(Unreadable::from).collect()))
}

fn newest(ours: &Migrator) -> i64 {
    ours.iter().map(|migration| migration.version).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    #[tokio::test]
    async fn looking_makes_nothing_and_tells_the_schema() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("fixpoint.db");
        let url = format!("sqlite:{}", file.display());
        assert_eq!(examine(&url).await.unwrap(), None);
        assert!(!file.exists());
        std::fs::write(&file, "").unwrap();
        assert_eq!(examine(&url).await.unwrap().unwrap().schema, None);
        let store = Store::open(&url).await.unwrap();
        let found = examine(&url).await.unwrap().unwrap();
        assert_eq!(found.schema, Some(found.known), "also while it is in use");
        drop(store);
        let other = folder.path().join("other.db");
        std::fs::write(&other, "no database, whatever its name says").unwrap();
        assert!(examine(&format!("sqlite:{}", other.display())).await.is_err());
    }

    #[test]
    fn what_cannot_be_made_is_named_and_nothing_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| format!("sqlite:{}", folder.path().join(name).display());
        std::fs::write(folder.path().join("file"), "").unwrap();
        assert!(writable(&at("new/deep/fixpoint.db")).is_ok());
        assert!(!folder.path().join("new").exists());
        let error = writable(&at("file/fixpoint.db")).unwrap_err().to_string();
        assert!(error.ends_with("/file is no folder"), "{error}");
        let error = writable(&at("")).unwrap_err().to_string();
        assert!(error.ends_with("is a folder"), "{error}");
    }
}
