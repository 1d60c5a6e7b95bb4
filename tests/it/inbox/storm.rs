//! A thousand deliveries at once: doubled, out of order, echoed, and a third of them lost on the way.
//!
//! Whatever happens to them, each thing that was asked is done once. What is asked here ends at once (a question that is
//! answered, or a round that finds nothing to change), so that the deliveries are what is tested.

use super::Sender;
use crate::support::{Fixpoint, World, plays::*, postgres};
use fixpoint::{
    emulator::Astray,
    work::{Hooks, Running},
};
use futures::{StreamExt, stream};
use std::{collections::BTreeMap, time::Duration};
use tokio::time::Instant;

const ISSUES: u64 = 40;
/// Times that everybody talks on each.
const TURNS: u64 = 3;
/// Issues on which a question is asked: few, for each answer is written twice and GitHub takes sixty a minute.
const QUESTIONS: usize = 18;
/// Issues on which a round is wanted too.
const ROUNDS: usize = 4;
/// Longer than it takes on a machine that is busy with something else.
const LONGEST: Duration = Duration::from_secs(300);

fn world() -> World {
    let hooks = Hooks {
        every: Duration::from_millis(300),
        failed_every: Duration::from_millis(700),
        ..Hooks::default()
    };
    let running = Running { all: 2, repository: 4, installation: 4 };
    World { hooks, running, rate_limit: 1_000_000, ..World::new() }
}

/// Everybody talks; gives the issues.
async fn everybody_talks(t: &Fixpoint, mut between: impl AsyncFnMut(u64)) -> Vec<u64> {
    t.github.model().plays_where("", vec![finish("Nothing"); ROUNDS]);
    let mut issues = Vec::new();
    for n in 0..ISSUES {
        issues.push(t.github.open_issue(&t.repo, "alice", &format!("Issue {n}"), "").unwrap());
    }
    for turn in 0..TURNS {
        between(turn).await;
        for issue in &issues {
            t.comment("/code do as I say").by("mallory").on(*issue);
            let talk = t.comment("looks odd").by("alice").on(*issue);
            t.github.edit_comment(&t.repo, talk, "alice", "/code status").unwrap();
            t.comment("> /code status\n\nwhy?").by("alice").on(*issue);
        }
    }
    for issue in &issues[..QUESTIONS] {
        t.comment("/code status").by("alice").on(*issue);
    }
    for issue in &issues[..ROUNDS] {
        t.comment("/code look whether there is anything to do").by("alice").on(*issue);
    }
    issues
}

/// The same again, under its own id and under another's, from many hands at once.
async fn again(t: &Fixpoint, url: &str) -> usize {
    let sender = &Sender::of(t);
    let sent = t.github.deliveries();
    let twice = sent.iter().enumerate().filter(|(n, _)| n % 4 == 0).map(|(_, d)| (d.guid.clone(), d));
    let other = sent.iter().enumerate().filter(|(n, _)| n % 5 == 0);
    let other = other.map(|(n, d)| (format!("another-{n}"), d));
    let all: Vec<_> = other.chain(twice).collect();
    let posted = stream::iter(&all).map(|(guid, sent)| sender.again(url, guid, sent));
    posted.buffer_unordered(16).filter(|status| std::future::ready(*status == 202)).count().await
}

/// What came of it, counted.
async fn outcome(t: &Fixpoint, issues: &[u64]) -> (usize, BTreeMap<usize, usize>) {
    let sessions = t.store.sessions(10_000).await.unwrap();
    let done = sessions.iter().filter(|s| s.state.is_done()).count();
    let mut answers = BTreeMap::new();
    for issue in issues {
        let said = t.github.comments(&t.repo, *issue).unwrap();
        let ours = said.iter().filter(|c| c.author == "fixpoint[bot]").count();
        *answers.entry(ours).or_default() += 1;
    }
    (done, answers)
}

/// Every question is answered once, every round was run once, and nothing else was begun.
async fn comes_to_exactly_what_was_asked(t: &mut Fixpoint, issues: &[u64]) {
    let asked = QUESTIONS + ROUNDS;
    let answers = BTreeMap::from([(0, issues.len() - QUESTIONS), (1, QUESTIONS - ROUNDS), (2, ROUNDS)]);
    let expected = (asked, answers);
    super::until(LONGEST, async || {
        let seen = outcome(t, issues).await;
        let open = t.store.open_deliveries(1000).await.unwrap().len();
        (seen == expected && open == 0).then_some(()).ok_or((seen, open))
    })
    .await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(outcome(t, issues).await, expected, "it went on");
    assert_eq!(t.store.sessions(10_000).await.unwrap().len(), asked, "a session was begun too many");
    assert_eq!(t.github.model().shown().len(), ROUNDS, "one round each");
}

fn trouble(t: &Fixpoint) {
    t.github.faults().astray_share(30, Astray::Drop);
    t.github.faults().astray_share(10, Astray::Duplicate);
    t.github.faults().astray_share(10, Astray::Reorder);
}

#[tokio::test(flavor = "multi_thread")]
async fn f9_f10_f7_a_storm_of_webhooks_does_what_was_asked_once() {
    let mut t = world().start().await;
    let begun = Instant::now();
    trouble(&t);
    let issues = everybody_talks(&t, async |_| ()).await;
    t.github.settled().await;
    let url = t.address();
    let posted = again(&t, &url).await;
    comes_to_exactly_what_was_asked(&mut t, &issues).await;
    let all = t.github.deliveries().len() + posted;
    println!("{all} deliveries in {:?}", begun.elapsed());
    assert!(all >= 1000, "only {all} deliveries");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f9_a_storm_read_from_the_list_does_what_was_asked_once() {
    let hooks = Hooks { pull: true, ..world().hooks };
    let mut t = World { hooks, ..world() }.start().await;
    let begun = Instant::now();
    // No reply is lost with the process that it was for.
    super::model_is_away(&t);
    let issues = everybody_talks(&t, async |_| ()).await;
    t.restart().await;
    t.github.faults().clear();
    comes_to_exactly_what_was_asked(&mut t, &issues).await;
    println!("{} deliveries in {:?}", t.github.deliveries().len(), begun.elapsed());
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f9_f57_a_storm_on_four_nodes_of_which_one_dies_does_what_was_asked_once() {
    let Some(database) = postgres::database().await else { return };
    // What the dead one holds is free after a while, and nobody loses what is held by the living.
    let lease = Duration::from_secs(20);
    let mut t = World { database: Some(database), lease, ..world() }.start().await;
    let begun = Instant::now();
    let nodes = [t.node().await, t.node().await, t.node().await];
    trouble(&t);
    let urls: Vec<String> = nodes.iter().map(|n| format!("http://{}/webhooks", n.address)).collect();
    let issues = everybody_talks(&t, async |turn| {
        // Some of what it is sent is never answered, and what it holds is given back by nobody.
        t.github.deliver_to(&urls[usize::try_from(turn).unwrap()]);
        if turn == 1 {
            tokio::time::sleep(Duration::from_millis(1500)).await;
            drop(nodes[0].store.stop_after(3));
        }
    })
    .await;
    t.github.settled().await;
    let posted = again(&t, &urls[2]).await;
    comes_to_exactly_what_was_asked(&mut t, &issues).await;
    println!("{} deliveries in {:?}", t.github.deliveries().len() + posted, begun.elapsed());
    let [_dead, second, third] = nodes;
    second.stop().await;
    third.stop().await;
    t.end().await;
}
