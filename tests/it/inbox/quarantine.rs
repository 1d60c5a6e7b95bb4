//! A delivery that cannot be read is kept and shown, and looking covers for it.

use super::Sender;
use crate::support::{ISSUE, World, plays::*};
use fixpoint::store;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn f53_what_cannot_be_read_is_kept_and_looking_covers_for_it() {
    let mut t = World::new().deaf().start().await;
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.until("watching").await;
    let sender = Sender::of(&t);
    let torn = "{\"action\":\"completed\",\"check_run\":{\"conclusion\":\"succ".to_owned();
    assert_eq!(sender.post(&t.address(), "torn", "check_run", torn).await, 202);
    super::until(Duration::from_secs(10), async || {
        let settled = t.store.delivery("torn").await.unwrap().unwrap().1;
        settled.filter(|s| s.fate == "quarantined").map(drop).ok_or("open")
    })
    .await;
    t.ci_passes().await;
    t.until("resting(green)").await;
    let (count, listed) = store::examine_quarantine(&t.database(), 10).await.unwrap();
    assert_eq!((count, listed[0].guid.as_str(), listed[0].event.as_str()), (1, "torn", "check_run"));
    assert!(listed[0].reason.starts_with("not JSON"), "{}", listed[0].reason);
    t.end().await;
}
