//! What an agent says at its end, before anything is made of it: it stands in commits, pull requests and comments, where
//! nobody looks for a secret.

use super::change::Change;
use crate::{agent::End, domain::policy};

/// Why nothing may be made of it; empty: it may.
pub(super) fn reasons(change: &Change, end: &End) -> Vec<String> {
    policy::words(&spoken(end), &change.parts.settings.own_secrets()).into_iter().collect()
}

/// Every word of it that people would read.
fn spoken(end: &End) -> Vec<&str> {
    let said = match end {
        End::Question { text } => return vec![text],
        End::Finished(said) => said,
        End::Stopped(_) | End::Failed(_) | End::OutOfReach(_) => return Vec::new(),
    };
    let more = said.outside_request.iter().chain(&said.description).map(String::as_str);
    let replies = said.replies.iter().map(|(_, text)| text.as_str());
    let comments = said.comments.iter().flat_map(|comment| {
        [&comment.path, &comment.body].into_iter().chain(&comment.suggestion).map(String::as_str)
    });
    std::iter::once(said.summary.as_str()).chain(more).chain(replies).chain(comments).collect()
}
