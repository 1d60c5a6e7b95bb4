//! What is forgotten is gone, what keeps things from being done twice is not.

use super::{Place, claimed, made, on_both, over_since_days, repo, rows};
use crate::{
    domain::{Number, SessionId},
    store::{Fate, Forgettable, Kept, Store, StoreError},
};

on_both!(a_repository_goes_whole, a_person_goes_with_their_sessions, nothing_goes_while_it_is_at_work);

fn of_repo(name: &str) -> Forgettable {
    Forgettable::Repository { owner: "Acme".into(), name: name.into() }
}

fn of(login: &str) -> Forgettable {
    Forgettable::User { login: login.into() }
}

async fn told(store: &Store, guid: &str, body: &str) {
    store.keep_delivery(guid, "push", body.as_bytes()).await.unwrap();
    store.accept(guid, &Fate::Ignored("x"), &crate::store::Acceptance::default()).await.unwrap();
}

async fn over(store: &Store, issue: u64) -> SessionId {
    let id = made(store, issue).await;
    let held = claimed(store).await;
    store.checks_failed(&held.lease, &super::sha('a'), &[("test", "test: boom")]).await.unwrap();
    let state = serde_json::to_value(&held.state).unwrap();
    over_since_days(store, id, 1).await;
    // The state says so too.
    let mut state = state;
    state["phase"] = serde_json::json!({ "phase": "done", "outcome": { "outcome": "closed" } });
    let done: Result<crate::domain::State, _> = serde_json::from_value(state.clone());
    assert!(done.is_ok_and(|state| state.is_done()), "{state}");
    let mut tx = store.begin().await.unwrap();
    let write = "UPDATE sessions SET state = $2 WHERE id = $1";
    crate::store::db::run!(&mut tx, sqlx::query(write).bind(id.to_string()).bind(state.to_string())).unwrap();
    store.commit(tx, crate::store::Wakes::No).await.unwrap();
    id
}

async fn a_repository_goes_whole(place: Place) {
    let store = place.open().await;
    let id = over(&store, 1).await;
    told(&store, "ours", r#"{"repository":{"full_name":"acme/demo"}}"#).await;
    told(&store, "other", r#"{"repository":{"full_name":"acme/demonstration"}}"#).await;
    let nothing = store.kept_of(&of_repo("nowhere")).await.unwrap();
    assert!(nothing.sessions.is_empty() && nothing.deliveries.is_empty());
    let kept = store.kept_of(&of_repo("demo")).await.unwrap();
    assert_eq!(kept.sessions, [(id, repo().id)]);
    store.forget(&of_repo("demo"), &kept).await.unwrap();
    assert!(store.session(&id.to_string()).await.unwrap().is_none());
    assert_eq!(rows(&store, "SELECT count(*) FROM inbox").await, 0);
    assert_eq!(rows(&store, "SELECT count(*) FROM check_outcomes").await, 0);
    let (ours, _) = store.delivery("ours").await.unwrap().unwrap();
    let (other, _) = store.delivery("other").await.unwrap().unwrap();
    assert!(ours.body.is_empty() && !other.body.is_empty());
    let again = store.keep_delivery("ours", "push", br#"{"repository":{"full_name":"acme/demo"}}"#).await;
    assert_eq!(again.unwrap(), Kept::Duplicate, "it is known all the same");
    let lines = store.audit_of(id, repo().id, (Number(1), None)).await.unwrap();
    assert_eq!(lines[0].by.as_ref().unwrap().login, "alice", "the audit stays");
}

async fn a_person_goes_with_their_sessions(place: Place) {
    let store = place.open().await;
    let id = over(&store, 1).await;
    told(&store, "theirs", r#"{"sender":{"id":3,"login":"Alice"}}"#).await;
    told(&store, "other", r#"{"sender":{"id":4,"login":"bob"},"comment":{"body":"thanks, alice"}}"#).await;
    assert_eq!(store.kept_of(&of("bob")).await.unwrap().sessions, []);
    let kept = store.kept_of(&of("ALICE")).await.unwrap();
    assert_eq!((kept.sessions.len(), kept.names), (1, 1));
    store.forget(&of("ALICE"), &kept).await.unwrap();
    assert!(store.session(&id.to_string()).await.unwrap().is_none());
    assert!(store.delivery("theirs").await.unwrap().unwrap().0.body.is_empty());
    assert!(!store.delivery("other").await.unwrap().unwrap().0.body.is_empty());
    let lines = store.audit_of(id, repo().id, (Number(1), None)).await.unwrap();
    let by = lines[0].by.as_ref().unwrap();
    assert_eq!((by.id.0, by.login.as_str()), (0, "(forgotten)"));
    let after = store.kept_of(&of("alice")).await.unwrap();
    assert!(after.sessions.is_empty() && after.deliveries.is_empty() && after.names == 0, "{after:?}");
}

async fn nothing_goes_while_it_is_at_work(place: Place) {
    let store = place.open().await;
    let (done, live) = (over(&store, 1).await, made(&store, 2).await);
    let mut kept = store.kept_of(&of_repo("demo")).await.unwrap();
    assert_eq!((kept.sessions.len(), kept.live.as_slice()), (1, &[live][..]));
    // It began to work between the look and the removal.
    kept.sessions.push((live, repo().id));
    let refused = store.forget(&of_repo("demo"), &kept).await;
    assert!(matches!(refused, Err(StoreError::Owned(_))), "{refused:?}");
    assert!(store.session(&done.to_string()).await.unwrap().is_some(), "and then nothing is removed");
}
