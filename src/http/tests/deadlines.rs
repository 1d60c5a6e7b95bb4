//! Who stalls is let go: before a header, within one, within a body.

use super::{SECRET, answer, delivery, patient, served, short, sign};
use crate::http::Bounds;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Far more than a deadline takes, and far less than where none is in force.
const SOON: Duration = Duration::from_secs(60);

/// Sends this much and then nothing; gives the status and how long it took to be let go.
async fn stall(bounds: Bounds, bytes: &[u8]) -> (u16, Duration) {
    let served = served(bounds).await;
    // The server may begin to count before the bytes are sent.
    let since = Instant::now();
    let mut stream = served.connect().await;
    stream.write_all(bytes).await.unwrap();
    let (status, _) = answer(&mut stream).await;
    let mut rest = Vec::new();
    let _ = tokio::time::timeout(SOON, stream.read_to_end(&mut rest)).await.unwrap();
    assert_eq!(served.stored().await, 0);
    (status, since.elapsed())
}

#[tokio::test]
async fn t45_silence_ends() {
    let (status, after) = stall(Bounds { header: short().header, ..patient() }, b"").await;
    assert_eq!(status, 0);
    assert!(after >= short().header && after < SOON, "{after:?}");
}

#[tokio::test]
async fn t45_half_a_header_ends() {
    let bounds = Bounds { header: short().header, ..patient() };
    let (status, after) = stall(bounds, b"POST /webhooks HTTP/1.1\r\nhost: here\r\nx-github-").await;
    assert!(matches!(status, 0 | 408), "{status}");
    assert!(after < SOON, "{after:?}");
}

#[tokio::test]
async fn t45_half_a_body_ends() {
    let request = delivery("g", "issues", b"{\"a\":1}", &sign(SECRET, b"{\"a\":1}"));
    let bounds = Bounds { header: SOON / 10, body: short().body, ..patient() };
    let (status, after) = stall(bounds, &request[..request.len() - 2]).await;
    assert_eq!(status, 408);
    assert!(after >= short().body && after < SOON, "{after:?}");
}

#[tokio::test]
async fn t45_a_header_in_drips_ends() {
    let served = served(short()).await;
    let mut stream = served.connect().await;
    let mut let_go = false;
    for byte in b"POST /webhooks HTTP/1.1\r\nx: ".iter().chain(std::iter::repeat_n(&b'x', 1000)) {
        let_go = stream.write_all(&[*byte]).await.is_err();
        if let_go {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(let_go, "it drips on");
}

#[tokio::test]
async fn t45_who_stalls_gives_way_at_once_and_who_was_heard_does_not() {
    let served = served(Bounds { connections: 8, ..patient() }).await;
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
    assert!(begun.elapsed() < patient().header, "nobody waited for them: {:?}", begun.elapsed());
    assert_eq!(answer(&mut stalled[0]).await.0, 0);
    heard.write_all(&delivery("last", "issues", b"[]", &sign(SECRET, b"[]"))).await.unwrap();
    assert_eq!(answer(&mut heard).await.0, 202);
}

#[tokio::test]
async fn one_connection_carries_many_deliveries() {
    let served = served(patient()).await;
    let mut stream = served.connect().await;
    for n in 0..20 {
        let (guid, body) = (format!("g{n}"), format!("{{\"n\":{n}}}"));
        let request = delivery(&guid, "issues", body.as_bytes(), &sign(SECRET, body.as_bytes()));
        stream.write_all(&request).await.unwrap();
        assert_eq!(answer(&mut stream).await.0, 202);
    }
    assert_eq!(served.stored().await, 20);
}
