//! Bodies that are too large, in pieces, cut short, or made to be parsed for ever.

use super::{SECRET, answer, delivery, head, patient, served, sign};
use crate::http::Bounds;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;

fn in_chunks(guid: &str, body: &[u8], size: usize) -> Vec<u8> {
    let mut request = head(&[
        ("x-github-delivery", guid),
        ("x-github-event", "issues"),
        ("x-hub-signature-256", &sign(SECRET, body)),
        ("transfer-encoding", "chunked"),
    ]);
    for chunk in body.chunks(size) {
        request.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        request.extend_from_slice(chunk);
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"0\r\n\r\n");
    request
}

#[tokio::test]
async fn t44_26_mib_are_too_much_and_25_are_not() {
    let served = served(patient()).await;
    let large = vec![b' '; 26 << 20];
    assert_eq!(served.deliver("large", &large).await, 413);
    assert_eq!(served.ask(&in_chunks("chunked", &large, 1 << 20)).await.0, 413);
    assert_eq!(served.stored().await, 0);
    assert_eq!(served.deliver("fits", &large[..25 << 20]).await, 202);
    assert_eq!(served.store.open_deliveries(1).await.unwrap()[0].body.len(), 25 << 20);
}

#[tokio::test]
async fn t44_chunks_are_one_body() {
    let served = served(patient()).await;
    assert_eq!(served.ask(&in_chunks("g", b"{\"in\":\"pieces\"}", 3)).await.0, 202);
    assert_eq!(served.store.open_deliveries(1).await.unwrap()[0].body, b"{\"in\":\"pieces\"}");
}

#[tokio::test]
async fn t44_two_lengths_cannot_disagree() {
    let served = served(patient()).await;
    let signature = sign(SECRET, b"{}");
    let mut request = head(&[
        ("x-github-delivery", "g"),
        ("x-github-event", "issues"),
        ("x-hub-signature-256", &signature),
        ("content-length", "2"),
        ("content-length", "40"),
    ]);
    request.extend_from_slice(b"{}");
    assert_eq!(served.ask(&request).await.0, 400);
    assert_eq!(served.stored().await, 0);
}

#[tokio::test]
async fn t44_deep_json_is_stored_unread() {
    let served = served(patient()).await;
    let deep = [vec![b'['; 1_000_000], vec![b']'; 1_000_000]].concat();
    assert_eq!(served.deliver("deep", &deep).await, 202);
    assert_eq!(served.stored().await, 1);
    assert_eq!(served.deliver("next", b"{}").await, 202);
}

#[tokio::test]
async fn a_body_that_ends_early_is_nothing() {
    let served = served(patient()).await;
    let request = delivery("g", "issues", b"{\"a\":1}", &sign(SECRET, b"{\"a\":1}"));
    let mut stream = served.connect().await;
    stream.write_all(&request[..request.len() - 1]).await.unwrap();
    stream.shutdown().await.unwrap();
    assert_ne!(answer(&mut stream).await.0, 202);
    assert_eq!(served.stored().await, 0);
}

#[tokio::test]
async fn t44_bodies_in_flight_share_a_bound_and_the_slow_give_way() {
    let served = served(Bounds { bytes: 1 << 20, ..patient() }).await;
    let body = vec![b' '; 700 << 10];
    let mut stalled = served.connect().await;
    let request = delivery("stalled", "issues", &body, &sign(SECRET, &body));
    stalled.write_all(&request[..request.len() - 10]).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    let begun = Instant::now();
    assert_eq!(served.deliver("waits", &body).await, 202);
    assert!(begun.elapsed() < patient().body / 2, "{:?}", begun.elapsed());
    assert_eq!(answer(&mut stalled).await.0, 0, "there is no room beside it");
}
