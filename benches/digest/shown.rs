//! The share of marked lines that a digest shows.

use crate::corpus::{cases, unpack};
use fixpoint::digest::{Digest, Digester, GreenIndex, Options};
use regex::Regex;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::LazyLock;

/// Characters of a marked line, at its beginning or its end, that must stand in the text.
const ENOUGH: usize = 80;

/// One measurement.
#[derive(Debug)]
pub struct Asked {
    pub source: &'static str,
    pub budget: usize,
    pub green: bool,
}

/// Means over the logs of a source.
#[derive(Default)]
pub struct Score {
    logs: usize,
    pub recall: f64,
    rank: f64,
    pub line: f64,
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { logs, recall, rank, line } = self;
        write!(f, "{logs} logs, recall {recall:.3}, reciprocal rank {rank:.3}, one line {line:.3}")
    }
}

/// Measures.
pub fn score(logs: &Path, asked: &Asked) -> Score {
    let folder = logs.join(asked.source);
    let mut sum = Score::default();
    for (name, expected, log) in cases(&folder) {
        let marked = marked(&expected);
        if marked.is_empty() {
            continue;
        }
        let green = folder.join(&name).join("pass.txt.gz");
        let green = (asked.green && green.exists()).then(|| GreenIndex::of(&unpack(&green)));
        let mut digester =
            Digester::new(Options { budget: asked.budget, green: green.as_ref(), ..Options::default() });
        digester.push(&log);
        let digest = digester.finish();
        assert!(digest.text.len() <= asked.budget, "{name} is over the budget");
        let rank = digest.anchors.iter().position(|line| marked.contains(line));
        sum.logs += 1;
        sum.recall += shown(&digest, &log, &marked);
        sum.rank += rank.map_or(0.0, |rank| 1.0 / (rank + 1) as f64);
        sum.line += f64::from(u8::from(digest.line.is_some_and(|line| marked.contains(&line))));
    }
    let logs = sum.logs.max(1) as f64;
    Score { logs: sum.logs, recall: sum.recall / logs, rank: sum.rank / logs, line: sum.line / logs }
}

fn marked(expected: &Value) -> BTreeSet<u64> {
    let ranges = expected["error_lines"].as_array().into_iter().flatten();
    ranges.flat_map(|range| range[0].as_u64().unwrap()..=range[1].as_u64().unwrap()).collect()
}

/// A marked line counts when it is in a range and its beginning or its end stands in the text, blanks apart.
fn shown(digest: &Digest, log: &[u8], marked: &BTreeSet<u64>) -> f64 {
    let flat = squeezed(&digest.text);
    let lines: Vec<&[u8]> = log.split(|byte| *byte == b'\n').collect();
    let counts = |line: &&u64| {
        let inside = digest.ranges.iter().any(|(first, last)| (first..=last).contains(line));
        let raw = usize::try_from(**line - 1).ok().and_then(|at| lines.get(at));
        inside && raw.is_some_and(|raw| stands_in(&flat, &String::from_utf8_lossy(raw)))
    };
    marked.iter().filter(counts).count() as f64 / marked.len() as f64
}

fn stands_in(flat: &str, raw: &str) -> bool {
    let line: Vec<char> = squeezed(&cleaned(raw)).chars().collect();
    let first: String = line.iter().take(ENOUGH).collect();
    let last: String = line.iter().skip(line.len().saturating_sub(ENOUGH)).collect();
    flat.contains(&first) || flat.contains(&last)
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Without timestamps, colours and carriage returns; on purpose not by the code that is measured.
fn cleaned(raw: &str) -> String {
    static NOISE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\x1b\[[0-9;?]*[ -/]*[@-~]|^\d{4}-\d\d-\d\dT[\d:.]+Z ?|\r").unwrap());
    NOISE.replace_all(raw, "").into_owned()
}
