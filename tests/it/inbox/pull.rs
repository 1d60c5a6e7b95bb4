//! No port is open: deliveries are read from GitHub's list.

use crate::support::{ISSUE, LONGEST, World, plays::*};
use fixpoint::{
    emulator::{Fault, Trouble},
    work::Hooks,
};
use std::time::Duration;
use tokio::time::Instant;

fn world() -> World {
    let hooks = Hooks { pull: true, every: Duration::from_millis(200), ..Hooks::default() };
    World { hooks, ..World::new() }
}

#[tokio::test(flavor = "multi_thread")]
async fn from_a_comment_to_green_without_a_webhook() {
    let mut t = world().start().await;
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.until("watching").await;
    t.settle().await;
    t.ci_passes().await;
    t.until("resting(green)").await;
    t.settle().await;
    assert_eq!(t.sessions().await.len(), 1);
    assert_eq!(t.said().len(), 1);
    let posts = t.github.deliveries().iter().filter(|d| d.status_code != 0).count();
    assert_eq!(posts, 0, "nothing was sent anywhere");
    let refused = super::Sender::of(&t).post(&t.address(), "guid", "push", "{}".into()).await;
    assert_eq!(refused, 404, "no webhook is taken");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f9_a_restart_neither_loses_nor_repeats() {
    let mut t = world().start().await;
    t.model_plays([finish("Nothing")]);
    t.comment("/code first").by("alice").on(ISSUE);
    t.until("done(nothing_to_change)").await;
    t.settle().await;
    t.stop().await;
    // More than a page while nobody looks; and one payload that is not given at the first asking.
    let mut issues = Vec::new();
    for n in 0..55 {
        issues.push(t.github.open_issue(&t.repo, "alice", &format!("Issue {n}"), "").unwrap());
        t.comment("just talk").by("alice").on(issues[n]);
    }
    let asked: Vec<u64> = issues.into_iter().step_by(11).collect();
    t.github.model().plays_where("", vec![finish("Nothing"); asked.len()]);
    for issue in &asked {
        t.comment("/code do it").by("alice").on(*issue);
    }
    t.github.settled().await;
    let payload = "/app/hook/deliveries/*";
    t.github.faults().add(Fault::next(payload, Trouble::Status { status: 502, retry_after: None }).times(5));
    t.github.faults().add(Fault::next(payload, Trouble::Refuse).after(40).times(5));
    // No reply is lost with the process that it was for.
    super::model_is_away(&t);
    t.serve().await;
    // A hundred and more payloads, each asked for by itself: on a busy machine that takes its time.
    super::until(LONGEST, async || {
        let (all, deliveries) = (t.github.deliveries(), t.store.open_deliveries(1).await.unwrap());
        let mut missing = Vec::new();
        for delivery in &all {
            if !t.store.knows_delivery(&delivery.guid).await.unwrap() {
                missing.push(&delivery.guid);
            }
        }
        (missing.is_empty() && deliveries.is_empty()).then_some(()).ok_or((missing.len(), deliveries.len()))
    })
    .await;
    t.restart().await;
    t.github.faults().clear();
    t.settle().await;
    assert_eq!(t.sessions().await.len(), 1 + asked.len());
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_asks_sparingly_while_nothing_happens() {
    let mut t = world().start().await;
    t.settle().await;
    let asked = |t: &crate::support::Fixpoint| {
        let all = t.github.requests();
        let lists = all.into_iter().filter(|r| r.bare_path() == "/app/hook/deliveries");
        lists.map(|r| r.status).collect::<Vec<_>>()
    };
    t.until_seen("a list with nothing new", |t| asked(t).last() == Some(&304)).await;
    let begun = Instant::now();
    let before = asked(&t).len();
    tokio::time::sleep(Duration::from_secs(2)).await;
    t.until_seen("it goes on asking", |t| asked(t).len() >= before + 4).await;
    let idle = asked(&t).split_off(before);
    let most = begun.elapsed().as_millis() / 200 + 1;
    assert!(idle.len() as u128 <= most, "{most} at the most: {idle:?}");
    assert!(idle.iter().all(|status| *status == 304), "it costs nothing of the hourly limit: {idle:?}");
    t.end().await;
}

#[test]
fn no_webhook_secret_is_wanted() {
    let wants_secret = |text: &str| {
        let missing = fixpoint::config::Config::parse(text, "fixpoint.toml").unwrap().missing();
        missing.iter().any(|what| what.contains("webhook_secret"))
    };
    assert!(wants_secret("") && !wants_secret("[server]\npull = true"));
}
