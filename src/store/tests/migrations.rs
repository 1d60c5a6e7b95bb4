//! From each schema that was ever released to the present one, over a database with something in it.

use super::{LEASE, Place, on_both};
use crate::{
    domain::SessionId,
    store::{
        JournalLine, Kept, Store,
        db::{POSTGRES, SQLITE, migrate_postgres},
        examine,
    },
};
use sqlx::{Connection, PgConnection, SqliteConnection, migrate::Migrator};
use std::{
    process::{Child, Command, Stdio},
    time::Duration,
};

on_both!(schema_1_is_brought_up, schema_2_is_brought_up, what_is_there_is_told);

/// A session as the first version wrote it.
const STATE: &str = r#"{"facts":{"installation":5,"repo":{"id":7,"owner":"acme","name":"demo"},"public":true,"thread":{"number":7,"title":"Empty input panics","body":"It does.","trusted":true},"request":{"asker":{"id":3,"login":"alice"},"instruction":"fix it","source":{"on":"comment","id":7},"job":{"job":"run"},"options":{},"automatic":false},"request_no":1,"round":0,"cause":"asked","base":{"branch":"main","sha":null},"branch":"fixpoint/7-empty-input","head":null,"head_tree":null,"start":null,"pull":null,"kept":[],"notes":[],"stopping":false,"reviews":0,"askers":[3],"rewrites":false,"flags":[],"survey":null,"seen":[],"tainted":false,"in_merge_queue":false,"spent":{"tokens":0,"micros":0},"rounds":[],"failures":[],"summary":null,"remark":null,"reruns":[],"tally":null,"told":false,"since":0,"as_of":0},"phase":{"phase":"queued"}}"#;
const ID: &str = "019ad0f00c5e7c309c3a6f3e1b2a4d55";

/// What a database of schema 1 may hold, a statement each; `STATE` is the session above.
const SCHEMA_1: &[&str] = &[
    "INSERT INTO deliveries (guid, event, body, body_hash, at, fate, reason) \
        VALUES ('one', 'push', 'x', 'hash', 1, 'taken', 'a request')",
    "INSERT INTO subjects (key, at) VALUES ('comment:7', 1)",
    "INSERT INTO sessions (id, short, installation, repo, owner, name, issue, phase, done, wake_at, served, created, \
        updated, first, state) VALUES ('019ad0f00c5e7c309c3a6f3e1b2a4d55', '0c5e7c2a4d55', 5, 7, 'acme', 'demo', 7, \
        'queued', FALSE, 1, 1, 1, 1, 'STATE', 'STATE')",
    "INSERT INTO inbox (session, entry, at) VALUES ('019ad0f00c5e7c309c3a6f3e1b2a4d55', \
        '{\"entry\":\"issue_closed\"}', 1)",
    "INSERT INTO effects (session, effect, next_at) VALUES ('019ad0f00c5e7c309c3a6f3e1b2a4d55', \
        '{\"effect\":\"post_status\"}', 1)",
    "INSERT INTO journal (session, request, round, entry, at) VALUES ('019ad0f00c5e7c309c3a6f3e1b2a4d55', 1, 1, \
        '{\"n\":1}', 1)",
    "INSERT INTO shown (session, thing, remote, hash) VALUES ('019ad0f00c5e7c309c3a6f3e1b2a4d55', 'status', '9', 'h')",
    "INSERT INTO patches (session, patch, at) VALUES ('019ad0f00c5e7c309c3a6f3e1b2a4d55', 'patch', 1)",
    "INSERT INTO spent (day, scope, id, micros, tokens) VALUES ('2026-01-31', 'repo', 7, 5, 5)",
];

/// What schema 2 has besides.
const SCHEMA_2: &[&str] = &["INSERT INTO check_outcomes (repo, signature, head, check_name, failed_at) \
    VALUES (7, 'test: boom', 'abc', 'test', 1)"];

/// Makes a database as the version with that schema would have left it.
async fn left_by(place: &Place, schema: i64, seeds: &[&[&str]]) {
    let sql = seeds.concat().join(";\n").replace("STATE", STATE);
    let up_to = |all: &Migrator| {
        Migrator::with_migrations(all.iter().filter(|m| m.version <= schema).cloned().collect())
    };
    let sql = sqlx::AssertSqlSafe(sql);
    match place.url.strip_prefix("sqlite:") {
        Some(path) => {
            let mut c = SqliteConnection::connect(&format!("sqlite://{path}?mode=rwc")).await.unwrap();
            up_to(&SQLITE).run(&mut c).await.unwrap();
            sqlx::raw_sql(sql).execute(&mut c).await.unwrap();
            c.close().await.unwrap();
        }
        None => {
            let mut c = PgConnection::connect(&place.url).await.unwrap();
            up_to(&POSTGRES).run(&mut c).await.unwrap();
            sqlx::raw_sql(sql).execute(&mut c).await.unwrap();
            c.close().await.unwrap();
        }
    }
}

/// Everything that was there is there, and can be worked with.
async fn goes_on(store: &Store) {
    assert_eq!(store.keep_delivery("one", "push", b"x").await.unwrap(), Kept::Duplicate);
    assert_eq!(store.subjects(10).await.unwrap(), ["comment:7"]);
    let held = store.claim("node", LEASE).await.unwrap().expect("it is due");
    let id: SessionId = held.lease.session;
    assert_eq!((id.to_string().as_str(), held.state.facts.branch.as_str()), (ID, "fixpoint/7-empty-input"));
    assert_eq!(store.unread(&held.lease).await.unwrap().len(), 1);
    let (due, _) = store.effects_due(&held.lease).await.unwrap();
    store.effect_done(&held.lease, due[0].id, &serde_json::json!({ "comment": 9 }), &[]).await.unwrap();
    let line = JournalLine { request: 1, round: 2, entry: serde_json::json!(2), tree: None };
    store.journal_append(&held.lease, &line).await.unwrap();
    assert_eq!(store.journal(id).await.unwrap().len(), 2);
    assert_eq!(store.patch(id).await.unwrap().as_deref(), Some("patch"));
    assert_eq!(store.shown(id).await.unwrap().len(), 1);
    let lines = store.audit_of(id, super::repo().id, (held.state.facts.thread.number, None)).await.unwrap();
    assert_eq!(lines.len(), 1, "what comes from now on is recorded: {lines:?}");
}

async fn schema_1_is_brought_up(place: Place) {
    left_by(&place, 1, &[SCHEMA_1]).await;
    assert_eq!(examine(&place.url).await.unwrap().unwrap().schema, Some(1));
    goes_on(&place.open().await).await;
    goes_on_again(&place).await;
}

async fn schema_2_is_brought_up(place: Place) {
    left_by(&place, 2, &[SCHEMA_1, SCHEMA_2]).await;
    let store = place.open().await;
    assert_eq!(super::rows(&store, "SELECT count(*) FROM check_outcomes").await, 1);
    goes_on(&store).await;
    goes_on_again(&place).await;
}

/// Opening is no migration any more.
async fn goes_on_again(place: &Place) {
    let found = examine(&place.url).await.unwrap().unwrap();
    assert_eq!(found.schema, Some(found.known));
    assert_eq!(place.open().await.sessions(10).await.unwrap().len(), 1);
}

async fn what_is_there_is_told(place: Place) {
    let store = place.open().await;
    let found = examine(&place.url).await.unwrap().unwrap();
    assert_eq!((found.schema, found.durable), (Some(found.known), true));
    assert!(store.now().await.unwrap().since(found.now).as_secs() < 600);
}

/// The database of the process that is killed. Only set by the test that starts it.
const CHILD: &str = "FIXPOINT_MIGRATION_CHILD";

/// A migration that has changed something and is not done for a long time.
const ENDLESS: &str = "ALTER TABLE sessions ADD COLUMN half TEXT; DELETE FROM subjects; \
    INSERT INTO subjects WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000) \
    SELECT 'half:' || i, i FROM n;";
const ENDLESS_PG: &str = "ALTER TABLE sessions ADD COLUMN half TEXT; DELETE FROM subjects; \
    INSERT INTO subjects (key, at) VALUES ('half:1', 1); SELECT pg_sleep(600);";
/// Is somebody in the middle of it?
const AT_IT: &str =
    "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()";

/// A process that migrates without an end.
fn migrating(url: &str) -> Child {
    let test = ["--exact", "store::tests::migrations::child", "--ignored", "--nocapture"];
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(test).env(CHILD, url).stdout(Stdio::null()).stderr(Stdio::null());
    child.spawn().unwrap()
}

/// Kills it once it is in the middle.
async fn is_killed_at_it(mut child: Child, at_it: impl AsyncFn() -> bool) {
    for _ in 0..3600 {
        if at_it().await {
            assert!(child.try_wait().unwrap().is_none(), "it is still at it");
            child.kill().unwrap();
            child.wait().unwrap();
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("it never began: {:?}", child.try_wait());
}

/// The next start finds the old schema whole, and brings it up.
async fn can_be_used(place: &Place) {
    let store = place.open().await;
    assert_eq!(super::rows(&store, "SELECT count(*) FROM subjects WHERE key LIKE 'half:%'").await, 0);
    goes_on(&store).await;
    goes_on_again(place).await;
}

#[tokio::test]
async fn c23_killed_in_the_middle_of_a_migration_it_can_be_used() {
    let place = Place::sqlite();
    left_by(&place, 2, &[SCHEMA_1, SCHEMA_2]).await;
    // It is in the middle when what it writes has grown into the log.
    let log = format!("{}-wal", place.url.strip_prefix("sqlite:").unwrap());
    let written = async || std::fs::metadata(&log).is_ok_and(|log| log.len() > 1 << 20);
    is_killed_at_it(migrating(&place.url), written).await;
    can_be_used(&place).await;
}

/// The server goes on with what it was told until it looks whether anybody waits for it; the next node starts meanwhile.
#[tokio::test]
async fn c23_killed_in_the_middle_of_a_migration_on_postgres_it_can_be_used() {
    let Some(place) = super::postgres::place().await else { return };
    left_by(&place, 2, &[SCHEMA_1, SCHEMA_2]).await;
    let mut beside = PgConnection::connect(&place.url).await.unwrap();
    let beside = tokio::sync::Mutex::new(&mut beside);
    let sleeps = async || {
        let asked = sqlx::query_scalar::<_, i64>(AT_IT).fetch_one(&mut **beside.lock().await).await;
        asked.unwrap() == 1
    };
    is_killed_at_it(migrating(&place.url), sleeps).await;
    can_be_used(&place).await;
}

/// Runs the migration that never ends.
#[tokio::test]
#[ignore = "started by the tests above"]
async fn child() {
    let url = std::env::var(CHILD).unwrap();
    let endless = |all: &Migrator, sql: &'static str| {
        let made = all.iter().filter(|m| m.version <= 2).cloned();
        let simple = sqlx::migrate::MigrationType::Simple;
        let sql = sqlx::SqlSafeStr::into_sql_str(sql);
        let endless = sqlx::migrate::Migration::new(9, "endless".into(), simple, sql, false);
        Migrator::with_migrations(made.chain([endless]).collect())
    };
    let Some(path) = url.strip_prefix("sqlite:") else {
        return migrate_postgres(&url, &endless(&POSTGRES, ENDLESS_PG)).await.unwrap();
    };
    let options = sqlx::sqlite::SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(sqlx::sqlite::SqliteJournalMode::Wal)
        // What is in the middle of a transaction is on the disk, as it would be in a large migration.
        .pragma("cache_size", "10");
    let mut c = sqlx::ConnectOptions::connect(&options).await.unwrap();
    endless(&SQLITE, ENDLESS).run(&mut c).await.unwrap();
}
