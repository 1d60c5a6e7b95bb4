//! What is read back when all is over is put right only where it is ours.

use super::{Wish, world::REPO, zombie};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_of_ours_that_came_late_is_put_right_and_a_maintainers_stands() {
    for theirs in [false, true] {
        let case = zombie::case().await;
        let _server = case.serve(Wish::default()).await;
        case.say("/code fix the sum");
        case.until_shown().await.unwrap();
        let pull = case.github.pulls(REPO).unwrap().remove(0);
        let late = fixpoint::domain::say::sealed("For #1");
        let body = if theirs { pull.body.replace("checks |", "all checks |") } else { late };
        assert_ne!(body, pull.body);
        case.github.edit_body(REPO, pull.number, "alice", &body).unwrap();
        case.until_read_back().await.unwrap();
        let stands = if theirs { body } else { pull.body };
        assert_eq!(case.github.pull(REPO, pull.number).unwrap().body, stands);
    }
}
