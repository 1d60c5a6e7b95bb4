//! `toolbox egress`: a proxy on the sandbox's loopback that understands nothing. Every connection becomes a stream over the
//! standard streams to the host, which reads what is asked and decides.
//!
//! So nothing that is decided is decided in here, where the agent could change it.

mod check;

pub use check::check;

use super::{
    keep,
    wire::{self, egress},
};
use std::{fs, future::poll_fn, io, path::Path, task::Poll, time::Duration};
use tokio::{
    io::{AsyncWriteExt, copy_bidirectional_with_sizes, join},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_util::compat::{FuturesAsyncReadCompatExt, TokioAsyncReadCompatExt};
use yamux::{Connection, Mode};

/// How long a connection may say nothing before it is closed.
const SILENCE: Duration = Duration::from_secs(30);

/// Where images have the certificates they trust.
const SYSTEM: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
];

/// Lays out what programs need, says that it is ready, and carries connections until the host lets go.
///
/// # Errors
/// Where the files cannot be written, the port is taken, or the stream to the host fails.
pub async fn run(workspace: &Path, certificate: &str, system_roots: bool) -> anyhow::Result<()> {
    lay_out(&keep(workspace), certificate, system_roots)?;
    let listener = TcpListener::bind(("127.0.0.1", egress::PORT)).await?;
    let mut out = tokio::io::stdout();
    out.write_all(wire::READY.as_bytes()).await?;
    out.flush().await?;
    let host = join(tokio::io::stdin(), out).compat();
    carry(&listener, Connection::new(host, egress::multiplexing(egress::ROOM), Mode::Client)).await
}

/// The certificates and apt's file.
fn lay_out(folder: &Path, certificate: &str, system_roots: bool) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let roots = SYSTEM.iter().filter(|_| system_roots).find_map(|file| fs::read_to_string(file).ok());
    let certificates = folder.join(egress::CERTIFICATES);
    fs::write(&certificates, format!("{certificate}\n{}", roots.unwrap_or_default()))?;
    let (proxy, file) = (format!("http://127.0.0.1:{}", egress::PORT), certificates.display());
    let apt = format!(
        "Acquire::http::Proxy \"{proxy}\";\nAcquire::https::Proxy \"{proxy}\";\nAcquire::https::CAInfo \"{file}\";\n"
    );
    fs::write(folder.join(egress::APT), apt)
}

/// Accepts connections and hands each that says something to a stream of its own, until the host is gone.
async fn carry<T>(listener: &TcpListener, mut host: Connection<T>) -> anyhow::Result<()>
where
    T: futures::AsyncRead + futures::AsyncWrite + Unpin,
{
    // Each ends with a connection that wants a stream, or with nothing once all is carried.
    let mut tasks: JoinSet<Option<TcpStream>> = JoinSet::new();
    let mut waiting: Option<TcpStream> = None;
    loop {
        let step = poll_fn(|context| {
            while waiting.is_none()
                && let Poll::Ready(Some(ended)) = tasks.poll_join_next(context)
            {
                waiting = ended.ok().flatten();
            }
            if waiting.is_some()
                && let Poll::Ready(opened) = host.poll_new_outbound(context)
            {
                return Poll::Ready(opened.map(Step::Opened));
            }
            // Too many wait in the listener's queue.
            if tasks.len() < egress::STREAMS
                && let Poll::Ready(Ok((connection, _))) = listener.poll_accept(context)
            {
                return Poll::Ready(Ok(Step::Accepted(connection)));
            }
            match host.poll_next_inbound(context) {
                // The host opens none.
                Poll::Ready(Some(Ok(_)) | None) => Poll::Ready(Ok(Step::Over)),
                Poll::Ready(Some(Err(error))) => Poll::Ready(Err(error)),
                Poll::Pending => Poll::Pending,
            }
        });
        match step.await? {
            Step::Accepted(connection) => {
                tasks.spawn(spoken(connection));
            }
            Step::Opened(stream) => {
                let Some(connection) = waiting.take() else { continue };
                tasks.spawn(relay(connection, stream));
            }
            Step::Over => return Ok(()),
        }
    }
}

/// A connection once it has said something. A stream is announced with its first bytes: one that is closed before would be
/// waited for on this side for ever, and not known on the other.
async fn spoken(connection: TcpStream) -> Option<TcpStream> {
    let first = tokio::time::timeout(SILENCE, connection.peek(&mut [0])).await;
    matches!(first, Ok(Ok(1))).then_some(connection)
}

async fn relay(mut connection: TcpStream, stream: yamux::Stream) -> Option<TcpStream> {
    let _ = connection.set_nodelay(true);
    let (piece, mut stream) = (egress::PIECE, stream.compat());
    let _ = copy_bidirectional_with_sizes(&mut connection, &mut stream, piece, piece).await;
    None
}

enum Step {
    Accepted(TcpStream),
    Opened(yamux::Stream),
    Over,
}
