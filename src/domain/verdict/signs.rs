//! What GitHub Actions itself says on a failed job when no code is to blame.

use super::CheckRun;

/// A failure that is nobody's code, in our words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// The job never began.
    NotStarted(&'static str),
    /// The machine under it went away.
    Lost(&'static str),
}

/// Longest text, in bytes, that may be GitHub's own remark; anything longer is a report of somebody's, where the same
/// words may be quoted.
const REMARK_LIMIT: usize = 2000;

// No reason is repeated: an account's bills are not for everybody who may read the repository.
const BILLING: Sign =
    Sign::NotStarted("GitHub started no job; an owner of the account can see why under Billing");
const NO_RUNNER: Sign = Sign::NotStarted("no runner took the job; who runs the runners can see why");
const DISABLED: Sign =
    Sign::NotStarted("GitHub Actions may not run this job; an owner can see why under Actions");
const LOST: Sign = Sign::Lost("the runner was lost");
const INTERNAL: Sign = Sign::Lost("GitHub Actions had an error of its own");

/// Lower-case parts of GitHub's and its runner's own messages. Sources: github.com/actions/runner and the annotations GitHub
/// puts on jobs that it could not start.
const REMARKS: &[(&str, Sign)] = &[
    ("job was not started because", BILLING),
    ("account payments have failed", BILLING),
    ("spending limit needs to be increased", BILLING),
    ("locked due to a billing issue", BILLING),
    ("no runner matching the specified labels", NO_RUNNER),
    ("can't find any online and idle", NO_RUNNER),
    ("no enabled runners online", NO_RUNNER),
    ("was not acquired by runner", NO_RUNNER),
    ("hosted runners are disabled", DISABLED),
    ("actions is currently disabled", DISABLED),
    ("lost communication with the server", LOST),
    ("runner has received a shutdown signal", LOST),
    ("hosted runner encountered an error", LOST),
    ("cancelled by the remote provider", LOST),
    ("encountered an internal error when running your job", INTERNAL),
];

/// The sign on a failed or cancelled run, if there is one. Only GitHub Actions is believed about its own machines.
pub(super) fn read(run: &CheckRun) -> Option<Sign> {
    if !run.app.is_actions() {
        return None;
    }
    if run.steps == Some(0) {
        return Some(Sign::NotStarted("GitHub began no step of the job; an owner can see why on its page"));
    }
    let output = [&run.output.title, &run.output.summary, &run.output.text].into_iter().flatten();
    let annotated = run.annotations.iter().flat_map(|note| note.title.iter().chain([&note.message]));
    output.chain(annotated).find_map(|text| remark(text))
}

fn remark(text: &str) -> Option<Sign> {
    if text.len() > REMARK_LIMIT {
        return None;
    }
    let text = text.to_lowercase();
    REMARKS.iter().find(|(part, _)| text.contains(part)).map(|(_, sign)| *sign)
}
