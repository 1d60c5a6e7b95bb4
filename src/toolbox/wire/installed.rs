//! What was installed in a sandbox, as it travels: an archive in pieces, which the host keeps unread and hands to another
//! sandbox.

use super::{PIECE, SENTENCE, WireError, failed, frame, frame::Kind, hand_over};
use std::io::{self, Read, Write};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

/// The arguments of `toolbox pack`; `most`: bytes of the archive.
pub fn pack_arguments(most: u64) -> Vec<String> {
    ["pack".to_owned(), "--bytes".to_owned(), most.to_string()].into()
}

/// The arguments of `toolbox unpack`.
pub fn unpack_arguments() -> Vec<String> {
    vec!["unpack".to_owned()]
}

/// The host's side of `toolbox pack`: writes the archive to `to` as it comes; gives its bytes.
///
/// # Errors
/// [`WireError::TooMuch`] past `most` bytes, whatever the toolbox was told; what came until then is no archive.
pub async fn receive_pack<R, W>(stdout: &mut R, to: &mut W, most: u64) -> Result<u64, WireError>
where
    R: AsyncRead + Unpin + ?Sized,
    W: AsyncWrite + Unpin + ?Sized,
{
    let mut bytes = 0;
    loop {
        match frame::receive(stdout, PIECE).await? {
            (Kind::Data, piece) => {
                bytes += piece.len() as u64;
                if bytes > most {
                    return Err(too_much(most));
                }
                to.write_all(&piece).await?;
            }
            (Kind::End, _) => return Ok(bytes),
            (Kind::Failed, said) => return Err(failed(&said[..said.len().min(SENTENCE)])),
            _ => return Err(WireError::Garbled("a piece of an archive was expected")),
        }
    }
}

fn too_much(most: u64) -> WireError {
    WireError::TooMuch(format!("what is installed is over {} MiB", most >> 20))
}

/// The host's side of `toolbox unpack`: sends the archive, then waits for the answer.
///
/// # Errors
/// [`WireError::Failed`] with the toolbox's own sentence; any other where the stream is not what it should be.
pub async fn unpack<W, R, F>(stdin: &mut W, stdout: &mut R, archive: &mut F) -> Result<(), WireError>
where
    W: AsyncWrite + Unpin + ?Sized,
    R: AsyncRead + Unpin + ?Sized,
    F: AsyncRead + Unpin + ?Sized,
{
    hand_over(stdin, stdout, archive).await
}

/// The toolbox's side of a stream that it reads at its own pace.
pub(crate) struct Incoming<R> {
    from: R,
    piece: Vec<u8>,
    at: usize,
    ended: bool,
}

impl<R: Read> Incoming<R> {
    pub(crate) fn new(from: R) -> Self {
        Self { from, piece: Vec::new(), at: 0, ended: false }
    }
}

impl<R: Read> Read for Incoming<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.piece.len() && !self.ended {
            match frame::read(&mut self.from, PIECE).map_err(io::Error::other)? {
                (Kind::Data, piece) => (self.piece, self.at) = (piece, 0),
                (Kind::End, _) => self.ended = true,
                _ => return Err(io::Error::other("a piece of an archive was expected")),
            }
        }
        let n = buffer.len().min(self.piece.len() - self.at);
        buffer[..n].copy_from_slice(&self.piece[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

/// The toolbox's side of a stream that it writes; at most so many bytes.
pub(crate) struct Outgoing<W> {
    to: W,
    piece: Vec<u8>,
    left: u64,
    most: u64,
}

impl<W: Write> Outgoing<W> {
    pub(crate) fn new(to: W, most: u64) -> Self {
        Self { to, piece: Vec::with_capacity(PIECE), left: most, most }
    }
}

impl<W: Write> Write for Outgoing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.piece.len() == PIECE {
            self.flush()?;
        }
        let n = bytes.len().min(PIECE - self.piece.len());
        self.left = self.left.checked_sub(n as u64).ok_or_else(|| io::Error::other(too_much(self.most)))?;
        self.piece.extend_from_slice(&bytes[..n]);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.piece.is_empty() {
            frame::write(&mut self.to, Kind::Data, &[&self.piece]).map_err(io::Error::other)?;
            self.piece.clear();
        }
        Ok(())
    }
}
