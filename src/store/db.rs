//! The two databases behind one enum: pools, transactions, the clock.
//!
//! `db!` runs the same lines against either; sqlx's generics do the rest. Where a statement has to differ there are two
//! named constants and [`Db::pick`].

use super::StoreError;
use crate::domain::Timestamp;
use sqlx::{
    Connection, PgConnection, PgPool, Postgres, Sqlite, SqlitePool, Transaction,
    migrate::{MigrateError, Migrator},
    postgres::PgPoolOptions,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use std::{path::Path, time::Duration};

/// SQLite or PostgreSQL: a pool, or (as [`Tx`]) a transaction.
#[derive(Clone, Debug)]
pub(super) enum Db<S = SqlitePool, P = PgPool> {
    Sqlite(S),
    Postgres(P),
}

/// A transaction that writes.
pub(super) type Tx = Db<Transaction<'static, Sqlite>, Transaction<'static, Postgres>>;

/// Evaluates the body for whichever database it is, with `$c` as its pool or transaction.
macro_rules! db {
    ($db:expr, $c:ident => $body:expr) => {
        match $db {
            $crate::store::db::Db::Sqlite($c) => $body,
            $crate::store::db::Db::Postgres($c) => $body,
        }
    };
}
pub(super) use db;

/// Runs a statement in a transaction; gives how many rows it changed.
macro_rules! run {
    ($tx:expr, $query:expr) => {
        match $tx {
            $crate::store::db::Db::Sqlite(c) => $query.execute(&mut **c).await.map(|r| r.rows_affected()),
            $crate::store::db::Db::Postgres(c) => $query.execute(&mut **c).await.map(|r| r.rows_affected()),
        }
    };
}
pub(super) use run;

/// An answer to a webhook is due within ten seconds, so nobody waits longer than half of it for a connection.
const PATIENCE: Duration = Duration::from_secs(5);
/// Readers beside the one writer: pages and lists, none of them long.
const SQLITE_READERS: u32 = 4;
/// What a burst of large deliveries may leave the write-ahead log's file at.
const SQLITE_LOG_BYTES: &str = "67108864";
/// A node's connections; the usual server allows a hundred in all.
const POSTGRES_CONNECTIONS: u32 = 10;
/// A frozen node must not keep its row locks, and what a dead one had begun must not go on without it: PostgreSQL notices
/// that nobody waits for an answer only where it is told to look (it can from version 14 on, not on every system).
const POSTGRES_SESSION: &str = "SET idle_in_transaction_session_timeout = '15s'; SET lock_timeout = '10s'; \
    DO $$ BEGIN PERFORM set_config('client_connection_check_interval', '2s', false); \
    EXCEPTION WHEN OTHERS THEN NULL; END $$";
/// A migration waits for the node that is at it, and for whatever holds a table: both end by themselves.
const POSTGRES_MIGRATES: &str = "SET lock_timeout = 0";

pub(super) const NOW: &str = "SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER)";
pub(super) const NOW_PG: &str = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)";

pub(super) static SQLITE: Migrator = sqlx::migrate!("migrations/sqlite");
pub(super) static POSTGRES: Migrator = sqlx::migrate!("migrations/postgres");

impl<S, P> Db<S, P> {
    /// The statement for this database.
    pub(super) fn pick(&self, sqlite: &'static str, postgres: &'static str) -> &'static str {
        match self {
            Self::Sqlite(_) => sqlite,
            Self::Postgres(_) => postgres,
        }
    }
}

impl Db {
    /// Begins a transaction that will write. On SQLite it takes the write lock at once: one that read first could be
    /// refused when it comes to write, however long it waits.
    pub(super) async fn begin(&self) -> Result<Tx, StoreError> {
        Ok(match self {
            Self::Sqlite(pool) => Db::Sqlite(pool.begin_with("BEGIN IMMEDIATE").await?),
            Self::Postgres(pool) => Db::Postgres(pool.begin().await?),
        })
    }

    /// The database's clock.
    pub(super) async fn now(&self) -> Result<Timestamp, StoreError> {
        let sql = self.pick(NOW, NOW_PG);
        Ok(Timestamp(db!(self, c => sqlx::query_scalar::<_, i64>(sql).fetch_one(c).await)?))
    }
}

impl Tx {
    /// The database's clock.
    pub(super) async fn now(&mut self) -> Result<Timestamp, StoreError> {
        let sql = self.pick(NOW, NOW_PG);
        Ok(Timestamp(db!(self, c => sqlx::query_scalar::<_, i64>(sql).fetch_one(&mut **c).await)?))
    }

    pub(super) async fn commit(self) -> Result<(), StoreError> {
        Ok(db!(self, c => c.commit().await)?)
    }

    pub(super) async fn rollback(self) -> Result<(), StoreError> {
        Ok(db!(self, c => c.rollback().await)?)
    }
}

/// Opens SQLite: a writer of one connection, and readers. Creates the file, for its owner alone.
pub(super) async fn open_sqlite(path: &Path) -> Result<(Db, Db), StoreError> {
    create_private(path)
        .map_err(|e| StoreError::Database(format!("{} cannot be created: {e}", path.display())))?;
    let options = SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(PATIENCE)
        .pragma("journal_size_limit", SQLITE_LOG_BYTES)
        .foreign_keys(true);
    // On a full disk SQLite ends the transaction by itself. The connection then believes in one that is not there, and would
    // refuse every other from there on: it is replaced.
    let pool = SqlitePoolOptions::new()
        .acquire_timeout(PATIENCE)
        .idle_timeout(None)
        .max_lifetime(None)
        .before_acquire(|connection, _| Box::pin(async move { Ok(!connection.is_in_transaction()) }));
    let write = pool.clone().max_connections(1).connect_with(options.clone()).await?;
    SQLITE.run(&write).await.map_err(|e| migration(e, &SQLITE))?;
    let readers = options.pragma("query_only", "ON");
    let read = pool.max_connections(SQLITE_READERS).connect_lazy_with(readers);
    Ok((Db::Sqlite(write), Db::Sqlite(read)))
}

/// Opens PostgreSQL.
pub(super) async fn open_postgres(url: &str) -> Result<Db, StoreError> {
    let pool = PgPoolOptions::new()
        .max_connections(POSTGRES_CONNECTIONS)
        .acquire_timeout(PATIENCE)
        .after_connect(|connection, _| {
            Box::pin(async move { sqlx::raw_sql(POSTGRES_SESSION).execute(connection).await.map(drop) })
        })
        .connect(url)
        .await?;
    migrate_postgres(url, &POSTGRES).await?;
    Ok(Db::Postgres(pool))
}

/// Brings PostgreSQL's schema up. Nodes that start together do it one after another (sqlx takes an advisory lock).
pub(super) async fn migrate_postgres(url: &str, to: &Migrator) -> Result<(), StoreError> {
    let mut connection = PgConnection::connect(url).await?;
    sqlx::raw_sql(POSTGRES_SESSION).execute(&mut connection).await?;
    sqlx::raw_sql(POSTGRES_MIGRATES).execute(&mut connection).await?;
    to.run(&mut connection).await.map_err(|e| migration(e, to))?;
    Ok(connection.close().await?)
}

/// A migration that we do not have was made by a newer version; anything else is the database's.
fn migration(error: MigrateError, ours: &Migrator) -> StoreError {
    let known = ours.iter().map(|m| m.version).max().unwrap_or(0);
    match error {
        MigrateError::VersionMissing(found) if found > known => StoreError::Newer { found, known },
        other => StoreError::Database(other.to_string()),
    }
}

/// The file holds what people wrote in private repositories.
fn create_private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path).map(drop)
}
