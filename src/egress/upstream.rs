//! Towards the world: names are resolved once, every address they lead to is looked at, and one of those is dialled.
//!
//! Redirects are not followed: the sandbox sees them, and asks again if it may.

use super::{Credential, connect};
use crate::domain::{
    Fault,
    egress::{Destination, Reach, reach},
    network::Proxy,
    seeded,
};
use futures::future::BoxFuture;
use reqwest::{
    Client, ClientBuilder,
    dns::{Addrs, Name, Resolve, Resolving},
    redirect::Policy,
};
use secrecy::ExposeSecret;
use std::{
    error::Error,
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};
use tokio::net::TcpStream;

/// The longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(20);

/// The longest silence of an answer: a mirror that fetches a large file from elsewhere first takes its time.
const SILENCE: Duration = Duration::from_secs(120);

/// How a name becomes addresses.
pub type Resolver = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync>;

/// As this machine resolves names.
pub fn system() -> Resolver {
    Arc::new(|host| {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host.as_str(), 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    })
}

/// The name leads to an address that the sandbox must not reach.
#[derive(Debug, thiserror::Error)]
#[error("its address is not public")]
pub(super) struct NotPublic;

/// The way to the world, for all sessions.
#[derive(Clone)]
pub struct Upstream {
    resolver: Resolver,
    public: Client,
    private: Client,
    /// The proxy that this machine reaches the world by, and the client that asks it.
    proxied: Option<(Arc<Proxy>, Client)>,
    credentials: Arc<Vec<Credential>>,
}

/// Gives addresses only where all that a name leads to are open: one good address among bad ones is a trick.
struct Checked {
    resolver: Resolver,
    private: bool,
}

impl Checked {
    async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, Box<dyn Error + Send + Sync>> {
        let found = match host.parse() {
            Ok(address) => vec![address],
            Err(_) => (self.resolver)(host.to_owned()).await?,
        };
        let open = |address: &IpAddr| match reach(*address) {
            Reach::Global => true,
            Reach::Private => self.private,
            Reach::Never => false,
        };
        match found.iter().all(open) || seeded(Fault::AddressesUnseen) {
            _ if found.is_empty() => Err(io::Error::other("the name leads to no address").into()),
            true => Ok(found),
            false => Err(NotPublic.into()),
        }
    }
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let checked = Self { resolver: self.resolver.clone(), private: self.private };
        Box::pin(async move {
            let found = checked.addresses(name.as_str()).await?;
            Ok(Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}

/// What all of its clients have in common.
fn plain(builder: ClientBuilder) -> ClientBuilder {
    builder
        .redirect(Policy::none())
        // What the environment says is none of a sandbox's business.
        .no_proxy()
        // Bytes pass as they are.
        .no_gzip()
        .http1_only()
        .connect_timeout(CONNECT)
        .read_timeout(SILENCE)
}

impl Upstream {
    /// Asks `resolver` for every name.
    ///
    /// # Errors
    /// When the system's certificates cannot be read.
    pub fn new(resolver: Resolver) -> reqwest::Result<Self> {
        Self::built(resolver, |builder| builder)
    }

    pub(super) fn built(
        resolver: Resolver,
        more: impl Fn(ClientBuilder) -> ClientBuilder,
    ) -> reqwest::Result<Self> {
        let client = |private| {
            let checked = Checked { resolver: resolver.clone(), private };
            plain(more(Client::builder())).dns_resolver(Arc::new(checked)).build()
        };
        let credentials = Arc::default();
        Ok(Self { public: client(false)?, private: client(true)?, proxied: None, resolver, credentials })
    }

    /// The same by way of a proxy, where it is for the host that is asked.
    ///
    /// # Errors
    /// When the system's certificates cannot be read.
    pub fn through(self, proxy: Option<Proxy>) -> reqwest::Result<Self> {
        self.built_through(proxy, |builder| builder)
    }

    pub(super) fn built_through(
        self,
        proxy: Option<Proxy>,
        more: impl Fn(ClientBuilder) -> ClientBuilder,
    ) -> reqwest::Result<Self> {
        let Some(proxy) = proxy else { return Ok(self) };
        // Its own name is the operator's word, and may lead anywhere.
        let by = reqwest::Proxy::all(proxy.url().expose_secret())?;
        let client = plain(more(Client::builder())).proxy(by).build()?;
        Ok(Self { proxied: Some((Arc::new(proxy), client)), ..self })
    }

    /// With these credentials, each for its own destination and repositories.
    #[must_use]
    pub fn with(self, credentials: Vec<Credential>) -> Self {
        Self { credentials: Arc::new(credentials), ..self }
    }

    /// The same for requests of one repository, `owner/name`: a credential of others is none of its.
    #[must_use]
    pub fn of(&self, repository: &str) -> Self {
        let own = self.credentials.iter().filter(|credential| credential.is_for(repository));
        self.clone().with(own.cloned().collect())
    }

    /// What a destination is asked with.
    pub(super) fn credential(&self, to: &Destination) -> Option<&Credential> {
        self.credentials.iter().find(|credential| credential.is_about(to))
    }

    /// Asks a destination on behalf of a sandbox. `private`: the operator allows an address of a private network for it.
    pub(super) async fn ask(
        &self,
        to: &Destination,
        private: bool,
        request: reqwest::Request,
    ) -> Result<reqwest::Response, Failure> {
        if let Some((_, client)) = self.proxy(to) {
            self.look(to, private).await?;
            return client.execute(request).await.map_err(|error| Failure::of(&error));
        }
        // What is an address already passes no resolver.
        if to.address().is_some() {
            self.checked(private).addresses(to.host()).await.map_err(|error| Failure::of(&*error))?;
        }
        let client = if private { &self.private } else { &self.public };
        client.execute(request).await.map_err(|error| Failure::of(&error))
    }

    /// A bare connection, for what passes unopened.
    pub(super) async fn dial(&self, to: &Destination, private: bool) -> Result<TcpStream, Failure> {
        if let Some((proxy, _)) = self.proxy(to) {
            self.look(to, private).await?;
            let tunnel = tokio::time::timeout(CONNECT, connect::through(proxy, to)).await;
            let tunnel =
                tunnel.map_err(|_| Failure::Unreachable("the proxy gives no answer in time".to_owned()))?;
            return tunnel.map_err(|error| Failure::of(&error));
        }
        let found = self.checked(private).addresses(to.host()).await;
        let found = found.map_err(|error| Failure::of(&*error))?;
        let addresses: Vec<_> = found.into_iter().map(|ip| SocketAddr::new(ip, to.port())).collect();
        match tokio::time::timeout(CONNECT, TcpStream::connect(&addresses[..])).await {
            Ok(connected) => connected.map_err(|error| Failure::of(&error)),
            Err(_) => Err(Failure::Unreachable("no answer in time".to_owned())),
        }
    }

    fn proxy(&self, to: &Destination) -> Option<&(Arc<Proxy>, Client)> {
        self.proxied.as_ref().filter(|(proxy, _)| proxy.is_for(to.host()))
    }

    /// What a proxy will be asked for, as far as it can be seen from here: a name that this machine resolves to a closed address is
    /// closed. One that it cannot resolve is the proxy's to judge, which has the only look at it.
    async fn look(&self, to: &Destination, private: bool) -> Result<(), Failure> {
        match self.checked(private).addresses(to.host()).await {
            Err(error) if error.is::<NotPublic>() => Err(Failure::NotPublic),
            _ => Ok(()),
        }
    }

    fn checked(&self, private: bool) -> Checked {
        Checked { resolver: self.resolver.clone(), private }
    }
}

/// Why the world gave no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// The address is closed.
    NotPublic,
    /// Anything else, in the words of whoever said it.
    Unreachable(String),
}

impl Failure {
    fn of(error: &(dyn Error + 'static)) -> Self {
        let mut cause = Some(error);
        let mut last = error.to_string();
        while let Some(error) = cause {
            if error.is::<NotPublic>() {
                return Self::NotPublic;
            }
            last = error.to_string();
            cause = error.source();
        }
        Self::Unreachable(last)
    }
}
