//! Composition root: settings become running parts. Used by the program and by the tests.

mod action;
mod check;
mod configured;
pub mod doctor;
mod forget;
pub mod mirrors;
mod observed;
mod observing;
mod operator;
mod presence;
mod publish;
mod runs;
pub mod setup;
mod steps;
mod terminal;

pub use crate::git::{Given, Head, Local, Unseen};
pub use crate::store::{AuditLine, Forgettable, Store, Summary};
pub use crate::work::action::{Ended, Ran};
pub use action::{Action, action};
pub use check::{Checked, Checker, End as CheckEnd};
pub use configured::{engine, instance, local, priced, program, settings};
pub use forget::{Forgetting, backup, forgetting};
pub use observed::observe;
pub use observing::{Observing, observing};
pub use operator::{Refused, answer, retry, stop};
pub use publish::{Wish, open_pull, repository_of};
pub use runs::{Note, Run, Runs};
pub use steps::{Call, Step, steps};
pub use terminal::{Terminal, terminal};

use crate::{
    agent::Engine,
    domain::network::Proxy,
    egress::Upstream,
    git::Mirrors,
    github::{self, GitHub},
    http::{self, Bounds, DiskMark, HttpState, WebhookSecrets},
    sandbox::Provider,
    work,
};
use anyhow::Context;
use secrecy::ExposeSecret;
use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};
use tokio::{net::TcpListener, sync::OnceCell, task::JoinSet, time::timeout};
use tokio_util::sync::CancellationToken;

/// Nothing waits longer than this for an answer of GitHub or a model to begin.
const CONNECT: Duration = Duration::from_secs(20);

/// How long the work in progress may take to come to rest when the process is to end.
const DRAIN: Duration = Duration::from_secs(10);

/// What a server is made of.
pub struct Settings {
    /// Where webhooks come in, e.g. `127.0.0.1:3000`.
    pub listen: String,
    /// `sqlite:PATH` or `postgres://…`.
    pub database: String,
    /// Mirrors and whatever else is kept in files.
    pub data: PathBuf,
    /// With less free disk than this no delivery is taken and no round begins: what is acknowledged must be stored. Bytes.
    pub min_free_disk: u64,
    /// Bytes of what repositories had installed that are kept for their next sandboxes; none: nothing is.
    pub installed: u64,
    /// The forge and the App.
    pub github: github::Settings,
    /// What webhooks are signed with; `None`: none are taken.
    pub webhooks: Option<WebhookSecrets>,
    /// How GitHub's own list of deliveries is used.
    pub hooks: work::Hooks,
    /// Where rounds run.
    pub sandboxes: Provider,
    /// How sandboxes reach the world.
    pub upstream: Upstream,
    /// The proxy that git reaches the forge by.
    pub proxy: Option<Proxy>,
    /// What thinks.
    pub engine: Arc<dyn Engine>,
    /// What the operator decided.
    pub work: work::Settings,
}

/// A running server.
#[derive(Debug)]
pub struct Running {
    /// Where it listens.
    pub address: SocketAddr,
    /// Its database.
    pub store: Store,
    shutdown: CancellationToken,
    /// Ended before the presence is given up: whoever is alone takes over what these hold.
    tasks: JoinSet<()>,
    _presence: Option<presence::Presence>,
}

/// The one client for GitHub and models; by way of a proxy, where there is one for what is asked.
///
/// # Errors
/// When the system's certificates cannot be read.
pub fn http_client(proxy: Option<Proxy>) -> anyhow::Result<reqwest::Client> {
    let agent = concat!("fixpoint/", env!("CARGO_PKG_VERSION"));
    let mut client = reqwest::Client::builder()
        .user_agent(agent)
        .connect_timeout(CONNECT)
        .redirect(reqwest::redirect::Policy::none())
        // The configuration has looked at the environment already.
        .no_proxy();
    if let Some(proxy) = proxy {
        let account = proxy.account().map(|(name, password)| (name.to_owned(), password.clone()));
        let address = format!("http://{}", proxy.address());
        let by = reqwest::Proxy::custom(move |url| {
            url.host_str().filter(|host| proxy.is_for(host)).map(|_| address.clone())
        });
        client = client.proxy(match account {
            Some((name, password)) => by.basic_auth(&name, password.expose_secret()),
            None => by,
        });
    }
    client.build().context("the HTTP client cannot be made")
}

/// Opens a database for looking into it: one that is not there is not made.
///
/// # Errors
/// When it is not there or cannot be opened.
pub async fn existing_store(database: &str) -> anyhow::Result<Store> {
    if let Some(path) = database.strip_prefix("sqlite:")
        && !std::path::Path::new(path).exists()
    {
        anyhow::bail!(
            "there is no database at {path}; was `fixpoint serve` run here, or is `database` another?"
        );
    }
    Ok(Store::open(database).await?)
}

/// Whether a server works on a database now; `None`: that cannot be known from here.
pub fn is_served(database: &str) -> Option<bool> {
    let path = database.strip_prefix("sqlite:")?;
    Some(presence::is_worked_on(std::path::Path::new(path.strip_prefix("//").unwrap_or(path))))
}

/// Starts a server: it listens and works until [`Running::stop`].
///
/// # Errors
/// When the database cannot be opened, the address is taken, or a setting is unusable.
pub async fn start(settings: Settings, http: reqwest::Client) -> anyhow::Result<Running> {
    std::fs::create_dir_all(&settings.data)
        .with_context(|| format!("the data folder {} cannot be made", settings.data.display()))?;
    let store = Store::open(&settings.database).await?;
    let listener = TcpListener::bind(&settings.listen)
        .await
        .with_context(|| format!("{} cannot be listened on; is another server running?", settings.listen))?;
    let address = listener.local_addr()?;
    let presence = presence::join(&store, &settings.database).await;
    let shutdown = CancellationToken::new();
    let disk = DiskMark { folder: settings.data.clone(), bytes: settings.min_free_disk };
    let mut state = HttpState::new(store.clone(), settings.webhooks).bounded(Bounds::default());
    state.disk = Some(disk.clone());
    let operator = Arc::new(settings.work);
    let house = work::House::new(operator.clone(), settings.engine.models());
    let mut github = GitHub::new(settings.github, http)?;
    github.withhold(&operator.secrets);
    let parts = work::Parts {
        store: store.clone(),
        github,
        app: Arc::new(OnceCell::new()),
        mirrors: Mirrors::new(settings.data.join("mirrors")).through(settings.proxy),
        sandboxes: settings.sandboxes,
        kept: configured::kept(&settings.data, settings.installed),
        upstream: settings.upstream,
        engine: settings.engine,
        settings: operator,
        house,
        disk: Some(disk),
    };
    let stop = shutdown.clone();
    let mut tasks = JoinSet::new();
    tasks.spawn(http::serve(listener, state, async move { stop.cancelled().await }));
    tasks.spawn(work::read_hooks(parts.clone(), settings.hooks, shutdown.clone()));
    tasks.spawn(work::run(parts, shutdown.clone()));
    Ok(Running { address, store, shutdown, tasks, _presence: presence })
}

impl Running {
    /// Stops taking work, gives back what is held, and ends; what is not at rest after ten seconds is cut off.
    pub async fn stop(mut self) {
        self.shutdown.cancel();
        come_to_rest(&mut self.tasks, DRAIN).await;
    }
}

/// Waits for tasks to end. Those that do not in time are ended, and what they have begun is told to: the next server of this
/// process would work beside them. Should one of these still write, its epoch fences it.
async fn come_to_rest(tasks: &mut JoinSet<()>, time: Duration) {
    let all = async { while tasks.join_next().await.is_some() {} };
    if timeout(time, all).await.is_err() {
        tracing::warn!(
            "the work in progress did not come to rest in time and is cut off; its leases run out by themselves"
        );
        tasks.shutdown().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn what_does_not_come_to_rest_is_ended_with_what_it_began() {
        let (begins, begun) = oneshot::channel();
        let (held, gone) = oneshot::channel::<()>();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            // As each session is driven.
            let mut driven = JoinSet::new();
            driven.spawn(async move {
                let _held = held;
                begins.send(()).unwrap();
                std::future::pending::<()>().await;
            });
            while driven.join_next().await.is_some() {}
        });
        begun.await.unwrap();
        come_to_rest(&mut tasks, Duration::ZERO).await;
        let gone = timeout(Duration::from_secs(60), gone).await;
        assert!(matches!(gone, Ok(Err(_))), "it is still at work");
    }
}
