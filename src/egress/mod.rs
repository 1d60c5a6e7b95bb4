//! The host's end of a sandbox's only way out.
//!
//! Inside is a proxy that understands nothing; every connection it takes arrives here as a stream. What is asked is read
//! here, held against the operator's allow-list, and asked again by the host itself: the sandbox never speaks to anybody but
//! this module.

mod authority;
mod connect;
mod credential;
mod headers;
mod opaque;
mod proxy;
mod serve;
mod upstream;

#[cfg(test)]
mod tests;

pub use authority::CertificateError;
pub use credential::{Credential, Kind, Unsendable};
pub use upstream::{Resolver, Upstream, system};

use crate::{
    domain::egress::{AllowList, Destination, GATEWAY, Reached, Reason, Refusals},
    toolbox::wire::{self, egress as inside},
};
use authority::Authority;
use bytes::Bytes;
use futures::future::BoxFuture;
use http_body_util::combinators::UnsyncBoxBody;
use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite},
    sync::Semaphore,
};
use tokio_util::task::AbortOnDropHandle;

/// How long the proxy inside may take to say that it listens.
const START: Duration = Duration::from_secs(20);

/// Bytes that a round may bring in: a few toolchains with their packages.
const DOWN: u64 = 16 << 30;

/// Bytes that a round may send out, heads of requests included: many thousand requests, and little to carry a repository
/// away in.
const UP: u64 = 64 << 20;

/// Questions to the local service that are held at once, each of megabytes: as many as a program has helpers at work.
const QUESTIONS: usize = 4;

/// A body as it is passed on.
pub type Body = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// What answers to the reserved name on the host itself.
pub type Local = Arc<dyn Fn(http::Request<Bytes>) -> BoxFuture<'static, http::Response<Body>> + Send + Sync>;

/// Why a way out cannot be had, or is over.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    /// The proxy inside did not start.
    #[error("the proxy in the sandbox does not start: {0}")]
    Start(String),
    /// Certificates.
    #[error("{0}")]
    Certificate(#[from] CertificateError),
    /// Somebody attached a second one.
    #[error("the sandbox's stream is broken: a second one was attached")]
    Second,
    /// What came through the stream is not what both ends speak.
    #[error("the sandbox's stream is broken: {0}")]
    Broken(String),
}

/// A round's way out, before and while its sandbox uses it.
#[derive(Clone)]
pub struct Way {
    gate: Arc<Gate>,
    attached: Arc<AtomicBool>,
}

/// What every request of a round passes.
struct Gate {
    allow: AllowList,
    authority: Authority,
    upstream: Upstream,
    local: Option<Local>,
    questions: Semaphore,
    refusals: Mutex<Refusals>,
    reached: Mutex<Reached>,
    /// Bytes so far.
    down: AtomicU64,
    up: AtomicU64,
}

impl Way {
    /// A way to what is allowed, and to the one local service. Its certificates are good for `life` and a little more.
    ///
    /// # Errors
    /// Where no certificate can be made.
    pub fn new(
        allow: AllowList,
        upstream: Upstream,
        local: Option<Local>,
        life: Duration,
    ) -> Result<Self, EgressError> {
        let gateway = local.iter().map(|_| GATEWAY);
        let opened = allow.rules().iter().filter(|rule| !rule.opaque).map(|rule| rule.to.host());
        let authority = Authority::new(opened.chain(gateway), life)?;
        let (refusals, reached) = (Mutex::default(), Mutex::default());
        let (down, up) = (AtomicU64::new(0), AtomicU64::new(0));
        let questions = Semaphore::new(QUESTIONS);
        let gate = Gate { allow, authority, upstream, local, questions, refusals, reached, down, up };
        Ok(Self { gate: Arc::new(gate), attached: Arc::default() })
    }

    /// The arguments of the toolbox that carries it. Where TLS passes unopened its programs need the world's certificates;
    /// else the session's own is the only one that can be met.
    pub fn arguments(&self) -> Vec<String> {
        inside::arguments(self.gate.authority.pem(), self.gate.allow.opaque().next().is_some())
    }

    /// The session's certificate, for whoever checks what a sandbox is given.
    pub fn certificate(&self) -> &str {
        self.gate.authority.pem()
    }

    /// Serves what comes through the stream, as long as the answer is kept: dropped, everything that was open is cut.
    ///
    /// # Errors
    /// Where the proxy does not say that it listens, or another sandbox has this way already.
    pub async fn attach(
        &self,
        stdin: impl AsyncWrite + Send + Unpin + 'static,
        mut stdout: impl AsyncRead + Send + Unpin + 'static,
    ) -> Result<Attached, EgressError> {
        if self.attached.swap(true, Ordering::SeqCst) {
            return Err(EgressError::Second);
        }
        let mut said = vec![0; wire::READY.len()];
        let greeting = tokio::time::timeout(START, stdout.read_exact(&mut said)).await;
        match greeting {
            Ok(Ok(_)) if said == wire::READY.as_bytes() => {}
            Ok(Ok(_)) => return Err(EgressError::Start("it says something else".to_owned())),
            Ok(Err(error)) => return Err(EgressError::Start(error.to_string())),
            Err(_) => return Err(EgressError::Start("it does not answer in time".to_owned())),
        }
        let stream = tokio::io::join(stdout, stdin);
        let serving = tokio::spawn(serve::serve(self.gate.clone(), stream));
        Ok(Attached { serving: AbortOnDropHandle::new(serving) })
    }

    /// What was refused so far.
    pub fn refusals(&self) -> Refusals {
        self.gate.refusals.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What was reached so far.
    pub fn reached(&self) -> Reached {
        self.gate.reached.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Forgets what was refused: what a check of our own asked for is nobody's doing.
    pub fn forget_refusals(&self) -> Refusals {
        std::mem::take(&mut *self.gate.refusals.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Bytes that came in, and that went out.
    pub fn carried(&self) -> (u64, u64) {
        (self.gate.down.load(Ordering::Relaxed), self.gate.up.load(Ordering::Relaxed))
    }
}

/// A way that a sandbox uses.
#[derive(Debug)]
pub struct Attached {
    serving: AbortOnDropHandle<String>,
}

impl Attached {
    /// Completes when the stream ends or is no more what it should be.
    pub async fn broken(&mut self) -> EgressError {
        let why = (&mut self.serving).await;
        EgressError::Broken(why.unwrap_or_else(|_| "its task has died".to_owned()))
    }
}

impl Gate {
    /// Takes note of a refusal.
    fn refuse(&self, to: &str, why: Reason) {
        let new = self.refusals.lock().unwrap_or_else(PoisonError::into_inner).note(to, why);
        if new {
            let to: String =
                to.chars().take(120).map(|c| if c.is_ascii_graphic() { c } else { '?' }).collect();
            tracing::info!(to, %why, "the sandbox was refused something");
        }
    }

    /// Takes note of what passes between the sandbox and a destination.
    fn note(&self, what: impl FnOnce(&mut Reached)) {
        what(&mut self.reached.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Counts bytes from a destination; gives whether the session may still have them.
    fn came(&self, from: &Destination, bytes: usize) -> bool {
        self.note(|reached| reached.received(from, bytes));
        self.down.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64 <= DOWN
    }

    /// The same for what goes out.
    fn went(&self, bytes: usize) -> bool {
        self.up.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64 <= UP
    }
}
