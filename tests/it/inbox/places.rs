//! Who waits for a place is told its place, and comes in its order.

use crate::support::{ISSUE, LONGEST, World, plays::*};
use fixpoint::work::Running;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn the_waiting_are_told_their_place_and_come_in_order() {
    let running = Running { all: 1, repository: 4, installation: 4 };
    let mut t = World { running, ..World::new() }.start().await;
    let (second, third) = (
        t.github.open_issue(&t.repo, "alice", "Second", "").unwrap(),
        t.github.open_issue(&t.repo, "alice", "Third", "").unwrap(),
    );
    t.github.model().plays_where("the first thing", [finish("Nothing")]);
    t.github.model().plays_where("mend the second", [finish("Nothing either").after(Duration::from_secs(1))]);
    t.github.model().plays_where("look at the third one", [finish("Nor here")]);
    t.model_waits(0);
    t.comment("/code do the first thing").by("alice").on(ISSUE);
    t.until_shown(1).await;
    let queued = async |issue: u64| {
        super::until(LONGEST, async || {
            let sessions = t.sessions().await;
            let session = sessions.into_iter().find(|s| s.state.facts.thread.number.0 == issue);
            let Some(session) = session else { return Err(None) };
            t.store.before(session.id).await.unwrap().map(drop).ok_or(Some(session.state.phase))
        })
        .await;
    };
    t.comment("/code mend the second").by("alice").on(second);
    queued(second).await;
    t.comment("/code look at the third one").by("alice").on(third);
    queued(third).await;
    t.comment("/code status").by("alice").on(third);
    t.comment("/code status").by("alice").on(second);
    super::until(LONGEST, async || {
        let said = |issue| {
            let comments = t.github.comments(&t.repo, issue).unwrap();
            comments.into_iter().filter(|c| c.author == "fixpoint[bot]").map(|c| c.body).collect::<String>()
        };
        let (of_second, of_third) = (said(second), said(third));
        let told = of_second.contains("is next in the queue") && of_third.contains("is 2nd in the queue");
        told.then_some(()).ok_or((of_second, of_third))
    })
    .await;
    t.model_goes_on().await;
    t.settle().await;
    let shown = t.github.model().shown();
    assert_eq!(shown.len(), 3);
    assert!(shown[1].holds("mend the second") && shown[2].holds("look at the third one"));
    t.end().await;
}
