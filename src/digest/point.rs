//! The anchors in the order in which a person should look at them; the first is the one line.

use super::signs::Sort;
use super::worth::Line;

/// Anchors given at most.
const ANCHORS: usize = 50;
/// A sign at least this good, and a place at least this share of the best one's, make a line the first of its kind.
const GOOD: f32 = 8.0;
const SHARE: f32 = 0.6;

/// The anchors, best first.
pub(super) fn best(lines: &[Line]) -> Vec<&Line> {
    let mut best: Vec<&Line> = lines.iter().filter(|line| line.point > 0.0).collect();
    best.sort_by(|a, b| b.point.total_cmp(&a.point).then(a.number.cmp(&b.number)));
    best.truncate(ANCHORS);
    first_of_its_kind(lines, &mut best);
    best
}

/// Of many failures of one kind the first is what people look at: it goes to the front.
fn first_of_its_kind<'a>(lines: &'a [Line], best: &mut Vec<&'a Line>) {
    let Some(top) = best.first().copied() else { return };
    if !matches!(top.sign.sort, Sort::Test | Sort::Trace | Sort::Diagnostic) || top.sign.point < GOOD {
        return;
    }
    let like = |line: &&Line| {
        line.sign.row == top.sign.row && line.sign.sort == top.sign.sort && line.point > SHARE * top.point
    };
    if let Some(first) = lines.iter().find(like) {
        best.retain(|line| line.number != first.number);
        best.insert(0, first);
        best.truncate(ANCHORS);
    }
}
