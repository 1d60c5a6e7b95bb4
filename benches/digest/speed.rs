//! Time and memory for a gigabyte of real logs, beside a plain search for ten words in the same file.

use crate::corpus::cases;
use std::fmt;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Bytes of the log that is made.
const SIZE: u64 = 1_000_000_000;
/// The search it is compared with.
const WORDS: &str = "error|fail|fatal|exception|panic|undefined|cannot|not found|traceback|assert";

/// What was measured.
pub struct Speed {
    digest: Duration,
    search: Duration,
    peak: String,
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = SIZE as f64 / 1e6 / self.digest.as_secs_f64();
        let ratio = self.digest.as_secs_f64() / self.search.as_secs_f64();
        write!(
            f,
            "1 GB: {:.2} s, {rate:.0} MB/s, peak memory {}, {ratio:.2} times `grep -cE`",
            self.digest.as_secs_f64(),
            self.peak
        )
    }
}

/// Makes the log, reads it, searches it; the better of three runs each, for the machine may be busy.
pub fn measure(logs: &Path) -> Speed {
    let file = tempfile::NamedTempFile::new().unwrap();
    fill(logs, &mut std::io::BufWriter::new(file.as_file()));
    let path = file.path().to_str().unwrap();
    let mut speed = Speed { digest: Duration::MAX, search: Duration::MAX, peak: String::new() };
    for _ in 0..3 {
        let (time, peak) = run(env!("CARGO_BIN_EXE_fixpoint"), &["explain", "log", "--json", path]);
        if time < speed.digest {
            (speed.digest, speed.peak) = (time, peak);
        }
        speed.search = speed.search.min(run("grep", &["-cE", WORDS, path]).0);
    }
    speed
}

fn fill(logs: &Path, out: &mut impl Write) {
    let mut left = SIZE;
    let sources = ["logchunks", "cidiff", "bugswarm-gha", "bump-actions", "bump-maven", "bugswarm-travis"];
    while left > 0 {
        for (_, _, log) in sources.iter().flat_map(|source| cases(&logs.join(source)).collect::<Vec<_>>()) {
            let take = left.min(log.len() as u64);
            out.write_all(&log[..usize::try_from(take).unwrap()]).unwrap();
            left -= take;
        }
    }
}

/// Processor time of a run, which a busy machine does not stretch, and the most memory it was seen to hold.
fn run(program: &str, arguments: &[&str]) -> (Duration, String) {
    // Into a pipe: `grep` stops at the first hit when nobody reads.
    let mut child = Command::new(program).args(arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
    let (mut time, mut peak) = (Duration::ZERO, String::new());
    while child.try_wait().unwrap().is_none() {
        time = spent(&child).unwrap_or(time);
        peak = held(&child).unwrap_or(peak);
        std::thread::sleep(Duration::from_millis(5));
    }
    reader.join().unwrap().unwrap();
    (time, peak)
}

/// User and system time so far, in the kernel's hundredths of a second.
fn spent(child: &Child) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let ticks: u64 = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(Duration::from_millis(10 * ticks))
}

/// The peak so far, as the kernel tells it.
fn held(child: &Child) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.trim_start_matches("VmHWM:").trim().to_owned())
}
