//! Reviews: what we say of somebody's pull request, and what we answer to reviewers of ours.

use super::{Context, MARKER, voice::Voice, words};
use crate::domain::{Sha, State, session::LineComment, text};

/// Longest answer in a thread.
const REPLY: usize = 1_500;
/// Longest comment on a line.
const COMMENT: usize = 4_000;
/// Longest summary of a review.
const SUMMARY: usize = 8_000;

/// The answer in a reviewer's thread: what was pushed is a fact, the rest is the agent's word.
pub fn reply(commit: Option<&Sha>, said: Option<&str>) -> String {
    let said = said.map(str::trim).filter(|said| !said.is_empty());
    let said = said.map(|said| words::quote(said, REPLY).trim_end().to_owned());
    match (commit, said) {
        (Some(commit), Some(said)) => format!("In {commit}. The agent says:\n\n{said}"),
        (Some(commit), None) => {
            format!("{commit} came of this review; the agent said nothing about this comment.")
        }
        (None, Some(said)) => format!("Nothing was changed for this. The agent says:\n\n{said}"),
        (None, None) => "Nothing was changed for this, and the agent did not say why.".to_owned(),
    }
}

/// A comment of ours on a line, with its suggestion as GitHub shows one.
pub fn line_comment(comment: &LineComment) -> String {
    // Cut first: what makes a mention inert must not be cut away again.
    let body = text::harmless(&text::cut(&comment.body, COMMENT));
    match &comment.suggestion {
        Some(lines) => {
            format!("{}\n\n{}", body.trim_end(), words::block("suggestion", lines.trim_end_matches('\n')))
        }
        None => body,
    }
}

/// The text of a review of ours. `rest` are the comments that GitHub has no line for: place and text.
pub fn review(
    state: &State,
    summary: &str,
    on_lines: usize,
    rest: &[(String, String)],
    context: &Context<'_>,
) -> String {
    let voice = Voice { state, context };
    let found = on_lines + rest.len();
    let lead = match found {
        0 => format!("**Reviewed {}: nothing to say about its lines.**", voice.head()),
        n => format!("**Reviewed {}: {} on its lines.**", voice.head(), words::count(n, "comment")),
    };
    let mut body = format!("{lead}\n\nThe agent says:\n\n{}", words::quote(summary.trim(), SUMMARY));
    for (n, (place, comment)) in rest.iter().enumerate() {
        let more = format!("{}\n\n{}\n\n{comment}", body.trim_end(), words::code(place, 200));
        if more.chars().count() > text::BODY_LIMIT - MARKER {
            let left_out = words::count(rest.len() - n, "comment");
            return format!("{}\n\n{left_out} left out: there is no room for more.\n", body.trim_end());
        }
        body = more;
    }
    body
}
