//! The webhook's edge under strangers: what GitHub sends meanwhile is answered in its patience, the server lives, and its
//! process holds no more memory than is promised. `scripts/long/edge.sh` runs the long form.

use super::{
    sender::Load,
    strangers::{self, Seen},
    world::Machine,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

/// What the server's process may hold at most, in KiB.
const MEMORY: u64 = 256 << 10;
/// Between two honest deliveries.
const HONEST: Duration = Duration::from_millis(100);

/// What comes at once.
struct Siege {
    /// Connections that send a byte now and then.
    slow: usize,
    /// Requests that are no deliveries.
    malformed: u64,
    /// Over so many connections at a time.
    hands: usize,
    /// It ends when they are sent, or then.
    longest: Duration,
}

#[tokio::test(flavor = "multi_thread")]
async fn t42_t45_strangers_keep_nobody_out_and_take_no_memory() {
    let longest = Duration::from_secs(60);
    besieged(&Siege { slow: 700, malformed: 4_000, hands: 16, longest }).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: scripts/long/edge.sh"]
async fn t42_t45_a_million_requests_and_five_thousand_slow_senders() {
    let malformed = super::number("FIXPOINT_REQUESTS").unwrap_or(1_000_000);
    let longest = Duration::from_secs(super::number("FIXPOINT_SECONDS").unwrap_or(3600));
    besieged(&Siege { slow: 5_000, malformed, hands: 48, longest }).await;
}

async fn besieged(siege: &Siege) {
    more_files(siege.slow + 500);
    let mut machine = Machine::start(|_| Duration::ZERO).await;
    let (address, secret) = (machine.address(), machine.secret().await);
    let (idle, load) = (machine.peak(), Load::new(&secret));
    let slow = strangers::slow(&address, siege.slow);
    let begun = Instant::now();
    let seen = Arc::new(Seen::default());
    let much = (siege.malformed, siege.hands);
    let mut strangers = std::pin::pin!(strangers::malformed(&address, &secret, much, &seen));
    let (mut took, mut failed) = (Vec::new(), 0_u32);
    while begun.elapsed() < siege.longest {
        // Beside the strangers, who do not stand still meanwhile.
        let honest = async {
            tokio::time::sleep(HONEST).await;
            load.deliver(&address).await
        };
        let honest = tokio::select! {
            () = &mut strangers => break,
            honest = honest => honest,
        };
        match honest {
            Some(answered) if answered.status == 202 => took.push(answered.took),
            _ => failed += 1,
        }
    }
    let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    let (refused, silent) = (count(&seen.refused), count(&seen.silent));
    took.sort_unstable();
    let at = |percent: usize| took[(took.len() - 1) * percent / 100];
    println!(
        "{} slow senders, {refused} refused, {silent} without an answer, {} replayed in {:.0?}; honest: {} taken, {failed} \
         not, p50 {:.1?}, p99 {:.1?}; memory at most {} MiB, {} MiB before",
        siege.slow,
        count(&seen.replayed),
        begun.elapsed(),
        took.len(),
        at(50),
        at(99),
        machine.peak() >> 10,
        idle >> 10,
    );
    assert_eq!(count(&seen.taken), 0, "nothing unsigned is taken");
    assert!(count(&seen.replayed) > 0 && refused > 0, "they were answered");
    assert!(machine.peak() <= MEMORY, "{} KiB", machine.peak());
    // On a machine that is busy with something else a few are late; GitHub's own list tells which, and they are asked for again.
    assert!(
        failed as usize <= took.len() / 20 + 1,
        "{failed} beside {} honest ones were not answered",
        took.len()
    );
    drop(slow);
    let as_before = async || load.deliver(&address).await.is_some_and(|answered| answered.status == 202);
    machine.until("it is as before once they are gone", as_before).await;
    assert!(machine.terminate().await.success(), "it ends in order");
}

/// Both processes need a file for each connection.
fn more_files(wanted: usize) {
    let limit = getrlimit(Resource::Nofile);
    let wanted = wanted as u64 + 1_000;
    let enough = limit.current.is_none_or(|now| now >= wanted);
    assert!(
        enough || limit.maximum.is_none_or(|most| most >= wanted),
        "`ulimit -Hn` has to be {wanted} or more"
    );
    if !enough {
        setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit }).unwrap();
    }
}
