//! A server stands still, loses its lease, and wakes when another has finished its work: nothing of it shows.

use super::{Case, Process, Wish, all, every, killed::told};
use fixpoint::emulator::{Fault, Trouble};
use std::time::Duration;

/// Longer than it takes to see the end of the story, and to let go what was held.
pub(super) const READ_BACK: Duration = Duration::from_secs(8);

pub(super) async fn case() -> Case {
    let mut case = Case::new().await;
    case.read_back = READ_BACK;
    case
}

/// Another server goes on: the first one's leases have run out.
pub(super) async fn successor(case: &Case) -> Process {
    let second = case.serve(Wish::default()).await;
    second.store.take_over().await.unwrap();
    case.github.redeliver_failed();
    second
}

/// It stood still after its n-th commit, wherever that was.
async fn woken_after(commits: u64) -> Result<(), String> {
    let case = case().await;
    let mut first = case.serve(Wish { stop_after: Some(commits), ..Wish::default() }).await;
    case.say("/code fix the sum");
    if !first.stands_still(&case).await {
        return case.judge(0).await;
    }
    let _second = successor(&case).await;
    case.until_green().await.map_err(|why| format!("after commit {commits}: {why}"))?;
    first.wakes();
    case.until_read_back().await?;
    case.judge(1).await.map_err(|why| format!("woken after commit {commits}: {why}"))?;
    match case.left() {
        0 => Ok(()),
        left => Err(format!("woken after commit {commits}: {left} sandboxes are left")),
    }
}

/// A call of the first one's arrives when the second one has finished; the first one lives on, or is dead by then.
async fn late(call: &str, nth: u32, dies: bool) -> Result<(), String> {
    let case = case().await;
    let (method, path) = call.split_once(' ').unwrap();
    case.github.faults().add(Fault::next(path, Trouble::Hold).on(method).after(nth));
    let first = case.serve(Wish::default()).await;
    case.say("/code fix the sum");
    case.until_held(call).await?;
    let _ = first.store.stop_after(0);
    let mut first = Some(first);
    if dies {
        first = None;
    }
    let _second = successor(&case).await;
    case.until_green().await.map_err(|why| format!("{call} ({nth}) is held: {why}"))?;
    case.github.faults().release();
    if let Some(first) = &first {
        first.wakes();
    }
    case.until_read_back().await?;
    case.judge(1).await.map_err(|why| format!("{call} ({nth}) came late, dead {dies}: {why}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c7_woken_after_its_nth_commit() {
    let (commits, _) = told().await;
    all((2..=*commits).step_by(every(24)).map(woken_after)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c16_c17_a_call_that_comes_late() {
    let (_, calls) = told().await;
    // What a model or git is asked shows nowhere.
    let calls: Vec<_> = calls.iter().filter(|(call, _)| call.contains("/repos/")).collect();
    let both = calls.iter().flat_map(|(call, nth)| [(call, *nth, false), (call, *nth, true)]);
    all(both.step_by(every(8)).map(|(call, nth, dies)| late(call, nth, dies))).await;
}
