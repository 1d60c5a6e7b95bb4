//! Towards the world: names are resolved once, every address they lead to is looked at, and one of those is dialled.
//!
//! Redirects are not followed: the sandbox sees them, and asks again if it may.

use crate::domain::{
    Fault,
    egress::{Destination, Reach, reach},
    seeded,
};
use futures::future::BoxFuture;
use reqwest::{
    Client,
    dns::{Addrs, Name, Resolve, Resolving},
    redirect::Policy,
};
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

impl Upstream {
    /// Asks `resolver` for every name.
    ///
    /// # Errors
    /// When the system's certificates cannot be read.
    pub fn new(resolver: Resolver) -> reqwest::Result<Self> {
        let client = |private| {
            Client::builder()
                .dns_resolver(Arc::new(Checked { resolver: resolver.clone(), private }))
                .redirect(Policy::none())
                // What the environment says is for this machine's own requests: a proxy would resolve names by itself.
                .no_proxy()
                // Bytes pass as they are.
                .no_gzip()
                .http1_only()
                .connect_timeout(CONNECT)
                .read_timeout(SILENCE)
                .build()
        };
        Ok(Self { public: client(false)?, private: client(true)?, resolver })
    }

    /// Asks a destination on behalf of a sandbox. `private`: the operator allows an address of a private network for it.
    pub(super) async fn ask(
        &self,
        to: &Destination,
        private: bool,
        request: reqwest::Request,
    ) -> Result<reqwest::Response, Failure> {
        // What is an address already passes no resolver.
        if to.address().is_some() {
            self.checked(private).addresses(to.host()).await.map_err(|error| Failure::of(&*error))?;
        }
        let client = if private { &self.private } else { &self.public };
        client.execute(request).await.map_err(|error| Failure::of(&error))
    }

    /// A bare connection, for what passes unopened.
    pub(super) async fn dial(&self, to: &Destination, private: bool) -> Result<TcpStream, Failure> {
        let found = self.checked(private).addresses(to.host()).await;
        let found = found.map_err(|error| Failure::of(&*error))?;
        let addresses: Vec<_> = found.into_iter().map(|ip| SocketAddr::new(ip, to.port())).collect();
        match tokio::time::timeout(CONNECT, TcpStream::connect(&addresses[..])).await {
            Ok(connected) => connected.map_err(|error| Failure::of(&error)),
            Err(_) => Err(Failure::Unreachable("no answer in time".to_owned())),
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
