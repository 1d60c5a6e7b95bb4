//! Sends signed deliveries as fast as they are answered, with as little of its own work as can be: what is measured is
//! who answers.

use hmac::{Hmac, KeyInit, Mac};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
};

/// Bytes of filling in a delivery: with it one is as long as GitHub's of a star.
const FILLING: usize = 6_000;
/// An answer is a status line, a few headers and a word.
const ANSWER: usize = 4_096;
/// Before a server that is not there is tried again.
const AGAIN: Duration = Duration::from_millis(20);
/// GitHub's patience with a receiver.
const PATIENCE: Duration = Duration::from_secs(10);

/// Deliveries of a kind that starts nothing, each with an id and a body that never came before.
#[derive(Clone)]
pub(super) struct Load {
    secret: String,
    next: Arc<AtomicU64>,
    filling: Arc<str>,
}

/// One that was answered.
pub(super) struct Answered {
    pub(super) guid: String,
    pub(super) status: u16,
    pub(super) took: Duration,
}

/// The connections at work.
pub(super) struct Sending {
    stop: Arc<AtomicBool>,
    hands: JoinSet<Vec<Answered>>,
    /// Answered with success so far.
    taken: Arc<AtomicU64>,
}

impl Load {
    pub(super) fn new(secret: &str) -> Self {
        Self { secret: secret.to_owned(), next: Arc::default(), filling: "x".repeat(FILLING).into() }
    }

    /// So many connections begin, each with one delivery on its way at a time.
    pub(super) fn send(&self, address: &str, connections: usize) -> Sending {
        let (stop, taken) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let mut hands = JoinSet::new();
        for _ in 0..connections {
            hands.spawn(self.clone().one_hand(address.to_owned(), stop.clone(), taken.clone()));
        }
        Sending { stop, hands, taken }
    }

    /// One delivery on a connection of its own, as GitHub sends it; `None`: not answered in GitHub's patience.
    pub(super) async fn deliver(&self, address: &str) -> Option<Answered> {
        let (guid, request) = self.request();
        let (begun, mut connection) = (Instant::now(), None);
        let asked = tokio::time::timeout(PATIENCE, ask(&mut connection, address, &request)).await;
        Some(Answered { guid, status: asked.ok()?.ok()?, took: begun.elapsed() })
    }

    async fn one_hand(self, address: String, stop: Arc<AtomicBool>, taken: Arc<AtomicU64>) -> Vec<Answered> {
        let mut answered = Vec::new();
        let mut connection = None;
        while !stop.load(Ordering::Relaxed) {
            let (guid, request) = self.request();
            let begun = Instant::now();
            let asked = tokio::time::timeout(PATIENCE, ask(&mut connection, &address, &request));
            let Ok(Ok(status)) = asked.await else {
                connection = None;
                tokio::time::sleep(AGAIN).await;
                continue;
            };
            taken.fetch_add(u64::from((200..300).contains(&status)), Ordering::Relaxed);
            answered.push(Answered { guid, status, took: begun.elapsed() });
        }
        answered
    }

    pub(super) fn request(&self) -> (String, Vec<u8>) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let guid = format!("00000000-0000-4000-8000-{number:012x}");
        let body = format!(
            r#"{{"action":"created","number":{number},"repository":{{"id":1,"full_name":"acme/calendar","description":"{}"}},"sender":{{"id":2,"login":"alice","type":"User"}},"installation":{{"id":3}}}}"#,
            self.filling
        );
        let request = format!(
            "POST /webhooks HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             x-github-delivery: {guid}\r\nx-github-event: star\r\nx-hub-signature-256: {}\r\n\
             content-length: {}\r\n\r\n{body}",
            signature(&self.secret, &body),
            body.len(),
        );
        (guid, request.into_bytes())
    }
}

impl Sending {
    pub(super) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// What is on its way is waited for.
    pub(super) async fn end(self) -> Vec<Answered> {
        self.stop.store(true, Ordering::Relaxed);
        self.hands.join_all().await.into_iter().flatten().collect()
    }
}

/// As GitHub signs it.
pub(super) fn signature(secret: &str, body: &str) -> String {
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body.as_bytes());
    format!("sha256={}", hex::encode(mac.finalize().into_bytes()))
}

/// The status of a whole answer; the connection stays for the next.
pub(super) async fn ask(
    connection: &mut Option<TcpStream>,
    address: &str,
    request: &[u8],
) -> Result<u16, std::io::Error> {
    let stream = match connection {
        Some(stream) => stream,
        None => {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            connection.insert(stream)
        }
    };
    stream.write_all(request).await?;
    let (mut answer, mut held) = ([0; ANSWER], 0);
    loop {
        let read = stream.read(answer.get_mut(held..).unwrap_or_default()).await?;
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        held += read;
        if let Some(status) = whole(&answer[..held]) {
            return Ok(status);
        }
    }
}

/// The status, once header and body are there.
fn whole(answer: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(answer).ok()?;
    let (header, body) = text.split_once("\r\n\r\n")?;
    let length = header.lines().find_map(|line| line.strip_prefix("content-length: "))?;
    (body.len() >= length.parse().ok()?).then(|| header.split(' ').nth(1)?.parse().ok())?
}
