//! From each schema that was ever released to the present one, over a database with something in it.

use super::{LEASE, Place, on_both};
use crate::store::{
    Store,
    db::{POSTGRES, SQLITE},
};
use sqlx::{Connection, PgConnection, SqliteConnection, migrate::Migrator};

#[tokio::test]
async fn print_seed() {
    let state = super::on_issue(7).state;
    println!("SEED {}", serde_json::to_string(&state).unwrap());
}
