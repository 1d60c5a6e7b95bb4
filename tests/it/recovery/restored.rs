//! A copy of the database is put back that is older than what was pushed since: what stands on GitHub is taken up, and
//! nothing of it is made a second time.

use super::{
    Case, Wish,
    world::{REPLIES, REPO},
};
use fixpoint::{
    emulator::{Fault, Trouble},
    store::backup,
};

/// Goes to the end, with a copy of the database made when this call comes for the `nth` time; whoever serves then has the copy.
async fn ended(method: &str, path: &str, nth: u32) -> Case {
    let mut case = Case::new().await;
    let copy = case.folder.path().join("copy.db");
    case.github.faults().add(Fault::next(path, Trouble::Hold).on(method).after(nth));
    let server = case.serve(Wish::default()).await;
    case.say("/code fix the sum");
    case.until_held(1).await.unwrap();
    backup(case.database(), &copy).await.unwrap();
    case.github.faults().release();
    case.until_shown().await.unwrap();
    drop(server);
    // In a place of its own: SQLite takes the write-ahead log away by its name when the last connection to the old one ends.
    case.restored(&copy);
    case
}

/// What everybody sees but the phases, which the copy tells otherwise. Whether a pull request that is found ready could be a
/// draft nobody knows.
async fn seen(case: &Case) -> String {
    let story = case.story().await.replace("is green and open for review", "is ready for review");
    story.split_once('\n').unwrap().1.to_owned()
}

/// What the checker finds but that the answer is taken back for a moment: CI is looked at again.
fn findings(case: &Case) -> Vec<String> {
    let mut findings = case.findings(1);
    findings.retain(|finding| !finding.starts_with("an answer was taken back"));
    findings
}

async fn is_taken_up(method: &str, path: &str, nth: u32) {
    let case = ended(method, path, nth).await;
    let _server = case.serve(Wish::default()).await;
    case.until_green().await.unwrap();
    assert_eq!(seen(&case).await, super::STORY.split_once('\n').unwrap().1, "{path} {nth}");
    assert_eq!(findings(&case), Vec::<String>::new(), "{path} {nth}");
    assert_eq!(case.github.model().shown().len(), REPLIES, "nothing is paid for twice: {path} {nth}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_from_the_middle_of_the_first_round() {
    is_taken_up("POST", "/v1/messages", 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_from_before_the_first_push() {
    is_taken_up("POST", "/*/*/git-receive-pack", 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_from_the_middle_of_the_second_round() {
    is_taken_up("POST", "/v1/messages", 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_persons_commit_on_top_is_still_a_persons() {
    let case = ended("POST", "/v1/messages", 1).await;
    let branch = case.github.pulls(REPO).unwrap()[0].head_branch.clone();
    let theirs = case.github.push_as(REPO, "alice", &branch, &[("NOTES.md", "mine\n")]).unwrap();
    let _server = case.serve(Wish::default()).await;
    case.until("resting(stood_down)").await.unwrap();
    assert_eq!(case.github.branch(REPO, &branch).unwrap(), Some(theirs));
    assert_eq!(case.github.pulls(REPO).unwrap().len(), 1);
    assert_eq!(case.github.branches(REPO).unwrap().len(), 2);
    assert_eq!(case.github.model().shown().len(), REPLIES, "nothing is paid for twice");
    assert_eq!(findings(&case), Vec::<String>::new());
}
