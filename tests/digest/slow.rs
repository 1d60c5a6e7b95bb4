//! No expression takes its time over any line that a real log holds: not the built-in matchers', nor those of others, nor
//! those that a digest is made with.

use crate::corpus::{cases, folder};
use fixpoint::digest::{Digester, Matcher, Options, matchers::Running};
use std::time::{Duration, Instant};

/// Of each log these many lines, the longest, are read; bytes of one line.
const LONGEST: usize = 40;
const LINE: usize = 16 * 1024;
/// What one matcher may take for the lines of one log, without optimisation on a busy machine: some thirty times what the slowest
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

/// Every matcher over the lines; gives the longest time that one took.
fn over(name: &str, matchers: &[Matcher], lines: &[&[u8]]) -> Duration {
    let mut worst = Duration::ZERO;
    for matcher in matchers {
        let begun = Instant::now();
        let mut running = Running::new(matcher);
        lines.iter().for_each(|line| drop(running.read(line)));
        let took = begun.elapsed();
        assert!(took < TIME, "{name}: {} took {took:?}", matcher.owner());
        worst = worst.max(took);
    }
    worst
}

fn digested(name: &str, log: &[u8]) {
    let begun = Instant::now();
    let mut digester = Digester::new(Options { budget: 8_000, ..Options::default() });
    digester.push(log);
    let text = digester.finish().text;
    let took = begun.elapsed();
    assert!(took < ALL, "{name}: the digest of {} bytes ({} shown) took {took:?}", log.len(), text.len());
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
