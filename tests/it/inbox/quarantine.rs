//! A delivery that cannot be read is kept and shown, and looking covers for it.

use super::Sender;
use crate::support::{ISSUE, LONGEST, World, plays::*};
use fixpoint::{
    app::doctor::{CHECKS, Finding, Level, Patient},
    config::Config,
    domain::access::Profile,
    store,
};

#[tokio::test(flavor = "multi_thread")]
async fn f53_what_cannot_be_read_is_kept_and_looking_covers_for_it() {
    let mut t = World::new().deaf().start().await;
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.until("watching").await;
    let sender = Sender::of(&t);
    let torn = "{\"action\":\"completed\",\"check_run\":{\"conclusion\":\"succ".to_owned();
    assert_eq!(sender.post(&t.address(), "torn", "check_run", torn).await, 202);
    super::until(LONGEST, async || {
        let settled = t.store.delivery("torn").await.unwrap().unwrap().1;
        settled.filter(|s| s.fate == "quarantined").map(drop).ok_or("open")
    })
    .await;
    t.ci_passes().await;
    t.until("resting(green)").await;
    let (count, listed) = store::examine_quarantine(&t.database(), 10).await.unwrap();
    assert_eq!((count, listed[0].guid.as_str(), listed[0].event.as_str()), (1, "torn", "check_run"));
    assert!(listed[0].reason.starts_with("not JSON"), "{}", listed[0].reason);
    let found = doctor(&t.database()).await;
    let [found] = found.as_slice() else { panic!("one finding is expected: {found:?}") };
    assert_eq!((found.level, found.subject), (Level::Warn, "quarantine"));
    assert!(found.mend[0].starts_with("torn (check_run, "), "{found:?}");
    assert!(found.mend[0].contains("not JSON"), "{found:?}");
    t.end().await;
}

/// A reader that calls itself for each level would end the process with its stack.
#[tokio::test(flavor = "multi_thread")]
async fn t44_json_a_million_levels_deep_ends_nothing() {
    const LEVELS: usize = 1_000_000;
    let mut t = World::new().start().await;
    let sender = Sender::of(&t);
    let lists = format!("{}{}", "[".repeat(LEVELS), "]".repeat(LEVELS));
    let objects = format!("{{\"action\":{}1{}}}", "{\"a\":".repeat(LEVELS), "}".repeat(LEVELS));
    for (guid, deep) in [("lists", lists), ("objects", objects)] {
        assert_eq!(sender.post(&t.address(), guid, "issue_comment", deep).await, 202);
        super::until(LONGEST, async || {
            let settled = t.store.delivery(guid).await.unwrap().unwrap().1;
            settled.filter(|s| s.fate == "quarantined").map(drop).ok_or("open")
        })
        .await;
    }
    t.model_plays([finish("Nothing to do")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    assert_eq!(t.sessions().await.len(), 1, "it lives and works");
    t.end().await;
}

/// What `fixpoint doctor` says of what is kept in a database: its last check.
async fn doctor(database: &str) -> Vec<Finding> {
    let patient = Patient {
        config: Config { database: database.to_owned().into(), ..Config::default() },
        file: None,
        http: reqwest::Client::new(),
        profile: Profile::Fix,
        repositories: Vec::new(),
        ask_model: false,
        redeliver: false,
    };
    CHECKS.last().unwrap()(&patient).await
}
