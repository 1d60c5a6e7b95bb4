//! Deliveries that failed are sent again by themselves.

use crate::support::{Fixpoint, ISSUE, World, plays::*};
use fixpoint::{
    emulator::{Astray, Fault, Trouble},
    work::Hooks,
};
use std::time::Duration;
use tokio::time::Instant;

fn world() -> World {
    let hooks = Hooks { failed_every: Duration::from_millis(400), ..Hooks::default() };
    World { hooks, ..World::new() }
}

fn asked_again(t: &Fixpoint) -> usize {
    t.github.requests().iter().filter(|r| r.bare_path().ends_with("/attempts")).count()
}

fn list_read(t: &Fixpoint) -> usize {
    t.github.requests().iter().filter(|r| r.bare_path() == "/app/hook/deliveries").count()
}

#[tokio::test(flavor = "multi_thread")]
async fn f53_f39_a_lost_webhook_is_asked_for_again() {
    let mut t = world().start().await;
    t.settle().await;
    t.github.faults().astray(Some("issue_comment"), 1, Astray::Drop);
    // Until it came, whoever asked for it waits for the answer: the next look would ask once more for what is long on its way.
    t.github.faults().add(Fault::next("/app/hook/deliveries/*/attempts", Trouble::HoldAnswer).on("POST"));
    t.model_plays([finish("Nothing")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.until_held().await;
    t.delivered().await;
    t.github.faults().release();
    t.until("done(nothing_to_change)").await;
    let looks = list_read(&t);
    t.until_seen("two looks more", |t| list_read(t) >= looks + 2).await;
    assert_eq!(asked_again(&t), 1, "once it came nobody asks any more");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f53_what_came_while_nobody_served_is_there_after_the_start() {
    let mut t = World::new().start().await;
    t.settle().await;
    t.stop().await;
    t.model_plays([finish("Nothing")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.github.settled().await;
    // The list is read only once GitHub knows where to send: what it sends again would go to the one that is gone.
    t.github.faults().add(Fault::next("/app/hook/deliveries", Trouble::Hold).on("GET"));
    t.serve().await;
    while t.github.faults().held() == 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    t.github.faults().release();
    t.until("done(nothing_to_change)").await;
    assert_eq!(asked_again(&t), 1);
    t.restart().await;
    t.settle().await;
    assert_eq!((asked_again(&t), t.sessions().await.len()), (1, 1));
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f53_what_never_comes_is_asked_for_a_few_times_by_all_nodes_together() {
    let mut t = world().start().await;
    t.settle().await;
    t.github.faults().astray(Some("issue_comment"), u32::MAX, Astray::Drop);
    let others = [t.node().await, t.node().await];
    let begun = Instant::now();
    t.comment("/code").by("alice").on(ISSUE);
    t.until_seen("asked for again after a pause", |t| asked_again(t) >= 2).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    // At once, and after each pause: three nodes ask no more often than one.
    let (asked, after) = (asked_again(&t), begun.elapsed().as_millis());
    let most = 1 + [360, 360 + 2160, 360 + 2160 + 12960].iter().filter(|pause| after >= **pause).count();
    assert!(asked <= most, "{asked} times in {after} ms");
    assert!(t.sessions().await.is_empty());
    for node in others {
        node.stop().await;
    }
    t.end().await;
}
