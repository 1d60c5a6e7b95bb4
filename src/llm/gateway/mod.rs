//! The model as an agent's program in a sandbox reaches it: one local service, opened for one run of the program.
//!
//! The program has a token of this run, not a key. What it asks is taken down to what a conversation needs, asked again with
//! the key, and what came of it is told to whoever keeps the account before the reply's end is handed over: no call of a
//! reply is carried out that was not paid for and written down. One question at a time, so that a budget is overrun by one
//! reply at most. Everything that comes in may be the agent's own doing.

mod answer;
mod ask;
mod passage;
mod relay;
#[cfg(test)]
mod tests;

use super::{ModelError, ModelSettings, Reply, Wire, remote::Remote};
use answer::Refused;
use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU32, Ordering},
};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// How often a run may have tokens counted: it costs nothing, but a provider limits that too.
const COUNTS: u32 = 1_000;

/// How many questions of a run the provider may refuse: a loop of them costs nothing, but it stands against the operator's key.
const REFUSALS: u32 = 100;

/// A body as it is answered with.
pub type Body = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// What answers a sandbox.
pub type Local = Arc<dyn Fn(Request<Bytes>) -> BoxFuture<'static, Response<Body>> + Send + Sync>;

/// The way of one round's sandbox to one model. Closed until it is opened.
pub struct Gateway {
    remote: Remote,
    desk: Mutex<Option<Arc<Desk>>>,
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Gateway")
    }
}

/// What happens at an open gateway.
#[derive(Debug)]
pub enum Heard {
    /// A reply came. Its end is handed over once `go_on` is sent; dropped, the program never sees it.
    Reply {
        /// The reply.
        reply: Reply,
        /// Its price in millionths of a dollar; zero where no price is known.
        micros: u64,
        /// Hands its end over.
        go_on: oneshot::Sender<()>,
    },
    /// The provider did not take a question. The program was told, and may ask another way.
    Refused(ModelError),
    /// The provider will not answer: asking again is of no use to the program.
    Failed(ModelError),
}

/// An open gateway; dropped, its token is worth nothing and what is under way is cut.
pub struct Open {
    /// What the program proves itself with.
    pub token: String,
    heard: mpsc::Receiver<Heard>,
    gateway: Arc<Gateway>,
    desk: Arc<Desk>,
}

/// One run's account.
struct Desk {
    token: String,
    tell: mpsc::Sender<Heard>,
    /// Whose question is being asked.
    turn: Arc<tokio::sync::Mutex<()>>,
    counts: AtomicU32,
    /// Questions that the provider did not take.
    refusals: AtomicU32,
    over: CancellationToken,
}

impl Gateway {
    /// A gateway to a model. The client must not follow redirects: the key would go along.
    ///
    /// # Errors
    /// [`ModelError::Key`] when the key cannot be a header, [`ModelError::Invalid`] when the address cannot be one or the
    /// model is not spoken to in Anthropic's wire.
    pub fn new(settings: ModelSettings, http: reqwest::Client) -> Result<Arc<Self>, ModelError> {
        if settings.wire != Wire::Anthropic {
            return Err(ModelError::Invalid("the gateway speaks Anthropic's wire alone".to_owned()));
        }
        Ok(Arc::new(Self { remote: Remote::new(settings, http)?, desk: Mutex::default() }))
    }

    /// Another to the same model, for another round: what is opened here is closed there.
    #[must_use]
    pub fn anew(&self) -> Arc<Self> {
        Arc::new(Self { remote: self.remote.clone(), desk: Mutex::default() })
    }

    /// The model's name.
    pub fn name(&self) -> &str {
        &self.remote.name
    }

    /// The host that is asked.
    pub fn host(&self) -> &str {
        &self.remote.host
    }

    /// Opens it for one run; one that was open before is closed.
    pub fn open(self: &Arc<Self>) -> Open {
        let random = || uuid::Uuid::new_v4().simple().to_string();
        let token = format!("fixpoint-{}{}", random(), random());
        // Nothing is asked before the one before it was heard.
        let (tell, heard) = mpsc::channel(1);
        let desk = Arc::new(Desk {
            token: token.clone(),
            tell,
            turn: Arc::default(),
            counts: AtomicU32::new(0),
            refusals: AtomicU32::new(0),
            over: CancellationToken::new(),
        });
        let before = self.lock().replace(desk.clone());
        if let Some(before) = before {
            before.over.cancel();
        }
        Open { token, heard, gateway: self.clone(), desk }
    }

    /// As a service of the host.
    pub fn local(self: &Arc<Self>) -> Local {
        let gateway = self.clone();
        Arc::new(move |request| {
            let gateway = gateway.clone();
            Box::pin(async move {
                gateway.answer(request).await.unwrap_or_else(|refused| {
                    tracing::debug!(status = %refused.status, why = refused.why, "the gateway refused the sandbox");
                    refused.response()
                })
            })
        })
    }

    async fn answer(self: Arc<Self>, request: Request<Bytes>) -> Result<Response<Body>, Refused> {
        let desk = self.lock().clone().ok_or_else(Refused::closed)?;
        ask::prove(request.headers(), &desk.token)?;
        // Who hangs up while it waits for its turn is not asked for. Afterwards its reply is paid for all the same: the work
        // goes on by itself.
        let turn = desk.turn.clone().lock_owned().await;
        if !self.lock().as_ref().is_some_and(|open| Arc::ptr_eq(open, &desk)) {
            // It was closed meanwhile: what the reply before used up is not overrun by those who waited.
            return Err(Refused::closed());
        }
        let (head, answered) = oneshot::channel();
        tokio::spawn(async move {
            let work = relay::serve(&self.remote, &desk, &request, head);
            desk.over.run_until_cancelled(work).await;
            drop(turn);
        });
        answered.await.unwrap_or_else(|_| Err(Refused::closed()))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Arc<Desk>>> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// What happens next; pends for ever where nothing does.
    pub async fn heard(&mut self) -> Heard {
        match self.heard.recv().await {
            Some(heard) => heard,
            None => std::future::pending().await,
        }
    }

    /// Is a question being asked?
    pub fn is_asking(&self) -> bool {
        self.desk.turn.try_lock().is_err()
    }

    /// Takes no further question; what is under way comes to its end.
    pub fn close(&self) {
        let mut open = self.gateway.lock();
        if open.as_ref().is_some_and(|desk| Arc::ptr_eq(desk, &self.desk)) {
            *open = None;
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.desk.over.cancel();
        self.close();
    }
}

impl Desk {
    /// May tokens be counted once more?
    fn counts(&self) -> Result<(), Refused> {
        match self.counts.fetch_add(1, Ordering::Relaxed) < COUNTS {
            true => Ok(()),
            false => Err(Refused::busy("tokens were counted often enough in this run")),
        }
    }

    /// May the provider refuse one more?
    fn refuses(&self) -> bool {
        self.refusals.fetch_add(1, Ordering::Relaxed) < REFUSALS
    }

    /// Has a reply written down; gives whether its end may be handed over.
    async fn paid(&self, reply: Reply, micros: u64) -> bool {
        let (go_on, gone_on) = oneshot::channel();
        self.tell.send(Heard::Reply { reply, micros, go_on }).await.is_ok() && gone_on.await.is_ok()
    }
}
