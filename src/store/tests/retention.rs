//! What is old goes, and nothing else does.

use super::{LEASE, Place, claimed, days_ago, made, on_both, over_since_days, rows};
use crate::{
    domain::{Retention, SessionId},
    store::{Acceptance, Fate, JournalLine, Kept, Retired, Store},
};
use std::{collections::BTreeSet, time::Duration};

on_both!(
    only_what_is_over_is_removed,
    settled_deliveries_go_and_open_ones_stay,
    what_was_asked_once_is_known_for_longer_than_its_delivery,
    batches_are_small_and_come_to_an_end,
    one_node_at_a_time_does_it,
);

const JOURNAL: &str = "SELECT count(*) FROM journal";
const PATCHES: &str = "SELECT count(*) FROM patches";
const SESSIONS: &str = "SELECT count(*) FROM sessions";
const AUDIT: &str = "SELECT count(*) FROM audit";
const SETTLED: &str = "UPDATE deliveries SET at = $2 WHERE guid = $1";

/// A session with a journal and a patch.
async fn worked(store: &Store, issue: u64, lines: u32) -> SessionId {
    let id = made(store, issue).await;
    let held = claimed(store).await;
    assert_eq!(held.lease.session, id);
    for round in 0..lines {
        let line = JournalLine { request: 1, round, entry: serde_json::json!("said"), tree: None };
        store.journal_append(&held.lease, &line).await.unwrap();
    }
    store.keep_patch(&held.lease, "patch").await.unwrap();
    id
}

async fn only_what_is_over_is_removed(place: Place) {
    let store = place.open().await;
    let old = worked(&store, 1, 2).await;
    let young = worked(&store, 2, 2).await;
    let live = worked(&store, 3, 2).await;
    over_since_days(&store, old, 31).await;
    over_since_days(&store, young, 29).await;
    days_ago(&store, "UPDATE sessions SET updated = $2 WHERE id = $1", &live.to_string(), 4_000).await;
    let gone = store.retire(&Retention::default()).await.unwrap();
    assert_eq!(gone, Retired { transcripts: 2, patches: 2, ..Retired::default() });
    assert_eq!(store.journal(young).await.unwrap().len(), 2, "29 days");
    assert_eq!(store.journal(live).await.unwrap().len(), 2, "not over");
    assert_eq!(store.patch(live).await.unwrap().as_deref(), Some("patch"));
    // In the end the session itself, and all that is its own; the audit has a time of its own.
    over_since_days(&store, old, 401).await;
    let gone = store.retire(&Retention::default()).await.unwrap();
    assert_eq!(gone, Retired { sessions: 1, ..Retired::default() });
    assert_eq!((rows(&store, SESSIONS).await, rows(&store, AUDIT).await), (2, 3));
    assert_eq!(
        rows(&store, "SELECT count(*) FROM effects WHERE session NOT IN (SELECT id FROM sessions)").await,
        0
    );
    days_ago_all(&store, 401).await;
    assert_eq!(store.retire(&Retention::default()).await.unwrap().audit, 3);
    assert_eq!(store.retire(&Retention::default()).await.unwrap(), Retired::default());
}

/// The audit cannot be told to be older; it is written anew.
async fn days_ago_all(store: &Store, days: i64) {
    let again = "INSERT INTO audit (at, session, repo, kind, fact) \
        SELECT CASE WHEN $1 = '' THEN $2 ELSE 0 END, session, repo, kind, fact FROM audit";
    days_ago(store, again, "", days).await;
    let mut tx = store.begin().await.unwrap();
    let newer = "DELETE FROM audit WHERE id <= (SELECT max(id) / 2 FROM audit)";
    crate::store::db::run!(&mut tx, sqlx::query(newer)).unwrap();
    store.commit(tx, crate::store::Wakes::No).await.unwrap();
}

async fn settled_deliveries_go_and_open_ones_stay(place: Place) {
    let store = place.open().await;
    for guid in ["open", "old", "young", "aside"] {
        store.keep_delivery(guid, "push", guid.as_bytes()).await.unwrap();
    }
    for (guid, fate) in [
        ("old", Fate::Taken("x")),
        ("young", Fate::Ignored("x")),
        ("aside", Fate::Quarantined("not JSON".into())),
    ] {
        store.accept(guid, &fate, &Acceptance::default()).await.unwrap();
    }
    for (guid, days) in [("open", 100), ("old", 8), ("young", 6), ("aside", 8)] {
        days_ago(&store, SETTLED, guid, days).await;
    }
    assert_eq!(store.retire(&Retention::default()).await.unwrap().deliveries, 2);
    for (guid, stays) in [("open", true), ("old", false), ("young", true), ("aside", false)] {
        assert_eq!(store.delivery(guid).await.unwrap().is_some(), stays, "{guid}");
    }
}

async fn what_was_asked_once_is_known_for_longer_than_its_delivery(place: Place) {
    let store = place.open().await;
    let asked = |_: &str| Acceptance { subjects: vec!["comment:1".into()], ..Acceptance::default() };
    super::accept(&store, "first", asked("first")).await.unwrap();
    // Within GitHub's time for sending it again the delivery itself is known.
    days_ago(&store, SETTLED, "first", 4).await;
    store.retire(&Retention::default()).await.unwrap();
    assert_eq!(store.keep_delivery("first", "issue_comment", b"first").await.unwrap(), Kept::Duplicate);
    // Long after it the delivery is not, but what it asked is.
    days_ago(&store, SETTLED, "first", 100).await;
    days_ago(&store, "UPDATE subjects SET at = $2 WHERE key = $1", "comment:1", 100).await;
    store.retire(&Retention::default()).await.unwrap();
    assert_eq!(store.keep_delivery("first", "issue_comment", b"first").await.unwrap(), Kept::New);
    store.accept("first", &Fate::Taken("a request"), &asked("first")).await.unwrap();
    let (_, settled) = store.delivery("first").await.unwrap().unwrap();
    assert_eq!(settled.unwrap().fate, "ignored");
}

async fn batches_are_small_and_come_to_an_end(place: Place) {
    let store = place.open().await;
    let id = worked(&store, 1, 250).await;
    over_since_days(&store, id, 31).await;
    assert_eq!(store.retire(&Retention::default()).await.unwrap().transcripts, 200);
    assert_eq!(store.retire(&Retention::default()).await.unwrap().transcripts, 50);
    assert_eq!(store.retire(&Retention::default()).await.unwrap().rows(), 0);
    assert_eq!((rows(&store, JOURNAL).await, rows(&store, PATCHES).await), (0, 0));
}

async fn one_node_at_a_time_does_it(place: Place) {
    let nodes = [place.open().await, place.open().await];
    let hour = Duration::from_secs(3600);
    assert!(nodes[0].take_turn("retention", "one", hour).await.unwrap().is_some());
    assert!(nodes[1].take_turn("retention", "two", hour).await.unwrap().is_none());
    assert!(nodes[1].take_turn("another", "two", Duration::ZERO).await.unwrap().is_some());
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert!(nodes[0].take_turn("another", "one", hour).await.unwrap().is_some(), "its time is over");
    // Checkpoints: of sessions that are over for long enough, and of those that are not kept at all.
    let (over, live) = (made(&nodes[0], 1).await, made(&nodes[0], 2).await);
    let unknown = SessionId(uuid::Uuid::now_v7());
    over_since_days(&nodes[0], over, 15).await;
    let asked = BTreeSet::from([over, live, unknown]);
    let gone: BTreeSet<_> = nodes[1].over_since(&asked, 14 * 24 * hour).await.unwrap().into_iter().collect();
    assert_eq!(gone, BTreeSet::from([over, unknown]));
    assert!(nodes[0].claim("node", LEASE).await.unwrap().is_some());
}
