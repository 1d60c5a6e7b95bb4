//! Mistakes made on purpose: each is caught in the story that provokes it, by what the checker says of the emulator's log;
//! three, which show nowhere in it, by what is left. Without the mistake the same stories are told in silence.

use super::{Case, Wish, long, world::REPO, zombie};
use crate::support::there_is;
use fixpoint::{
    domain::Fault as Mistake,
    emulator::{Astray, Fault, Trouble},
};
use std::time::Duration;

/// Tells the story with the mistake, which is found by what it is, not by whatever else may fail; and without it, where there
/// is time for all.
async fn is_caught(mistake: Mistake, by: &str, story: impl AsyncFn(Option<Mistake>) -> Result<(), String>) {
    // The checker, which finds most of them, is written in it.
    if !there_is("python3") {
        return;
    }
    if long() {
        story(None).await.expect("nothing is found where no mistake is made");
    }
    let found = story(Some(mistake)).await.expect_err("the mistake is caught");
    assert!(found.contains(by), "{mistake:?} is found by something else than {by:?}: {found}");
}

/// What a mistake keeps from ever coming is not waited for as long as what may be slow: nothing moves any more.
async fn case(mistake: Option<Mistake>) -> Case {
    let mut case = zombie::case().await;
    if mistake.is_some() {
        case.patience = Duration::from_secs(30);
    }
    case
}

fn making(mistake: Option<Mistake>) -> Wish {
    Wish { fault: mistake, ..Wish::default() }
}

/// The server dies when this call has been served (or before it is); the next one makes the same mistake.
async fn dies_at(mistake: Option<Mistake>, method: &str, path: &str, trouble: Trouble) -> Result<(), String> {
    let case = case(mistake).await;
    case.github.faults().add(Fault::next(path, trouble).on(method));
    let first = case.serve(making(mistake)).await;
    case.say("/code fix the sum");
    case.until_held(1).await?;
    drop(first);
    let _second = case.serve(making(mistake)).await;
    case.judge(1).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_push_recorded_before_it_is_made() {
    is_caught(Mistake::PushRecordedFirst, "of a branch that is not there", async |mistake| {
        dies_at(mistake, "POST", "/*/*/git-receive-pack", Trouble::Hold).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pull_request_opened_blindly() {
    is_caught(Mistake::PullBlindly, "though there was one", async |mistake| {
        dies_at(mistake, "POST", "/repos/*/*/pulls", Trouble::HoldAnswer).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_comment_written_blindly() {
    is_caught(Mistake::CommentBlindly, "seen to be there", async |mistake| {
        dies_at(mistake, "POST", "/repos/*/*/issues/*/comments", Trouble::HoldAnswer).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reply_that_is_not_journalled() {
    is_caught(Mistake::ReplyForgotten, "asked 5 times for 4 replies", async |mistake| {
        let case = case(mistake).await;
        // Long after the first reply.
        case.github.faults().add(Fault::next("/v1/messages", Trouble::Hold).after(1));
        let first = case.serve(making(mistake)).await;
        case.say("/code fix the sum");
        case.until_held(1).await?;
        drop(first);
        let _second = case.serve(making(mistake)).await;
        // The call that was held had no reply yet: none was paid for twice.
        case.judge(0).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_comment_that_is_not_read_back() {
    is_caught(Mistake::NotReadBack, "stands 2 times", async |mistake| {
        let case = case(mistake).await;
        case.github.faults().add(Fault::next("/repos/*/*/issues/*/comments", Trouble::Hold).on("POST"));
        let first = case.serve(making(mistake)).await;
        case.say("/code fix the sum");
        case.until_held(1).await?;
        let _ = first.store.stop_after(0);
        let _second = zombie::successor(&case, making(mistake)).await;
        case.until_green().await?;
        // A sender that lives would take it back itself.
        drop(first);
        case.github.faults().release();
        match mistake {
            None => case.until_read_back().await?,
            Some(_) => tokio::time::sleep(zombie::read_back() + Duration::from_secs(5)).await,
        }
        case.judge(1).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_push_without_an_exact_lease() {
    is_caught(Mistake::PushForced, "a forced push", async |mistake| {
        let case = case(mistake).await;
        // Between the look at the branch and the push to it.
        let push = Fault::next("/*/*/info/refs?service=git-receive-pack", Trouble::Hold).after(1);
        case.github.faults().add(push);
        let _server = case.serve(making(mistake)).await;
        case.say("/code fix the sum");
        case.until_held(1).await?;
        let branch = case.github.pulls(REPO).unwrap()[0].head_branch.clone();
        let theirs = case.github.push_as(REPO, "alice", &branch, &[("NOTES.md", "mine\n")]).unwrap();
        case.github.faults().release();
        let _ = case.until("resting(stood_down)").await;
        let findings = case.findings(0);
        match case.github.branch(REPO, &branch).unwrap() {
            Some(tip) if tip == theirs && findings.is_empty() => Ok(()),
            _ => Err(findings.join("\n")),
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delivery_answered_before_it_is_stored() {
    is_caught(Mistake::AnsweredFirst, "nobody reacted", async |mistake| {
        let case = case(mistake).await;
        let first = case.serve(making(mistake)).await;
        let _ = first.store.stop_after(0);
        case.say("/code fix the sum");
        // Answered with success; nothing is stored any more.
        case.github.settled().await;
        drop(first);
        let _second = case.serve(making(mistake)).await;
        case.github.settled().await;
        case.judge(1).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delivery_whose_id_is_no_key() {
    is_caught(Mistake::GuidIgnored, "told 2 times what was said 1 times", async |mistake| {
        let case = case(mistake).await;
        case.github.faults().add(Fault::next("/v1/messages", Trouble::Hold));
        let _server = case.serve(making(mistake)).await;
        case.say("/code fix the sum");
        // It has said what there is to say, and thinks until it has heard this.
        case.until_held(1).await?;
        case.github.settled().await;
        case.github.faults().astray(Some("issue_comment"), 1, Astray::Duplicate);
        case.say("mind the zero, please");
        case.until_taken_up().await;
        case.github.faults().release();
        case.until_green().await?;
        let findings = case.findings(0);
        if findings.is_empty() { Ok(()) } else { Err(findings.join("\n")) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_whose_comment_is_no_key() {
    is_caught(Mistake::SubjectIgnored, "an answer was taken back", async |mistake| {
        let case = case(mistake).await;
        let server = case.serve(making(mistake)).await;
        case.say("/code fix the sum");
        case.until_green().await?;
        // The same comment comes by another way: another delivery, whose id is another.
        let hook = case.github.deliveries().into_iter().find(|d| d.event == "issue_comment").unwrap();
        let body = serde_json::to_string_pretty(&hook.payload).unwrap();
        let kept = server.store.keep_delivery("another-way", "issue_comment", body.as_bytes()).await;
        assert_eq!(kept.unwrap(), fixpoint::store::Kept::New);
        match mistake {
            None => tokio::time::sleep(Duration::from_secs(2)).await,
            Some(_) => case.until_found(0).await,
        }
        case.judge(0).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_that_is_not_counted() {
    is_caught(Mistake::RoundUncounted, "resting(nothing_to_change)", async |mistake| {
        let mut case = case(mistake).await;
        case.hopeless(2);
        let _server = case.serve(making(mistake)).await;
        case.say("/code fix the sum");
        let ended = case.until("resting(not_green)").await;
        let findings = case.findings(0);
        if findings.is_empty() { ended } else { Err(findings.join("\n")) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_status_written_without_a_change() {
    is_caught(Mistake::StatusUnhashed, "had not changed", async |mistake| {
        let case = case(mistake).await;
        let _server = case.serve(making(mistake)).await;
        case.say("/code fix the sum");
        case.judge(0).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sandbox_that_outlives_its_lease() {
    is_caught(Mistake::SandboxKept, "sandboxes are left", async |mistake| {
        let case = case(mistake).await;
        case.github.faults().add(Fault::next("/v1/messages", Trouble::Hold));
        let first = case.serve(making(mistake)).await;
        case.say("/code fix the sum");
        case.until_held(1).await?;
        let _ = first.store.stop_after(0);
        // It sweeps when it starts, while the lease still lasts, and not again for a minute.
        let _second = case.serve(Wish::default()).await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        case.store().await.take_over().await.unwrap();
        case.until_green().await?;
        first.wakes();
        case.github.faults().release();
        match mistake {
            None => case.until_read_back().await?,
            Some(_) => tokio::time::sleep(Duration::from_secs(3)).await,
        }
        match case.left() {
            0 => case.judge(1).await,
            left => Err(format!("{left} sandboxes are left")),
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_holder_that_is_not_fenced() {
    is_caught(Mistake::Unfenced, "an answer was taken back", async |mistake| {
        let mut case = case(mistake).await;
        // What it writes must not be put right before it is seen.
        case.read_back = Duration::from_secs(60);
        // It stands still with the first of all effects behind it: whatever it does next is long done by then, but for
        // showing how things stand.
        let first = Fault::next("/repos/*/*/issues/comments/*/reactions", Trouble::HoldAnswer).on("POST");
        case.github.faults().add(first);
        let sleeper = case.serve(making(mistake)).await;
        case.say("/code fix the sum");
        case.until_held(1).await?;
        let _ = sleeper.store.stop_after(0);
        let _second = zombie::successor(&case, Wish::default()).await;
        case.until_green().await?;
        sleeper.wakes();
        case.github.faults().release();
        match mistake {
            None => tokio::time::sleep(Duration::from_secs(3)).await,
            Some(_) => case.until_found(1).await,
        }
        case.judge(1).await
    })
    .await;
}
