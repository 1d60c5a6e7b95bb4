//! Deliveries are settled side by side, in order within a thread.

use crate::support::{ISSUE, fixpoint, plays::*};
use fixpoint::emulator::{Fault, Trouble};
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_answer_for_one_thread_delays_no_other() {
    let mut t = fixpoint().await;
    let other = t.github.open_issue(&t.repo, "alice", "Another", "").unwrap();
    t.settle().await;
    let slow = Fault::next(&format!("/repos/*/*/issues/{ISSUE}"), Trouble::Hold).on("GET");
    t.github.faults().add(slow);
    t.github.model().plays([finish("Nothing"), finish("Nothing")]);
    t.comment("/code the slow one").by("alice").on(ISSUE);
    t.until_held().await;
    t.comment("/code the quick one").by("alice").on(other);
    // It is done though the slow one has no answer yet.
    t.until("done(nothing_to_change)").await;
    let sessions = t.sessions().await;
    assert_eq!(sessions.len(), 1, "the slow one was not slow");
    assert_eq!(sessions[0].state.facts.thread.number.0, other);
    t.github.faults().release();
    t.settle().await;
    assert_eq!(t.sessions().await.len(), 2);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f3_f11_what_is_said_on_a_thread_is_heard_in_order() {
    let mut t = fixpoint().await;
    // The first of them takes longest to be understood.
    let slow = Fault::next(&format!("/repos/*/*/issues/{ISSUE}"), Trouble::Slow(1_500)).on("GET");
    t.github.faults().add(slow);
    t.model_plays([finish("Nothing").after(Duration::from_secs(3600))]);
    t.comment("/code first").by("alice").on(ISSUE);
    t.comment("/code second").by("alice").on(ISSUE);
    t.comment("/code third").by("alice").on(ISSUE);
    t.comment("/code stop").by("alice").on(ISSUE);
    t.settle().await;
    let sessions = t.sessions().await;
    assert_eq!(sessions.len(), 1);
    let phases = t.phases().await;
    assert!(phases.ends_with("done(stopped)"), "{phases}");
    let entries = t.store.history(sessions[0].id).await.unwrap();
    let told = format!("{:?}", entries.iter().map(|e| &e.entry).collect::<Vec<_>>());
    let at = |text: &str| told.find(text).unwrap_or_else(|| panic!("{text} is not in {told}"));
    assert!(at("second") < at("third") && at("third") < at("Stop"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_a_day_end_with_a_sentence_and_that_is_said_once() {
    let mut t = crate::support::World::new().limits(|l| l.requests_a_day = 2).start().await;
    for _ in 0..2 {
        t.model_plays([finish("Nothing")]);
        t.comment("/code look").by("alice").on(ISSUE);
        t.settle().await;
    }
    for _ in 0..2 {
        t.comment("/code look again").by("alice").on(ISSUE);
        t.settle().await;
    }
    assert_eq!(t.github.model().shown().len(), 2, "no round more");
    let told = t.said().iter().filter(|said| said.contains("2 requests within a day")).count();
    assert_eq!(told, 1, "{:?}", t.said());
    // What asks for no work is still answered.
    t.comment("/code status").by("alice").on(ISSUE);
    t.settle().await;
    t.until_says("Nothing is being worked on here").await;
    t.end().await;
}
