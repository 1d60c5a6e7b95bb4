//! What a verdict makes of a session.

use super::{
    Cause, Effect, Exception, Message, Outcome, Phase,
    step::{Next, Taken},
};
use crate::domain::{Failure, ids::Sha, say, verdict::Verdict};

/// What the reason says when all rounds are used up.
pub(super) fn cap(rounds: u32) -> String {
    let plural = if rounds == 1 { "round" } else { "rounds" };
    format!("{rounds} {plural} were run, which is the cap.")
}

/// A verdict about `head`. About any other commit than the live head it is history.
pub(super) fn judged(next: &mut Next<'_>, head: &Sha, verdict: Verdict) -> Taken {
    if next.state.facts.head.as_ref() != Some(head) {
        return Err("about a commit that is not the head any more");
    }
    match next.state.phase.clone() {
        Phase::Watching { .. } => watched(next, head, verdict),
        Phase::Resting { outcome } => resting(next, &outcome, verdict),
        _ => Err("CI is not being watched now"),
    }
}

fn watched(next: &mut Next<'_>, head: &Sha, verdict: Verdict) -> Taken {
    match verdict {
        Verdict::Pending { tally } if next.state.facts.tally == Some(tally) => {
            return Err("checks still run");
        }
        Verdict::Pending { tally } => next.facts().tally = Some(tally),
        Verdict::Green { tally } => green(next, tally),
        Verdict::Red { failures, tally } => red(next, failures, tally),
        Verdict::NoCi => {
            next.note_result("no checks");
            next.answer(Outcome::NoCi);
        }
        Verdict::AwaitingApproval { workflows, url } => return approval(next, workflows, url.as_deref()),
        Verdict::NotStarted { why } => {
            next.note_result("CI did not start");
            next.answer(Outcome::NotStarted { why });
        }
        Verdict::Infrastructure { failures, why } => infrastructure(next, head, failures, why),
        Verdict::Cancelled => {
            next.note_result("checks cancelled");
            next.answer(Outcome::ChecksCancelled);
        }
        Verdict::TimedOut { pending } => {
            next.note_result("checks did not finish");
            next.answer(Outcome::TimedOut);
            let names: Vec<String> =
                pending.iter().take(3).map(|name| format!("`{}`", name.replace('`', "'"))).collect();
            next.facts().remark = Some(format!("Never finished: {}.", names.join(", ")));
        }
    }
    Ok(())
}

/// At rest the head may still change colour: a re-run by hand, a check that came late.
fn resting(next: &mut Next<'_>, outcome: &Outcome, verdict: Verdict) -> Taken {
    if next.state.facts.guest.is_some() {
        return Err("a person's pull request: nobody asked for more");
    }
    match (verdict, outcome) {
        (Verdict::Green { tally }, _) if next.state.awaits_green() => {
            green(next, tally);
            Ok(())
        }
        (Verdict::Red { failures, .. }, Outcome::Green) if next.state.facts.excepts(&failures) => {
            Err("what is red is known, and excepted")
        }
        (Verdict::Red { failures, tally }, Outcome::Green | Outcome::NoCi) => {
            next.state.phase = Phase::Watching { since: next.now };
            red(next, failures, tally);
            Ok(())
        }
        _ => Err("the request is answered"),
    }
}

fn green(next: &mut Next<'_>, tally: (u32, u32)) {
    next.note_result("green");
    let facts = next.facts();
    facts.tally = Some(tally);
    facts.failures.clear();
    // Of a person's pull request only they say when it is ready.
    let flagged = !facts.flags.is_empty() && facts.guest.is_none();
    next.answer(if flagged { Outcome::NeedsPerson } else { Outcome::Green });
}

/// Green, but for one check that is red on the base too.
pub(super) fn green_but_for(next: &mut Next<'_>, exception: Exception) {
    next.note_result(&format!("green but for `{}`, which is red on the base too", exception.check));
    let facts = next.facts();
    facts.exception = Some(exception);
    // Of a person's pull request only they say when it is ready.
    let flagged = !facts.flags.is_empty() && facts.guest.is_none();
    next.answer(if flagged { Outcome::NeedsPerson } else { Outcome::Green });
}

/// Trees that one failure may be seen on: the agent is told of the second and has tried another way by the third.
const TREES_OF_A_FAILURE: usize = 3;

fn red(next: &mut Next<'_>, failures: Vec<Failure>, tally: (u32, u32)) {
    let said =
        failures.first().map_or_else(|| "red".to_owned(), |f| format!("`{}` failed: {}", f.check, f.line));
    next.note_result(&said);
    let rounds = next.state.facts.cap(next.limits);
    let facts = next.facts();
    facts.tally = Some(tally);
    if let Some(tree) = facts.head_tree.clone() {
        facts.seen.extend(failures.iter().map(|f| (f.signature.clone(), tree.clone())));
    }
    let stuck = !failures.is_empty() && failures.iter().all(|f| trees(&facts.seen, f) >= TREES_OF_A_FAILURE);
    facts.failures = failures;
    if let Some(exception) = facts.claimed(&facts.failures).cloned() {
        green_but_for(next, exception);
    } else if facts.round >= rounds {
        next.answer(Outcome::NotGreen { why: cap(rounds) });
    } else if stuck {
        let why = format!("{TREES_OF_A_FAILURE} different changes failed in the same way, so it stopped.");
        next.answer(Outcome::NotGreen { why });
    } else {
        next.queue(Cause::RedCi);
    }
}

/// On how many different trees this failure was seen.
fn trees(seen: &[(String, Sha)], failure: &Failure) -> usize {
    let same = seen.iter().filter(|(signature, _)| *signature == failure.signature);
    same.map(|(_, tree)| tree).collect::<std::collections::BTreeSet<_>>().len()
}

fn approval(next: &mut Next<'_>, workflows: u32, url: Option<&str>) -> Taken {
    let pull = next.state.facts.pull.as_ref().map(|pull| pull.number);
    let remark = say::awaiting_approval(workflows, pull, url);
    if next.state.facts.remark.as_deref() == Some(remark.as_str()) {
        return Err("the approval was asked for already");
    }
    let first = next.state.facts.remark.is_none();
    next.facts().remark = Some(remark);
    if first {
        next.tell_person(Message::Answer);
    }
    Ok(())
}

/// Failed jobs are started again, within the bounds; past them a person is told. No round is spent.
fn infrastructure(next: &mut Next<'_>, head: &Sha, failures: Vec<Failure>, why: String) {
    let (a_check, a_head) = (next.limits.reruns_a_check as usize, next.limits.reruns_a_head as usize);
    let facts = next.facts();
    let again = |check: &str, reruns: &[String]| {
        reruns.len() < a_head && reruns.iter().filter(|r| *r == check).count() < a_check
    };
    let mut started = Vec::new();
    for failure in &failures {
        if again(&failure.check, &facts.reruns) {
            facts.reruns.push(failure.check.clone());
            started.push(failure.check.clone());
        }
    }
    facts.failures = failures;
    if started.is_empty() {
        next.note_result("infrastructure");
        return next.answer(Outcome::Infrastructure { why });
    }
    // What is to come counts from now: its grace, its settling, its wait.
    next.state.phase = Phase::Watching { since: next.now };
    let used = next.facts().reruns.len();
    let names = started.iter().map(|c| format!("`{c}`")).collect::<Vec<_>>().join(", ");
    next.facts().remark =
        Some(format!("{names}: {why}; failed jobs were started again, {used} of {a_head}."));
    next.effects.extend(started.into_iter().map(|check| Effect::Rerun { check, head: head.clone() }));
}
