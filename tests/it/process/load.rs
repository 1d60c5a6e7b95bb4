//! Killed again and again under load: several sessions at once, new ones as old ones end. `scripts/long/kills.sh` runs
//! it.

use super::{
    number,
    world::{Machine, Settings},
};
use std::time::{Duration, Instant};

/// Sessions that are worked on at once.
const AT_ONCE: usize = 3;

/// No server lives longer. A container takes its time to begin.
fn longest_life(docker: bool) -> u64 {
    if docker { 15_000 } else { 5_000 }
}

/// What GitHub could not hand over while no server listened is found in its list by the server itself, which looks when it
/// starts and every five minutes after; it asks for each at once, and again five minutes later where that was lost too. What
/// is left to do then takes no longer than the rest, even on a machine that is busy with something else.
const LAST: Duration = Duration::from_secs(2 * 300 + 120);

/// After this long nothing that a dead server left is there any more.
const SWEPT: Duration = Duration::from_secs(75);

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes many minutes: scripts/long/kills.sh"]
async fn f57_under_load_nothing_is_lost_or_done_twice() {
    let seed = number("FIXPOINT_SEED").unwrap_or_else(rand::random);
    let kills = u32::try_from(number("FIXPOINT_KILLS").unwrap_or(150)).unwrap();
    let docker = std::env::var("FIXPOINT_SANDBOX").is_ok_and(|kind| kind == "docker");
    println!("FIXPOINT_SEED={seed}, sandboxes are {}", if docker { "containers" } else { "folders" });
    let begun = Instant::now();
    let settings = Settings { docker, ..Settings::USUAL };
    let mut machine = Machine::start_with(settings, |_| Duration::from_millis(150)).await;
    let (mut state, mut asked) = (seed, 0);
    for killed in 1..=kills {
        let words = machine.words().await;
        let green = words.iter().filter(|word| *word == "resting(green)").count();
        // What was said while nobody listened counts as asked.
        while asked < green + AT_ONCE {
            asked += 1;
            machine.another(asked).await;
        }
        if killed % 25 == 0 {
            println!("{killed} kills, {green} of {asked} sessions are green, {:?}", begun.elapsed());
        }
        // Knuth's constants of a linear congruential generator; the upper bits are the random ones.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        tokio::time::sleep(Duration::from_millis(50 + (state >> 33) % longest_life(docker))).await;
        machine.kill().await;
        machine.serve().await;
    }
    let (ended, mut words) = (Instant::now(), Vec::new());
    while words.len() < asked || words.iter().any(|word| word != "resting(green)") {
        assert!(
            ended.elapsed() < LAST,
            "{asked} sessions, and so they stand: {words:?}\n{}",
            machine.findings(kills)
        );
        tokio::time::sleep(Duration::from_secs(1)).await;
        words = machine.words().await;
    }
    println!("all are green {:?} after the last kill", ended.elapsed());
    tokio::time::sleep(SWEPT).await;
    println!("{kills} kills, {asked} sessions, {:?}", begun.elapsed());
    assert_eq!(machine.findings(kills), "");
    assert_eq!(machine.sandboxes(), 0, "sandboxes are left");
    let pulls = machine.ask("pulls", serde_json::json!({ "repo": "acme/calendar" })).await;
    assert_eq!(pulls.as_array().unwrap().len(), asked, "a pull request each");
    let branches = machine.ask("branches", serde_json::json!({ "repo": "acme/calendar" })).await;
    assert_eq!(branches.as_array().unwrap().len(), asked + 1, "a branch each, and main");
    let rounds: Vec<u32> =
        machine.store().await.sessions(1000).await.unwrap().iter().map(|s| s.state.facts.round).collect();
    assert!(rounds.iter().all(|rounds| *rounds == 2), "{rounds:?}");
}
