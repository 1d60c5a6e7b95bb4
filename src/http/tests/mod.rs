//! The listener and the webhook, spoken to over raw sockets: what a client library would never send is the point.

mod bodies;
mod deadlines;
mod signatures;

use super::{Bounds, HttpState, WebhookSecrets, serve};
use crate::store::Store;
use hmac::{Hmac, KeyInit, Mac};
use std::{net::SocketAddr, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
};

const SECRET: &str = "a secret of more than 32 characters";
const OLD_SECRET: &str = "the secret before it, also long enough";

/// A server on a free port, with deadlines short enough to be waited for.
struct Served {
    address: SocketAddr,
    store: Store,
    end: oneshot::Sender<()>,
    task: JoinHandle<()>,
    _folder: tempfile::TempDir,
}

fn short() -> Bounds {
    Bounds {
        header: Duration::from_millis(300),
        body: Duration::from_millis(600),
        drain: Duration::from_millis(400),
        ..Bounds::default()
    }
}

/// For tests that are not about deadlines: what pauses on a busy machine is let be.
fn patient() -> Bounds {
    let long = Duration::from_secs(100);
    Bounds { header: long, body: long, drain: long, ..Bounds::default() }
}

async fn served(bounds: Bounds) -> Served {
    served_with(bounds, |_| {}).await
}

async fn served_with(bounds: Bounds, change: impl FnOnce(&mut HttpState)) -> Served {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&format!("sqlite:{}/db", folder.path().display())).await.unwrap();
    let secrets = WebhookSecrets { current: SECRET.into(), old: Some(OLD_SECRET.into()) };
    let mut state = HttpState::new(store.clone(), secrets).bounded(bounds);
    change(&mut state);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (end, ended) = oneshot::channel();
    let task = tokio::spawn(serve(listener, state, async { drop(ended.await) }));
    Served { address, store, end, task, _folder: folder }
}

impl Served {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends bytes and gives the answer's status and text, 0 for none.
    async fn ask(&self, bytes: &[u8]) -> (u16, String) {
        let mut stream = self.connect().await;
        stream.write_all(bytes).await.unwrap();
        answer(&mut stream).await
    }

    async fn deliver(&self, guid: &str, body: &[u8]) -> u16 {
        self.ask(&delivery(guid, "issues", body, &sign(SECRET, body))).await.0
    }

    async fn stored(&self) -> usize {
        self.store.open_deliveries(1000).await.unwrap().len()
    }
}

/// Reads one answer, head and text.
async fn answer(stream: &mut TcpStream) -> (u16, String) {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|l| l.strip_prefix("content-length: ")?.parse::<usize>().ok());
            if body.len() >= length.unwrap_or(0) {
                return (head.split(' ').nth(1).unwrap().parse().unwrap(), text);
            }
        }
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return (0, text),
            Ok(n) => bytes.extend_from_slice(&buffer[..n]),
        }
    }
}

fn sign(secret: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body);
    format!("sha256={}", hex::encode(mac.finalize().into_bytes()))
}

/// A request's head, with the headers given.
fn head(headers: &[(&str, &str)]) -> Vec<u8> {
    let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("POST /webhooks HTTP/1.1\r\nhost: here\r\n{lines}\r\n").into_bytes()
}

fn delivery(guid: &str, event: &str, body: &[u8], signature: &str) -> Vec<u8> {
    let length = body.len().to_string();
    let mut request = head(&[
        ("x-github-delivery", guid),
        ("x-github-event", event),
        ("x-hub-signature-256", signature),
        ("content-length", &length),
    ]);
    request.extend_from_slice(body);
    request
}

#[tokio::test]
async fn c1_a_delivery_is_stored_before_its_answer() {
    let served = served(patient()).await;
    assert_eq!(served.deliver("one", b"{}").await, 202);
    assert_eq!(served.stored().await, 1);
    assert_eq!(served.deliver("one", b"{}").await, 202, "f9: again is no error");
    assert_eq!(served.stored().await, 1);
    let kept = served.store.open_deliveries(1).await.unwrap();
    assert_eq!(
        (kept[0].guid.as_str(), kept[0].event.as_str(), &kept[0].body[..]),
        ("one", "issues", &b"{}"[..])
    );
}

#[tokio::test]
async fn c21_what_cannot_be_stored_is_refused() {
    let served = served(patient()).await;
    crate::store::tests::break_deliveries(&served.store).await;
    let (status, text) = served.ask(&delivery("one", "issues", b"{}", &sign(SECRET, b"{}"))).await;
    assert_eq!(status, 503);
    assert!(text.contains("retry-after: 30"), "{text}");
}

#[tokio::test]
async fn a_ping_is_answered_and_not_kept() {
    let served = served(patient()).await;
    let (status, text) = served.ask(&delivery("p", "ping", b"{}", &sign(SECRET, b"{}"))).await;
    assert_eq!(status, 200);
    assert!(text.ends_with("pong"), "{text}");
    assert_eq!(served.stored().await, 0);
}

#[tokio::test]
async fn health_and_readiness_are_two_questions() {
    let served = served(patient()).await;
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: here\r\n\r\n").into_bytes();
    assert_eq!(served.ask(&get("/healthz")).await.0, 200);
    assert_eq!(served.ask(&get("/readyz")).await.0, 200);
    assert_eq!(served.ask(&get("/nothing")).await.0, 404);
    assert_eq!(served.ask(&get("/webhooks")).await.0, 405);
    let folder = std::env::temp_dir();
    let full = super::DiskMark { folder, bytes: u64::MAX };
    let served = served_with(patient(), |state| state.disk = Some(full)).await;
    assert_eq!(served.ask(&get("/healthz")).await.0, 200);
    assert_eq!(served.ask(&get("/readyz")).await.0, 503);
}

#[tokio::test]
async fn c22_the_end_waits_for_what_has_begun() {
    // The one that stalls is let go by the deadline of its header.
    let served = served(Bounds { header: Duration::from_secs(3), ..patient() }).await;
    let request = delivery("late", "issues", b"{\"a\":1}", &sign(SECRET, b"{\"a\":1}"));
    let request = String::from_utf8(request).unwrap().replacen("\r\n", "\r\nexpect: 100-continue\r\n", 1);
    let mut stream = served.connect().await;
    let (first, rest) = request.split_at(request.len() - 3);
    stream.write_all(first.as_bytes()).await.unwrap();
    assert_eq!(answer(&mut stream).await.0, 100, "it has begun");
    let mut idle = served.connect().await;
    let mut stalled = served.connect().await;
    stalled.write_all(b"POST /webhooks HTTP/1.1\r\nhost").await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    served.end.send(()).unwrap();
    let mut taken = true;
    for _ in 0..600 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        taken = TcpStream::connect(served.address).await.is_ok();
        if !taken {
            break;
        }
    }
    assert!(!taken, "nothing new is taken");
    assert_eq!(idle.read(&mut [0]).await.unwrap_or(0), 0, "who is silent is closed");
    stream.write_all(rest.as_bytes()).await.unwrap();
    assert_eq!(answer(&mut stream).await.0, 202);
    tokio::time::timeout(Duration::from_secs(60), served.task).await.unwrap().unwrap();
}
