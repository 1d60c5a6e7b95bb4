//! Pipes between a command's streams and whoever reads them.

use futures::FutureExt;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream, duplex};

/// Bytes of standard error that wait for a reader. Past this the newest are dropped, so that a reader of
/// standard output alone is never held up by what it does not look at.
const WAITING: usize = 1 << 20;

/// The writing half of a pipe that never blocks its writer.
#[derive(Debug)]
pub(super) struct Lossy(DuplexStream);

/// A pipe whose writer never waits.
pub(super) fn lossy() -> (Lossy, DuplexStream) {
    let (to, from) = duplex(WAITING);
    (Lossy(to), from)
}

impl Lossy {
    /// Takes what there is room for.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let _ = self.0.write(bytes).now_or_never();
    }
}

/// Reads a stream to its end into a pipe that never blocks it.
pub(super) fn drain(mut from: impl AsyncRead + Send + Unpin + 'static) -> DuplexStream {
    let (mut to, reader) = lossy();
    tokio::spawn(async move {
        let mut buffer = vec![0; 16 << 10];
        while let Ok(n @ 1..) = from.read(&mut buffer).await {
            to.push(&buffer[..n]);
        }
    });
    reader
}

/// Bytes that wait for the engine to take them: several frames of a stream, so that they go in one write.
const PIPE: usize = 256 << 10;

/// A writer whose drop or shutdown closes `to`, even where `to` is half of a connection that closes only as a
/// whole.
pub(super) fn closing(mut to: impl AsyncWrite + Send + Unpin + 'static) -> DuplexStream {
    let (writer, from) = duplex(PIPE);
    tokio::spawn(async move {
        // In pieces as large as the pipe: each is a write of its own to the engine.
        let mut from = BufReader::with_capacity(PIPE, from);
        let _ = tokio::io::copy_buf(&mut from, &mut to).await;
        let _ = to.shutdown().await;
    });
    writer
}
