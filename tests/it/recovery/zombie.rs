//! A server stands still, loses its lease, and wakes when another has finished its work: nothing of it shows.

use super::{
    Case, LIVES, Process, Wish, all,
    killed::{tellings, told},
    long,
};
use fixpoint::emulator::Trouble;
use std::time::Duration;

/// So long after the end of the story whatever stood still has woken and ended; in the long form a dozen stories are told at once.
pub(super) fn read_back() -> Duration {
    Duration::from_secs(if long() { 90 } else { 30 })
}

pub(super) async fn case() -> Case {
    let mut case = Case::new().await;
    case.read_back = read_back();
    case
}

/// Another server goes on: the leases of those before it have run out.
pub(super) async fn successor(case: &Case, wish: Wish) -> Process {
    case.store().await.take_over().await.unwrap();
    case.serve(wish).await
}

/// The story is over; now everybody wakes.
async fn wake(case: &Case, sleepers: &[Process]) -> Result<(), String> {
    case.until_shown().await?;
    for sleeper in sleepers {
        sleeper.wakes();
    }
    case.github.faults().release();
    case.until_read_back().await
}

/// One server after the other stands still after so many commits.
async fn woken_after(lives: &[u64]) -> Result<(), String> {
    let case = case().await;
    case.say("/code fix the sum");
    let mut sleepers = Vec::new();
    for commits in lives {
        let mut server = successor(&case, Wish { stop_after: Some(*commits), ..Wish::default() }).await;
        if server.stands_still(&case).await {
            sleepers.push(server);
        }
    }
    let _last = successor(&case, Wish::default()).await;
    let slept = u32::try_from(sleepers.len()).unwrap();
    wake(&case, &sleepers).await.map_err(|why| format!("asleep after {lives:?} commits: {why}"))?;
    case.judge(slept).await.map_err(|why| format!("woken after {lives:?} commits: {why}"))?;
    match case.left() {
        0 => Ok(()),
        left => Err(format!("woken after {lives:?} commits: {left} sandboxes are left")),
    }
}

/// Whether the sender of a call that comes late is dead by then; of several every other one.
#[derive(Clone, Copy, Debug)]
enum Sender {
    Lives,
    Dies,
}

/// Calls come when the story is over, one of each server.
async fn late(calls: Vec<(String, u32)>, first: Sender) -> Result<(), String> {
    let case = case().await;
    case.say("/code fix the sum");
    let mut sleepers = Vec::new();
    for (held, (call, nth)) in calls.iter().enumerate() {
        case.trouble(call, *nth, Trouble::Hold);
        let server = successor(&case, Wish::default()).await;
        match case.until_held(held + 1).await {
            Ok(()) => {}
            Err(why) if *nth == 0 => return Err(format!("{call} does not come: {why}")),
            // How often one of a kind is made hangs on what was seen when.
            Err(_) => return case.judge(0).await,
        }
        let _ = server.store.stop_after(0);
        let lives = matches!(first, Sender::Lives) == held.is_multiple_of(2);
        sleepers.extend(Some(server).filter(|_| lives));
    }
    let _last = successor(&case, Wish::default()).await;
    wake(&case, &sleepers).await.map_err(|why| format!("{calls:?} are held: {why}"))?;
    let slept = u32::try_from(calls.len()).unwrap();
    case.judge(slept).await.map_err(|why| format!("{calls:?} came late, the first {first:?}: {why}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c7_woken_after_its_nth_commit() {
    if !long() {
        return woken_after(&LIVES).await.unwrap();
    }
    let (commits, _) = told().await;
    // Three in each story, so that each stands still in another third of it.
    let third = commits.div_ceil(3);
    all((1..=third).map(async |commits| woken_after(&[commits, third, third]).await)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c16_c17_a_call_that_comes_late() {
    let (_, calls) = told().await;
    // What a model or git is asked shows nowhere.
    let tellings = tellings(calls.iter().filter(|(call, _)| call.contains("/repos/")));
    let senders: &[Sender] = if long() { &[Sender::Lives, Sender::Dies] } else { &[Sender::Lives] };
    all(tellings.into_iter().flat_map(|calls| senders.iter().map(move |first| late(calls.clone(), *first))))
        .await;
}
