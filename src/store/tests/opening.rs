//! Opening: what an earlier version left is taken over, what a newer one made is refused.

use super::{LEASE, Place, made, on_both};
use crate::store::{Store, StoreError};
use sqlx::{Connection, PgConnection, SqliteConnection};
use std::os::unix::fs::PermissionsExt;

on_both!(a_newer_schema_is_refused, what_was_written_is_there_after_opening_again);

async fn a_newer_schema_is_refused(place: Place) {
    drop(place.open().await);
    let newer = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
        VALUES (9999, 'later', true, '', 0)";
    match place.url.strip_prefix("sqlite:") {
        Some(path) => {
            let mut c = SqliteConnection::connect(&format!("sqlite://{path}")).await.unwrap();
            sqlx::query(newer).execute(&mut c).await.unwrap();
        }
        None => {
            let mut c = PgConnection::connect(&place.url).await.unwrap();
            sqlx::query(newer).execute(&mut c).await.unwrap();
        }
    }
    let refused = Store::open(&place.url).await;
    assert!(matches!(refused, Err(StoreError::Newer { found: 9999, known }) if known < 9999), "{refused:?}");
}

async fn what_was_written_is_there_after_opening_again(place: Place) {
    let store = place.open().await;
    let id = made(&store, 1).await;
    drop(store);
    let store = place.open().await;
    assert_eq!(store.claim("node", LEASE).await.unwrap().unwrap().lease.session, id);
}

#[tokio::test]
async fn the_file_is_its_owners_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("new/folder/fixpoint.db");
    Store::open(&format!("sqlite:{}", file.display())).await.unwrap();
    assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn an_unknown_kind_of_database_is_named() {
    let error = Store::open("mysql://nowhere").await.unwrap_err().to_string();
    assert!(error.contains("`sqlite:` or `postgres://`"), "{error}");
}
