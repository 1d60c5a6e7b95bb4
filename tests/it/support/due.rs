//! Who waits to be taken up: between two hands a session is nobody's, and only its database knows that it is due.

use sqlx::{ConnectOptions, Connection, PgConnection, SqliteConnection, sqlite::SqliteConnectOptions};
use std::path::Path;

const UNREAD: &str = "SELECT count(*) FROM inbox WHERE stepped_no IS NULL";
const WOKEN: &str = "SELECT (SELECT count(*) FROM sessions WHERE wake_at <= $1 OR lease_until <= $1) \
    + (SELECT count(*) FROM effects WHERE state = 'intended' AND next_at <= $1)";
const WAKES_AT: &str = "SELECT CASE WHEN EXISTS (SELECT 1 FROM inbox WHERE stepped_no IS NULL) THEN NULL ELSE wake_at END \
    FROM sessions";

/// A look into a server's database, beside it.
pub enum Due {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl Due {
    pub async fn open(database: &str) -> Self {
        let Some(path) = database.strip_prefix("sqlite:") else {
            return Self::Postgres(PgConnection::connect(database).await.expect("the database is there"));
        };
        let options = SqliteConnectOptions::new().filename(Path::new(path)).read_only(true);
        Self::Sqlite(options.connect().await.expect("the database is there"))
    }

    /// Has something come in that no holder has read?
    pub async fn unread(&mut self) -> bool {
        let count: i64 = match self {
            Self::Sqlite(one) => sqlx::query_scalar(UNREAD).fetch_one(one).await,
            Self::Postgres(one) => sqlx::query_scalar(UNREAD).fetch_one(one).await,
        }
        .expect("a count");
        count > 0
    }

    /// Has the time of something come that nobody has taken up, or that is just being done?
    pub async fn woken(&mut self) -> bool {
        let now = chrono::Utc::now().timestamp_millis();
        let count: i64 = match self {
            Self::Sqlite(one) => sqlx::query_scalar(WOKEN).bind(now).fetch_one(one).await,
            Self::Postgres(one) => sqlx::query_scalar(WOKEN).bind(now).fetch_one(one).await,
        }
        .expect("a count");
        count > 0
    }

    /// When the only session wakes by itself, in milliseconds; `None` while somebody holds it, or something else wakes it.
    pub async fn wakes_at(&mut self) -> Option<i64> {
        let found: Option<i64> = match self {
            Self::Sqlite(one) => sqlx::query_scalar(WAKES_AT).fetch_one(one).await,
            Self::Postgres(one) => sqlx::query_scalar(WAKES_AT).fetch_one(one).await,
        }
        .expect("a session");
        found
    }

    /// Leaves nothing open: the last to close a database touches files beside it by their names.
    pub async fn close(self) {
        let closed = match self {
            Self::Sqlite(one) => one.close().await,
            Self::Postgres(one) => one.close().await,
        };
        closed.expect("it is closed");
    }
}
