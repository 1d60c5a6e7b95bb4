//! What is read back when all is over is put right only where it is ours.

use super::{Wish, world::REPO, zombie};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_maintainer_wrote_into_the_pull_request_stands() {
    let case = zombie::case().await;
    let _server = case.serve(Wish::default()).await;
    case.say("/code fix the sum");
    case.until_shown().await.unwrap();
    let pull = case.github.pulls(REPO).unwrap().remove(0);
    let body = pull.body.replace("| checks |", "| checks (I looked) |");
    assert_ne!(body, pull.body);
    case.github.edit_body(REPO, pull.number, "alice", &body).unwrap();
    case.until_read_back().await.unwrap();
    assert_eq!(case.github.pull(REPO, pull.number).unwrap().body, body);
}
