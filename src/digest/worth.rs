//! What each kept line is worth to somebody who asks why the job failed: what the line says itself, what it is context of, how near
//! the end of the failed step it stands, and whether the last green log had it too.

use super::candidate::kin;
use super::clean::{LINE_CAP, message, trim, visible};
use super::green::{GreenIndex, key};
use super::sieve::Window;
use super::signs::{self, Sign, Sort};
use super::steps::Region;
use std::collections::HashMap;

/// A kept line, cleaned and judged.
pub(crate) struct Line {
    /// 1-based number in the log.
    pub number: u64,
    /// What a person would have seen.
    pub text: Vec<u8>,
    /// What the line says itself.
    pub sign: Sign,
    /// Rows of the table of signs that fit it.
    pub hits: u64,
    /// Hash of its beginning without numbers: lines of one kin are of one making.
    pub kin: u64,
    /// Hash of the text with numbers, addresses and times levelled.
    pub key: u64,
    /// Its weight as an anchor, after place and repetition.
    pub anchor: f32,
    /// How well it serves as the one line.
    pub point: f32,
    /// Its rank among all lines; higher is shown sooner.
    pub worth: f32,
}

/// The numbers of the ranking; see each for its reason. They were fitted on half of a corpus of marked logs, by project.
#[derive(Clone, Debug)]
pub(crate) struct Weights {
    /// Anchors outside a failed step, where one is known.
    pub outside: f32,
    /// Worth left per line below an anchor when the line belongs to it (indented, a stack frame, a quoted source line).
    pub follow: f32,
    /// The same for a line that only comes next.
    pub next: f32,
    /// And for an empty line.
    pub blank: f32,
    /// And for a line that says that something went well, or a new command.
    pub stop: f32,
    /// Worth left per line above an anchor.
    pub above: f32,
    /// Worth of the last line before a failed exit, and the lines over which it falls to a third.
    pub tail: f32,
    pub tail_lines: f32,
    /// How fast repetition of the same message lowers it.
    pub repeat: f32,
    /// Factors for lines that the last green log had too, and for those it had not.
    pub known: f32,
    pub new: f32,
    /// Added to a line that is new against green, whatever it says.
    pub new_floor: f32,
    pub kin: f32,
    pub late: f32,
    pub near: f32,
    pub p_outside: f32,
    pub p_repeat: f32,
    pub p_kin: f32,
    pub p_late: f32,
    pub p_near: f32,
    pub p_near_lines: f32,
    pub p_tail: f32,
    pub p_tail_lines: f32,
    pub p_rows: Option<Vec<f32>>,
    pub near_lines: f32,
    pub rows: Option<Vec<f32>>,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            outside: 0.55,
            follow: 0.99,
            next: 0.89,
            blank: 0.92,
            stop: 0.125,
            above: 0.91,
            tail: 5.0,
            tail_lines: 23.0,
            repeat: 0.135,
            known: 0.35,
            new: 1.5,
            new_floor: 3.0,
            kin: 0.042,
            late: 0.04,
            near: 0.125,
            p_outside: 0.4,
            p_repeat: 0.113,
            p_kin: 0.038,
            p_late: 0.1,
            p_near: 0.169,
            p_near_lines: 20.2,
            p_tail: 4.0,
            p_tail_lines: 5.0,
            p_rows: None,
            near_lines: 46.0,
            rows: None,
        }
    }
}

/// Ranks the lines of the windows.
pub(crate) fn rank(
    lines: &mut [Line],
    failed: &[Region],
    end: u64,
    green: Option<&GreenIndex>,
    weights: &Weights,
) {
    if let Some(rows) = &weights.rows {
        for line in lines.iter_mut() {
            line.sign = signs::judge(line.hits, |row| rows[row]);
            line.worth = 0.0;
            line.anchor = 0.0;
            line.point = 0.0;
        }
    }
    anchors(lines, failed, end, green, weights);
    announced(lines);
    spread(lines, weights);
    tails(lines, failed, end, weights);
    if let Some(green) = green {
        compare(lines, green, weights);
    }
}

/// Anchors given at most.
const ANCHORS: usize = 50;

/// The anchors, best first.
pub(crate) fn best(lines: &[Line]) -> Vec<&Line> {
    let mut best: Vec<&Line> = lines.iter().filter(|l| l.point > 0.0).collect();
    best.sort_by(|a, b| b.point.total_cmp(&a.point).then(a.number.cmp(&b.number)));
    best.truncate(ANCHORS);
    first_of_its_kind(lines, &mut best);
    best
}

/// Of many failures of one kind the first is what people look at: it goes to the front.
fn first_of_its_kind<'a>(lines: &'a [Line], best: &mut Vec<&'a Line>) {
    let Some(top) = best.first().copied() else { return };
    if !matches!(top.sign.sort, Sort::Test | Sort::Trace | Sort::Diagnostic)
        || signs::point(top.sign.row) < 8.0
    {
        return;
    }
    let like = |line: &&Line| {
        line.sign.row == top.sign.row && line.sign.sort == top.sign.sort && line.point > 0.6 * top.point
    };
    if let Some(first) = lines.iter().find(like) {
        best.retain(|line| line.number != first.number);
        best.insert(0, first);
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

pub(crate) fn read(windows: &[Window]) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut room = Vec::with_capacity(LINE_CAP);
    for window in windows {
        let body = window.bytes.strip_suffix(b"\n").unwrap_or(&window.bytes);
        for (number, raw) in (window.first..).zip(body.split(|b| *b == b'\n')) {
            let text = visible(raw, &mut room).to_vec();
            let (hits, key, kin) = (signs::hits(&text), key(&text), kin(&text));
            let sign = signs::judge(hits, signs::weight);
            lines.push(Line { number, text, hits, sign, key, kin, anchor: 0.0, point: 0.0, worth: 0.0 });
        }
    }
    lines
}

fn anchors(lines: &mut [Line], failed: &[Region], end: u64, green: Option<&GreenIndex>, weights: &Weights) {
    let mut seen: HashMap<u64, f32> = HashMap::new();
    let mut kins: HashMap<u64, f32> = HashMap::new();
    for line in lines.iter() {
        *kins.entry(line.kin).or_insert(0.0) += 1.0;
    }
    for line in lines.iter_mut() {
        if line.sign.weight <= 0.0 {
            continue;
        }
        let times = seen.entry(line.key).or_insert(0.0);
        *times += 1.0;
        let region = failed.iter().find(|r| (r.first..=r.last).contains(&line.number));
        let inside = failed.is_empty() || region.is_some();
        let distance = region.map_or(end, |r| r.last).saturating_sub(line.number) as f32;
        let near = 1.0 + weights.near * (-distance / weights.near_lines).exp();
        let place = if inside { 1.0 } else { weights.outside };
        let repeated = 1.0
            / (1.0 + weights.repeat * times.ln() + weights.kin * kins.get(&line.kin).map_or(0.0, |n| n.ln()));
        let late = 1.0 + weights.late * line.number as f32 / end.max(1) as f32;
        let known = match green {
            Some(green) if green.has(line.key) => weights.known,
            Some(_) => weights.new,
            None => 1.0,
        };
        let p_near = 1.0 + weights.p_near * (-distance / weights.p_near_lines).exp();
        let p_late = 1.0 + weights.p_late * line.number as f32 / end.max(1) as f32;
        let p_rep = 1.0
            / (1.0
                + weights.p_repeat * times.ln()
                + weights.p_kin * kins.get(&line.kin).map_or(0.0, |n| n.ln()));
        let p = match &weights.p_rows {
            Some(r) => signs::judge(line.hits, |row| r[row]).weight,
            None => signs::judge(line.hits, signs::point).weight,
        };
        line.point = p * p_near * p_late * p_rep * known * if inside { 1.0 } else { weights.p_outside };
        line.anchor = line.sign.weight * place * repeated * known * late * near;
        line.worth = line.anchor;
    }
}

/// Lets the worth of an anchor flow to the lines around it.
fn spread(lines: &mut [Line], weights: &Weights) {
    let mut carried = 0.0_f32;
    let mut indent = 0;
    let mut last = 0;
    for line in lines.iter_mut() {
        if line.number != last + 1 {
            carried = 0.0;
        }
        last = line.number;
        carried *= fall(line, indent, weights);
        if line.anchor >= carried {
            carried = line.anchor;
            indent = depth(&line.text);
        }
        line.worth = line.worth.max(carried);
    }
    carried = 0.0;
    last = 0;
    for line in lines.iter_mut().rev() {
        if line.number + 1 != last {
            carried = 0.0;
        }
        last = line.number;
        carried *= if line.sign.sort == Sort::Fine { weights.stop } else { weights.above };
        carried = carried.max(line.anchor);
        line.worth = line.worth.max(carried);
    }
}

fn fall(line: &Line, indent: usize, weights: &Weights) -> f32 {
    let text = trim(message(&line.text));
    if text.is_empty() {
        weights.blank
    } else if line.sign.sort == Sort::Fine || text.starts_with(b"$ ") {
        weights.stop
    } else if depth(&line.text) > indent || belongs(text) {
        weights.follow
    } else {
        weights.next
    }
}

/// Starts of lines that go on with what was said before them, in the habits of most tools.
fn belongs(text: &[u8]) -> bool {
    const STARTS: &[&[u8]] = &[
        b"at ",
        b"|",
        b">",
        b"^",
        b"~",
        b"E ",
        b"+",
        b"-",
        b"...",
        b"from ",
        b"in ",
        b"note:",
        b"help:",
        b"symbol",
        b"location",
        b"Caused by",
        b"File \"",
        b"=",
        b"@@",
        b"*",
        b"and ",
        b"[",
    ];
    STARTS.iter().any(|s| text.starts_with(s))
}

fn depth(text: &[u8]) -> usize {
    text.iter().take_while(|b| matches!(b, b' ' | b'\t')).map(|b| if *b == b'\t' { 4 } else { 1 }).sum()
}

/// The lines before a failed exit are worth something even where nothing in them is recognised.
fn tails(lines: &mut [Line], failed: &[Region], end: u64, weights: &Weights) {
    let whole = [Region { name: String::new(), first: 1, last: end }];
    let regions = if failed.is_empty() { &whole[..] } else { failed };
    for region in regions {
        let mut distance = 0.0_f32;
        let mut content = 0.0_f32;
        for line in lines
            .iter_mut()
            .rev()
            .skip_while(|l| l.number > region.last)
            .take_while(|l| l.number >= region.first)
        {
            let worth = weights.tail * (-distance / weights.tail_lines).exp();
            if worth < 0.05 {
                break;
            }
            line.worth = line.worth.max(worth);
            let bare = line.text.is_empty()
                || matches!(line.sign.sort, Sort::Wrapper | Sort::Fine)
                || line.text.starts_with(b"travis_")
                || line.text.starts_with(b"##[")
                || line.text.starts_with(b"The command \"");
            if !bare {
                if line.sign.sort == Sort::Plain
                    && line.text.iter().filter(|b| b.is_ascii_alphabetic()).count() > 8
                {
                    line.point = line.point.max(weights.p_tail * (-content / weights.p_tail_lines).exp());
                }
                content += 1.0;
            }
            let step = if line.text.is_empty() { 0.2 } else { 1.0 };
            distance += step;
        }
    }
}

fn compare(lines: &mut [Line], green: &GreenIndex, weights: &Weights) {
    for line in lines.iter_mut().filter(|l| !l.text.is_empty()) {
        if green.has(line.key) {
            line.worth *= weights.known;
        } else {
            line.worth += weights.new_floor;
        }
    }
}
