//! Real processes: a server that is killed and started again beside an emulator that lives on.

mod acknowledged;
mod edge;
mod load;
mod pull;
mod recorder;
mod sender;
mod storm;
mod strangers;
mod throughput;
mod world;

use std::time::{Duration, Instant};
use world::Machine;

/// A number that the environment gives.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// A server gives its work ten seconds to come to rest; the machine may be busy with something else.
const QUICK: Duration = Duration::from_secs(60);

/// Kills in the loop.
const KILLS: u32 = 15;

#[tokio::test(flavor = "multi_thread")]
async fn f57_killed_while_the_reply_is_on_its_way_it_goes_on_at_once() {
    let mut machine = Machine::start(|_| Duration::ZERO).await;
    machine.no_answer_to(3).await;
    machine.comment("/code fix the sum").await;
    machine.until_shown(3).await;
    machine.kill().await;
    assert_eq!(machine.taken_over(), 0, "there was nothing to be taken over");
    machine.serve().await;
    // The lease is taken from the dead, which makes the session due: it does not have to run out.
    machine.until("the lease is taken over", async || machine.taken_over() == 1).await;
    machine.until_shown(4).await;
    machine.until_green().await;
    machine.has_done_everything_once().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f57_killed_at_any_moment_nothing_is_lost_or_done_twice() {
    let seed = std::env::var("FIXPOINT_SEED").ok().and_then(|s| s.parse().ok());
    let seed: u64 = seed.unwrap_or_else(rand::random);
    println!("FIXPOINT_SEED={seed}");
    let mut machine = Machine::start(|_| Duration::from_millis(250)).await;
    machine.comment("/code fix the sum").await;
    let mut state = seed;
    let mut kills = 0;
    for _ in 0..KILLS {
        // Knuth's constants of a linear congruential generator; the upper bits are the random ones.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        tokio::time::sleep(Duration::from_millis(50 + (state >> 33) % 1150)).await;
        if machine.is_green().await {
            break;
        }
        machine.kill().await;
        kills += 1;
        machine.serve().await;
    }
    println!("killed {kills} times");
    machine.until_green().await;
    machine.has_done_everything_once().await;
    assert_eq!(machine.findings(kills), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn told_to_end_it_gives_back_what_it_holds() {
    let mut machine = Machine::start(|_| Duration::ZERO).await;
    machine.no_answer_to(2).await;
    machine.comment("/code fix the sum").await;
    machine.until_shown(2).await;
    let begun = Instant::now();
    assert!(machine.terminate().await.success(), "it ends in order");
    // It does not wait for the answer, which never comes.
    assert!(begun.elapsed() < QUICK, "it took {:?}", begun.elapsed());
    assert!(machine.store().await.live_leases().await.unwrap().is_empty(), "no lease is left");
    machine.serve().await;
    machine.until_green().await;
    machine.has_done_everything_once().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn c22_a_rolling_restart_under_load_loses_nothing_and_is_quick() {
    let mut machine = Machine::start(|_| Duration::from_millis(400)).await;
    machine.comment("/code fix the sum").await;
    let mut questions = Vec::new();
    for _ in 0..4 {
        for _ in 0..12 {
            questions.push(machine.question().await);
        }
        let (status, took) = machine.roll().await;
        assert!(status.success(), "it ends in order");
        assert!(took < QUICK, "it took {took:?}");
    }
    machine.until_all_is_done_once(&questions).await;
}
