//! The stream out of a sandbox, taken apart into connections. Every byte of it may be the agent's.

use super::{Gate, proxy};
use crate::{domain::egress::Reason, toolbox::wire::egress as inside};
use std::{future::poll_fn, sync::Arc};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::JoinSet,
};
use tokio_util::compat::{FuturesAsyncReadCompatExt, TokioAsyncReadCompatExt};
use yamux::{Connection, Mode};

/// Serves every connection until the stream ends, which it should not: gives what was seen. Dropped, it cuts them all.
pub(super) async fn serve(gate: Arc<Gate>, stream: impl AsyncRead + AsyncWrite + Unpin) -> String {
    let mut multiplexed = Connection::new(stream.compat(), inside::multiplexing(0), Mode::Server);
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            next = poll_fn(|context| multiplexed.poll_next_inbound(context)) => match next {
                // Ours never carries more.
                Some(Ok(_)) if open.len() > inside::STREAMS => gate.refuse("connections", Reason::TooMuch),
                Some(Ok(stream)) => {
                    open.spawn(proxy::connection(gate.clone(), stream.compat()));
                }
                Some(Err(error)) => return error.to_string(),
                None => return "it has ended".to_owned(),
            },
            Some(_) = open.join_next() => {}
        }
    }
}
