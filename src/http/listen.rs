//! The listener: hyper's HTTP/1 builder instead of `axum::serve`, which would keep half-sent requests for ever.

use super::{Bounds, HttpState, router};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use std::{
    collections::HashMap,
    net::{IpAddr, SocketAddr},
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

/// After a refused `accept` (no file descriptors left, most likely): time for some to come free.
const BREATH: Duration = Duration::from_millis(50);
/// A request's header, all of it. GitHub's are under 2 kB.
const HEADER_BYTES: usize = 16 << 10;

/// Serves until `shutdown` completes; then answers what it has begun and returns, at the latest after the drain bound.
pub async fn serve(listener: TcpListener, state: HttpState, shutdown: impl Future<Output = ()>) {
    let bounds = state.bounds;
    let service = TowerToHyperService::new(router(state));
    let (room, addresses) = (Arc::new(Semaphore::new(bounds.connections)), Addresses::default());
    let (end, mut connections) = (CancellationToken::new(), JoinSet::new());
    let mut shutdown = pin!(shutdown);
    loop {
        let (stream, peer, permit) = tokio::select! {
            () = &mut shutdown => break,
            accepted = accept(&listener, &room) => accepted,
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
        };
        let Some(place) = addresses.take(peer.ip(), bounds.connections_an_address) else { continue };
        let (service, end) = (service.clone(), end.clone());
        connections.spawn(async move {
            converse(stream, service, bounds, end).await;
            drop((permit, place));
        });
    }
    drop(listener);
    end.cancel();
    let drained = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(bounds.drain, drained).await.is_err() {
        tracing::warn!("some requests were not finished in time and are cut off");
    }
}

/// Waits for room first, so that the rest wait in the kernel's queue instead of our memory.
async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> (TcpStream, SocketAddr, OwnedSemaphorePermit) {
    loop {
        let Ok(permit) = Arc::clone(room).acquire_owned().await else {
            // Nobody closes it.
            return std::future::pending().await;
        };
        match listener.accept().await {
            Ok((stream, peer)) => return (stream, peer, permit),
            Err(error) => {
                tracing::warn!(%error, "a connection cannot be accepted");
                tokio::time::sleep(BREATH).await;
            }
        }
    }
}

/// One connection, from its first request to its last.
async fn converse(
    stream: TcpStream,
    service: TowerToHyperService<axum::Router>,
    bounds: Bounds,
    end: CancellationToken,
) {
    // Answers are one small segment; waiting for more to send would only delay them.
    let _ = stream.set_nodelay(true);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.header)
        .max_buf_size(HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = end.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// How many connections each address holds.
#[derive(Clone, Debug, Default)]
struct Addresses(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// One connection's place among its address's; given back when dropped.
struct Place {
    addresses: Addresses,
    ip: IpAddr,
}

impl Addresses {
    fn take(&self, ip: IpAddr, most: usize) -> Option<Place> {
        let ip = ip.to_canonical();
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = held.entry(ip).or_default();
        if *count >= most && !ip.is_loopback() {
            return None;
        }
        *count += 1;
        Some(Place { addresses: self.clone(), ip })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = self.addresses.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = held.get_mut(&self.ip) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.ip);
            }
        }
    }
}
