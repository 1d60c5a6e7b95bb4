//! The server dies: after a commit, before and after a call that writes. A new one goes on.

use super::{Case, LIVES, Wish, all, long};
use crate::support::postgres;
use fixpoint::emulator::Trouble;
use std::time::Duration;
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

/// The calls as [`dies_at`] takes them: in the long form each by itself, else one of each kind in one story.
pub(super) fn tellings<'a>(calls: impl Iterator<Item = &'a (String, u32)>) -> Vec<Vec<(String, u32)>> {
    if long() {
        return calls.map(|call| vec![call.clone()]).collect();
    }
    vec![calls.filter(|(_, nth)| *nth == 0).cloned().collect()]
}

async fn dies_after(case: Case, lives: &[u64]) -> Result<(), String> {
    case.say("/code fix the sum");
    let mut deaths = 0;
    for commits in lives {
        let mut server = case.serve(Wish { stop_after: Some(*commits), ..Wish::default() }).await;
        if !server.stands_still(&case).await {
            break;
        }
        deaths += 1;
    }
    let _last = case.serve(Wish::default()).await;
    case.judge(deaths).await.map_err(|why| format!("after {lives:?} commits: {why}"))
}

async fn dies_at(calls: Vec<(String, u32)>, trouble: Trouble) -> Result<(), String> {
    let case = Case::new().await;
    case.say("/code fix the sum");
    let mut deaths = 0;
    for (call, nth) in &calls {
        case.trouble(call, *nth, trouble.clone());
        let _server = case.serve(Wish::default()).await;
        match case.until_held(deaths + 1).await {
            Ok(()) => deaths += 1,
            Err(why) if *nth == 0 => return Err(format!("{call} does not come: {why}")),
            // How often one of a kind is made hangs on what was seen when.
            Err(_) => break,
        }
    }
    let _last = case.serve(Wish::default()).await;
    let deaths = u32::try_from(deaths).unwrap();
    case.judge(deaths).await.map_err(|why| format!("{trouble:?} at {calls:?}: {why}"))
}

/// Nobody listened so far: what was said is asked for again by whoever looks first, who dies in that.
async fn dies_asking_again(trouble: Trouble) -> Result<(), String> {
    let case = Case::new().await;
    case.say("/code fix the sum");
    case.github.settled().await;
    case.trouble("POST /app/hook/deliveries/*/attempts", 0, trouble.clone());
    let unheard = case.serve_unheard().await;
    case.until_held(1).await.map_err(|why| format!("nothing is asked for again: {why}"))?;
    drop(unheard);
    let _last = case.serve(Wish::default()).await;
    case.judge(1).await.map_err(|why| format!("{trouble:?} where it is asked for again: {why}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f57_before_and_after_a_delivery_is_asked_for_again() {
    all([Trouble::Hold, Trouble::HoldAnswer].into_iter().map(dies_asking_again)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f57_after_its_nth_commit() {
    if !long() {
        return dies_after(Case::new().await, &LIVES).await.unwrap();
    }
    let (commits, _) = told().await;
    println!("{commits} commits");
    all((1..=*commits).map(async |commits| dies_after(Case::new().await, &[commits]).await)).await;
}

/// On PostgreSQL a commit ends elsewhere than where it is waited for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f57_after_its_nth_commit_on_postgres() {
    let Some(url) = postgres::database().await else { return };
    let lease = Duration::from_secs(60);
    let folder = || tempfile::tempdir().unwrap();
    dies_after(Case::over(folder(), url, lease).await, &LIVES).await.unwrap();
    if long() {
        let (commits, _) = told().await;
        let sample = (1..=*commits).step_by(7);
        all(sample.map(|commits| async move {
            let url = postgres::database().await.ok_or("PostgreSQL has gone")?;
            dies_after(Case::over(folder(), url, lease).await, &[commits]).await
        }))
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f57_before_a_call_that_writes() {
    let (_, calls) = told().await;
    all(tellings(calls.iter()).into_iter().map(|calls| dies_at(calls, Trouble::Hold))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f57_after_a_call_that_writes() {
    let (_, calls) = told().await;
    all(tellings(calls.iter()).into_iter().map(|calls| dies_at(calls, Trouble::HoldAnswer))).await;
}
