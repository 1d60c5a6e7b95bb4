//! What a round leaves behind, and the clock it is measured by.

use super::{Place, claimed, made, on_both};
use crate::{
    domain::{InstallationId, Sha},
    store::{JournalLine, Shown, Store},
};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

on_both!(
    the_journal_comes_back_in_order,
    what_is_shown_and_the_patch_are_replaced,
    spending_adds_up_by_day,
    f42_what_failed_and_passed_on_one_commit_is_flaky,
    the_clock_is_the_databases
);

async fn the_journal_comes_back_in_order(place: Place) {
    let store = place.open().await;
    let id = made(&store, 1).await;
    let held = claimed(&store).await;
    for n in 0..5 {
        let entry = serde_json::json!({"n": n, "text": "a \u{0} byte and é"});
        let tree = (n % 2 == 0).then(|| format!("tree-{n}"));
        store.journal_append(&held.lease, &JournalLine { request: 1, round: n, entry, tree }).await.unwrap();
    }
    let lines = store.journal(id).await.unwrap();
    assert_eq!(lines.iter().map(|l| l.round).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert_eq!(lines[3].entry["text"], "a \u{0} byte and é");
    assert_eq!((lines[2].tree.as_deref(), lines[3].tree.as_deref()), (Some("tree-2"), None));
}

async fn what_is_shown_and_the_patch_are_replaced(place: Place) {
    let store = place.open().await;
    let id = made(&store, 1).await;
    let held = claimed(&store).await;
    let shown = |hash: &str| Shown { thing: "status".into(), remote: "12".into(), hash: hash.into() };
    store.show(&held.lease, &shown("one")).await.unwrap();
    store.show(&held.lease, &shown("two")).await.unwrap();
    assert_eq!(store.shown(id).await.unwrap(), [shown("two")]);
    store.keep_patch(&held.lease, "old").await.unwrap();
    store.keep_patch(&held.lease, "new \0").await.unwrap();
    assert_eq!(store.patch(id).await.unwrap().as_deref(), Some("new \0"));
}

async fn spending_adds_up_by_day(place: Place) {
    let store = place.open().await;
    within_a_day(&store).await;
    made(&store, 1).await;
    let held = claimed(&store).await;
    store.charge(&held.lease, 1_000, 10).await.unwrap();
    store.charge(&held.lease, 500, 10).await.unwrap();
    let repo = super::repo().id;
    assert_eq!(store.spent_today(held.state.facts.installation, repo).await.unwrap(), (1_500, 1_500));
    assert_eq!(store.spent_today(InstallationId(6), repo).await.unwrap(), (1_500, 0));
}

/// Waits past midnight where it is near: what is spent before it is not spent today.
async fn within_a_day(store: &Store) {
    const DAY: i64 = 24 * 60 * 60 * 1000;
    let left = DAY - store.now().await.unwrap().0.rem_euclid(DAY);
    if left < 60_000 {
        tokio::time::sleep(Duration::from_millis(left.unsigned_abs() + 1)).await;
    }
}

async fn f42_what_failed_and_passed_on_one_commit_is_flaky(place: Place) {
    let store = place.open().await;
    made(&store, 1).await;
    let held = claimed(&store).await;
    let (repo, head) = (super::repo().id, Sha::parse(&"a".repeat(40)).unwrap());
    let other = Sha::parse(&"b".repeat(40)).unwrap();
    let failed = [("test", "test: timeout"), ("lint", "lint: unused")];
    store.checks_failed(&held.lease, &head, &failed).await.unwrap();
    // Red, and green on another commit: that was a change.
    store.checks_passed(&held.lease, repo, &other, &["test", "lint"]).await.unwrap();
    assert_eq!(store.flake(repo, "test: timeout").await.unwrap(), None);
    store.checks_passed(&held.lease, repo, &head, &["test", "docs"]).await.unwrap();
    let flake = store.flake(repo, "test: timeout").await.unwrap().unwrap();
    assert_eq!(flake.head, head.to_string());
    assert_eq!(store.flake(repo, "lint: unused").await.unwrap(), None);
    assert_eq!(store.flake(repo, "test: another error").await.unwrap(), None);
}

async fn the_clock_is_the_databases(place: Place) {
    let store = place.open().await;
    let ours = || i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap();
    let (before, theirs, after) = (ours(), store.now().await.unwrap().0, ours());
    let between = before - 2_000..after + 2_000;
    assert!(between.contains(&theirs), "milliseconds since 1970: {theirs}, not in {between:?}");
    store.ready().await.unwrap();
}
