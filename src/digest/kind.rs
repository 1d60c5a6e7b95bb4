//! Whether what was tested failed, or the world around it, or nothing.

use super::Kind;
use super::clean::message;
use super::signs::{Sign, Sort};
use super::steps::Steps;
use super::worth::Line;
use regex::bytes::Regex;
use std::sync::LazyLock;

/// Weight from which an anchor says that something was wrong, in a log whose runner does not say so itself.
const SERIOUS: f32 = 6.0;
/// Weight from which a diagnostic or a test is to blame.
const BLAME: f32 = 8.0;
/// Lines before the end of a failed step in which the cause is looked for first.
const NEAR: u64 = 60;

/// The runner itself says that the job was stopped from outside. No test can print this with the runner's own prefix.
#[expect(clippy::expect_used, reason = "the pattern is constant and a test uses it")]
static STOPPED: LazyLock<Regex> = LazyLock::new(|| {
    let said = [
        r"^##\[error\](The operation was cancel+ed|A task was cancel+ed|The runner has received a shutdown|The hosted runner|The self-hosted runner|The job (was not|has exceeded|running on)|Received request to deprovision|.*(lost communication with the server|No space left on device))",
        r"^(No output has been received in the last|The job exceeded the maximum|The log length has exceeded|Your build has been (stopped|terminated|cancel))",
        r"^(Finished: (ABORTED|NOT_BUILT)|Aborted by |Build was aborted|Build timed out|Canceling since a higher priority)",
        r"^(ERROR: Job failed \(system failure\)|ERROR: Job failed: (execution took longer|prepare environment|canceled)|Done: Job Cancelled)",
    ];
    Regex::new(&format!("(?-u){}", said.join("|"))).expect("a valid pattern")
});

/// Judges a log by its runner's markers, its ranked lines and the failing tests; `best` is its best line.
pub(super) fn kind(lines: &[Line], best: Option<&Line>, steps: &Steps, tests: &[String]) -> Kind {
    if lines.iter().any(|line| STOPPED.is_match(message(&line.text))) {
        return Kind::Infrastructure;
    }
    let failed = match steps.outcome {
        Some(fine) => !fine,
        None => !steps.failed.is_empty() || (!steps.actions && lines.iter().any(serious)),
    };
    if !failed {
        return Kind::None;
    }
    let world = best.is_some_and(|line| line.sign.sort == Sort::World);
    if world && tests.is_empty() && !blamed(lines, steps) { Kind::Infrastructure } else { Kind::Change }
}

fn serious(line: &Line) -> bool {
    line.sign.weight >= SERIOUS && !matches!(line.sign.sort, Sort::Warning | Sort::Wrapper | Sort::Fine)
}

/// Whether a compiler or a test stands near the end of a failed step: then a network error beside it is a symptom or a coincidence.
fn blamed(lines: &[Line], steps: &Steps) -> bool {
    let end = lines.last().map_or(0, |line| line.number);
    let ends: Vec<u64> =
        if steps.failed.is_empty() { vec![end] } else { steps.failed.iter().map(|r| r.last).collect() };
    let near = |line: &&Line| ends.iter().any(|end| line.number <= *end && line.number + NEAR > *end);
    lines.iter().filter(near).any(
        |line| matches!(line.sign, Sign { sort: Sort::Diagnostic | Sort::Test, weight, .. } if weight >= BLAME),
    )
}
