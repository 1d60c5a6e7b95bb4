//! The server dies: after its n-th commit, before and after its k-th call. A new one goes on.

use super::{Case, Wish, all, every};
use fixpoint::emulator::{Fault, Trouble};
use tokio::sync::OnceCell;

static TOLD: OnceCell<(u64, Vec<(String, u32)>)> = OnceCell::const_new();

/// Told once: how many commits, and which calls that write.
pub(super) async fn told() -> &'static (u64, Vec<(String, u32)>) {
    TOLD.get_or_init(tell).await
}

async fn tell() -> (u64, Vec<(String, u32)>) {
    let case = Case::new().await;
    let process = case.serve(Wish::default()).await;
    case.say("/code fix the sum");
    case.judge(0).await.expect("the story");
    (process.store.commits(), case.calls())
}

async fn stopped_after(commits: u64) -> Result<(), String> {
    let case = Case::new().await;
    let mut first = case.serve(Wish { stop_after: Some(commits), ..Wish::default() }).await;
    case.say("/code fix the sum");
    first.stands_still(&case).await;
    drop(first);
    let _second = case.serve(Wish::default()).await;
    case.github.redeliver_failed();
    case.judge(1).await.map_err(|why| format!("after commit {commits}: {why}"))
}

async fn stopped_at(call: &str, nth: u32, trouble: Trouble) -> Result<(), String> {
    let case = Case::new().await;
    let (method, path) = call.split_once(' ').unwrap();
    case.github.faults().add(Fault::next(path, trouble.clone()).on(method).after(nth));
    let first = case.serve(Wish::default()).await;
    case.say("/code fix the sum");
    case.until_held(call).await?;
    drop(first);
    let _second = case.serve(Wish::default()).await;
    case.github.redeliver_failed();
    case.judge(1).await.map_err(|why| format!("{trouble:?} at {call} ({nth}): {why}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f57_after_its_nth_commit() {
    let (commits, _) = told().await;
    println!("{commits} commits");
    all((1..=*commits).step_by(every(20)).map(stopped_after)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f57_before_a_call_that_writes() {
    let (_, calls) = told().await;
    all(calls.iter().step_by(every(8)).map(|(call, nth)| stopped_at(call, *nth, Trouble::Hold))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f57_after_a_call_that_writes() {
    let (_, calls) = told().await;
    all(calls
        .iter()
        .skip(3)
        .step_by(every(8))
        .map(|(call, nth)| stopped_at(call, *nth, Trouble::HoldAnswer)))
    .await;
}
