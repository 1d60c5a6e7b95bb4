//! No expression takes its time over any line that a real log holds: not the built-in matchers', nor those of others, nor
//! those that a digest is made with.

use crate::corpus::{cases, folder};
use fixpoint::digest::{Digester, Matcher, Options, matchers::Running};
use std::{
    sync::LazyLock,
    time::{Duration, Instant},
};

/// Of each log these many lines, the longest, are read; bytes of one line.
const LONGEST: usize = 40;
const LINE: usize = 16 * 1024;
/// What one matcher may take of the processor for the lines of one log, without optimisation: some thirty times what the slowest
/// takes. One that goes back over what it read takes minutes for a line of sixteen thousand bytes.
const TIME: Duration = Duration::from_secs(2);
/// What a digest of them may take, all its expressions together.
const ALL: Duration = Duration::from_secs(20);
/// In a shorter line nothing can take long.
const WORTH: usize = 200;

const SOURCES: &[&str] = &[
    "bugswarm-gha",
    "bugswarm-travis",
    "bump-actions",
    "bump-maven",
    "cidiff",
    "logchunks",
    "pytorch-log-classifier",
    "treeherder",
];

/// The built-in matchers and, where they are at hand, those of others.
fn matchers() -> Vec<Matcher> {
    let mut all = Matcher::parse(include_str!("../../src/digest/matchers/builtin.json")).unwrap();
    let Some(folder) = folder("problem-matchers") else { return all };
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap_or_default();
        all.extend(Matcher::parse(&text).unwrap_or_default());
    }
    all
}

/// The longest lines of a log, in its order.
fn longest(log: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<(usize, &[u8])> = log
        .split(|byte| *byte == b'\n')
        .map(|line| &line[..line.len().min(LINE)])
        .enumerate()
        .filter(|(_, line)| line.len() >= WORTH)
        .collect();
    lines.sort_by_key(|(_, line)| std::cmp::Reverse(line.len()));
    lines.truncate(LONGEST);
    lines.sort_by_key(|(at, _)| *at);
    lines.into_iter().map(|(_, line)| line).collect()
}

/// How long it takes. The clock counts also what a busy machine does meanwhile: what is long by the clock is measured on the
/// processor.
fn time(work: impl Fn()) -> Duration {
    let begun = Instant::now();
    work();
    let took = begun.elapsed();
    if took < TIME / 2 {
        return took;
    }
    let before = used();
    work();
    used().saturating_sub(before)
}

/// What this thread has used so far; the clock where the system does not tell. Source: proc(5), `schedstat`.
fn used() -> Duration {
    static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let told = stat.and_then(|stat| stat.split(' ').next()?.parse().ok()).map(Duration::from_nanos);
    told.unwrap_or_else(|| BEGUN.elapsed())
}

/// Every matcher over the lines; gives the longest time that one took.
fn over(name: &str, matchers: &[Matcher], lines: &[&[u8]]) -> Duration {
    let mut worst = Duration::ZERO;
    for matcher in matchers {
        let took = time(|| {
            let mut running = Running::new(matcher);
            lines.iter().for_each(|line| drop(running.read(line)));
        });
        assert!(took < TIME, "{name}: {} took {took:?}", matcher.owner());
        worst = worst.max(took);
    }
    worst
}

fn digested(name: &str, log: &[u8]) {
    let took = time(|| {
        let mut digester = Digester::new(Options { budget: 8_000, ..Options::default() });
        digester.push(log);
        drop(digester.finish().text);
    });
    assert!(took < ALL, "{name}: the digest of {} bytes took {took:?}", log.len());
}

#[test]
fn no_matcher_takes_its_time_over_a_line_of_a_log() {
    let matchers = matchers();
    let (mut logs, mut bytes, mut worst) = (0, 0, Duration::ZERO);
    for source in SOURCES {
        let Some(folder) = folder(&format!("ci-logs/{source}")) else { return };
        for (name, _, log) in cases(&folder) {
            let lines = longest(&log);
            let name = format!("{source}/{name}");
            worst = worst.max(over(&name, &matchers, &lines));
            digested(&name, &lines.join(&b'\n'));
            (logs, bytes) = (logs + 1, bytes + lines.iter().map(|line| line.len()).sum::<usize>());
        }
    }
    println!("{} matchers, {logs} logs, {bytes} bytes; at worst {worst:?}", matchers.len());
}

/// What a line has to be like for an expression that goes back over it to take for ever.
#[test]
fn no_matcher_takes_its_time_over_a_line_made_for_it() {
    let matchers = matchers();
    let lines: Vec<Vec<u8>> =
        ["a", " ", "a/", "1:", "a.b:1", "error: ", "::", "(a)", "a b ", "\t", "\\", "\"a\" "]
            .iter()
            .flat_map(|piece| {
                let line = piece.repeat(LINE / piece.len());
                [format!("{line}!").into_bytes(), line.into_bytes()]
            })
            .collect();
    let lines: Vec<&[u8]> = lines.iter().map(|line| &line[..]).collect();
    for line in &lines {
        over(&String::from_utf8_lossy(&line[..8]), &matchers, &[line]);
    }
    digested("lines made for it", &lines.join(&b'\n'));
}
