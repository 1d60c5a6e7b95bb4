//! Reads a body within its bounds: bytes, time, and the bytes of all bodies together.

use super::{Bounds, HttpState};
use axum::{body::Body, http::StatusCode};
use http_body_util::BodyExt;
use std::{pin::pin, sync::Arc, time::Duration};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

/// What honest senders have on its way is there within this; then who holds the room is slow.
const GIVES_WAY_AFTER: Duration = Duration::from_millis(500);

/// A body, and the room it takes until it is dropped.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) bytes: Vec<u8>,
    _room: Option<OwnedSemaphorePermit>,
}

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    TooLarge,
    TooSlow,
    TooBusy,
    Broken,
}

impl Unread {
    /// What the sender is told.
    pub(super) fn answer(self) -> (StatusCode, &'static str) {
        match self {
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "a body may have 25 MiB"),
            Self::TooSlow => (StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time"),
            Self::TooBusy => {
                (StatusCode::SERVICE_UNAVAILABLE, "too many bodies at once, send it again later")
            }
            Self::Broken => (StatusCode::BAD_REQUEST, "the body ended early"),
        }
    }
}

/// Reads a whole body.
///
/// Room is taken for what has arrived, not for what was announced: announcing costs a stranger nothing.
pub(super) async fn read(mut body: Body, state: &HttpState) -> Result<Held, Unread> {
    let Bounds { body_bytes, body: patience, .. } = state.bounds;
    let deadline = Instant::now() + patience;
    let mut held = Held { bytes: Vec::new(), _room: None };
    loop {
        let frame = timeout_at(deadline, body.frame()).await.map_err(|_| Unread::TooSlow)?;
        let Some(frame) = frame else { return Ok(held) };
        let Ok(data) = frame.map_err(|_| Unread::Broken)?.into_data() else { continue };
        if held.bytes.len() + data.len() > body_bytes {
            drop((held, data));
            return Err(discard(body, deadline, body_bytes).await);
        }
        let room = room(state, data.len(), deadline).await?;
        held._room = match held._room.take() {
            None => Some(room),
            Some(mut all) => {
                all.merge(room);
                Some(all)
            }
        };
        held.bytes.extend_from_slice(&data);
    }
}

/// Waits for room; after a while of it a stranger gives way, who may be the one that waits.
async fn room(state: &HttpState, bytes: usize, deadline: Instant) -> Result<OwnedSemaphorePermit, Unread> {
    let bytes = u32::try_from(bytes).map_err(|_| Unread::TooLarge)?;
    let mut waiting = pin!(Arc::clone(&state.bytes).acquire_many_owned(bytes));
    while Instant::now() < deadline {
        let turn = deadline.min(Instant::now() + GIVES_WAY_AFTER);
        match timeout_at(turn, &mut waiting).await {
            Ok(room) => return room.map_err(|_| Unread::TooBusy),
            Err(_) => state.crowd.give_way(),
        }
    }
    Err(Unread::TooBusy)
}

/// Reads on without keeping anything, so that a sender who is a little over the bound gets an answer instead of a reset.
async fn discard(mut body: Body, deadline: Instant, most: usize) -> Unread {
    let mut seen = 0;
    while let Ok(Some(Ok(frame))) = timeout_at(deadline, body.frame()).await {
        seen += frame.data_ref().map_or(0, bytes::Bytes::len);
        if seen > most {
            break;
        }
    }
    Unread::TooLarge
}
