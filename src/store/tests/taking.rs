//! Deliveries taken up by several nodes, and turns that only one of them has.

use super::{Place, accept, on_both};
use crate::{
    domain::Timestamp,
    store::{Acceptance, Fate, Missed, Store, Taken},
};
use futures::future::join_all;
use serde_json::json;
use std::time::Duration;

on_both!(
    c6_each_delivery_is_taken_by_one_node,
    f3_a_thread_is_taken_in_order_and_holds_back_no_other,
    a_claim_runs_out_and_a_late_one_changes_nothing,
    one_that_fails_again_and_again_holds_back_nobody_for_ever,
    what_a_process_held_is_free_when_it_ends,
    a_turn_is_one_nodes_until_it_ends,
    f53_what_was_missed_is_asked_for_a_few_times_and_by_one_node,
    what_cannot_be_read_is_listed,
);

const SPAN: Duration = Duration::from_secs(60);

/// A comment on an issue.
async fn comment(store: &Store, guid: &str, issue: u64) {
    let body =
        json!({ "repository": { "id": 7 }, "issue": { "number": issue }, "comment": { "body": guid } });
    store.keep_delivery(guid, "issue_comment", body.to_string().as_bytes()).await.unwrap();
}

fn guids(taken: &[Taken]) -> Vec<&str> {
    taken.iter().map(|taken| taken.delivery.guid.as_str()).collect()
}

async fn settle(store: &Store, guid: &str) {
    store.accept(guid, &Fate::Ignored("x"), &Acceptance::default()).await.unwrap();
}

async fn c6_each_delivery_is_taken_by_one_node(place: Place) {
    let nodes = [place.open().await, place.open().await, place.open().await];
    for n in 0..60 {
        comment(&nodes[0], &format!("guid-{n}"), n).await;
    }
    let take = |n: usize| {
        let store = nodes[n % nodes.len()].clone();
        async move { store.take_deliveries(&format!("node-{n}"), 7, SPAN).await.unwrap() }
    };
    let mut all: Vec<String> = Vec::new();
    for _ in 0..4 {
        let taken = join_all((0..6).map(take)).await.concat();
        all.extend(guids(&taken).into_iter().map(str::to_owned));
    }
    assert_eq!(all.len(), 60);
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 60, "none was taken twice");
}

async fn f3_a_thread_is_taken_in_order_and_holds_back_no_other(place: Place) {
    let (here, there) = (place.open().await, place.open().await);
    for (guid, issue) in [("start", 1), ("stop", 1), ("other", 2)] {
        comment(&here, guid, issue).await;
    }
    here.keep_delivery("hint", "push", b"{}").await.unwrap();
    assert_eq!(guids(&here.take_deliveries("here", 10, SPAN).await.unwrap()), ["start", "other", "hint"]);
    assert!(there.take_deliveries("there", 10, SPAN).await.unwrap().is_empty(), "its turn has not come");
    settle(&here, "start").await;
    assert_eq!(guids(&there.take_deliveries("there", 10, SPAN).await.unwrap()), ["stop"]);
    // Given back, it comes again after its pause, and before what follows it.
    comment(&here, "more", 1).await;
    there.put_back("stop", "there", Duration::ZERO, true).await.unwrap();
    let again = here.take_deliveries("here", 10, SPAN).await.unwrap();
    assert_eq!((guids(&again), again[0].tries), (vec!["stop"], 2));
    here.put_back("stop", "here", Duration::ZERO, false).await.unwrap();
    assert_eq!(here.take_deliveries("here", 10, SPAN).await.unwrap()[0].tries, 2, "early is no try");
}

async fn a_claim_runs_out_and_a_late_one_changes_nothing(place: Place) {
    let store = place.open().await;
    comment(&store, "guid", 1).await;
    assert_eq!(store.take_deliveries("slow", 1, Duration::ZERO).await.unwrap().len(), 1);
    let taken = store.take_deliveries("quick", 1, SPAN).await.unwrap();
    assert_eq!(taken[0].tries, 2);
    store.put_back("guid", "slow", Duration::ZERO, true).await.unwrap();
    assert!(store.take_deliveries("third", 1, SPAN).await.unwrap().is_empty(), "it is the quick one's");
    settle(&store, "guid").await;
    assert!(store.take_deliveries("third", 1, Duration::ZERO).await.unwrap().is_empty());
}

async fn one_that_fails_again_and_again_holds_back_nobody_for_ever(place: Place) {
    let store = place.open().await;
    comment(&store, "bad", 1).await;
    comment(&store, "good", 1).await;
    for tries in 1..8 {
        let taken = store.take_deliveries("node", 10, SPAN).await.unwrap();
        assert_eq!((guids(&taken), taken[0].tries), (vec!["bad"], tries));
        store.put_back("bad", "node", Duration::ZERO, true).await.unwrap();
    }
    let mut taken = store.take_deliveries("node", 10, SPAN).await.unwrap();
    taken.extend(store.take_deliveries("node", 10, SPAN).await.unwrap());
    assert_eq!(guids(&taken), ["bad", "good"]);
}

async fn what_a_process_held_is_free_when_it_ends(place: Place) {
    let store = place.open().await;
    comment(&store, "guid", 1).await;
    for end in ["release", "take over"] {
        assert_eq!(store.take_deliveries("node", 1, SPAN).await.unwrap()[0].tries, 1);
        assert!(store.take_turn("read", "node", SPAN).await.unwrap().is_some());
        assert!(store.take_turn("read", "other", SPAN).await.unwrap().is_none());
        match end {
            "release" => store.release_all("node").await.unwrap(),
            _ => drop(store.take_over().await.unwrap()),
        }
        assert!(store.take_turn("read", "other", Duration::ZERO).await.unwrap().is_some(), "{end}");
    }
    assert_eq!(store.take_deliveries("node", 1, SPAN).await.unwrap().len(), 1);
}

async fn a_turn_is_one_nodes_until_it_ends(place: Place) {
    let (here, there) = (place.open().await, place.open().await);
    let all = [&here, &there, &here, &there];
    let asked = all
        .iter()
        .enumerate()
        .map(|(n, store)| async move { store.take_turn("read", &format!("node-{n}"), SPAN).await.unwrap() });
    let taken: Vec<_> = join_all(asked).await;
    assert_eq!(taken.iter().flatten().count(), 1);
    let owner = format!("node-{}", taken.iter().position(Option::is_some).unwrap());
    assert_eq!(here.take_turn("read", &owner, SPAN).await.unwrap(), Some(None), "prolonged");
    here.reach("read", "somebody-else", Timestamp(1)).await.unwrap();
    here.reach("read", &owner, Timestamp(5)).await.unwrap();
    here.end_turn("read", &owner).await.unwrap();
    assert_eq!(there.take_turn("read", "next", Duration::ZERO).await.unwrap(), Some(Some(Timestamp(5))));
    // It ran out with its node.
    assert_eq!(here.take_turn("read", "third", SPAN).await.unwrap(), Some(Some(Timestamp(5))));
}

async fn f53_what_was_missed_is_asked_for_a_few_times_and_by_one_node(place: Place) {
    let store = place.open().await;
    let now = store.now().await.unwrap();
    let missed = |guid: &str, hook, at| Missed { guid: guid.into(), hook, at };
    store.keep_delivery("here", "push", b"here").await.unwrap();
    store.take_turn("missed", "node", SPAN).await.unwrap();
    let all = [missed("here", 1, now), missed("gone", 2, now), missed("old", 3, Timestamp(1))];
    let oldest = now.minus(SPAN);
    store.note_missed(("missed", "node"), &all, &["x"], Some(Timestamp(9)), oldest).await.unwrap();
    assert_eq!(store.take_turn("missed", "node", SPAN).await.unwrap(), Some(Some(Timestamp(9))));
    let at_once = &[Duration::ZERO; 3];
    let due = store.missed(at_once, 10).await.unwrap();
    assert_eq!(due, [missed("gone", 2, now)], "what is here, and what is too old, is not asked for");
    // A later attempt of the same failed too: that one is asked for.
    store.note_missed(("missed", "node"), &[missed("gone", 4, now)], &[], None, oldest).await.unwrap();
    assert_eq!(store.missed(at_once, 10).await.unwrap()[0].hook, 4);
    let later = &[SPAN; 3];
    let asked = join_all((0..4).map(|_| store.ask_again("gone", later))).await;
    assert_eq!(asked.into_iter().filter(|asked| *asked.as_ref().unwrap()).count(), 1);
    assert!(store.missed(later, 10).await.unwrap().is_empty(), "not so soon again");
    for _ in 0..3 {
        assert!(store.ask_again("gone", at_once).await.unwrap());
    }
    assert!(!store.ask_again("gone", at_once).await.unwrap(), "that was enough");
    assert!(store.missed(at_once, 10).await.unwrap().is_empty());
}

async fn what_cannot_be_read_is_listed(place: Place) {
    let store = place.open().await;
    for guid in ["one", "two"] {
        store.keep_delivery(guid, "push", guid.as_bytes()).await.unwrap();
        let fate = Fate::Quarantined(format!("{guid} is not JSON"));
        store.accept(guid, &fate, &Acceptance::default()).await.unwrap();
    }
    accept(&store, "three", Acceptance::default()).await.unwrap();
    let (count, newest) = crate::store::examine_quarantine(&place.url, 1).await.unwrap();
    assert_eq!((count, newest.len()), (2, 1));
    assert_eq!((newest[0].guid.as_str(), newest[0].reason.as_str()), ("two", "two is not JSON"));
}
