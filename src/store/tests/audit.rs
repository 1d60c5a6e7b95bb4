//! The audit: written with the fact it tells or not at all, and never changed.

use super::{LEASE, Place, accept, claimed, made, on_both, repo};
use crate::{
    domain::{Actor, Audit, Audited, Effect, Entry, Limits, Number, Sha, UserId, audit::Wish, session::Ask},
    store::{Acceptance, Advance, Lease},
};

on_both!(
    a_step_and_its_line_are_one,
    an_effect_is_told_once_and_only_when_it_is_done,
    who_is_refused_is_told_on_the_thread,
    a_line_is_never_changed,
    what_a_sandbox_did_is_told_whoever_holds_the_session_by_now,
);

const THREAD: (Number, Option<Number>) = (Number(1), None);

async fn kinds(store: &crate::store::Store, id: crate::domain::SessionId) -> Vec<&'static str> {
    store.audit_of(id, repo().id, THREAD).await.unwrap().iter().map(|line| line.what.kind()).collect()
}

async fn a_step_and_its_line_are_one(place: Place) {
    let store = place.open().await;
    let id = made(&store, 1).await;
    let by = Actor { id: UserId(9), login: "bob".into() };
    store.append(id, &Entry::Asked { ask: Ask::Stop { by: by.clone(), at: None } }).await.unwrap();
    let held = claimed(&store).await;
    let unread = store.unread(&held.lease).await.unwrap();
    assert_eq!(kinds(&store, id).await, ["asked"], "who began it; the stop is not stepped yet");
    let limits = Limits::default();
    let advance = Advance {
        entry: &unread[0],
        ignored: None,
        now: held.now,
        limits: &limits,
        state: &held.state,
        effects: &[],
    };
    store.advance(&held.lease, &advance).await.unwrap();
    assert!(store.advance(&held.lease, &advance).await.is_err(), "it is stepped once");
    let lines = store.audit_of(id, repo().id, THREAD).await.unwrap();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(lines[0].by.as_ref().unwrap().login, "alice");
    assert_eq!((lines[1].session, lines[1].by.as_ref()), (Some(id), Some(&by)));
    assert!(matches!(lines[1].what, Audit::Asked { wish: Wish::Stop, ignored: None, .. }), "{lines:?}");
}

async fn an_effect_is_told_once_and_only_when_it_is_done(place: Place) {
    let store = place.open().await;
    let mut new = super::on_issue(1);
    let commit = Sha::parse(&"a".repeat(40)).unwrap();
    let push = |branch: &str| Effect::Push {
        branch: branch.into(),
        commit: commit.clone(),
        expected: None,
        fork: None,
        rewrites: false,
    };
    new.effects = vec![push("one"), push("two")];
    let id = new.id;
    accept(&store, "new", Acceptance { session: Some(new), ..Acceptance::default() }).await.unwrap();
    let held = claimed(&store).await;
    let due = store.effects_due(&held.lease).await.unwrap().0;
    let result = serde_json::json!({ "commit": commit });
    for _ in 0..2 {
        store.effect_done(&held.lease, due[0].id, &result, &[]).await.unwrap();
    }
    store.effect_failed(&held.lease, due[1].id, "a rule forbids it", &[]).await.unwrap();
    let lines = store.audit_of(id, repo().id, THREAD).await.unwrap();
    let told: Vec<_> = lines.iter().map(|line| line.what.to_string()).collect();
    assert_eq!(told, ["run in comment 1", "one at aaaaaaa"]);
}

async fn who_is_refused_is_told_on_the_thread(place: Place) {
    let store = place.open().await;
    let id = made(&store, 1).await;
    let mallory = Actor { id: UserId(66), login: "mallory".into() };
    for (guid, thread) in [("here", Number(1)), ("elsewhere", Number(2))] {
        let line = Audited::refused(mallory.clone(), thread, "no write access");
        let refused = Acceptance { refused: Some((repo().id, line)), ..Acceptance::default() };
        accept(&store, guid, refused).await.unwrap();
    }
    let lines = store.audit_of(id, repo().id, THREAD).await.unwrap();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!((lines[1].session, lines[1].by.as_ref()), (None, Some(&mallory)));
    assert_eq!(lines[1].what.to_string(), "on #1: no write access");
}

async fn a_line_is_never_changed(place: Place) {
    let store = place.open().await;
    made(&store, 1).await;
    let mut tx = store.begin().await.unwrap();
    let changed = crate::store::db::run!(&mut tx, sqlx::query("UPDATE audit SET kind = 'nothing'"));
    assert!(changed.unwrap_err().to_string().contains("never changed"));
    tx.rollback().await.unwrap();
}

async fn what_a_sandbox_did_is_told_whoever_holds_the_session_by_now(place: Place) {
    let store = place.open().await;
    let id = made(&store, 1).await;
    let zombie = store.claim("zombie", std::time::Duration::ZERO).await.unwrap().unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    let held = store.claim("node", LEASE).await.unwrap().unwrap();
    let host = |host: &str| Audit::HostRefused { host: host.into(), why: "not allowed".into(), times: 1 };
    store.audit(&zombie.lease, &[host("a:443")]).await.unwrap();
    store.audit(&held.lease, &[host("b:443"), host("c:443")]).await.unwrap();
    assert_eq!(kinds(&store, id).await, ["asked", "host_refused", "host_refused", "host_refused"]);
    let elsewhere = Lease { session: crate::domain::SessionId(uuid::Uuid::now_v7()), ..held.lease };
    store.audit(&elsewhere, &[host("d:443")]).await.unwrap();
    assert_eq!(kinds(&store, id).await.len(), 4, "of a session that is not there nothing is kept");
}
