//! What the store can fail with, by what its caller can do about it.

/// Another process writes. Only the beginning of a transaction is answered so: it takes the write lock for all of it. The
/// lowest byte of SQLite's code says so, whatever stands above it.
const SQLITE_BUSY: i32 = 5;

/// What the store can fail with.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another holder has the session now: stop, and kill the sandbox.
    #[error("the lease on the session was lost to another holder")]
    LeaseLost,
    /// A session for this issue or branch lives already.
    #[error("a live session owns {0} already")]
    Owned(String),
    /// The database was made by a newer version.
    #[error("the database has schema {found}, this version knows {known}: use a newer version of fixpoint")]
    Newer {
        /// The database's.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// The database was not free in time. Nothing was written, so the same call may be made again.
    #[error("the database is busy, or away: nothing could be begun in time")]
    Busy,
    /// The database cannot be used.
    #[error("database: {0}")]
    Database(String),
    /// A stored value cannot be read.
    #[error("a stored value cannot be read: {0}")]
    Value(#[from] serde_json::Error),
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        let busy = match &error {
            sqlx::Error::PoolTimedOut => true,
            sqlx::Error::Database(error) => error.code().is_some_and(|code| {
                code.len() < 5 && code.parse().is_ok_and(|code: i32| code & 0xff == SQLITE_BUSY)
            }),
            _ => false,
        };
        if busy { Self::Busy } else { Self::Database(error.to_string()) }
    }
}

impl StoreError {
    /// Turns a broken uniqueness into [`StoreError::Owned`], naming what is owned.
    pub(super) fn owned(error: sqlx::Error, what: impl FnOnce() -> String) -> Self {
        match error.as_database_error() {
            Some(e) if e.is_unique_violation() => Self::Owned(what()),
            _ => error.into(),
        }
    }
}
