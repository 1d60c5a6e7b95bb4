//! Places to run in: no race passes a cap.

use super::{LEASE, Place, on_both, on_issue};
use crate::{
    domain::{InstallationId, RepoId, SessionId, State},
    store::{Acceptance, Advance, Claimed, Place as Found, Running, Store, StoreError},
};
use futures::future::join_all;
use std::time::Duration;

on_both!(
    caps_hold_when_nodes_race,
    a_place_is_free_again_when_the_work_ends_or_its_holder_is_gone,
    the_oldest_in_line_comes_first_while_it_asks,
    a_full_node_takes_up_nothing_that_is_at_work,
);

/// A session of an installation and a repository.
async fn session(store: &Store, issue: u64, installation: u64, repo: u64) -> SessionId {
    let mut new = on_issue(issue);
    new.state.facts.installation = InstallationId(installation);
    new.state.facts.repo.id = RepoId(repo);
    new.effects.clear();
    let id = new.id;
    let acceptance = Acceptance { session: Some(new), ..Acceptance::default() };
    super::accept(store, &format!("{id}"), acceptance).await.unwrap();
    id
}

async fn claim(store: &Store, owner: &str) -> Claimed {
    store.claim(owner, LEASE).await.unwrap().expect("one is due")
}

/// What the holder writes when the phase changes.
async fn becomes(store: &Store, claimed: &Claimed, phase: crate::domain::Phase) {
    let state = State { phase, ..claimed.state.clone() };
    store.append(claimed.lease.session, &super::noted("x")).await.unwrap();
    let unread = store.unread(&claimed.lease).await.unwrap();
    let advance = Advance {
        entry: &unread[0],
        ignored: None,
        now: claimed.now,
        limits: &crate::domain::Limits::default(),
        state: &state,
        effects: &[],
    };
    store.advance(&claimed.lease, &advance).await.unwrap();
}

async fn caps_hold_when_nodes_race(place: Place) {
    let nodes = [place.open().await, place.open().await];
    let caps = Running { all: 3, repository: 2, installation: 4 };
    // Two installations with two repositories each, of which each has four sessions.
    for n in 0..16 {
        session(&nodes[0], n + 1, n % 2, n % 4).await;
    }
    let (caps, nodes) = (&caps, &nodes);
    // Four tasks a node, as one drives many sessions; what finds no place is given back and taken up again.
    let tasks = (0..8).map(|task| async move {
        let (store, owner) = (&nodes[task % 2], format!("node-{}", task % 2));
        let mut taken = Vec::new();
        for _ in 0..60 {
            let Some(claimed) = store.claim_within(&owner, LEASE, caps.all).await.unwrap() else {
                tokio::time::sleep(Duration::from_millis(5)).await;
                continue;
            };
            match store.take_place(&claimed.lease, &owner, caps).await.unwrap() {
                Found::Taken => taken.push((task % 2, claimed)),
                Found::Waits { .. } => store.release(&claimed.lease, Some(claimed.now)).await.unwrap(),
            }
        }
        taken
    });
    let taken: Vec<_> = join_all(tasks).await.into_iter().flatten().collect();
    let of = |fits: &dyn Fn(usize, &Claimed) -> bool| taken.iter().filter(|(n, c)| fits(*n, c)).count();
    for n in 0..4 {
        assert!(of(&|_, c| c.state.facts.repo.id == RepoId(n)) <= 2, "a repository has too many");
    }
    assert_eq!((of(&|n, _| n == 0), of(&|n, _| n == 1)), (3, 3), "each node is full, and not more");
}

async fn a_place_is_free_again_when_the_work_ends_or_its_holder_is_gone(place: Place) {
    let store = place.open().await;
    let caps = Running { all: 1, repository: 1, installation: 1 };
    for n in 1..=3 {
        session(&store, n, 1, 1).await;
    }
    let (first, second) = (claim(&store, "node").await, claim(&store, "node").await);
    let third = store.claim("gone", LEASE).await.unwrap().unwrap();
    let ask = async |claimed: &Claimed| store.take_place(&claimed.lease, "node", &caps).await.unwrap();
    assert_eq!(ask(&first).await, Found::Taken);
    assert_eq!(ask(&first).await, Found::Taken, "asked again, it is still its own");
    assert_eq!(ask(&second).await, Found::Waits { before: 0 });
    becomes(&store, &first, crate::domain::Phase::Working).await;
    assert_eq!(ask(&second).await, Found::Waits { before: 0 });
    assert_eq!(store.before(second.lease.session).await.unwrap(), Some(0));
    becomes(&store, &first, crate::domain::Phase::Watching { since: first.now }).await;
    assert_eq!(ask(&second).await, Found::Taken);
    assert_eq!(store.before(second.lease.session).await.unwrap(), None);
    store.release(&second.lease, None).await.unwrap();
    assert_eq!(store.take_place(&third.lease, "gone", &caps).await.unwrap(), Found::Taken);
    let fourth = session(&store, 4, 1, 1).await;
    let fourth = Some(claim(&store, "node").await).filter(|c| c.lease.session == fourth).unwrap();
    assert_eq!(ask(&fourth).await, Found::Waits { before: 0 });
    // An answer that comes later than the lease lasts is none.
    assert!(matches!(store.heartbeat(&third.lease, Duration::ZERO).await, Err(StoreError::LeaseLost)));
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert_eq!(ask(&fourth).await, Found::Taken, "its holder's lease ran out");
}

async fn the_oldest_in_line_comes_first_while_it_asks(place: Place) {
    let store = place.open().await;
    let caps = Running { all: 1, repository: 9, installation: 9 };
    for n in 1..=3 {
        session(&store, n, n, n).await;
    }
    let ask = async |claimed: &Claimed| store.take_place(&claimed.lease, "node", &caps).await.unwrap();
    let (running, old) = (claim(&store, "node").await, claim(&store, "node").await);
    let young = claim(&store, "node").await;
    assert_eq!(ask(&running).await, Found::Taken);
    assert_eq!(ask(&old).await, Found::Waits { before: 0 });
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert_eq!(ask(&young).await, Found::Waits { before: 1 });
    store.release(&running.lease, None).await.unwrap();
    assert_eq!(ask(&young).await, Found::Waits { before: 1 }, "it is the older one's");
    assert_eq!(ask(&old).await, Found::Taken);
}

async fn a_full_node_takes_up_nothing_that_is_at_work(place: Place) {
    let store = place.open().await;
    for n in 1..=2 {
        session(&store, n, n, n).await;
    }
    let (mine, gone) = (claim(&store, "full").await, store.claim("gone", Duration::ZERO).await);
    let gone = gone.unwrap().unwrap();
    for claimed in [&mine, &gone] {
        becomes(&store, claimed, crate::domain::Phase::Working).await;
    }
    assert!(store.claim_within("full", LEASE, 1).await.unwrap().is_none());
    let taken = store.claim_within("free", LEASE, 1).await.unwrap().unwrap();
    assert_eq!(taken.lease.session, gone.lease.session);
}
