//! Lines of a stream of which every byte may be the agent's: long ones are passed over, and there is an end to all of them.

use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes of one line: a tool's result with a picture in it. A longer one tells nothing that is needed.
const LINE: usize = 8 << 20;
/// Bytes of all lines of a run: past this something only prints.
const ALL: u64 = 1 << 30;
/// Bytes read at once.
const PIECE: usize = 64 << 10;

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A line without its end.
    Line(Vec<u8>),
    /// The stream has ended.
    End,
    /// There was more of it than anybody needs.
    TooMuch,
}

/// The lines of a stream.
pub(super) struct Lines<R> {
    stream: R,
    /// What came and is no whole line yet.
    rest: Vec<u8>,
    /// Bytes of `rest` that hold no line's end.
    searched: usize,
    /// The line that is being read is too long.
    skips: bool,
    read: u64,
    ended: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(stream: R) -> Self {
        Self { stream, rest: Vec::new(), searched: 0, skips: false, read: 0, ended: false }
    }

    /// The next line. Dropped while it waits, nothing is lost.
    pub(super) async fn next(&mut self) -> Next {
        loop {
            if let Some(line) = self.line() {
                return Next::Line(line);
            }
            if self.ended {
                return Next::End;
            }
            let mut piece = vec![0; PIECE];
            match self.stream.read(&mut piece).await {
                Ok(n @ 1..) => {
                    self.read += n as u64;
                    if self.read > ALL {
                        return Next::TooMuch;
                    }
                    self.rest.extend_from_slice(&piece[..n]);
                }
                Ok(0) | Err(_) => self.ended = true,
            }
        }
    }

    /// A whole line of what came.
    fn line(&mut self) -> Option<Vec<u8>> {
        loop {
            let Some(end) = memchr::memchr(b'\n', &self.rest[self.searched..]) else {
                self.searched = self.rest.len();
                if self.searched > LINE {
                    self.rest.clear();
                    (self.searched, self.skips) = (0, true);
                }
                return None;
            };
            let mut line: Vec<u8> = self.rest.drain(..=self.searched + end).collect();
            self.searched = 0;
            line.pop();
            if !std::mem::take(&mut self.skips) && line.len() <= LINE {
                return Some(line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(pieces: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let mut stream = tokio_test_stream(pieces);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut lines = Lines::new(&mut stream);
            let mut found = Vec::new();
            while let Next::Line(line) = lines.next().await {
                found.push(line);
            }
            found
        })
    }

    fn tokio_test_stream(pieces: &[Vec<u8>]) -> impl AsyncRead + Unpin + use<> {
        let pieces: Vec<_> =
            pieces.iter().cloned().map(|piece| Ok::<_, std::io::Error>(bytes::Bytes::from(piece))).collect();
        tokio_util::io::StreamReader::new(futures::stream::iter(pieces))
    }

    proptest! {
        #[test]
        fn lines_are_the_same_however_they_come(text in "[a-c\n]{0,200}", at in 0_usize..200) {
            let (first, second) = text.as_bytes().split_at(at.min(text.len()));
            let mut expected: Vec<Vec<u8>> = text.split('\n').map(|line| line.as_bytes().to_vec()).collect();
            // What has no end is no line.
            expected.pop();
            prop_assert_eq!(all(&[first.to_vec(), second.to_vec()]), expected);
        }
    }

    #[test]
    fn a_line_without_an_end_is_passed_over() {
        let long = vec![b'x'; LINE + 10];
        assert_eq!(all(&[long.clone(), long, b"\nshort\n".to_vec()]), [b"short".to_vec()]);
    }
}
