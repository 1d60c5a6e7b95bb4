//! Entry points for fuzzing: plain functions of bytes that must not panic, whatever the bytes. `cargo test` drives them for a bounded
//! time; a fuzzer can call them as they are.

use super::archive::Archive;
use super::{Digester, GreenIndex, Matcher, Options};

/// Bytes of the budgets tried.
const BUDGETS: usize = 1 << 12;

/// Digests the bytes as a log. The first two say the budget and how the rest is split; one half serves as the green log of the other.
pub fn log(data: &[u8]) {
    let (Some(first), Some(second)) = (data.first(), data.get(1)) else { return };
    let budget = usize::from(*first) * BUDGETS / 256;
    let log = &data[2..];
    let green = GreenIndex::of(&log[log.len() / 2..]);
    for green in [None, Some(&green)] {
        let mut digester = Digester::new(Options { budget, green, ..Options::default() });
        log.chunks(1 + usize::from(*second)).for_each(|chunk| digester.push(chunk));
        let digest = digester.finish();
        assert!(digest.text.len() <= budget, "{} bytes are more than {budget}", digest.text.len());
        assert!(digest.ranges.windows(2).all(|pair| pair[0].1 < pair[1].0), "ranges are out of order");
    }
}

/// Opens the bytes as a log archive and reads every job.
pub fn archive(data: &[u8]) {
    let Ok(mut archive) = Archive::open(data) else { return };
    let _ = archive.failed();
    for job in archive.jobs().to_vec() {
        let _ = archive.read(&job, |_| ());
    }
}

/// Reads the bytes before the first NUL as a matcher file and runs it over the rest.
pub fn matcher(data: &[u8]) {
    let mut parts = data.splitn(2, |byte| *byte == 0);
    let (file, log) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let Ok(matchers) = Matcher::parse(&String::from_utf8_lossy(file)) else { return };
    let mut digester = Digester::new(Options { budget: BUDGETS, matchers: &matchers, ..Options::default() });
    digester.push(log);
    digester.finish();
}
