//! One connection of a sandbox: a tunnel or a page in clear text, each request held against the allow-list.
//!
//! Host of the connection, name in the TLS greeting and `Host` of every request must be the same: else what is allowed on one
//! name would open another behind the same address.

use super::{
    Body, Credential, Gate,
    credential::{Echo, Watched},
    headers, opaque,
    upstream::Failure,
};
use crate::domain::{
    Fault,
    egress::{Destination, Manner, Reason},
    seeded,
};
use bytes::Bytes;
use futures::{Stream, StreamExt, TryStreamExt};
use http::{Method, Request, Response, StatusCode, header, request};
use http_body_util::{BodyExt, Empty, Full, LengthLimitError, Limited, StreamBody};
use hyper::{
    body::{Frame, Incoming},
    server::conn::http1,
    service::service_fn,
    upgrade::OnUpgrade,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::server::Acceptor;
use std::{
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::LazyConfigAcceptor;
use url::Url;

/// The longest wait for a request's head, on a connection that is kept for the next one too.
const HEAD: Duration = Duration::from_secs(90);

/// Bytes of a request's head.
const HEAD_BYTES: usize = 32 << 10;

/// Bytes of a request's body, where one may be sent: a query for advisories about a few thousand packages.
const REQUEST: usize = 4 << 20;

/// Bytes of a question to a model. Source: Anthropic, "API overview", request size limits.
const QUESTION: usize = 32 << 20;

/// The longest time for a request's body.
const UPLOAD: Duration = Duration::from_secs(120);

/// The longest time for one answer from its first to its last byte.
const ANSWER: Duration = Duration::from_secs(30 * 60);

/// The longest TLS greeting.
const GREETING: Duration = Duration::from_secs(20);

/// Serves one connection to its end.
pub(super) async fn connection(
    gate: Arc<Gate>,
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
) {
    let tunnel = Mutex::new(None);
    let service = service_fn(|request| first(&gate, &tunnel, request));
    let served = builder().serve_connection(TokioIo::new(stream), service).with_upgrades().await;
    if let Err(error) = served {
        tracing::trace!(%error, "a connection of the sandbox ended");
    }
    let tunnel = tunnel.into_inner().unwrap_or_else(PoisonError::into_inner);
    let Some(Tunnel { upgrade, to, manner }) = tunnel else { return };
    let Ok(inner) = upgrade.await else { return };
    match manner {
        Manner::Opaque => opaque::pass(gate, &to, TokioIo::new(inner)).await,
        Manner::Opened => opened(gate, to, TokioIo::new(inner)).await,
    }
}

fn builder() -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(HEAD_BYTES);
    builder
}

/// A tunnel that was allowed, to be gone through once its connection is free.
struct Tunnel {
    upgrade: OnUpgrade,
    to: Destination,
    manner: Manner,
}

/// The first request of a connection: CONNECT, or a page in clear text.
async fn first(
    gate: &Arc<Gate>,
    tunnel: &Mutex<Option<Tunnel>>,
    mut request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    if request.method() != Method::CONNECT {
        return Ok(plain(gate, request).await);
    }
    let asked = request.uri().to_string();
    let to: Destination = match asked.parse() {
        Ok(to) => to,
        Err(_) => return Ok(refused(gate, &asked, Reason::NotAllowed)),
    };
    match gate.connect(&to) {
        Err(why) => Ok(refused(gate, &to.to_string(), why)),
        Ok(manner) => {
            let upgrade = hyper::upgrade::on(&mut request);
            let kept = Tunnel { upgrade, to, manner };
            *tunnel.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
            Ok(Response::new(Empty::new().map_err(|never| match never {}).boxed_unsync()))
        }
    }
}

impl Gate {
    fn connect(&self, to: &Destination) -> Result<Manner, Reason> {
        if to.is_gateway() && self.local.is_some() {
            return Ok(Manner::Opened);
        }
        self.allow.connect(to)
    }
}

/// Ends the TLS of a tunnel and serves what is asked in it.
async fn opened(
    gate: Arc<Gate>,
    to: Destination,
    inner: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
) {
    let name = to.to_string();
    let greeted = tokio::time::timeout(GREETING, LazyConfigAcceptor::new(Acceptor::default(), inner)).await;
    let start = match greeted {
        Ok(Ok(start)) => start,
        Ok(Err(_)) => return gate.refuse(&name, Reason::NotTls),
        Err(_) => return,
    };
    // An address has no name to be greeted by.
    let wanted = to.address().is_none().then(|| to.host().to_owned());
    let same = start.client_hello().server_name().map(str::to_ascii_lowercase) == wanted;
    let config = match gate.authority.server(to.host()) {
        Ok(config) => config,
        Err(error) => return tracing::warn!(%error, "no certificate for a host of the allow-list"),
    };
    let Ok(Ok(tls)) = tokio::time::timeout(GREETING, start.into_stream(config)).await else { return };
    let service = service_fn(|request: Request<Incoming>| {
        let (gate, to) = (&gate, &to);
        async move {
            let agrees = (same && is_about(&request, to, 443)) || seeded(Fault::NamesMayDiffer);
            Ok::<_, Infallible>(match agrees {
                true => forward(gate, to, "https", request).await,
                false => refused(gate, &to.to_string(), Reason::Mismatch),
            })
        }
    });
    if let Err(error) = builder().serve_connection(TokioIo::new(tls), service).await {
        tracing::trace!(%error, to = name, "a tunnel of the sandbox ended");
    }
}

/// A page in clear text, asked for with its whole address.
async fn plain(gate: &Arc<Gate>, request: Request<Incoming>) -> Response<Body> {
    let uri = request.uri();
    let asked = || uri.to_string().split('?').next().unwrap_or_default().to_owned();
    if uri.scheme_str() != Some("http") {
        return told(StatusCode::BAD_REQUEST, "this is a proxy: CONNECT, or an address with http://");
    }
    let to = uri.host().and_then(|host| Destination::new(host, uri.port_u16().unwrap_or(80)).ok());
    let Some(to) = to else { return refused(gate, &asked(), Reason::NotAllowed) };
    if let Err(why) = gate.connect(&to) {
        return refused(gate, &to.to_string(), why);
    }
    if !is_about(&request, &to, 80) && !seeded(Fault::NamesMayDiffer) {
        return refused(gate, &to.to_string(), Reason::Mismatch);
    }
    forward(gate, &to, "http", request).await
}

/// Does a request name the destination it came to, and none else? `usual`: the port that needs not be named.
fn is_about(request: &Request<Incoming>, to: &Destination, usual: u16) -> bool {
    let same = |host: &str| {
        let named = host.parse().or_else(|_| Destination::new(host, usual));
        named.is_ok_and(|named| named == *to)
    };
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let (first, second) = (hosts.next(), hosts.next());
    let by_header = first.and_then(|value| value.to_str().ok()).is_some_and(same) && second.is_none();
    by_header && request.uri().authority().is_none_or(|authority| same(authority.as_str()))
}

/// Asks the destination what the sandbox asks, where that is allowed.
async fn forward(
    gate: &Arc<Gate>,
    to: &Destination,
    scheme: &str,
    request: Request<Incoming>,
) -> Response<Body> {
    let name = to.to_string();
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let Ok(url) = Url::parse(&format!("{scheme}://{to}{path}")) else {
        return told(StatusCode::BAD_REQUEST, "the address cannot be read");
    };
    let local = gate.local.clone().filter(|_| to.is_gateway());
    if local.is_none() {
        // The path as it will be sent, its dots resolved.
        if let Err(why) = gate.allow.request(to, request.method().as_str(), url.path()) {
            return refused(gate, &name, why);
        }
    }
    // From its first byte to the answer's: what waits for its turn waits inside. Never closed, so there always is one.
    let _held = match &local {
        Some(_) => gate.questions.acquire().await.ok(),
        None => None,
    };
    let most = match (&local, request.method()) {
        (Some(_), _) => QUESTION,
        (None, &Method::POST) => REQUEST,
        (None, _) => 0,
    };
    let (parts, body) = request.into_parts();
    let bytes = match whole(body, most).await {
        Ok(bytes) => bytes,
        Err(TooLong(true)) => return refused(gate, &name, Reason::TooMuch),
        Err(TooLong(false)) => return told(StatusCode::BAD_REQUEST, "the request did not come whole"),
    };
    if let Some(local) = local {
        return local(Request::from_parts(parts, bytes)).await;
    }
    let (method, weight) = (parts.method.clone(), weight(&parts) + bytes.len());
    if !gate.went(weight) {
        return refused(gate, &name, Reason::TooMuch);
    }
    let mut asked = reqwest::Request::new(parts.method, url);
    *asked.timeout_mut() = Some(ANSWER);
    *asked.headers_mut() = headers::onward(parts.headers);
    // In clear text everybody on the way would read it.
    let credential = gate.upstream.credential(to).filter(|_| scheme == "https");
    if let Some(credential) = credential {
        credential.put(asked.headers_mut());
    }
    *asked.body_mut() = (!bytes.is_empty()).then(|| bytes.into());
    let answer = gate.upstream.ask(to, gate.allow.is_private(to), asked).await;
    if !matches!(answer, Err(Failure::NotPublic)) {
        // Whatever came of it, it has left.
        gate.note(|reached| reached.asked(to, method.as_str(), weight));
    }
    match answer {
        Ok(answer) => passed(gate.clone(), to.clone(), answer, credential.map(Credential::echo)),
        Err(Failure::NotPublic) => refused(gate, &name, Reason::Address),
        Err(Failure::Unreachable(why)) => told(StatusCode::BAD_GATEWAY, &format!("{name}: {why}")),
    }
}

/// A body did not come whole; whether because it was too long.
struct TooLong(bool);

async fn whole(body: Incoming, most: usize) -> Result<Bytes, TooLong> {
    match tokio::time::timeout(UPLOAD, Limited::new(body, most).collect()).await {
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(error)) => Err(TooLong(error.is::<LengthLimitError>())),
        Err(_) => Err(TooLong(false)),
    }
}

/// Bytes that a request's head carries out.
fn weight(parts: &request::Parts) -> usize {
    let path = parts.uri.path_and_query().map_or(0, |path| path.as_str().len());
    path + parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum::<usize>()
}

/// The destination's answer, counted as it passes.
fn passed(
    gate: Arc<Gate>,
    from: Destination,
    answer: reqwest::Response,
    echo: Option<Echo>,
) -> Response<Body> {
    let (status, mut headers) = (answer.status(), headers::back(answer.headers().clone()));
    let pieces = answer.bytes_stream();
    let pieces = match echo {
        Some(echo) => {
            echo.clean(&mut headers);
            watched(gate.clone(), from.to_string(), echo, pieces).boxed()
        }
        None => pieces.map_err(Into::into).boxed(),
    };
    let pieces = pieces.map(move |piece| match piece {
        Ok(bytes) if gate.came(&from, bytes.len()) => Ok(Frame::data(bytes)),
        Ok(_) => {
            gate.refuse("bytes of answers", Reason::TooMuch);
            Err("the sandbox has had its share".into())
        }
        Err(error) => Err(error),
    });
    let mut response = Response::new(StreamBody::new(pieces).boxed_unsync());
    (*response.status_mut(), *response.headers_mut()) = (status, headers);
    response
}

type Cut = Box<dyn std::error::Error + Send + Sync>;

/// An answer up to where it shows the credential that it was asked with.
fn watched(
    gate: Arc<Gate>,
    to: String,
    echo: Echo,
    pieces: impl Stream<Item = reqwest::Result<Bytes>> + Send + Unpin,
) -> impl Stream<Item = Result<Bytes, Cut>> + Send {
    echo.watch(pieces).map(move |piece| {
        piece.map_err(|why| match why {
            Watched::Failed(error) => error.into(),
            Watched::Echoed => {
                gate.refuse(&to, Reason::Credential);
                Cut::from(Reason::Credential.to_string())
            }
        })
    })
}

/// A refusal: noted, and told inside.
fn refused(gate: &Gate, to: &str, why: Reason) -> Response<Body> {
    gate.refuse(to, why);
    let status = match why {
        Reason::Mismatch => StatusCode::MISDIRECTED_REQUEST,
        Reason::TooMuch => StatusCode::PAYLOAD_TOO_LARGE,
        _ => StatusCode::FORBIDDEN,
    };
    told(status, &format!("{to}: {why}"))
}

fn told(status: StatusCode, words: &str) -> Response<Body> {
    let words = Full::new(Bytes::from(format!("fixpoint: {words}\n"))).map_err(|never| match never {});
    let mut response = Response::new(words.boxed_unsync());
    *response.status_mut() = status;
    response
}
