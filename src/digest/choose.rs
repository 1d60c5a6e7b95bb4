//! Chooses lines in the order of their worth until the budget is filled, folds repeats, and writes the text.

use super::worth::Line;
use std::collections::HashMap;

/// Room for one "left out" mark between two runs of lines, in bytes.
const GAP: usize = 20;
/// Shortest and longest form of a line that says why; in between it is a part of the budget, so that one line never takes it all.
const LINE: (usize, usize) = (160, 2000);
/// Bytes kept of the end of such a line: the end often holds the difference.
const LINE_END: usize = 80;
/// Form of a line that is only context, as a part of [`LINE`], and its shortest.
const CONTEXT: (usize, usize) = (3, 96);

/// What is shown.
pub(crate) struct Choice {
    pub text: String,
    pub ranges: Vec<(u64, u64)>,
}

/// How a line is folded into the text.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Out,
    Shown,
    /// The same text stands elsewhere in what is shown, at this index.
    As(usize),
}

/// Chooses from `lines` (in order); `show` gives the text of a line, secrets taken out.
pub(crate) fn choose(lines: &[Line], budget: usize, show: &impl Fn(&[u8]) -> String) -> Choice {
    let longest = (budget / 25).clamp(LINE.0, LINE.1);
    let mut order: Vec<usize> = (0..lines.len()).filter(|i| lines[*i].worth > 0.0).collect();
    order.sort_by(|a, b| lines[*b].worth.total_cmp(&lines[*a].worth).then(a.cmp(b)));
    let mut places = vec![Place::Out; lines.len()];
    let mut texts: HashMap<usize, String> = HashMap::new();
    let mut known: HashMap<&[u8], usize> = HashMap::new();
    let mut used = GAP;
    for index in order {
        let line = &lines[index];
        if let Some(first) = known.get(&line.text[..]).filter(|_| !line.text.is_empty()) {
            places[index] = Place::As(*first);
            continue;
        }
        let text = shorten(&show(&line.text), line.anchor > 0.0, longest);
        let joins = usize::from(adjacent(lines, &places, index, -1))
            + usize::from(adjacent(lines, &places, index, 1));
        let cost = text.len() + 1 + GAP - (joins * GAP).min(2 * GAP);
        let cost = if joins == 2 { (text.len() + 1).saturating_sub(GAP) } else { cost };
        if used + cost > budget {
            if used + GAP + 40 > budget {
                break;
            }
            continue;
        }
        used += cost;
        places[index] = Place::Shown;
        known.insert(&line.text, index);
        texts.insert(index, text);
    }
    write(lines, &places, &texts, budget)
}

/// Whether the line before or after is shown already.
fn adjacent(lines: &[Line], places: &[Place], index: usize, step: isize) -> bool {
    let Some(other) = index.checked_add_signed(step).filter(|o| *o < lines.len()) else { return false };
    places[other] != Place::Out && lines[other].number.abs_diff(lines[index].number) == 1
}

fn write(lines: &[Line], places: &[Place], texts: &HashMap<usize, String>, budget: usize) -> Choice {
    let mut text = String::new();
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    let mut last = 0;
    for (index, line) in lines.iter().enumerate() {
        if places[index] == Place::Out {
            continue;
        }
        match ranges.last_mut() {
            Some(range) if range.1 + 1 == line.number => range.1 = line.number,
            _ => ranges.push((line.number, line.number)),
        }
        let Some(shown) = texts.get(&index) else { continue };
        let gap = line.number - last - 1;
        if gap > 0 && text.len() + GAP + shown.len() < budget {
            let mark = if gap == 1 { "[…]\n".to_owned() } else { format!("[… {gap} lines]\n") };
            text.push_str(&mark);
        }
        last = line.number;
        text.push_str(shown);
        text.push('\n');
    }
    text.truncate(floor(&text, budget));
    Choice { text, ranges }
}

/// Bytes of the one line people see.
const ONE_LINE: usize = 300;

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
    let front = (text.len() - body.len()).min(8);
    let mut out = " ".repeat(front);
    let mut blanks = 0;
    for letter in body.chars() {
        blanks = if letter == ' ' || letter == '\t' { blanks + 1 } else { 0 };
        if blanks <= 2 {
            out.push(letter);
        }
    }
    out
}

/// The nearest character boundary at or below `at`, and at or above it.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)
}
fn ceiling(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|i| text.is_char_boundary(*i)).unwrap_or(text.len())
}
