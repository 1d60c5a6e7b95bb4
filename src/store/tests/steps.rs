//! Steps and effects: state, entry and intents in one transaction; effects in order, each ended once.

use super::{Place, claimed, made, noted, on_both, on_issue, sha};
use crate::{
    domain::{
        Effect, Limits, Number, Phase, State,
        session::{Outcome, Pull, Subject},
    },
    store::{Acceptance, Advance, Claimed, Store, StoreError},
};

on_both!(
    a_step_moves_state_entry_and_intents_together,
    an_entry_is_stepped_once,
    a_branch_has_one_live_session,
    a_session_that_is_done_frees_its_issue,
    effects_wait_for_the_one_before,
    an_effect_ends_once,
    the_columns_follow_the_state,
);

/// Steps the oldest unread entry to a state, with intents.
async fn step(
    store: &Store,
    held: &Claimed,
    state: &State,
    ignored: Option<&'static str>,
    effects: &[Effect],
) -> Result<(), StoreError> {
    let unread = store.unread(&held.lease).await?;
    let entry = unread.first().expect("something is unread");
    let limits = Limits::default();
    store
        .advance(&held.lease, &Advance { entry, ignored, now: held.now, limits: &limits, state, effects })
        .await
}

fn react(comment: u64) -> Effect {
    Effect::React { on: Subject::Comment(crate::domain::CommentId(comment)) }
}

/// A state some way on: pushed, with a pull request.
fn pushed(state: &State, branch: &str) -> State {
    let mut state = state.clone();
    state.facts.branch = branch.to_owned();
    state.facts.head = Some(sha('a'));
    state.facts.pull = Some(Pull { number: Number(99), draftable: true });
    state.phase = Phase::Working;
    state
}

async fn a_step_moves_state_entry_and_intents_together(place: Place) {
    let store = place.open().await;
    let id = made(&store, 1).await;
    store.append(id, &noted("one")).await.unwrap();
    store.append(id, &noted("two")).await.unwrap();
    let held = claimed(&store).await;
    let first = held.state.clone();
    let next = pushed(&first, "b");
    step(&store, &held, &next, None, &[react(2)]).await.unwrap();
    step(&store, &held, &next, Some("nothing new"), &[]).await.unwrap();
    assert!(store.unread(&held.lease).await.unwrap().is_empty());
    assert_eq!(store.session(&id.to_string()).await.unwrap().unwrap().state, next);
    assert_eq!(store.first_state(id).await.unwrap(), Some(first));
    let due = store.effects_due(&held.lease).await.unwrap().0;
    assert_eq!(due.into_iter().map(|e| e.effect).collect::<Vec<_>>(), [react(1), react(2)]);
    let history = store.history(id).await.unwrap();
    assert_eq!(history.iter().map(|s| s.entry.clone()).collect::<Vec<_>>(), [noted("one"), noted("two")]);
    assert_eq!(history[1].ignored.as_deref(), Some("nothing new"));
    assert_eq!((history[0].now, &history[0].limits), (held.now, &Limits::default()));
}

async fn an_entry_is_stepped_once(place: Place) {
    let store = place.open().await;
    let id = made(&store, 1).await;
    store.append(id, &noted("one")).await.unwrap();
    let held = claimed(&store).await;
    let unread = store.unread(&held.lease).await.unwrap();
    let limits = Limits::default();
    let state = pushed(&held.state, "b");
    let again = Advance {
        entry: &unread[0],
        ignored: None,
        now: held.now,
        limits: &limits,
        state: &state,
        effects: &[react(7)],
    };
    store.advance(&held.lease, &Advance { state: &held.state, effects: &[], ..again }).await.unwrap();
    let again = Advance { entry: &unread[0], ignored: None, now: held.now, limits: &limits, ..again };
    assert!(matches!(store.advance(&held.lease, &again).await, Err(StoreError::Database(_))));
    assert_eq!(store.session(&id.to_string()).await.unwrap().unwrap().state, held.state);
    assert_eq!(store.effects_due(&held.lease).await.unwrap().0.len(), 1);
}

async fn a_branch_has_one_live_session(place: Place) {
    let store = place.open().await;
    for issue in [1, 2] {
        let id = made(&store, issue).await;
        store.append(id, &noted("x")).await.unwrap();
    }
    let (one, two) = (claimed(&store).await, claimed(&store).await);
    step(&store, &one, &pushed(&one.state, "same"), None, &[]).await.unwrap();
    let refused = step(&store, &two, &pushed(&two.state, "same"), None, &[react(3)]).await;
    assert!(matches!(refused, Err(StoreError::Owned(_))));
    assert_eq!(store.unread(&two.lease).await.unwrap().len(), 1, "nothing of it was written");
    // A name alone, before the first push, owns nothing.
    let mut planned = two.state.clone();
    planned.facts.branch = "same".into();
    step(&store, &two, &planned, None, &[]).await.unwrap();
}

async fn a_session_that_is_done_frees_its_issue(place: Place) {
    let store = place.open().await;
    let id = made(&store, 1).await;
    store.append(id, &noted("x")).await.unwrap();
    let held = claimed(&store).await;
    let done = State { phase: Phase::Done { outcome: Outcome::Stopped }, ..held.state.clone() };
    step(&store, &held, &done, None, &[]).await.unwrap();
    let second = made(&store, 1).await;
    let latest = store.latest_of_thread(super::repo().id, Number(1)).await.unwrap().unwrap();
    assert_eq!(latest.id, second);
    // The first cannot live again now.
    store.append(id, &noted("reopened")).await.unwrap();
    let refused = step(&store, &held, &held.state, None, &[]).await;
    assert!(matches!(refused, Err(StoreError::Owned(_))));
}

async fn effects_wait_for_the_one_before(place: Place) {
    let store = place.open().await;
    let mut new = on_issue(1);
    new.effects = vec![react(1), react(2)];
    let id = new.id;
    super::accept(&store, "g", Acceptance { session: Some(new), ..Acceptance::default() }).await.unwrap();
    store.append(id, &noted("x")).await.unwrap();
    let held = claimed(&store).await;
    let (due, next) = store.effects_due(&held.lease).await.unwrap();
    assert_eq!((due.len(), next), (2, None));
    let later = store.now().await.unwrap().plus(super::LEASE);
    store.effect_later(&held.lease, due[0].id, "GitHub is \0 down", later).await.unwrap();
    // One that is intended meanwhile stands behind it as well.
    step(&store, &held, &held.state, None, &[react(3)]).await.unwrap();
    assert!(
        matches!(store.effects_due(&held.lease).await.unwrap(), (none, Some(at)) if none.is_empty() && at == later)
    );
    store.release(&held.lease, None).await.unwrap();
    assert!(store.claim("node", super::LEASE).await.unwrap().is_none(), "nothing is due yet");
    // Its time comes.
    let comes = "UPDATE effects SET next_at = $2 WHERE session = $1";
    super::days_ago(&store, comes, &id.to_string(), 1).await;
    let held = claimed(&store).await;
    let due = store.effects_due(&held.lease).await.unwrap().0;
    assert_eq!(due.iter().map(|e| e.effect.clone()).collect::<Vec<_>>(), [react(1), react(2), react(3)]);
    assert_eq!((due[0].attempts, due[1].attempts), (1, 0));
}

async fn an_effect_ends_once(place: Place) {
    let store = place.open().await;
    made(&store, 1).await;
    let held = claimed(&store).await;
    let effect = store.effects_due(&held.lease).await.unwrap().0[0].id;
    let result = serde_json::json!({"id": 5});
    store.effect_done(&held.lease, effect, &result, &[noted("done")]).await.unwrap();
    store.effect_done(&held.lease, effect, &result, &[noted("again")]).await.unwrap();
    store.effect_failed(&held.lease, effect, "no", &[noted("failed")]).await.unwrap();
    let unread = store.unread(&held.lease).await.unwrap();
    assert_eq!(unread.into_iter().map(|u| u.entry).collect::<Vec<_>>(), [noted("done")]);
    assert!(store.effects_due(&held.lease).await.unwrap().0.is_empty());
}

async fn the_columns_follow_the_state(place: Place) {
    let store = place.open().await;
    let id = made(&store, 1).await;
    store.append(id, &noted("x")).await.unwrap();
    let held = claimed(&store).await;
    let (repo, installation) = (super::repo(), held.state.facts.installation);
    assert!(store.session_of_branch(repo.id, "b").await.unwrap().is_none());
    step(&store, &held, &pushed(&held.state, "b"), None, &[]).await.unwrap();
    let found = [
        store.session_of_issue(repo.id, Number(1)).await.unwrap(),
        store.session_of_pull(repo.id, Number(99)).await.unwrap(),
        store.session_of_branch(repo.id, "b").await.unwrap(),
        store.latest_of_thread(repo.id, Number(99)).await.unwrap(),
        store.sessions_at(repo.id, sha('a').as_str()).await.unwrap().pop(),
        store.live_sessions(Some(installation), None).await.unwrap().pop(),
        store.live_sessions(None, Some(repo.id)).await.unwrap().pop(),
        store.sessions(5).await.unwrap().pop(),
        store.session(&id.short()).await.unwrap(),
        store.session(&id.0.to_string()).await.unwrap(),
    ];
    for (n, summary) in found.into_iter().enumerate() {
        assert_eq!(summary.map(|s| s.id), Some(id), "look-up {n}");
    }
    let elsewhere = crate::domain::RepoId(8);
    assert!(store.session_of_issue(elsewhere, Number(1)).await.unwrap().is_none());
    assert!(store.live_sessions(Some(installation), Some(elsewhere)).await.unwrap().is_empty());
}
