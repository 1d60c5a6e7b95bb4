//! What durability costs: deliveries a second of a real server, and of a receiver on the same libraries that verifies the
//! signature and stores nothing. `scripts/long/throughput.sh` runs it.

use super::{
    sender::{Answered, Load},
    world::Machine,
};
use axum::{Router, body::Bytes, http::HeaderMap, http::StatusCode, routing::post};
use hmac::{Hmac, KeyInit, Mac};
use std::time::{Duration, Instant};

const CONNECTIONS: [usize; 2] = [16, 64];
/// Before it counts: connections are made, caches are filled.
const WARM: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: scripts/long/throughput.sh"]
async fn deliveries_a_second_beside_a_receiver_that_stores_nothing() {
    let span = Duration::from_secs(super::number("FIXPOINT_SECONDS").unwrap_or(60));
    for connections in CONNECTIONS {
        let bare = bare(connections, span).await;
        let server = server(connections, span).await;
        println!("{connections} connections, nothing stored: {bare}");
        println!("{connections} connections, stored:         {server}");
        println!("{connections} connections, ratio of rates: {:.3}", server.rate / bare.rate);
    }
}

async fn server(connections: usize, span: Duration) -> Figures {
    let mut machine = Machine::start(|_| Duration::ZERO).await;
    let load = Load::new(&machine.secret().await);
    let figures = measure(&load, &machine.address(), connections, span).await;
    machine.kill().await;
    figures
}

/// A runtime of its own, as a process would have.
async fn bare(connections: usize, span: Duration) -> Figures {
    let secret = "quiet-river-under-the-old-bridge";
    let (tell, told) = tokio::sync::oneshot::channel();
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let receiver = std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            tell.send(listener.local_addr().unwrap().to_string()).unwrap();
            let router = Router::new().route("/webhooks", post(move |h, body| verify(secret, h, body)));
            tokio::select! {
                served = axum::serve(listener, router).into_future() => served.unwrap(),
                _ = ended => {}
            }
        });
    });
    let figures = measure(&Load::new(secret), &told.await.unwrap(), connections, span).await;
    drop(end);
    tokio::task::spawn_blocking(|| receiver.join().unwrap()).await.unwrap();
    figures
}

async fn verify(secret: &'static str, headers: HeaderMap, body: Bytes) -> StatusCode {
    let Some(signature) = headers.get("x-hub-signature-256").and_then(|s| s.to_str().ok()) else {
        return StatusCode::UNAUTHORIZED;
    };
    let given = hex::decode(signature.trim_start_matches("sha256=")).unwrap_or_default();
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(&body);
    if mac.verify_slice(&given).is_ok() { StatusCode::ACCEPTED } else { StatusCode::UNAUTHORIZED }
}

async fn measure(load: &Load, address: &str, connections: usize, span: Duration) -> Figures {
    let warm = load.send(address, connections);
    tokio::time::sleep(WARM).await;
    warm.end().await;
    let (sending, begun) = (load.send(address, connections), Instant::now());
    tokio::time::sleep(span).await;
    let answered = sending.end().await;
    Figures::of(&answered, begun.elapsed())
}

/// What was seen.
struct Figures {
    rate: f64,
    half: Duration,
    most: Duration,
    refused: usize,
}

impl Figures {
    fn of(answered: &[Answered], span: Duration) -> Self {
        let good = answered.iter().filter(|one| (200..300).contains(&one.status));
        let mut took: Vec<Duration> = good.map(|one| one.took).collect();
        took.sort_unstable();
        assert!(!took.is_empty(), "nothing was acknowledged");
        let rate = f64::from(u32::try_from(took.len()).unwrap()) / span.as_secs_f64();
        let at = |percent: usize| took[(took.len() - 1) * percent / 100];
        Self { rate, half: at(50), most: at(99), refused: answered.len() - took.len() }
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { rate, half, most, refused } = self;
        write!(f, "{rate:.0} a second, p50 {half:.1?}, p99 {most:.1?}, {refused} refused")
    }
}
