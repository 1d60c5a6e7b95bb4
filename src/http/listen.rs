//! The listener: hyper's HTTP/1 builder instead of `axum::serve`, which would keep half-sent requests for ever.

use super::{Bounds, HttpState, crowd::Seat, router};
use axum::{Router, http::Request};
use hyper::{
    body::Incoming,
    server::conn::http1,
    service::{Service as _, service_fn},
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr, SocketAddr},
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
    let (bounds, crowd) = (state.bounds, state.crowd.clone());
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
        if room.available_permits() == 0 {
            // For the next one, who shall not have to wait.
            crowd.give_way();
        }
        let seat = crowd.enter();
        let (service, end) = (service.clone(), end.clone());
        connections.spawn(async move {
            converse(stream, service, bounds, seat, end).await;
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
    service: TowerToHyperService<Router>,
    bounds: Bounds,
    seat: Seat,
    end: CancellationToken,
) {
    // Answers are one small segment; waiting for more to send would only delay them.
    let _ = stream.set_nodelay(true);
    let known = seat.clone();
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(known.clone());
        service.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.header)
        .max_buf_size(HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = seat.gives_way() => return,
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
        let ip = holder(ip);
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = held.entry(ip).or_default();
        if *count >= most && !ip.is_loopback() {
            return None;
        }
        *count += 1;
        Some(Place { addresses: self.clone(), ip })
    }
}

/// Who an address is: of version 6 whoever has one has the whole /64.
fn holder(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(six) if !six.is_loopback() => {
            let [a, b, c, d, ..] = six.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        ip => ip,
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

#[cfg(test)]
mod tests {
    use super::Addresses;
    use std::net::IpAddr;

    #[test]
    fn t45_an_address_has_its_places_and_gives_them_back() {
        let addresses = Addresses::default();
        let (stranger, other): (IpAddr, IpAddr) =
            ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let mut held: Vec<_> = (0..3).map(|_| addresses.take(stranger, 3).unwrap()).collect();
        assert!(addresses.take(stranger, 3).is_none());
        let mapped = "::ffff:192.0.2.1".parse().unwrap();
        assert!(addresses.take(mapped, 3).is_none(), "the same address in other clothes");
        assert!(addresses.take(other, 3).is_some());
        held.pop();
        held.push(addresses.take(stranger, 3).unwrap());
        drop(held);
        assert!(addresses.0.lock().unwrap().is_empty(), "nothing is remembered of who has gone");
        let six = |text: &str| addresses.take(text.parse().unwrap(), 1);
        let one = six("2001:db8::1");
        assert!(one.is_some() && six("2001:db8::2").is_none() && six("2001:db8:0:1::1").is_some());
        let proxy = "127.0.0.1".parse().unwrap();
        let many: Vec<_> = (0..9).map(|_| addresses.take(proxy, 3).unwrap()).collect();
        assert_eq!(many.len(), 9);
    }
}
