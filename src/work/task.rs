//! What the agent is told a round is for.

use crate::{
    agent::{RedCheck, Task},
    domain::{
        Failure, State,
        failure::Kind,
        session::{Cause, Facts},
        text::Clean,
    },
};

/// The task of the round that a state is about to run.
pub(super) fn of(state: &State, rounds: u32) -> Task {
    let facts = &state.facts;
    let notes = facts.notes.iter().map(|n| Clean::new(n)).collect();
    match facts.cause {
        Cause::RedCi => Task::Red {
            failures: facts.failures.iter().map(red).collect(),
            round: (facts.round, rounds),
            hint: hint(facts),
            notes,
        },
        _ => Task::Request {
            title: Clean::new(&facts.thread.title),
            body: Clean::new(&facts.thread.body),
            trusted: facts.thread.trusted,
            instruction: Clean::new(&facts.request.instruction),
            notes,
        },
    }
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
            "fails in the same way on the base branch, without your changes: mend it if the request is about it; if it is the only one left and \
             has nothing to do with the request, change nothing and say so in `outside_request`"
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
