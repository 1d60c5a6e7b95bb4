//! What each kept line is worth to somebody who asks why the job failed: what the line says itself, what it is context of, how near
//! the end of the failed step it stands, and whether the last green log had it too.
//!
//! The numbers were fitted on one half of a corpus of logs with marked lines, split by project, and checked on the other.

use super::candidate::kin;
use super::clean::{LINE_CAP, message, trim, visible};
use super::green::{GreenIndex, key};
use super::sieve::Window;
use super::signs::{self, Sign, Sort};
use super::steps::Region;
use std::collections::HashMap;

/// A kept line, cleaned and judged.
pub(super) struct Line {
    /// 1-based number in the log.
    pub number: u64,
    /// What a person would have seen.
    pub text: Vec<u8>,
    /// What the line says itself.
    pub sign: Sign,
    /// Hash of its beginning without numbers: lines of one kin are of one making.
    kin: u64,
    /// Hash of the text with numbers, addresses and times levelled.
    key: u64,
    /// Its weight as an anchor, after place and repetition.
    pub anchor: f32,
    /// How well it serves as the one line.
    pub point: f32,
    /// Its rank among all lines; higher is shown sooner.
    pub worth: f32,
}

/// How place and repetition change the weight of an anchor.
struct Pull {
    /// Factor outside the failed steps, where these are known.
    outside: f32,
    /// How fast saying the same again lowers it.
    repeat: f32,
    /// How fast being one of many of its making lowers it.
    kin: f32,
    /// Share added at the end of the log, and none at its beginning.
    late: f32,
    /// Share added just before the failed exit, and the lines over which that falls to a third.
    near: f32,
    near_lines: f32,
}

/// For being shown, and for being the one line.
const SHOWN: Pull =
    Pull { outside: 0.55, repeat: 0.135, kin: 0.042, late: 0.04, near: 0.125, near_lines: 46.0 };
const ONE: Pull = Pull { outside: 0.4, repeat: 0.11, kin: 0.04, late: 0.1, near: 0.17, near_lines: 20.0 };

/// What is left of an anchor's worth one line below it: for a line that belongs to it (indented, a stack frame, quoted source), for
/// one that only comes next, an empty one, and one that says that something went well or is a new command.
const FOLLOW: f32 = 0.99;
const NEXT: f32 = 0.89;
const BLANK: f32 = 0.92;
const STOP: f32 = 0.125;
/// And one line above it.
const ABOVE: f32 = 0.91;
/// Worth of the last line before a failed exit, and the lines over which it falls to a third; an empty line is a fifth of one.
const TAIL: f32 = 5.0;
const TAIL_LINES: f32 = 23.0;
/// The same for the one line, counted in lines that say something.
const ONE_TAIL: f32 = 4.0;
const ONE_TAIL_LINES: f32 = 5.0;
/// Letters from which a line without a sign may be the one line.
const LETTERS: usize = 8;
/// Factors for lines that the last green log had, and had not; and what is added to a new one, whatever it says.
const KNOWN: f32 = 0.5;
const NEW: f32 = 1.5;
const NEW_AT_LEAST: f32 = 3.0;

/// Cleans and judges the lines of the windows.
pub(super) fn read(windows: &[Window]) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut room = Vec::with_capacity(LINE_CAP);
    for window in windows {
        let body = window.bytes.strip_suffix(b"\n").unwrap_or(&window.bytes);
        for (number, raw) in (window.first..).zip(body.split(|b| *b == b'\n')) {
            let text = visible(raw, &mut room).to_vec();
            let (sign, key, kin) = (signs::judge(&text), key(&text), kin(&text));
            lines.push(Line { number, text, sign, kin, key, anchor: 0.0, point: 0.0, worth: 0.0 });
        }
    }
    lines
}

/// Ranks the lines, whatever they were ranked before; `failed` are the failed steps, `end` is the number of the log's last line.
pub(super) fn rank(lines: &mut [Line], failed: &[Region], end: u64, green: Option<&GreenIndex>) {
    lines.iter_mut().for_each(|line| (line.anchor, line.point, line.worth) = (0.0, 0.0, 0.0));
    weigh(lines, failed, end, green);
    announced(lines);
    spread(lines);
    tails(lines, failed, end);
    if let Some(green) = green {
        compare(lines, green);
    }
}

/// Weighs the anchors.
#[expect(clippy::cast_precision_loss, reason = "line numbers and counts only need to be about right here")]
fn weigh(lines: &mut [Line], failed: &[Region], end: u64, green: Option<&GreenIndex>) {
    let mut kins: HashMap<u64, f32> = HashMap::new();
    lines.iter().for_each(|line| *kins.entry(line.kin).or_insert(0.0) += 1.0);
    let mut seen: HashMap<u64, f32> = HashMap::new();
    for line in lines.iter_mut().filter(|line| line.sign.weight > 0.0) {
        let times = seen.entry(line.key).or_insert(0.0);
        *times += 1.0;
        let region = failed.iter().find(|r| (r.first..=r.last).contains(&line.number));
        let inside = failed.is_empty() || region.is_some();
        let distance = region.map_or(end, |r| r.last).saturating_sub(line.number) as f32;
        let position = line.number as f32 / end.max(1) as f32;
        let kin = kins.get(&line.kin).copied().unwrap_or(1.0);
        let factor = |pull: &Pull| {
            let place = if inside { 1.0 } else { pull.outside };
            let near = 1.0 + pull.near * (-distance / pull.near_lines).exp();
            place * near * (1.0 + pull.late * position)
                / (1.0 + pull.repeat * times.ln() + pull.kin * kin.ln())
        };
        let known = match green {
            Some(green) if green.has(line.key) => KNOWN,
            Some(_) => NEW,
            None => 1.0,
        };
        line.anchor = line.sign.weight * known * factor(&SHOWN);
        line.point = line.sign.point * known * factor(&ONE);
        line.worth = line.anchor;
    }
}

/// Headings whose message stands in the next line pass their place on to it.
fn announced(lines: &mut [Line]) {
    for at in 0..lines.len() {
        if !announces(trim(message(&lines[at].text))) {
            continue;
        }
        let point = lines[at].point.max(lines[at].anchor);
        lines[at].point = 1.0;
        if let Some(next) = lines[at + 1..].iter_mut().take(3).find(|line| !line.text.is_empty()) {
            next.point = next.point.max(point);
        }
    }
}

fn announces(text: &[u8]) -> bool {
    text.ends_with(b"aborted!")
        || text.ends_with(b"went wrong:")
        || [&b"Failure:"[..], b"Error:", b"Failures:", b"ERROR:"].contains(&text)
}

/// Lets the worth of an anchor flow to the lines around it.
fn spread(lines: &mut [Line]) {
    let (mut carried, mut indent, mut last) = (0.0_f32, 0, 0);
    for line in lines.iter_mut() {
        carried *= if line.number == last + 1 { fall(line, indent) } else { 0.0 };
        last = line.number;
        if line.anchor >= carried {
            carried = line.anchor;
            indent = depth(&line.text);
        }
        line.worth = line.worth.max(carried);
    }
    (carried, last) = (0.0, 0);
    for line in lines.iter_mut().rev() {
        let step = if line.sign.sort == Sort::Fine { STOP } else { ABOVE };
        carried *= if line.number + 1 == last { step } else { 0.0 };
        last = line.number;
        carried = carried.max(line.anchor);
        line.worth = line.worth.max(carried);
    }
}

fn fall(line: &Line, indent: usize) -> f32 {
    let text = trim(message(&line.text));
    if text.is_empty() {
        BLANK
    } else if line.sign.sort == Sort::Fine || text.starts_with(b"$ ") {
        STOP
    } else if depth(&line.text) > indent || belongs(text) {
        FOLLOW
    } else {
        NEXT
    }
}

/// Starts of lines that go on with what was said before them, in the habits of most tools.
#[rustfmt::skip]
const STARTS: &[&[u8]] = &[
    b"at ", b"|", b">", b"^", b"~", b"E ", b"+", b"-", b"...", b"from ", b"in ", b"note:", b"help:", b"symbol", b"location", b"Caused by",
    b"File \"", b"=", b"@@", b"*", b"and ", b"[",
];

fn belongs(text: &[u8]) -> bool {
    STARTS.iter().any(|start| text.starts_with(start))
}

fn depth(text: &[u8]) -> usize {
    text.iter().take_while(|b| matches!(b, b' ' | b'\t')).map(|b| if *b == b'\t' { 4 } else { 1 }).sum()
}

/// The lines before a failed exit are worth something even where nothing in them is recognised.
fn tails(lines: &mut [Line], failed: &[Region], end: u64) {
    let whole = [Region { name: String::new(), first: 1, last: end }];
    let regions = if failed.is_empty() { &whole[..] } else { failed };
    for region in regions {
        let (mut distance, mut said) = (0.0_f32, 0.0_f32);
        let inside = |line: &&mut Line| line.number >= region.first;
        for line in lines.iter_mut().rev().skip_while(|line| line.number > region.last).take_while(inside) {
            let worth = TAIL * (-distance / TAIL_LINES).exp();
            if worth < 0.05 {
                break;
            }
            line.worth = line.worth.max(worth);
            if says_something(line) {
                if line.sign.sort == Sort::Plain
                    && line.text.iter().filter(|b| b.is_ascii_alphabetic()).count() > LETTERS
                {
                    line.point = line.point.max(ONE_TAIL * (-said / ONE_TAIL_LINES).exp());
                }
                said += 1.0;
            }
            distance += if line.text.is_empty() { 0.2 } else { 1.0 };
        }
    }
}

/// Neither empty nor a runner's marker, a good news or a failure passed on.
fn says_something(line: &Line) -> bool {
    let marker =
        [&b"travis_"[..], b"##[", b"The command \""].iter().any(|start| line.text.starts_with(start));
    !line.text.is_empty() && !marker && !matches!(line.sign.sort, Sort::Wrapper | Sort::Fine)
}

fn compare(lines: &mut [Line], green: &GreenIndex) {
    for line in lines.iter_mut().filter(|line| !line.text.is_empty()) {
        if green.has(line.key) {
            line.worth *= KNOWN;
        } else {
            line.worth += NEW_AT_LEAST;
        }
    }
}
