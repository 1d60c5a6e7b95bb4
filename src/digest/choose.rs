//! Chooses lines in the order of their worth until the budget is filled, folds repeats, and writes the text.

use super::worth::Line;
use std::collections::HashMap;

/// Room for one "left out" mark between two runs of lines, in bytes.
const GAP: usize = 24;
/// Shortest and longest form of one shown line; in between it is a part of the budget, so that one line never takes it all.
const LINE: (usize, usize) = (160, 2000);
/// Bytes of the end of a long line that are kept: the end often holds the difference.
const LINE_END: usize = 80;

/// What is shown.
pub(super) struct Choice {
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
pub(super) fn choose(lines: &[Line], budget: usize, show: &impl Fn(&[u8]) -> String) -> Choice {
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
        let text = cut(&show(&line.text), longest);
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

/// A long line without its middle.
fn cut(text: &str, longest: usize) -> String {
    if text.len() <= longest {
        return text.to_owned();
    }
    let tail = ceiling(text, text.len() - LINE_END);
    let head = floor(text, longest - LINE_END - 24);
    format!("{} [… {} bytes …] {}", &text[..head], tail - head, &text[tail..])
}

/// The nearest character boundary at or below `at`, and at or above it.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)
}
fn ceiling(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|i| text.is_char_boundary(*i)).unwrap_or(text.len())
}
