//! What was answered is durable: a server is killed with -9 while deliveries come as fast as it takes them, and each that
//! it answered with success is in its database. Looked at by another program than ours.

use super::{sender::Load, world::Machine};
use crate::support::there_is;
use std::{
    collections::HashSet,
    path::Path,
    time::{Duration, Instant},
};

const CONNECTIONS: usize = 8;
/// The first is acknowledged far sooner, even on a machine that is busy with something else.
const PATIENCE: Duration = Duration::from_secs(120);

/// Until so many are acknowledged, and never longer than so.
struct Wanted {
    acknowledged: u64,
    longest: Duration,
    kill_after: Duration,
}

#[tokio::test(flavor = "multi_thread")]
async fn c1_what_was_answered_is_stored_whenever_it_is_killed() {
    let seconds = Duration::from_secs;
    killed_again_and_again(&Wanted { acknowledged: u64::MAX, longest: seconds(6), kill_after: seconds(3) })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: scripts/long/acknowledged.sh"]
async fn c1_a_hundred_thousand_answered_are_stored_whenever_it_is_killed() {
    let acknowledged = super::number("FIXPOINT_DELIVERIES").unwrap_or(100_000);
    let longest = Duration::from_secs(super::number("FIXPOINT_SECONDS").unwrap_or(3600));
    killed_again_and_again(&Wanted { acknowledged, longest, kill_after: Duration::from_secs(10) }).await;
}

async fn killed_again_and_again(wanted: &Wanted) {
    let mut machine = Machine::start(|_| Duration::ZERO).await;
    let load = Load::new(&machine.secret().await);
    let (begun, mut kills) = (Instant::now(), 0);
    let (mut taken, mut refused) = (HashSet::new(), 0);
    loop {
        let sending = load.send(&machine.address(), CONNECTIONS);
        let run = Instant::now();
        let left = wanted.acknowledged.saturating_sub(taken.len() as u64);
        while (run.elapsed() < wanted.kill_after || sending.taken() == 0) && sending.taken() < left {
            assert!(run.elapsed() < PATIENCE, "nothing is acknowledged");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // While all connections have something on its way.
        machine.kill().await;
        kills += 1;
        for answered in sending.end().await {
            match answered.status {
                200..300 => assert!(taken.insert(answered.guid), "an id was sent twice"),
                _ => refused += 1,
            }
        }
        if taken.len() as u64 >= wanted.acknowledged || begun.elapsed() >= wanted.longest {
            break;
        }
        machine.serve().await;
    }
    println!("{} acknowledged, {refused} refused, {kills} kills, {:?}", taken.len(), begun.elapsed());
    assert!(!taken.is_empty(), "nothing was acknowledged");
    assert_eq!(lost(&machine, &taken), "");
}

/// What the other program says of what is missing.
fn lost(machine: &Machine, taken: &HashSet<String>) -> String {
    if !there_is("python3") {
        return String::new();
    }
    let ids = machine.file("acknowledged");
    let lines: String = taken.iter().map(|guid| format!("{guid}\n")).collect();
    std::fs::write(&ids, lines).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/long/acknowledged.py");
    let mut check = std::process::Command::new("python3");
    check.arg(script).arg(machine.database()).arg(ids);
    let output = check.output().expect("python3 runs");
    print!("{}", String::from_utf8_lossy(&output.stdout));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() || !said.is_empty(), "it failed without a word");
    said
}
