//! The server dies: after its n-th commit, before and after its k-th call. A new one goes on.

use super::{Case, Wish};
use fixpoint::emulator::{Fault, Trouble};
use futures::stream::{self, StreamExt as _};

/// Stories told side by side: most of their time is waiting.
const TOGETHER: usize = 4;

/// Told once: how many commits, and which calls that write.
async fn told() -> (u64, Vec<(String, u32)>) {
    let case = Case::new().await;
    let process = case.serve(Wish::default()).await;
    case.say("/code fix the sum");
    case.judge(0).await.expect("the story");
    let mut calls: Vec<(String, u32)> = Vec::new();
    for request in case.github.requests().into_iter().filter(fixpoint::emulator::Request::is_write) {
        let call = format!("{} {}", request.method, request.bare_path());
        let before = calls.iter().filter(|(known, _)| *known == call).count();
        calls.push((call, u32::try_from(before).unwrap()));
    }
    (process.store.commits(), calls)
}

/// Every n-th of them; all where the environment says so (`scripts/long/recovery.sh`).
fn every(n: usize) -> usize {
    if std::env::var_os("FIXPOINT_LONG").is_some() { 1 } else { n }
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
    tokio::time::timeout(std::time::Duration::from_secs(60), case.github.faults().holds())
        .await
        .map_err(|_| format!("{call} is never called {} times", nth + 1))?;
    drop(first);
    let _second = case.serve(Wish::default()).await;
    case.github.redeliver_failed();
    case.judge(1).await.map_err(|why| format!("{trouble:?} at {call} ({nth}): {why}"))
}

async fn all<F: Future<Output = Result<(), String>>>(tellings: impl IntoIterator<Item = F>) {
    let begun = std::time::Instant::now();
    let told: Vec<_> = stream::iter(tellings).buffer_unordered(TOGETHER).collect().await;
    println!("{} stories in {:?}", told.len(), begun.elapsed());
    let wrong: Vec<String> = told.into_iter().filter_map(Result::err).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f57_after_its_nth_commit() {
    let (commits, _) = told().await;
    println!("{commits} commits");
    all((1..=commits).step_by(every(3)).map(stopped_after)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f57_before_a_call_that_writes() {
    let (_, calls) = told().await;
    println!("{calls:#?}");
    all(calls.iter().step_by(every(3)).map(|(call, nth)| stopped_at(call, *nth, Trouble::Hold))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f57_after_a_call_that_writes() {
    let (_, calls) = told().await;
    all(calls
        .iter()
        .skip(1)
        .step_by(every(3))
        .map(|(call, nth)| stopped_at(call, *nth, Trouble::HoldAnswer)))
    .await;
}
