//! Who stalls is let go: before a header, within one, within a body.

use super::{SECRET, answer, delivery, served, short, sign};
use crate::http::Bounds;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Sends this much and then nothing; gives the status and how long it took to be let go.
async fn stall(bytes: &[u8]) -> (u16, Duration) {
    let served = served(short()).await;
    let mut stream = served.connect().await;
    stream.write_all(bytes).await.unwrap();
    let since = Instant::now();
    let (status, _) = answer(&mut stream).await;
    let mut rest = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut rest)).await.unwrap();
    assert_eq!(served.stored().await, 0);
    (status, since.elapsed())
}

#[tokio::test]
async fn t45_silence_ends() {
    let (status, after) = stall(b"").await;
    assert_eq!(status, 0);
    assert!(after >= short().header && after < Duration::from_secs(3), "{after:?}");
}

#[tokio::test]
async fn t45_half_a_header_ends() {
    let (status, after) = stall(b"POST /webhooks HTTP/1.1\r\nhost: here\r\nx-github-").await;
    assert!(matches!(status, 0 | 408), "{status}");
    assert!(after < Duration::from_secs(3), "{after:?}");
}

#[tokio::test]
async fn t45_half_a_body_ends() {
    let request = delivery("g", "issues", b"{\"a\":1}", &sign(SECRET, b"{\"a\":1}"));
    let (status, after) = stall(&request[..request.len() - 2]).await;
    assert_eq!(status, 408);
    assert!(after >= short().body && after < Duration::from_secs(3), "{after:?}");
}

#[tokio::test]
async fn t45_a_header_in_drips_ends() {
    let served = served(short()).await;
    let mut stream = served.connect().await;
    let since = Instant::now();
    for byte in b"POST /webhooks HTTP/1.1\r\nx: ".iter().chain(std::iter::repeat_n(&b'x', 1000)) {
        if stream.write_all(&[*byte]).await.is_err() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(since.elapsed() < Duration::from_secs(3), "{:?}", since.elapsed());
}

#[tokio::test]
async fn t45_who_stalls_gives_way_at_once_and_who_was_heard_does_not() {
    let served = served(Bounds { connections: 8, header: Duration::from_secs(30), ..short() }).await;
    let mut heard = served.connect().await;
    heard.write_all(&delivery("first", "issues", b"{}", &sign(SECRET, b"{}"))).await.unwrap();
    assert_eq!(answer(&mut heard).await.0, 202);
    let (mut stalled, begun) = (Vec::new(), Instant::now());
    for n in 0..100 {
        let mut stream = served.connect().await;
        stream.write_all(b"POST /webhooks HTTP/1.1\r\nhost: ").await.unwrap();
        stalled.push(stream);
        if n % 10 == 0 {
            assert_eq!(served.deliver(&format!("g{n}"), format!("[{n}]").as_bytes()).await, 202);
        }
    }
    assert!(begun.elapsed() < Duration::from_secs(15), "nobody waited for them: {:?}", begun.elapsed());
    assert_eq!(answer(&mut stalled[0]).await.0, 0);
    heard.write_all(&delivery("last", "issues", b"[]", &sign(SECRET, b"[]"))).await.unwrap();
    assert_eq!(answer(&mut heard).await.0, 202);
}

#[tokio::test]
async fn one_connection_carries_many_deliveries() {
    let served = served(short()).await;
    let mut stream = served.connect().await;
    for n in 0..20 {
        let (guid, body) = (format!("g{n}"), format!("{{\"n\":{n}}}"));
        let request = delivery(&guid, "issues", body.as_bytes(), &sign(SECRET, body.as_bytes()));
        stream.write_all(&request).await.unwrap();
        assert_eq!(answer(&mut stream).await.0, 202);
    }
    assert_eq!(served.stored().await, 20);
}
