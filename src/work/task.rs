//! What the agent is told a round is for.

use super::round::Change;
use crate::{
    agent::{About, RedCheck, Task, Thread},
    domain::{
        Failure,
        failure::Kind,
        session::{Cause, Facts, Job, LineNote},
        text::Clean,
    },
    work::Halt,
};

/// The task of the round that a change is about to come from.
pub(super) async fn of(change: &Change) -> Result<Task, Halt> {
    let facts = &change.state.facts;
    let notes = facts.notes.iter().map(|n| Clean::new(n)).collect();
    let instruction = Clean::new(&facts.request.instruction);
    let plan = facts.plan.as_deref().map(Clean::new);
    Ok(match (facts.cause, &facts.request.job) {
        (Cause::RedCi, _) => {
            let failures = facts.failures.iter().map(red).collect();
            let round = (facts.round, facts.cap(&change.parts.settings.limits));
            Task::Red { failures, round, hint: hint(facts), notes }
        }
        (Cause::Conflict, _) => {
            let files = change.merge.iter().flat_map(super::round::Merge::files);
            let files = files.map(|file| Clean::plain(file)).collect();
            Task::Conflict { base: Clean::plain(&facts.base.branch), files, notes }
        }
        (_, Job::Feedback { threads, .. }) => {
            Task::Feedback { review: instruction, threads: threads.iter().map(thread).collect(), notes }
        }
        (_, Job::Plan) => Task::Plan { about: about(facts), instruction, notes },
        (_, Job::Review) => {
            Task::Review { about: about(facts), diff: diff(change).await?, instruction, notes }
        }
        _ => Task::Request { about: about(facts), instruction, plan, notes },
    })
}

/// What was asked, without what was said since.
pub(super) fn request(facts: &Facts) -> Task {
    let instruction = Clean::new(&facts.request.instruction);
    let plan = facts.plan.as_deref().map(Clean::new);
    Task::Request { about: about(facts), instruction, plan, notes: Vec::new() }
}

fn about(facts: &Facts) -> About {
    let thread = &facts.thread;
    About {
        is_pull: facts.pull.as_ref().is_some_and(|pull| pull.number == thread.number),
        title: Clean::new(&thread.title),
        body: Clean::new(&thread.body),
        trusted: thread.trusted,
    }
}

fn thread(note: &LineNote) -> Thread {
    Thread {
        id: note.id,
        path: Clean::plain(&note.path),
        line: note.line,
        hunk: Clean::plain(&note.hunk),
        body: Clean::new(&note.body),
    }
}

/// What the pull request changes against where it left its base.
async fn diff(change: &Change) -> Result<Clean, Halt> {
    let facts = &change.state.facts;
    let tip = facts.tip.as_ref().unwrap_or(&change.start);
    let base = change.mirror.merge_base(tip, &change.start).await?;
    let base = change.mirror.tree_of(base.as_ref().unwrap_or(tip)).await?;
    let patch = change.mirror.patch(&base, &change.mirror.tree_of(&change.start).await?).await?;
    Ok(Clean::plain(&patch))
}

/// What is known of the red checks beyond their logs, in our words: checks are named by their place in the list, because
/// their names are not ours.
fn hint(facts: &Facts) -> Option<String> {
    let told: Vec<String> = facts.failures.iter().zip(1..).filter_map(|(f, n)| known(facts, f, n)).collect();
    (!told.is_empty()).then(|| told.join("\n"))
}

fn known(facts: &Facts, failure: &Failure, n: usize) -> Option<String> {
    let before = facts.seen.iter().any(|(signature, tree)| {
        *signature == failure.signature && facts.head_tree.as_ref().is_some_and(|head| head != tree)
    });
    let mut told = Vec::new();
    if before {
        told.push(
            "failed in the same way before your last change, so that change did not mend it: try another way"
                .to_owned(),
        );
    }
    match failure.kind {
        Kind::Base => told.push(
            "fails in the same way on the base branch, without your changes: mend it if the request is about it; if it \
             has nothing to do with the request, leave it alone and say so in `outside_request`"
                .to_owned(),
        ),
        Kind::Flaky => told.push("has failed and passed on one and the same commit before, so it may be flaky".to_owned()),
        Kind::Infrastructure => told.push("failed for a reason of the machine that ran it; leave it alone".to_owned()),
        Kind::Change => {}
    }
    (!told.is_empty()).then(|| format!("Of the red checks below, number {n} {}.", told.join("; it ")))
}

fn red(failure: &Failure) -> RedCheck {
    RedCheck {
        name: Clean::plain(&failure.check),
        line: Clean::plain(&failure.line),
        excerpt: Clean::plain(&failure.excerpt),
        tests: failure.tests.iter().map(|t| Clean::plain(t)).collect(),
    }
}
