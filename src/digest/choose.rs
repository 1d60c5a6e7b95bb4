//! Chooses lines in the order of their worth until the budget is filled, folds repeats, and writes the text.

use super::worth::Line;
use std::collections::HashMap;

/// Room for one "left out" mark between two runs of lines, in bytes.
const GAP: usize = 20;
/// Room for the count behind a line that stands for several.
const COUNT: usize = 10;
/// Bytes below which what is left of the budget holds no line worth looking for.
const REST: usize = 40;
/// How much more a line is worth for standing for others, for each e-fold of them.
const STANDS_FOR: f32 = 0.12;
/// Worth from which a line counts among those that another stands for.
const COUNTED: f32 = 2.0;
/// Shortest and longest form of a line that says why; in between it is a part of the budget, so that one line never takes it all.
const LINE: (usize, usize) = (160, 2000);
/// The part of the budget that one such line may take.
const SHARE: usize = 25;
/// Bytes kept of the end of such a line: the end often holds the difference.
const LINE_END: usize = 80;
/// Form of a line that is only context, as a part of the longest, and its shortest.
const CONTEXT: (usize, usize) = (3, 96);
/// Bytes of the one line people see.
const ONE_LINE: usize = 300;

/// What is shown.
pub(super) struct Choice {
    /// The lines, with marks for what is left out.
    pub text: String,
    /// Their numbers; a line that another stands for is among them.
    pub ranges: Vec<(u64, u64)>,
}

/// How a line goes into the text.
#[derive(Clone, PartialEq)]
enum Place {
    Out,
    /// Shown in this form, for so many lines.
    Shown(String, usize),
    /// A line with the same text is shown.
    Folded,
}

/// Chooses from `lines` (in order); `show` gives the text of a line, secrets taken out.
pub(super) fn choose(lines: &[Line], budget: usize, show: &impl Fn(&[u8]) -> String) -> Choice {
    let longest = (budget / SHARE).clamp(LINE.0, LINE.1);
    let mut places = vec![Place::Out; lines.len()];
    let mut known: HashMap<&[u8], usize> = HashMap::new();
    let mut used = GAP;
    for index in in_order(lines) {
        let line = &lines[index];
        if let Some(first) = known.get(&line.text[..]).filter(|_| !line.text.is_empty()) {
            if let Place::Shown(_, times) = &mut places[*first] {
                used += if *times == 1 { COUNT } else { 0 };
                *times += 1;
            }
            places[index] = Place::Folded;
            continue;
        }
        let text = shorten(&show(&line.text), line.anchor > 0.0, longest);
        // Each run of lines costs a mark: alone a line adds one, between two runs it saves one.
        let cost = match neighbours(lines, &places, index) {
            0 => text.len() + 1 + GAP,
            1 => text.len() + 1,
            _ => (text.len() + 1).saturating_sub(GAP),
        };
        if used + cost <= budget {
            used += cost;
            known.insert(&line.text, index);
            places[index] = Place::Shown(text, 1);
        } else if used + REST > budget {
            break;
        }
    }
    write(lines, &places, budget)
}

/// Lines worth anything, the worthiest first; one that stands for many comes sooner.
fn in_order(lines: &[Line]) -> Vec<usize> {
    let mut copies: HashMap<&[u8], f32> = HashMap::new();
    for line in lines.iter().filter(|line| line.worth >= COUNTED) {
        *copies.entry(&line.text).or_insert(0.0) += 1.0;
    }
    let value = |line: &Line| {
        line.worth * (1.0 + STANDS_FOR * copies.get(&line.text[..]).copied().unwrap_or(1.0).ln())
    };
    let mut order: Vec<(usize, f32)> =
        lines.iter().map(value).enumerate().filter(|(_, value)| *value > 0.0).collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    order.into_iter().map(|(index, _)| index).collect()
}

/// How many of the lines before and after are shown already.
fn neighbours(lines: &[Line], places: &[Place], index: usize) -> usize {
    let shown = |other: usize| {
        matches!(places.get(other), Some(Place::Shown(..)))
            && lines[other].number.abs_diff(lines[index].number) == 1
    };
    usize::from(index > 0 && shown(index - 1)) + usize::from(shown(index + 1))
}

fn write(lines: &[Line], places: &[Place], budget: usize) -> Choice {
    let mut text = String::new();
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    // The number of the last line that stands somewhere in the text.
    let mut last = 0;
    for (line, place) in lines.iter().zip(places) {
        if *place == Place::Out {
            continue;
        }
        let gap = line.number - last - 1;
        last = line.number;
        match ranges.last_mut() {
            Some(range) if gap == 0 => range.1 = line.number,
            _ => ranges.push((line.number, line.number)),
        }
        if gap > 0 && !text.ends_with("]\n") {
            text.push_str(&left_out(gap));
        }
        if let Place::Shown(shown, times) = place {
            text.push_str(shown);
            if *times > 1 {
                text.push_str(&format!(" [×{times}]"));
            }
            text.push('\n');
        }
    }
    text.truncate(floor(&text, budget));
    Choice { text, ranges }
}

fn left_out(lines: u64) -> String {
    if lines == 1 { "[…]\n".to_owned() } else { format!("[… {lines} lines]\n") }
}

/// The one line, squeezed and cut.
pub(super) fn one_line(text: &str) -> String {
    shorten(text.trim(), true, ONE_LINE)
}

/// A line in the form in which it is shown: blanks squeezed, long ones without their middle, stack frames without their beginning.
fn shorten(text: &str, anchor: bool, longest: usize) -> String {
    let text = squeeze(text);
    let context = (longest / CONTEXT.0).max(CONTEXT.1);
    if text.len() <= context || (anchor && text.len() <= longest) {
        return text;
    }
    let trimmed = text.trim_start();
    if trimmed.starts_with("at ") || trimmed.starts_with("from ") {
        return format!(" …{}", &text[ceiling(&text, text.len() + 8 - context)..]);
    }
    if anchor {
        let (head, tail) = (floor(&text, longest - LINE_END - 8), ceiling(&text, text.len() - LINE_END));
        return format!("{}[…]{}", &text[..head], &text[tail..]);
    }
    format!("{}…", &text[..floor(&text, context - 4)])
}

/// Runs of blanks cut to what still shows the structure: eight in front, two inside.
fn squeeze(text: &str) -> String {
    let body = text.trim_start();
    let mut out = " ".repeat((text.len() - body.len()).min(8));
    let mut blanks = 0;
    for letter in body.chars() {
        blanks = if letter == ' ' || letter == '\t' { blanks + 1 } else { 0 };
        if blanks <= 2 {
            out.push(letter);
        }
    }
    out
}

/// The nearest character boundary at or below `at`.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)
}

/// The nearest character boundary at or above `at`.
fn ceiling(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|i| text.is_char_boundary(*i)).unwrap_or(text.len())
}
