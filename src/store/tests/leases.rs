//! Who holds a session: never two, never a dead one, never one that lost it.

use super::{LEASE, Place, claimed, made, noted, on_both};
use crate::{
    domain::Limits,
    store::{Advance, JournalLine, Lease, Shown, Store, StoreError},
};
use std::{collections::BTreeSet, time::Duration};

on_both!(
    eight_claimers_take_each_session_once,
    a_holder_that_vanished_is_replaced,
    a_zombie_writes_nothing,
    a_released_session_is_due_at_its_time_or_for_an_entry,
    the_end_of_a_process_makes_its_sessions_due,
    the_longest_unserved_comes_first,
    only_live_leases_are_listed,
);

async fn eight_claimers_take_each_session_once(place: Place) {
    let nodes = [place.open().await, place.open().await];
    for issue in 0..200 {
        made(&nodes[0], issue).await;
    }
    let claimers = (0..8).map(|n| {
        let store = nodes[n % 2].clone();
        tokio::spawn(async move {
            let mut mine = Vec::new();
            while let Some(claimed) = store.claim(&format!("node-{n}"), LEASE).await.unwrap() {
                mine.push(claimed.lease.session);
            }
            mine
        })
    });
    let claims: Vec<_> = futures::future::try_join_all(claimers).await.unwrap().concat();
    assert_eq!(claims.len(), 200);
    assert_eq!(claims.into_iter().collect::<BTreeSet<_>>().len(), 200);
}

async fn a_holder_that_vanished_is_replaced(place: Place) {
    let store = place.open().await;
    made(&store, 1).await;
    let first = store.claim("first", LEASE).await.unwrap().unwrap();
    finish_effects(&store, &first.lease).await;
    assert!(store.claim("second", LEASE).await.unwrap().is_none(), "it is held");
    // Nothing came in since, and still it is taken up.
    let short = store.heartbeat(&first.lease, Duration::from_millis(200)).await;
    assert!(matches!(short, Ok(_) | Err(StoreError::LeaseLost)), "{short:?}");
    tokio::time::sleep(Duration::from_millis(400)).await;
    let second = store.claim("second", LEASE).await.unwrap().unwrap();
    assert_eq!(second.lease.session, first.lease.session);
    assert!(second.lease.epoch > first.lease.epoch);
}

async fn a_zombie_writes_nothing(place: Place) {
    let store = place.open().await;
    let session = made(&store, 1).await;
    store.append(session, &noted("x")).await.unwrap();
    let zombie = store.claim("zombie", Duration::ZERO).await.unwrap().unwrap();
    let unread = store.unread(&zombie.lease).await.unwrap();
    let effect = store.effects_due(&zombie.lease).await.unwrap().0[0].id;
    tokio::time::sleep(Duration::from_millis(5)).await;
    let holder = claimed(&store).await;
    let (dead, limits) = (&zombie.lease, Limits::default());
    let advance = Advance {
        entry: &unread[0],
        ignored: None,
        now: zombie.now,
        limits: &limits,
        state: &zombie.state,
        effects: &[],
    };
    let line = JournalLine { request: 1, round: 1, entry: serde_json::json!(1), tree: None };
    let shown = Shown { thing: "status".into(), remote: "1".into(), hash: "h".into() };
    let null = serde_json::Value::Null;
    let lost = [
        store.unread(dead).await.err(),
        store.heartbeat(dead, LEASE).await.err(),
        store.advance(dead, &advance).await.err(),
        store.effects_due(dead).await.err(),
        store.effect_done(dead, effect, &null, &[noted("y")]).await.err(),
        store.effect_later(dead, effect, "no", zombie.now).await.err(),
        store.effect_failed(dead, effect, "no", &[noted("y")]).await.err(),
        store.journal_append(dead, &line).await.err(),
        store.show(dead, &shown).await.err(),
        store.keep_patch(dead, "patch").await.err(),
        store.charge(dead, 1, 1).await.err(),
        store.release(dead, None).await.err(),
    ];
    for (n, error) in lost.into_iter().enumerate() {
        assert!(matches!(error, Some(StoreError::LeaseLost)), "write {n}: {error:?}");
    }
    assert_eq!(store.unread(&holder.lease).await.unwrap().len(), 1);
    assert_eq!(store.effects_due(&holder.lease).await.unwrap().0[0].attempts, 0);
    assert!(store.journal(session).await.unwrap().is_empty());
    assert!(store.shown(session).await.unwrap().is_empty());
    assert_eq!(store.patch(session).await.unwrap(), None);
    assert_eq!(store.spent_today(holder.state.facts.installation, super::repo().id).await.unwrap(), (0, 0));
}

async fn a_released_session_is_due_at_its_time_or_for_an_entry(place: Place) {
    let store = place.open().await;
    let session = made(&store, 1).await;
    let held = claimed(&store).await;
    finish_effects(&store, &held.lease).await;
    store.release(&held.lease, None).await.unwrap();
    assert!(store.claim("node", LEASE).await.unwrap().is_none(), "nothing is due");
    store.append(session, &noted("x")).await.unwrap();
    let held = claimed(&store).await;
    store.release(&held.lease, Some(held.now.plus(LEASE))).await.unwrap();
    let held = claimed(&store).await;
    let unread = store.unread(&held.lease).await.unwrap();
    step(&store, &held.lease, &held.state, &unread[0]).await;
    store.release(&held.lease, Some(held.now.plus(LEASE))).await.unwrap();
    assert!(store.claim("node", LEASE).await.unwrap().is_none(), "its time has not come");
    store.append(session, &noted("y")).await.unwrap();
    let held = claimed(&store).await;
    let unread = store.unread(&held.lease).await.unwrap();
    step(&store, &held.lease, &held.state, &unread[0]).await;
    store.release(&held.lease, Some(held.now.plus(Duration::from_millis(100)))).await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    claimed(&store).await;
    let again = store.release(&held.lease, None).await;
    assert!(matches!(again, Err(StoreError::LeaseLost)), "what was given back is given back");
}

async fn the_end_of_a_process_makes_its_sessions_due(place: Place) {
    let store = place.open().await;
    made(&store, 1).await;
    made(&store, 2).await;
    let first = store.claim("first", LEASE).await.unwrap().unwrap();
    let other = store.claim("other", LEASE).await.unwrap().unwrap();
    finish_effects(&store, &first.lease).await;
    store.release_all("first").await.unwrap();
    let next = claimed(&store).await;
    assert_eq!(next.lease.session, first.lease.session);
    assert!(store.claim("node", LEASE).await.unwrap().is_none());
    assert!(store.heartbeat(&other.lease, LEASE).await.is_ok());
}

async fn the_longest_unserved_comes_first(place: Place) {
    let store = place.open().await;
    for issue in 1..=3 {
        made(&store, issue).await;
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    let mut order = Vec::new();
    for _ in 0..6 {
        let held = claimed(&store).await;
        order.push(held.state.facts.thread.number.0);
        tokio::time::sleep(Duration::from_millis(3)).await;
        store.release(&held.lease, Some(held.now)).await.unwrap();
    }
    assert_eq!(order, [1, 2, 3, 1, 2, 3]);
}

async fn only_live_leases_are_listed(place: Place) {
    let store = place.open().await;
    made(&store, 1).await;
    made(&store, 2).await;
    let held = claimed(&store).await;
    store.claim("dead", Duration::ZERO).await.unwrap().unwrap();
    assert_eq!(store.live_leases().await.unwrap(), [(held.lease.session, held.lease.epoch)]);
    store.release(&held.lease, None).await.unwrap();
    assert!(store.live_leases().await.unwrap().is_empty());
}

/// Does what is to be done, so that nothing else makes the session due.
async fn finish_effects(store: &Store, lease: &Lease) {
    for effect in store.effects_due(lease).await.unwrap().0 {
        store.effect_done(lease, effect.id, &serde_json::Value::Null, &[]).await.unwrap();
    }
}

async fn step(store: &Store, lease: &Lease, state: &crate::domain::State, entry: &crate::store::Unread) {
    let limits = Limits::default();
    let advance =
        Advance { entry, ignored: Some("a note"), now: entry.at, limits: &limits, state, effects: &[] };
    store.advance(lease, &advance).await.unwrap();
}
