//! Deliveries: kept once, settled once, together with what they imply or not at all.

use super::{Place, accept, made, noted, on_both, on_issue, repo};
use crate::{
    domain::{
        Entry, Number, Phase, SessionId,
        session::{Ask, Outcome},
    },
    store::{Acceptance, Advance, Fate, Kept, StoreError},
};
use futures::future::join_all;

on_both!(
    f9_a_delivery_is_kept_once,
    a_replay_under_a_new_id_is_known_by_its_body,
    every_one_of_many_at_once_is_kept,
    f10_a_subject_taken_before_writes_nothing,
    a_delivery_is_settled_once,
    f11_what_is_asked_of_a_session_that_has_ended_is_settled_anew,
    a_second_session_of_an_issue_is_refused_whole,
    what_comes_in_wakes_who_waits,
);

async fn f9_a_delivery_is_kept_once(place: Place) {
    let store = place.open().await;
    let again = join_all((0..10).map(|_| store.keep_delivery("guid", "push", b"{}"))).await;
    let new = again.into_iter().filter(|kept| *kept.as_ref().unwrap() == Kept::New).count();
    assert_eq!(new, 1);
    let open = store.open_deliveries(10).await.unwrap();
    assert_eq!(open.len(), 1);
    assert_eq!((open[0].event.as_str(), open[0].body.as_slice()), ("push", &b"{}"[..]));
}

async fn a_replay_under_a_new_id_is_known_by_its_body(place: Place) {
    let store = place.open().await;
    assert_eq!(store.keep_delivery("one", "push", b"body").await.unwrap(), Kept::New);
    assert_eq!(store.keep_delivery("two", "issues", b"body").await.unwrap(), Kept::Duplicate);
    assert_eq!(store.keep_delivery("three", "push", b"other").await.unwrap(), Kept::New);
}

async fn every_one_of_many_at_once_is_kept(place: Place) {
    let store = place.open().await;
    let many = (0..500).map(|n| {
        let store = store.clone();
        async move { store.keep_delivery(&format!("{n}"), "push", format!("{n}").as_bytes()).await.unwrap() }
    });
    assert!(join_all(many).await.into_iter().all(|kept| kept == Kept::New));
    assert_eq!(store.open_deliveries(1000).await.unwrap().len(), 500);
    assert!(store.commits() < 250, "they did not share commits: {}", store.commits());
}

async fn f10_a_subject_taken_before_writes_nothing(place: Place) {
    let store = place.open().await;
    let session = made(&store, 1).await;
    let with = |text: &str| Acceptance {
        subjects: vec!["comment:1".into(), format!("other:{text}")],
        entries: vec![(session, noted(text))],
        ..Acceptance::default()
    };
    accept(&store, "first", with("first")).await.unwrap();
    accept(&store, "second", with("second")).await.unwrap();
    let claimed = super::claimed(&store).await;
    let unread = store.unread(&claimed.lease).await.unwrap();
    assert_eq!(unread.into_iter().map(|u| u.entry).collect::<Vec<_>>(), [noted("first")]);
    let (_, settled) = store.delivery("second").await.unwrap().unwrap();
    assert_eq!(settled.unwrap().fate, "ignored");
    // A subject named beside one that was taken is still free.
    let third = Acceptance { subjects: vec!["other:second".into()], ..with("third") };
    accept(&store, "third", third).await.unwrap();
    assert_eq!(store.unread(&claimed.lease).await.unwrap().len(), 2);
}

async fn a_delivery_is_settled_once(place: Place) {
    let store = place.open().await;
    let session = made(&store, 1).await;
    store.keep_delivery("guid", "push", b"x").await.unwrap();
    let entry = Acceptance { entries: vec![(session, noted("x"))], ..Acceptance::default() };
    let (store, entry) = (&store, &entry);
    let twice = (0..4).map(|_| store.accept("guid", &Fate::Taken("news"), entry));
    assert!(join_all(twice).await.into_iter().all(|r| r.is_ok()));
    assert!(store.open_deliveries(10).await.unwrap().is_empty());
    let claimed = super::claimed(store).await;
    assert_eq!(store.unread(&claimed.lease).await.unwrap().len(), 1);
    let unknown = store.accept("nobody's", &Fate::Ignored("x"), &Acceptance::default()).await;
    assert!(matches!(unknown, Err(StoreError::Database(_))));
}

async fn f11_what_is_asked_of_a_session_that_has_ended_is_settled_anew(place: Place) {
    let store = place.open().await;
    let id = made(&store, 1).await;
    store.append(id, &noted("it ends")).await.unwrap();
    let by = crate::domain::Actor { id: crate::domain::UserId(3), login: "alice".into() };
    let asked = |sentence: &str| {
        (id, Entry::Asked { ask: Ask::Mistaken { by: by.clone(), sentence: sentence.into(), at: None } })
    };
    let of_one =
        |entries| Acceptance { subjects: vec!["comment:7".into()], entries, ..Acceptance::default() };
    accept(&store, "late", of_one(vec![asked("one"), asked("two")])).await.unwrap();
    let held = super::claimed(&store).await;
    let mut over = held.state.clone();
    over.phase = Phase::Done { outcome: Outcome::IssueClosed };
    let limits = crate::domain::Limits::default();
    for (entry, ignored) in
        store.unread(&held.lease).await.unwrap().iter().zip([None, Some("over"), Some("over")])
    {
        let advance = Advance { entry, ignored, now: held.now, limits: &limits, state: &over, effects: &[] };
        store.advance(&held.lease, &advance).await.unwrap();
        // Whoever settles it anew may be quick: what it brought besides does not bring it back once more.
        if let Some(open) = store.open_deliveries(10).await.unwrap().first() {
            assert_eq!((open.guid.as_str(), ignored), ("late", Some("over")));
            let other = made(&store, 2).await;
            accept(&store, "late", of_one(vec![(other, noted("anew"))])).await.unwrap();
        }
    }
    let (_, settled) = store.delivery("late").await.unwrap().unwrap();
    assert_eq!(settled.unwrap().fate, "taken", "it counts anew for what it counted for");
    assert!(store.open_deliveries(10).await.unwrap().is_empty());
}

async fn a_second_session_of_an_issue_is_refused_whole(place: Place) {
    let store = place.open().await;
    let first = made(&store, 1).await;
    let second = Acceptance {
        subjects: vec!["comment:9".into()],
        entries: vec![(first, noted("must not stay"))],
        session: Some(on_issue(1)),
        ..Acceptance::default()
    };
    let refused = accept(&store, "second", second).await;
    assert!(matches!(refused, Err(StoreError::Owned(what)) if what == "acme/demo#1"));
    assert_eq!(store.open_deliveries(10).await.unwrap().len(), 1, "it can be decided anew");
    let claimed = super::claimed(&store).await;
    assert!(store.unread(&claimed.lease).await.unwrap().is_empty());
    let anew = Acceptance {
        subjects: vec!["comment:9".into()],
        entries: vec![(first, noted("joined"))],
        ..Acceptance::default()
    };
    store.accept("second", &Fate::Taken("joined"), &anew).await.unwrap();
    assert_eq!(store.unread(&claimed.lease).await.unwrap().len(), 1);
    let owner = store.session_of_issue(repo().id, Number(1)).await.unwrap().map(|s| s.id);
    assert_eq!(owner, Some(first));
}

async fn what_comes_in_wakes_who_waits(place: Place) {
    let store = place.open().await;
    let changed = store.changed();
    // It is committed before the wait begins.
    let session: SessionId = made(&store, 1).await;
    changed.await;
    let changed = store.changed();
    store.append(session, &noted("x")).await.unwrap();
    changed.await;
    // A holder's own writes wake nobody.
    let claimed = super::claimed(&store).await;
    // PostgreSQL tells a node of its own changes too, a moment later.
    while tokio::time::timeout(std::time::Duration::from_secs(2), store.changed()).await.is_ok() {}
    let changed = store.changed();
    store.heartbeat(&claimed.lease, super::LEASE).await.unwrap();
    let quiet = tokio::time::timeout(std::time::Duration::from_millis(50), changed).await;
    assert!(quiet.is_err());
}

#[tokio::test]
async fn another_node_is_woken() {
    let Some(place) = super::postgres::place().await else { return };
    let (here, there) = (place.open().await, place.open().await);
    // The listener needs a moment to be there.
    for n in 0.. {
        let woken = there.changed();
        here.keep_delivery(&format!("{n}"), "push", format!("{n}").as_bytes()).await.unwrap();
        if tokio::time::timeout(std::time::Duration::from_millis(500), woken).await.is_ok() {
            return;
        }
        assert!(n < 200, "nobody was woken");
    }
}
