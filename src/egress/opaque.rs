//! TLS that passes unopened: the name in its greeting is all that is looked at.

use super::{Gate, upstream::Failure};
use crate::domain::egress::{Destination, Reason};
use rustls::server::Acceptor;
use std::{
    io::{self, Cursor},
    sync::Arc,
    time::Duration,
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Bytes of a greeting: with a large key of the new kind, and all extensions.
const GREETING: usize = 16 << 10;

/// The longest wait for it.
const PATIENCE: Duration = Duration::from_secs(20);

/// Such a connection ends after this, whatever it does.
const LIFE: Duration = Duration::from_secs(3600);

/// Bytes carried at a time.
const PIECE: usize = 64 << 10;

/// Carries bytes between the sandbox and a destination, once the greeting names it.
pub(super) async fn pass(gate: Arc<Gate>, to: &Destination, mut inner: impl AsyncRead + AsyncWrite + Unpin) {
    let name = to.to_string();
    let greeting = tokio::time::timeout(PATIENCE, greeting(&mut inner)).await;
    let (bytes, named) = match greeting {
        Ok(Ok(Some(read))) => read,
        Ok(Ok(None)) => return gate.refuse(&name, Reason::NotTls),
        Ok(Err(_)) | Err(_) => return,
    };
    if named.as_deref() != Some(to.host()) {
        return gate.refuse(&name, Reason::Mismatch);
    }
    let mut outer = match gate.upstream.dial(to, gate.allow.is_private(to)).await {
        Ok(outer) => outer,
        Err(Failure::NotPublic) => return gate.refuse(&name, Reason::Address),
        Err(Failure::Unreachable(why)) => return tracing::debug!(to = name, why, "cannot be reached"),
    };
    gate.note(|reached| reached.asked(to, "CONNECT", bytes.len()));
    if outer.write_all(&bytes).await.is_err() || !gate.went(bytes.len()) {
        return;
    }
    let (mut from_inside, mut to_inside) = tokio::io::split(inner);
    let (mut from_outside, mut to_outside) = outer.split();
    let both = async {
        let went = |n| {
            gate.note(|reached| reached.sent(to, n));
            gate.went(n)
        };
        let up = carry(&mut from_inside, &mut to_outside, went);
        let down = carry(&mut from_outside, &mut to_inside, |n| gate.came(to, n));
        tokio::join!(up, down)
    };
    if let Ok((Ok(false), _) | (_, Ok(false))) = tokio::time::timeout(LIFE, both).await {
        gate.refuse(&name, Reason::TooMuch);
    }
}

/// Copies to the end, or until the count says no; gives whether it came to the end.
async fn carry(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    may: impl Fn(usize) -> bool,
) -> io::Result<bool> {
    let mut buffer = vec![0; PIECE];
    loop {
        let n = from.read(&mut buffer).await?;
        if n == 0 || !may(n) {
            to.shutdown().await?;
            return Ok(n == 0);
        }
        to.write_all(&buffer[..n]).await?;
    }
}

/// The greeting's bytes and the name in it; `None`: it is no TLS.
async fn greeting(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<(Vec<u8>, Option<String>)>> {
    let mut bytes = Vec::new();
    let mut acceptor = Acceptor::default();
    let mut buffer = vec![0; 4 << 10];
    while bytes.len() < GREETING {
        let n = from.read(&mut buffer).await?;
        if n == 0 {
            return Ok(None);
        }
        bytes.extend_from_slice(&buffer[..n]);
        let mut piece = Cursor::new(&buffer[..n]);
        while piece.position() < n as u64 {
            if acceptor.read_tls(&mut piece)? == 0 {
                return Ok(None);
            }
        }
        match acceptor.accept() {
            Ok(Some(accepted)) => {
                let name = accepted.client_hello().server_name().map(str::to_ascii_lowercase);
                return Ok(Some((bytes, name)));
            }
            Ok(None) => {}
            Err(_) => return Ok(None),
        }
    }
    Ok(None)
}
