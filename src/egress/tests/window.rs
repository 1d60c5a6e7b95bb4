//! How much is on its way at once. Through a container engine a window takes a while to be asked for anew, so that a download
//! held to one is as slow as that, whatever else is quick.

use super::*;
use std::{future::poll_fn, sync::atomic::AtomicUsize};
use tokio::{io::DuplexStream, sync::mpsc};
use tokio_util::compat::{FuturesAsyncReadCompatExt, TokioAsyncReadCompatExt};
use yamux::{Connection, Mode};

/// Each way takes so long.
const LAG: Duration = Duration::from_millis(150);

/// Sixteen windows.
const BYTES: usize = 4 << 20;

/// What yamux lets be on its way of a stream where nobody says more.
const WINDOW: usize = 256 << 10;

/// How many bytes are on their way, and how many that were at most.
#[derive(Debug, Default)]
struct OnTheWay {
    now: AtomicUsize,
    most: AtomicUsize,
}

/// Two ends that are far from each other, with room for all that is on its way; counted is what the second one sends.
fn far_apart(counted: &Arc<OnTheWay>) -> (DuplexStream, DuplexStream) {
    let ((here, one), (there, other)) = (tokio::io::duplex(1 << 20), tokio::io::duplex(1 << 20));
    let ((from_here, to_here), (from_there, to_there)) = (tokio::io::split(one), tokio::io::split(other));
    tokio::spawn(lag(from_here, to_there, Arc::default()));
    tokio::spawn(lag(from_there, to_here, counted.clone()));
    (here, there)
}

async fn lag(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, counted: Arc<OnTheWay>) {
    let (queue, mut due) = mpsc::unbounded_channel();
    let taken = counted.clone();
    let taking = async move {
        let mut piece = vec![0; 64 << 10];
        while let Ok(n @ 1..) = from.read(&mut piece).await {
            let now = taken.now.fetch_add(n, Ordering::SeqCst) + n;
            taken.most.fetch_max(now, Ordering::SeqCst);
            let _ = queue.send((tokio::time::Instant::now() + LAG, piece[..n].to_vec()));
        }
    };
    let giving = async {
        while let Some((at, bytes)) = due.recv().await {
            tokio::time::sleep_until(at).await;
            counted.now.fetch_sub(bytes.len(), Ordering::SeqCst);
            let _ = to.write_all(&bytes).await;
        }
    };
    tokio::join!(taking, giving);
}

/// How much of a download is on its way at most, where so much may wait inside beyond a window.
async fn download(room: usize) -> usize {
    let counted = Arc::new(OnTheWay::default());
    let (near, far) = far_apart(&counted);
    let mut host = Connection::new(far.compat(), inside::multiplexing(0), Mode::Server);
    tokio::spawn(async move {
        while let Some(Ok(stream)) = poll_fn(|context| host.poll_next_inbound(context)).await {
            tokio::spawn(async move {
                let mut stream = stream.compat();
                let asked = stream.read_u8().await;
                asked.and(stream.write_all(&vec![0; BYTES]).await)
            });
        }
    });
    let mut toolbox = Connection::new(near.compat(), inside::multiplexing(room), Mode::Client);
    let mut stream = poll_fn(|context| toolbox.poll_new_outbound(context)).await.unwrap().compat();
    tokio::spawn(poll_fn(move |context| toolbox.poll_next_inbound(context).map(drop)));
    stream.write_all(b"x").await.unwrap();
    stream.read_exact(&mut vec![0; BYTES]).await.unwrap();
    counted.most.load(Ordering::SeqCst)
}

#[tokio::test]
async fn a_download_is_not_held_to_one_window() {
    let (held, free) = (download(0).await, download(inside::ROOM).await);
    println!("held to one window {held} bytes, with room for more {free}");
    // Not by the clock: a busy machine has one of its own.
    assert!(free * 2 > held.max(WINDOW) * 3, "held to one window {held} bytes, with room for more {free}");
}
