//! One-line states of CI that are neither green nor red, for `Facts::remark`.

use crate::domain::Number;

/// Workflows that wait for a maintainer's approval. It goes on by itself once they have it.
pub fn awaiting_approval(workflows: u32, pull: Option<Number>, url: Option<&str>) -> String {
    let subject = match (workflows, pull) {
        (1, Some(pull)) => format!("a workflow of #{pull} needs"),
        (n, Some(pull)) => format!("{n} workflows of #{pull} need"),
        (1, None) => "a workflow needs".to_owned(),
        (n, None) => format!("{n} workflows need"),
    };
    let link = match (url, pull) {
        (Some(url), Some(pull)) => format!(" [Approve the workflows of #{pull}]({url})."),
        (Some(url), None) => format!(" [Approve the workflows]({url})."),
        (None, _) => String::new(),
    };
    format!("Waiting for a maintainer: {subject} an approval to run.{link} It goes on by itself.")
}
