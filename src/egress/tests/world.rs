//! A server of the world, and a sandbox's end of the stream.

use super::*;
use tokio::sync::Mutex;

/// Names of these tests: one that leads to this machine, one to a cloud's credentials, one to both a public address and here.
pub(super) fn resolver() -> Resolver {
    Arc::new(|host| {
        Box::pin(async move {
            let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
            Ok(match host.as_str() {
                "metadata.test" => vec![IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254))],
                "both.test" => vec![IpAddr::V4(Ipv4Addr::new(1, 1, 1, 1)), here],
                _ => vec![here],
            })
        })
    })
}

pub(super) fn way(allow: &[&str]) -> Way {
    way_with(allow, None)
}

fn way_with(allow: &[&str], local: Option<Local>) -> Way {
    let _ = rustls::crypto::ring::default_provider().install_default();
    way_over(allow, Upstream::new(resolver()).unwrap(), local)
}

pub(super) fn way_over(allow: &[&str], upstream: Upstream, local: Option<Local>) -> Way {
    Way::new(AllowList::parse(allow).unwrap(), upstream, local, Duration::from_secs(60)).unwrap()
}

/// A server that says what it was asked, byte by byte.
pub(super) struct World {
    pub(super) port: u16,
    heads: Arc<Mutex<Vec<Vec<u8>>>>,
    open: Arc<AtomicU64>,
}

impl World {
    pub(super) async fn start() -> Self {
        Self::start_with(None).await
    }

    /// The same over TLS, under a certificate of this authority for that host.
    pub(super) async fn start_tls(authority: &Authority, host: &str) -> Self {
        Self::start_with(Some(tokio_rustls::TlsAcceptor::from(authority.server(host).unwrap()))).await
    }

    async fn start_with(tls: Option<tokio_rustls::TlsAcceptor>) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (heads, open) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicU64::new(0)));
        let (kept, counted) = (heads.clone(), open.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (kept, counted, tls) = (kept.clone(), counted.clone(), tls.clone());
                tokio::spawn(async move {
                    counted.fetch_add(1, Ordering::SeqCst);
                    let _ = match tls {
                        Some(tls) => match tls.accept(stream).await {
                            Ok(mut stream) => {
                                let answered = answer(&mut stream, &kept).await;
                                let _ = stream.shutdown().await;
                                answered
                            }
                            Err(error) => Err(error),
                        },
                        None => answer(stream, &kept).await,
                    };
                    counted.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { port, heads, open }
    }

    /// First lines of what it was asked, without the version.
    pub(super) async fn asked(&self) -> Vec<String> {
        let heads = self.heads.lock().await;
        let line =
            |head: &Vec<u8>| String::from_utf8_lossy(head).lines().next().unwrap_or_default().to_owned();
        heads.iter().map(line).map(|line| line.trim_end_matches(" HTTP/1.1").to_owned()).collect()
    }

    /// All that it was asked, as it came.
    pub(super) async fn heads(&self) -> Vec<String> {
        self.heads.lock().await.iter().map(|head| String::from_utf8_lossy(head).into_owned()).collect()
    }

    /// The first bytes of its only connection.
    pub(super) async fn next_bytes(&self, n: usize) -> Vec<u8> {
        for _ in 0..6000 {
            if let Some(head) = self.heads.lock().await.first().filter(|head| head.len() >= n) {
                return head[..n].to_vec();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("nothing came")
    }

    pub(super) async fn until_nobody_listens(&self) {
        for _ in 0..6000 {
            if self.open.load(Ordering::SeqCst) == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the connection to the world is still open")
    }
}

async fn answer(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    heads: &Mutex<Vec<Vec<u8>>>,
) -> std::io::Result<()> {
    let mut head = Vec::new();
    let mut piece = [0; 4096];
    while !head.windows(4).any(|w| w == b"\r\n\r\n") && head.first() != Some(&0x16) {
        let n = stream.read(&mut piece).await?;
        if n == 0 {
            return Ok(());
        }
        head.extend_from_slice(&piece[..n]);
    }
    heads.lock().await.push(head.clone());
    if head.starts_with(b"GET /quiet") {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nquiet").await?;
    } else if head.starts_with(b"GET /header") {
        let text = String::from_utf8_lossy(&head).to_lowercase();
        let line = text.lines().find_map(|line| line.strip_prefix("authorization: ")).unwrap_or_default();
        let said =
            format!("HTTP/1.1 200 OK\r\nX-Echo: {line}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        stream.write_all(said.as_bytes()).await?;
    } else if head.starts_with(b"GET /redirect") {
        stream
            .write_all(b"HTTP/1.1 302 Found\r\nLocation: http://other.test/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            .await?;
    } else if head.starts_with(b"GET /endless") {
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
        while stream.write_all(&[b'x'; 4096]).await.is_ok() {}
    } else {
        let length = head.len();
        stream
            .write_all(
                format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n")
                    .as_bytes(),
            )
            .await?;
        stream.write_all(&head).await?;
    }
    Ok(())
}

/// The sandbox's end: a yamux client, as the toolbox is one.
pub(super) struct Inside {
    pub(super) way: Way,
    pub(super) attached: Option<Attached>,
    streams: tokio::sync::mpsc::Sender<tokio::sync::oneshot::Sender<yamux::Stream>>,
}

impl Inside {
    pub(super) async fn open(allow: &[&str]) -> Self {
        Self::open_with(allow, None).await
    }

    pub(super) async fn open_with(allow: &[&str], local: Option<Local>) -> Self {
        Self::over(way_with(allow, local)).await
    }

    pub(super) async fn over(way: Way) -> Self {
        use tokio_util::compat::TokioAsyncReadCompatExt;
        let (host, mut agent) = tokio::io::duplex(64 << 10);
        agent.write_all(wire::READY.as_bytes()).await.unwrap();
        let (stdout, stdin) = tokio::io::split(host);
        let attached = Some(way.attach(stdin, stdout).await.unwrap());
        let mut carrier =
            yamux::Connection::new(agent.compat(), inside::multiplexing(inside::ROOM), yamux::Mode::Client);
        let (streams, mut wanted) =
            tokio::sync::mpsc::channel::<tokio::sync::oneshot::Sender<yamux::Stream>>(8);
        tokio::spawn(std::future::poll_fn(move |context| {
            use std::task::Poll;
            while let Poll::Ready(Some(to)) = wanted.poll_recv(context) {
                if let Poll::Ready(Ok(stream)) = carrier.poll_new_outbound(context) {
                    let _ = to.send(stream);
                }
            }
            carrier.poll_next_inbound(context).map(|_| ())
        }));
        Self { way, attached, streams }
    }

    pub(super) async fn connect(&self) -> impl AsyncRead + AsyncWrite + Send + Unpin + 'static {
        use tokio_util::compat::FuturesAsyncReadCompatExt;
        let (to, stream) = tokio::sync::oneshot::channel();
        self.streams.send(to).await.unwrap();
        stream.await.unwrap().compat()
    }

    /// Everything that comes back of a connection that asks this.
    pub(super) async fn ask(&self, question: &str) -> String {
        let mut stream = self.connect().await;
        stream.write_all(question.as_bytes()).await.unwrap();
        // Told to close by itself, or never to say more than a whole answer.
        let (mut said, mut piece) = (Vec::new(), [0; 4096]);
        let read = async {
            while !is_whole(&said) {
                match stream.read(&mut piece).await {
                    Ok(n @ 1..) => said.extend_from_slice(&piece[..n]),
                    _ => break,
                }
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(60), read).await;
        String::from_utf8_lossy(&said).into_owned()
    }

    /// A tunnel that was allowed.
    pub(super) async fn tunnel(&self, connect: &str) -> impl AsyncRead + AsyncWrite + Send + Unpin + 'static {
        let mut stream = self.connect().await;
        stream.write_all(connect.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        assert!(head.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&head));
        stream
    }

    /// A page by TLS: connected to `to`, greeted as `greeting`, asked of `host`. Its certificate is not looked at.
    pub(super) async fn ask_by_tls(&self, to: &str, greeting: &str, host: &str) -> String {
        let question = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        self.ask_in_tunnel(to, greeting, &question).await
    }

    /// Anything by TLS.
    pub(super) async fn ask_in_tunnel(&self, to: &str, greeting: &str, question: &str) -> String {
        let stream = self.tunnel(&format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n")).await;
        let connector = tokio_rustls::TlsConnector::from(Arc::new(careless()));
        let name = rustls::pki_types::ServerName::try_from(greeting.to_owned()).unwrap();
        let mut tls = connector.connect(name, stream).await.unwrap();
        tls.write_all(question.as_bytes()).await.unwrap();
        let mut said = Vec::new();
        let _ = tls.read_to_end(&mut said).await;
        String::from_utf8_lossy(&said).into_owned()
    }
}

/// Is an answer that says its length there to its last byte?
fn is_whole(said: &[u8]) -> bool {
    let Some(end) = said.windows(4).position(|four| four == b"\r\n\r\n") else { return false };
    let head = String::from_utf8_lossy(&said[..end]).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
    length.is_some_and(|length| said.len() >= end + 4 + length)
}

/// The first bytes of TLS to a host.
pub(super) fn greeting(host: &str) -> Vec<u8> {
    let name = rustls::pki_types::ServerName::try_from(host.to_owned()).unwrap();
    let mut connection = rustls::ClientConnection::new(Arc::new(careless()), name).unwrap();
    let mut bytes = Vec::new();
    connection.write_tls(&mut bytes).unwrap();
    bytes
}

fn careless() -> rustls::ClientConfig {
    let mut config = rustls::ClientConfig::builder()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    config.dangerous().set_certificate_verifier(Arc::new(Careless));
    config
}

/// Takes every certificate: an agent that wants to be somewhere else does not look at it either.
#[derive(Debug)]
struct Careless;

impl rustls::client::danger::ServerCertVerifier for Careless {
    fn verify_server_cert(
        &self,
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &[rustls::pki_types::CertificateDer<'_>],
        _: &rustls::pki_types::ServerName<'_>,
        _: &[u8],
        _: rustls::pki_types::UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        rustls::crypto::ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}
