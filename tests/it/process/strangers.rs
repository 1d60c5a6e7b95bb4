//! Those whom a webhook's address on the internet meets besides GitHub: who sends a byte now and then, and who sends what is no
//! delivery.

use super::sender::{Load, ask, signature};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
};

/// Between two bytes of a slow sender.
const DRIP: Duration = Duration::from_secs(1);
/// Before one that was let go comes again.
const AGAIN: Duration = Duration::from_secs(5);
/// Of the slow every so-maniest first sends a large piece of a body, which takes room.
const HEAVY: usize = 16;
/// Bytes of that piece.
const PIECE: usize = 1 << 20;
/// A stranger does not wait for an answer that does not come at once.
const IMPATIENCE: Duration = Duration::from_secs(1);
/// Levels of the deep body: a reader that calls itself for each would run out of stack.
const DEEP: usize = 1_000_000;
/// Every so-maniest malformed request is the deep one, of two megabytes.
const DEEP_EVERY: u64 = 5_000;

/// So many connections that are never done, for as long as the set lives.
pub(super) fn slow(address: &str, connections: usize) -> JoinSet<()> {
    (0..connections).map(|number| drip(address.to_owned(), number)).collect()
}

async fn drip(address: String, number: usize) {
    loop {
        // Refused, let go, or cut off: it comes again.
        let _ = drips(&address, number).await;
        tokio::time::sleep(AGAIN).await;
    }
}

async fn drips(address: &str, number: usize) -> Result<(), std::io::Error> {
    let mut stream = TcpStream::connect(address).await?;
    let header =
        "POST /webhooks HTTP/1.1\r\nhost: localhost\r\nx-github-delivery: slow\r\nx-github-event: star\r\n";
    if number.is_multiple_of(2) {
        let ready = format!("{header}x-hub-signature-256: sha256=00\r\ncontent-length: 20000000\r\n\r\n");
        stream.write_all(ready.as_bytes()).await?;
    } else {
        stream.write_all(b"POST /webhooks HTTP/1.1\r\nx-slow: ").await?;
    }
    if number.is_multiple_of(HEAVY) {
        stream.write_all(&vec![b' '; PIECE]).await?;
    }
    loop {
        stream.write_all(b"x").await?;
        tokio::time::sleep(DRIP).await;
    }
}

/// How many were answered with what.
#[derive(Default)]
pub(super) struct Seen {
    /// Refused in words, with a status from 400 on.
    pub(super) refused: AtomicU64,
    /// Cut off, or nothing was said in a while.
    pub(super) silent: AtomicU64,
    /// Taken although nothing signed had come: none may be.
    pub(super) taken: AtomicU64,
    /// What was signed and came again under another name: taken, and kept once.
    pub(super) replayed: AtomicU64,
}

/// Sends so many requests that are no deliveries, over so many connections at a time, and counts what it sees.
pub(super) async fn malformed(
    address: &str,
    secret: &str,
    (requests, hands): (u64, usize),
    seen: &Arc<Seen>,
) {
    let next = Arc::new(AtomicU64::new(0));
    let deep = Arc::new([vec![b'['; DEEP], vec![b']'; DEEP]].concat());
    let mut working = JoinSet::new();
    for _ in 0..hands {
        let (next, seen, deep) = (next.clone(), seen.clone(), deep.clone());
        let (address, kinds) = (address.to_owned(), Kinds::new(secret));
        working.spawn(async move {
            let mut connection = None;
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= requests {
                    return;
                }
                let (request, signed) = kinds.request(number, &deep);
                let asked = async {
                    match number % KINDS {
                        CUT_OFF => cut_off(&address, &request).await,
                        _ => ask(&mut connection, &address, &request).await,
                    }
                };
                let status = match tokio::time::timeout(IMPATIENCE, asked).await {
                    Ok(Ok(status)) => status,
                    Ok(Err(_)) | Err(_) => 0,
                };
                // A broken request may leave a connection in which the next would be read as its rest.
                if !(200..300).contains(&status) && status != 401 {
                    connection = None;
                }
                let counter = match status {
                    0 => &seen.silent,
                    200..400 if signed => &seen.replayed,
                    200..400 => &seen.taken,
                    _ => &seen.refused,
                };
                counter.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    working.join_all().await;
}

/// Sends the beginning of a request and goes, as a connection does that breaks; what is answered counts.
async fn cut_off(address: &str, beginning: &[u8]) -> Result<u16, std::io::Error> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(beginning).await?;
    stream.shutdown().await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    let status = String::from_utf8_lossy(&answer).split(' ').nth(1).and_then(|word| word.parse().ok());
    status.ok_or_else(|| std::io::ErrorKind::UnexpectedEof.into())
}

/// How many kinds there are, and which of them is the beginning of a delivery.
const KINDS: u64 = 9;
const CUT_OFF: u64 = 5;

/// The kinds of what is no delivery.
struct Kinds {
    /// A whole delivery, as it would be right.
    right: Vec<u8>,
    body: String,
    signature: String,
}

impl Kinds {
    fn new(secret: &str) -> Self {
        let (_, right) = Load::new(secret).request();
        let body = r#"{"action":"created","sender":{"id":2}}"#.to_owned();
        let signature = signature(secret, &body);
        Self { right, signature, body }
    }

    /// One of them, and whether its signature is right.
    fn request(&self, number: u64, deep: &[u8]) -> (Vec<u8>, bool) {
        let mut random = StdRng::seed_from_u64(number);
        let Self { body, signature, .. } = self;
        let flipped = || flip(&self.right, number);
        if number % DEEP_EVERY == 17 {
            return (request(number, &format!("x-hub-signature-256: {signature}\r\n"), deep), false);
        }
        match number % KINDS {
            0 | 1 => (flipped(), false),
            2 => (request(number, "", body.as_bytes()), false),
            3 => (
                request(number, &format!("x-hub-signature: sha1={}\r\n", "0".repeat(40)), body.as_bytes()),
                false,
            ),
            4 => {
                let line = format!("x-hub-signature-256: {}\r\n", &signature[..signature.len() - 1]);
                (request(number, &line, body.as_bytes()), false)
            }
            CUT_OFF => (self.right[..random.random_range(1..self.right.len())].to_vec(), false),
            6 => (request(number, &format!("x-hub-signature-256: {signature}\r\n"), body.as_bytes()), true),
            7 => ((0..random.random_range(1..2_000)).map(|_| random.random()).collect(), false),
            _ => (request(number, &format!("x: {}\r\n", "x".repeat(20_000)), body.as_bytes()), false),
        }
    }
}

/// One bit in what is signed is off, and now and then a byte before it.
fn flip(right: &[u8], number: u64) -> Vec<u8> {
    let mut random = StdRng::seed_from_u64(number);
    let mut damaged = right.to_vec();
    let body = right.windows(4).position(|four| four == b"\r\n\r\n").map_or(0, |at| at + 4);
    damaged[random.random_range(body..right.len())] ^= 1 << random.random_range(0..8);
    if random.random_bool(0.3) {
        damaged[random.random_range(0..body)] = random.random();
    }
    damaged
}

fn request(number: u64, line: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST /webhooks HTTP/1.1\r\nhost: localhost\r\nx-github-delivery: stranger-{number}\r\n\
         x-github-event: star\r\n{line}content-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}
