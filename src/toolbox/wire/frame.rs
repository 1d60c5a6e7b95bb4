//! One frame: a kind, a length, that many bytes. A reader names the most it will take before it takes
//! anything.

use super::WireError;
use crate::domain::{Fault, seeded};
use std::io::{Read, Write};
use tokio::io::{AsyncRead, AsyncReadExt};

/// What a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A piece of a longer stream of bytes.
    Data = b'D',
    /// A changed file.
    File = b'F',
    /// A path that is gone.
    Removed = b'R',
    /// A path that was left out.
    Skipped = b'S',
    /// All is said and it went well.
    End = b'E',
    /// It went wrong; a sentence.
    Failed = b'X',
}

impl Kind {
    fn of(byte: u8) -> Result<Self, WireError> {
        let all = [Self::Data, Self::File, Self::Removed, Self::Skipped, Self::End, Self::Failed];
        all.into_iter().find(|k| *k as u8 == byte).ok_or(WireError::Garbled("a frame of no known kind"))
    }
}

/// Kind and length.
const HEADER: usize = 5;

/// The most that is reserved before a byte has arrived: a header is cheap to forge.
const TRUST: usize = 64 << 10;

fn parse(header: [u8; HEADER], most: usize) -> Result<(Kind, usize), WireError> {
    let [kind, length @ ..] = header;
    let kind = Kind::of(kind)?;
    let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
    if length > most && !seeded(Fault::FramesUncapped) {
        return Err(WireError::TooMuch(format!("a frame of {length} bytes where at most {most} are taken")));
    }
    Ok((kind, length))
}

/// Reads one frame of at most `most` bytes.
pub(crate) async fn receive<R>(from: &mut R, most: usize) -> Result<(Kind, Vec<u8>), WireError>
where
    R: AsyncRead + Unpin + ?Sized,
{
    let mut header = [0; HEADER];
    from.read_exact(&mut header).await?;
    let (kind, length) = parse(header, most)?;
    let mut body = Vec::with_capacity(length.min(TRUST));
    from.take(length as u64).read_to_end(&mut body).await?;
    if body.len() < length {
        return Err(WireError::Truncated);
    }
    Ok((kind, body))
}

/// The same from a blocking reader.
pub(crate) fn read(from: &mut impl Read, most: usize) -> Result<(Kind, Vec<u8>), WireError> {
    let mut header = [0; HEADER];
    from.read_exact(&mut header)?;
    let (kind, length) = parse(header, most)?;
    let mut body = Vec::with_capacity(length.min(TRUST));
    from.take(length as u64).read_to_end(&mut body)?;
    if body.len() < length {
        return Err(WireError::Truncated);
    }
    Ok((kind, body))
}

/// The bytes before a body of `length` bytes.
pub(crate) fn header(kind: Kind, length: usize) -> Result<[u8; HEADER], WireError> {
    let length = u32::try_from(length).map_err(|_| WireError::TooMuch("a frame over 4 GiB".into()))?;
    let [a, b, c, d] = length.to_be_bytes();
    Ok([kind as u8, a, b, c, d])
}

/// Writes one frame, its body given in parts.
pub(crate) fn write(to: &mut impl Write, kind: Kind, parts: &[&[u8]]) -> Result<(), WireError> {
    to.write_all(&header(kind, parts.iter().map(|p| p.len()).sum())?)?;
    for part in parts {
        to.write_all(part)?;
    }
    Ok(())
}
