//! Drives the fuzzing entry points for a bounded time with bytes that look like what they read, and with those spoilt.

use fixpoint::digest::fuzz;
use std::time::{Duration, Instant};

/// Time for each target.
const TIME: Duration = Duration::from_secs(2);

/// A small generator, so that a failure can be repeated by its seed.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % below.max(1) as u64).unwrap()
    }
}

const PIECES: &[&[u8]] = &[
    b"\n",
    b"\r",
    b"\x1b[31m",
    b"\x1b]8;;",
    b"\xff\xfe",
    b"##[error]",
    b"##[group]Run x",
    b"error: ",
    b"a.rs:1:2: ",
    b"Traceback (most recent call last):\n",
    b"  File \"a.py\", line 3, in f\n",
    b"1) ",
    b"2 failing\n",
    b"Failures:\n",
    "✗ ä".as_bytes(),
    b"2023-06-22T14:12:33.1234567Z ",
    b"travis_time:start:1\r",
    b"    ",
    b"\t",
    b"{\"problemMatcher\":[{\"owner\":\"a\",\"pattern\":[{\"regexp\":\"(.*)\",\"message\":1}]}]}",
    b"\0",
    b"PK\x03\x04",
    b"PK\x01\x02",
    b"PK\x05\x06",
];

fn drive(target: fn(&[u8]), seed: u64) {
    let mut random = Random(seed);
    let until = Instant::now() + TIME;
    while Instant::now() < until {
        let mut data = vec![u8::try_from(random.next(256)).unwrap(), u8::try_from(random.next(256)).unwrap()];
        for _ in 0..random.next(80) {
            if random.next(3) == 0 {
                data.extend((0..random.next(40)).map(|_| u8::try_from(random.next(256)).unwrap()));
            } else {
                data.extend_from_slice(PIECES[random.next(PIECES.len())]);
            }
        }
        target(&data);
    }
}

#[test]
fn no_log_makes_the_digest_panic() {
    drive(fuzz::log, 0x9e37_79b9);
}

#[test]
fn no_bytes_make_the_archive_reader_panic() {
    drive(|data| fuzz::archive(&data[2..]), 0x51ed_270b);
}

#[test]
fn no_matcher_file_makes_the_matchers_panic() {
    drive(|data| fuzz::matcher(&data[2..]), 0x2545_f491);
}
