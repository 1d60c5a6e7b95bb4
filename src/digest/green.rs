//! The last green log of the same job, as a set of line hashes: what is new against it is rarely innocent.

use super::clean::{LINE_CAP, message, trim, visible};
use memchr::memchr_iter;
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

/// Distinct lines remembered; 16 MiB of hashes. A log with more says nothing by being different.
const LINES: usize = 1 << 20;

/// A set of the levelled lines of a log.
#[derive(Default)]
pub struct GreenIndex {
    keys: HashSet<u64, BuildHasherDefault<AsIs>>,
    rest: Vec<u8>,
    room: Vec<u8>,
}

impl GreenIndex {
    /// The index of a whole log.
    pub fn of(log: &[u8]) -> Self {
        let mut index = Self::default();
        index.push(log);
        index.finish();
        index
    }

    /// Reads on; any split of the log gives the same index once [`finish`](Self::finish) was called.
    pub fn push(&mut self, chunk: &[u8]) {
        let mut from = 0;
        for at in memchr_iter(b'\n', chunk) {
            if self.rest.is_empty() {
                self.add(&chunk[from..at]);
            } else {
                let room = LINE_CAP.saturating_sub(self.rest.len());
                self.rest.extend_from_slice(&chunk[from..at.min(from + room)]);
                let line = std::mem::take(&mut self.rest);
                self.add(&line);
            }
            from = at + 1;
        }
        let room = LINE_CAP.saturating_sub(self.rest.len());
        self.rest.extend_from_slice(&chunk[from..chunk.len().min(from + room)]);
    }

    /// Takes in a last line that had no LF.
    pub fn finish(&mut self) {
        let line = std::mem::take(&mut self.rest);
        self.add(&line);
    }

    fn add(&mut self, raw: &[u8]) {
        if self.keys.len() < LINES {
            let key = key(visible(raw, &mut self.room));
            self.keys.insert(key);
        }
    }

    /// Whether the green log had a line like this.
    pub(super) fn has(&self, key: u64) -> bool {
        self.keys.contains(&key)
    }
}

/// Hash of a cleaned line in which runs of digits, and words of hexadecimal digits, count as the same: times, sizes, ids, addresses.
pub(super) fn key(line: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let mut rest = trim(message(line));
    while let Some(first) = rest.first() {
        let word = rest.iter().take_while(|b| b.is_ascii_alphanumeric()).count();
        if word == 0 {
            if !first.is_ascii_whitespace() {
                add(*first);
            }
            rest = &rest[1..];
            continue;
        }
        let (text, after) = rest.split_at(word);
        let digits = text.iter().filter(|b| b.is_ascii_digit()).count();
        let hexadecimal = digits > 0 && word >= 7 && text.iter().all(u8::is_ascii_hexdigit);
        if digits == word || hexadecimal {
            add(b'0');
        } else {
            text.iter().filter(|b| !b.is_ascii_digit()).for_each(|b| add(*b));
        }
        add(b' ');
        rest = after;
    }
    hash
}

/// Keys are hashes already.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| hash.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value ^ (value >> 29);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_ids_and_numbers_do_not_make_a_line_new() {
        let green = GreenIndex::of(b"2023-06-22T14:12:33.1234567Z built 7f3c2ab9 in 12 s\nlast");
        assert!(green.has(key(b"built 0c3d4e5f in 340 s")));
        assert!(green.has(key(b"last")));
        assert!(!green.has(key(b"broke 0c3d4e5f in 340 s")));
    }

    #[test]
    fn any_split_gives_the_same_index() {
        let log = b"one\ntwo 2\n\nthree";
        let whole = GreenIndex::of(log);
        for size in 1..log.len() {
            let mut parts = GreenIndex::default();
            log.chunks(size).for_each(|c| parts.push(c));
            parts.finish();
            assert_eq!(parts.keys, whole.keys);
        }
    }
}
