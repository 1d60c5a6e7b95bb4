//! Looking at a database without making or changing anything in it.

use super::{
    StoreError, Unreadable,
    db::{POSTGRES, SQLITE},
    taking,
};
use sqlx::{ConnectOptions, Connection, PgConnection, migrate::Migrator, sqlite::SqliteConnectOptions};
use std::{path::Path, time::Duration};

/// A server that does not answer in this time is not reachable.
const PATIENCE: Duration = Duration::from_secs(10);
/// Migrations that were made. The table is sqlx's.
const VERSION: &str = "SELECT max(version) FROM _sqlx_migrations WHERE success";

/// What is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Examined {
    /// Its schema; `None`: it is empty.
    pub schema: Option<i64>,
    /// The schema that this program makes of it.
    pub known: i64,
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
        return Ok(Some(Examined { schema, known: newest(&POSTGRES) }));
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
    Ok(Some(Examined { schema, known: newest(&SQLITE) }))
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
}
