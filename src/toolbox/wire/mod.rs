//! What host and toolbox say to each other: length-prefixed frames, capped, never "to the end of the stream".
//!
//! Every byte of a stream may be the agent's: readers are capped and believe nothing. Paths and modes are
//! handed on as they came, for the one place that builds trees to check.

mod change;
pub mod egress;
mod frame;
mod installed;

pub use change::{Caps, Change, Skipped, Snapshot, Why};
pub(crate) use change::{put, put_skipped};
pub(crate) use installed::{Incoming, Outgoing};
pub use installed::{pack_arguments, receive_pack, unpack, unpack_arguments};

use crate::domain::Sha;
use frame::Kind;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The most of a sentence that a toolbox may answer with.
const SENTENCE: usize = 4 << 10;

/// The piece in which long streams travel: large enough to be quick, small enough to hold many at once.
const PIECE: usize = 256 << 10;

/// What the first process of a container writes once commands may be run.
pub const READY: &str = "ready\n";

/// What `toolbox probe` found, as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    /// Network interfaces.
    pub interfaces: Vec<String>,
    /// Addresses outside that a connection was made to, or seemed to be.
    pub reached: Vec<String>,
    /// The user.
    pub uid: u32,
    /// Capabilities that it or its children may use or gain, in hexadecimal; zero in a good sandbox.
    pub capabilities: String,
    /// Whether `no_new_privs` holds; `None` where the kernel does not say, as gVisor's older ones.
    pub no_new_privileges: Option<bool>,
    /// The root file system takes no file.
    pub read_only_root: bool,
    /// How system calls are filtered, by the kernel's number: 0 is not at all; `None` where it does not say.
    #[serde(default)]
    pub seccomp: Option<u8>,
    /// Things of the machine that are in reach: the engine's socket, a disk, a control group that can be written.
    #[serde(default)]
    pub in_reach: Vec<String>,
}

/// What can be wrong with a stream.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// It ended in the middle: the toolbox was killed, or the sandbox is gone.
    #[error("the toolbox's stream ended before its answer did")]
    Truncated,
    /// It holds more than the caps allow.
    #[error("too much from the sandbox: {0}")]
    TooMuch(String),
    /// It is not what a toolbox writes.
    #[error("the toolbox's stream is garbled: {0}")]
    Garbled(&'static str),
    /// The toolbox says that it could not do it.
    #[error("the toolbox: {0}")]
    Failed(String),
    /// The stream itself failed.
    #[error("the toolbox's stream failed: {0}")]
    Io(std::io::Error),
}

impl From<std::io::Error> for WireError {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::UnexpectedEof => Self::Truncated,
            _ => Self::Io(error),
        }
    }
}

/// The arguments of `toolbox seed`: HEAD, and the tree to check out where it is not the commit's own.
pub fn seed_arguments(commit: &Sha, tree: Option<&Sha>) -> Vec<String> {
    let mut arguments = vec!["seed".to_owned(), "--commit".to_owned(), commit.to_string()];
    arguments.extend(tree.into_iter().flat_map(|tree| ["--tree".to_owned(), tree.to_string()]));
    arguments
}

/// The host's side of `toolbox seed`: sends the pack, then waits for the answer.
///
/// # Errors
/// [`WireError::Failed`] with the toolbox's own sentence; any other where the stream is not what it should be.
pub async fn seed<W, R>(stdin: &mut W, stdout: &mut R, pack: &[u8]) -> Result<(), WireError>
where
    W: AsyncWrite + Unpin + ?Sized,
    R: AsyncRead + Unpin + ?Sized,
{
    hand_over(stdin, stdout, &mut &*pack).await
}

/// Sends a long stream, then waits for the answer.
async fn hand_over<W, R, F>(stdin: &mut W, stdout: &mut R, from: &mut F) -> Result<(), WireError>
where
    W: AsyncWrite + Unpin + ?Sized,
    R: AsyncRead + Unpin + ?Sized,
    F: AsyncRead + Unpin + ?Sized,
{
    // A toolbox that refuses early closes its end: its sentence says more than the broken pipe.
    let sent = send(stdin, from).await;
    let answered = receive_end(stdout).await;
    match (sent, answered) {
        (Err(sent), Err(WireError::Truncated)) => Err(sent),
        (_, answered) => answered,
    }
}

/// The host's side of `toolbox snapshot`: reads the changed paths.
///
/// # Errors
/// [`WireError::TooMuch`] as soon as a cap is passed, whatever the toolbox was told; [`WireError::Failed`] with
/// its own sentence.
pub async fn read_snapshot<R>(stdout: &mut R, caps: &Caps) -> Result<Snapshot, WireError>
where
    R: AsyncRead + Unpin + ?Sized,
{
    let mut tally = change::Tally::new(caps);
    loop {
        match frame::receive(stdout, caps.frame()).await? {
            (Kind::End, _) => return Ok(tally.done()),
            (Kind::Failed, said) => return Err(failed(&said)),
            (kind, body) => tally.take(kind, &body)?,
        }
    }
}

async fn send<W, F>(to: &mut W, from: &mut F) -> Result<(), WireError>
where
    W: AsyncWrite + Unpin + ?Sized,
    F: AsyncRead + Unpin + ?Sized,
{
    let mut piece = Vec::with_capacity(PIECE);
    loop {
        piece.clear();
        if (&mut *from).take(PIECE as u64).read_to_end(&mut piece).await? == 0 {
            break;
        }
        to.write_all(&frame::header(Kind::Data, piece.len())?).await?;
        to.write_all(&piece).await?;
    }
    to.write_all(&frame::header(Kind::End, 0)?).await?;
    Ok(to.flush().await?)
}

async fn receive_end<R: AsyncRead + Unpin + ?Sized>(from: &mut R) -> Result<(), WireError> {
    match frame::receive(from, SENTENCE).await? {
        (Kind::End, _) => Ok(()),
        (Kind::Failed, said) => Err(failed(&said)),
        _ => Err(WireError::Garbled("an answer was expected")),
    }
}

fn failed(said: &[u8]) -> WireError {
    WireError::Failed(String::from_utf8_lossy(&said[..said.len().min(SENTENCE)]).into_owned())
}

/// The toolbox's side of a long stream: hands each piece to `sink` as it arrives.
pub(crate) fn receive_pieces(
    from: &mut impl Read,
    mut sink: impl FnMut(&[u8]) -> std::io::Result<()>,
) -> Result<(), WireError> {
    loop {
        match frame::read(from, PIECE)? {
            (Kind::Data, piece) => sink(&piece)?,
            (Kind::End, _) => return Ok(()),
            _ => return Err(WireError::Garbled("a piece of a pack was expected")),
        }
    }
}

/// The toolbox's side of every answer: its last frame.
pub(crate) fn answer(to: &mut impl Write, result: Result<(), String>) -> Result<(), WireError> {
    match result {
        Ok(()) => frame::write(to, Kind::End, &[])?,
        Err(said) => frame::write(to, Kind::Failed, &[cut(&said).as_bytes()])?,
    }
    Ok(to.flush()?)
}

fn cut(said: &str) -> &str {
    &said[..said.floor_char_boundary(SENTENCE)]
}

#[cfg(test)]
mod tests;
