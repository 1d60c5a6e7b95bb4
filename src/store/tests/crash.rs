//! What a process that dies leaves behind: everything it has acknowledged, and nothing half.

use super::{Place, claimed, made, noted, on_both};
use crate::store::Store;
use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    time::Duration,
};

on_both!(nothing_follows_the_last_commit);

/// The child's database. Only set by the test that starts it.
const CHILD: &str = "FIXPOINT_STORE_CHILD";

#[tokio::test]
async fn c1_what_was_acknowledged_survives_kill_9() {
    let place = Place::sqlite();
    let mut acknowledged = Vec::new();
    for life in 0..3 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "store::tests::crash::child", "--ignored", "--nocapture"])
            .env(CHILD, format!("{life} {}", place.url))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut said = 0;
        for guid in lines.map_while(Result::ok).filter(|l| l.starts_with("guid-")) {
            acknowledged.push(guid);
            said += 1;
            // In the middle of its work, with requests under way; what it has said by then is read to the end.
            if said == 200 {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        assert!(said >= 200, "it ended early, after {said}");
    }
    let store = place.open().await;
    for guid in &acknowledged {
        assert!(store.delivery(guid).await.unwrap().is_some(), "{guid} was acknowledged and is lost");
    }
}

/// Keeps deliveries for ever and says so of each.
#[tokio::test]
#[ignore = "started by the test above"]
async fn child() {
    let given = std::env::var(CHILD).unwrap();
    let (life, url) = given.split_once(' ').unwrap();
    let store = Store::open(url).await.unwrap();
    let work = (0..16).map(|lane| {
        let store = store.clone();
        async move {
            for n in 0.. {
                let guid = format!("guid-{life}-{lane}-{n}");
                store.keep_delivery(&guid, "push", guid.as_bytes()).await.unwrap();
                println!("{guid}");
            }
        }
    });
    futures::future::join_all(work).await;
}

async fn nothing_follows_the_last_commit(place: Place) {
    let store = place.open().await;
    let id = made(&store, 1).await;
    let held = claimed(&store).await;
    let mut stopped = store.stop_after(2);
    let dead = tokio::spawn({
        let (store, held) = (store.clone(), held.clone());
        async move {
            for n in 0.. {
                store.append(held.lease.session, &noted(&n.to_string())).await.unwrap();
            }
        }
    });
    stopped.wait_for(|s| *s).await.unwrap();
    let asks = tokio::time::timeout(Duration::from_millis(50), store.session(&id.to_string())).await;
    assert!(asks.is_err(), "the dead do not read");
    let keeps = tokio::time::timeout(Duration::from_millis(50), store.keep_delivery("g", "push", b"g")).await;
    assert!(keeps.is_err(), "the dead do not write");
    let after = place.open().await;
    after.keep_delivery("other", "push", b"other").await.unwrap();
    assert_eq!(after.unread(&held.lease).await.unwrap().len(), 2);
    dead.abort();
}
