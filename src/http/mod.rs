//! What fixpoint serves: the webhook and the two health answers; and, apart from them, the page of set-up and that of the
//! profile that only observes.
//!
//! It commits and never waits for work: the commit wakes whoever does it. Nothing here parses what a stranger sent before
//! its signature is verified, and nothing of theirs is held without a bound: connections, time and bytes each have one.

mod body;
mod crowd;
mod health;
mod html;
mod listen;
mod loopback;
mod observe;
pub mod setup;
mod signature;
#[cfg(test)]
mod tests;
mod webhook;

pub use crate::store::DiskMark;
pub use listen::serve;
pub use observe::serve as serve_observed;
pub use signature::WebhookSecrets;

use crate::store::Store;
use axum::{
    Router,
    routing::{get, post},
};
use crowd::Crowd;
use std::{sync::Arc, time::Duration};
use tokio::sync::Semaphore;

/// What requests are answered with.
#[derive(Clone, Debug)]
pub struct HttpState {
    /// Where deliveries are kept.
    pub store: Store,
    /// What deliveries are signed with; `None`: none are taken here.
    pub secrets: Option<Arc<WebhookSecrets>>,
    /// Below this much free space the server is not ready and takes no delivery.
    pub disk: Option<DiskMark>,
    /// Bounds on what strangers may hold.
    pub bounds: Bounds,
    /// Bytes of bodies in flight that are still free.
    bytes: Arc<Semaphore>,
    /// Who gives way when there is no room.
    crowd: Crowd,
}

/// Bounds on what strangers may hold, before and without any signature.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// From silence to a whole header, also between two requests of a connection.
    pub header: Duration,
    /// For a whole body. GitHub gives up after ten seconds itself.
    pub body: Duration,
    /// Bytes of a body: GitHub sends at most 25 MB.
    pub body_bytes: usize,
    /// Bytes of all bodies in flight, so that a few large ones cannot take the memory: two of the largest, or ten thousand
    /// of the usual.
    pub bytes: usize,
    /// Connections in all, far below the 1,024 files that a process may usually open. At the last one the stranger who
    /// came first gives way.
    pub connections: usize,
    /// Connections of one address; more are closed at once. This machine's own are not counted: a proxy on it speaks for
    /// many.
    pub connections_an_address: usize,
    /// After the end was asked for, what is being answered gets this long.
    pub drain: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            header: Duration::from_secs(10),
            body: Duration::from_secs(15),
            body_bytes: 25 << 20,
            bytes: 64 << 20,
            connections: 512,
            connections_an_address: 64,
            drain: Duration::from_secs(8),
        }
    }
}

impl HttpState {
    /// With the usual bounds and no disk mark.
    pub fn new(store: Store, secrets: impl Into<Option<WebhookSecrets>>) -> Self {
        let bounds = Bounds::default();
        let bytes = Arc::new(Semaphore::new(bounds.bytes));
        let secrets = secrets.into().map(Arc::new);
        Self { store, secrets, disk: None, bounds, bytes, crowd: Crowd::default() }
    }

    /// With other bounds.
    pub fn bounded(self, bounds: Bounds) -> Self {
        Self { bounds, bytes: Arc::new(Semaphore::new(bounds.bytes)), ..self }
    }
}

fn router(state: HttpState) -> Router {
    Router::new()
        .route("/webhooks", post(webhook::receive))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .with_state(state)
}
