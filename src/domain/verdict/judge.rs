//! The judgement itself: from facts to a verdict, before any log is read.

use super::{
    Checks, RedCheck, Verdict,
    gather::{Gathered, Item, Means, gather},
};
use crate::domain::{Limits, Sha, Timestamp, failure::Kind};

/// What a judgement depends on besides the checks.
#[derive(Clone, Debug)]
pub struct Context<'a> {
    /// The database's clock.
    pub now: Timestamp,
    /// When the commit was pushed, or when the wait for its checks began anew.
    pub pushed: Timestamp,
    /// The live head: checks that name another commit do not count. `None`: all are of one commit.
    pub head: Option<&'a Sha>,
    /// Grace, settle and wait.
    pub limits: &'a Limits,
    /// Our own App's id: its checks are not CI. 0: none.
    pub own_app: u64,
    /// Check names that do not count; globs.
    pub ignore: &'a [String],
    /// The base's workflows should run on this push.
    pub expected: bool,
    /// The change touches workflow files.
    pub touches_workflows: bool,
}

/// A verdict whose red checks are still to be read.
#[derive(Clone, Debug, PartialEq)]
pub enum Judgement {
    /// Nothing has to be read for it.
    Settled(Verdict),
    /// These checks are red; their logs decide why.
    Red {
        /// The red checks.
        checks: Vec<RedCheck>,
        /// Green checks, of how many.
        tally: (u32, u32),
    },
}

/// What the checks say at this moment.
pub fn judge(checks: &Checks, context: &Context<'_>) -> Judgement {
    let Gathered { items, seen, stalled } = gather(checks, context);
    let tally = tally(&items);
    let missing = missing(checks, context, &seen);
    let pending: Vec<String> = names(&items, |means| *means == Means::Pending);
    let over = context.now.since(context.pushed) >= context.limits.ci_wait;
    if !over
        && (!pending.is_empty() || may_still_appear(&items, &missing, context) || moving(&items, context))
    {
        return Judgement::Settled(Verdict::Pending { tally });
    }
    if let Some(red) = red(&items, context, tally) {
        return red;
    }
    Judgement::Settled(settled(&items, context.expected || stalled, pending, &missing, tally))
}

/// Within the grace for starting: nothing is there yet, or something that should be is not.
fn may_still_appear(items: &[Item], missing: &[String], context: &Context<'_>) -> bool {
    let grace = context.now.since(context.pushed) < context.limits.ci_start;
    let actions_due = context.expected && !items.iter().any(Item::is_actions);
    grace && (items.is_empty() || !missing.is_empty() || actions_due)
}

/// Something changed a moment ago, or the push is so fresh that more will appear.
fn moving(items: &[Item], context: &Context<'_>) -> bool {
    let last = items.iter().filter_map(|item| item.changed).max();
    last.into_iter().chain([context.pushed]).any(|at| context.now.since(at) < context.limits.settle)
}

/// Red for real, with what is red for other reasons named beside it.
fn red(items: &[Item], context: &Context<'_>, tally: (u32, u32)) -> Option<Judgement> {
    let of_change = |means: &Means| match means {
        Means::Failed => true,
        Means::StartFailed => context.touches_workflows,
        _ => false,
    };
    if !items.iter().any(|item| of_change(&item.means)) {
        return None;
    }
    let mut checks = Vec::new();
    for item in items {
        let known = match item.means {
            Means::Lost(_) | Means::NotStarted(_) => Some(Kind::Infrastructure),
            _ if of_change(&item.means) => None,
            _ => continue,
        };
        checks.extend(item.red.clone().map(|red| RedCheck { known, ..red }));
    }
    Some(Judgement::Red { checks, tally })
}

/// The verdict when nothing is red because of the change and nothing more is awaited.
fn settled(
    items: &[Item],
    expected: bool,
    pending: Vec<String>,
    missing: &[String],
    tally: (u32, u32),
) -> Verdict {
    let lost = items.iter().find_map(|item| if let Means::Lost(why) = item.means { Some(why) } else { None });
    let refused =
        items.iter().find_map(|item| if let Means::NotStarted(why) = item.means { Some(why) } else { None });
    let approvals: Vec<&Item> = items.iter().filter(|item| item.means == Means::NeedsApproval).collect();
    let start_failed = names(items, |means| *means == Means::StartFailed);
    if let Some(why) = lost {
        let lost = items.iter().filter(|item| matches!(item.means, Means::Lost(_)));
        let failures =
            lost.filter_map(|item| Some(item.red.as_ref()?.without_log(Kind::Infrastructure))).collect();
        Verdict::Infrastructure { failures, why: why.to_owned() }
    } else if !approvals.is_empty() {
        let url = approvals.iter().find_map(|item| item.url.clone());
        Verdict::AwaitingApproval { workflows: u32::try_from(approvals.len()).unwrap_or(u32::MAX), url }
    } else if let Some(why) = refused {
        Verdict::NotStarted { why: why.to_owned() }
    } else if !start_failed.is_empty() {
        Verdict::NotStarted { why: format!("GitHub could not start {}", listed(&start_failed)) }
    } else if !pending.is_empty() {
        Verdict::TimedOut { pending }
    } else if items.iter().any(|item| item.means == Means::Cancelled) {
        Verdict::Cancelled
    } else if !missing.is_empty() {
        Verdict::NotStarted { why: format!("required, but never appeared: {}", listed(missing)) }
    } else if items.is_empty() && expected {
        Verdict::NotStarted {
            why: "the repository's workflows should run on this push, but GitHub started none".to_owned(),
        }
    } else if items.iter().all(|item| item.means == Means::Skipped) {
        Verdict::NoCi
    } else {
        Verdict::Green { tally }
    }
}

fn missing(checks: &Checks, context: &Context<'_>, seen: &[String]) -> Vec<String> {
    let ignored = |name: &String| super::gather::ignored(context, name);
    checks.required.iter().filter(|name| !seen.contains(name) && !ignored(name)).cloned().collect()
}

fn names(items: &[Item], which: impl Fn(&Means) -> bool) -> Vec<String> {
    items.iter().filter(|item| which(&item.means)).map(|item| item.name.clone()).collect()
}

fn tally(items: &[Item]) -> (u32, u32) {
    let green = items.iter().filter(|item| matches!(item.means, Means::Passed | Means::Skipped)).count();
    (u32::try_from(green).unwrap_or(u32::MAX), u32::try_from(items.len()).unwrap_or(u32::MAX))
}

/// Names in code spans, at most five: a sentence, not a report.
fn listed(names: &[String]) -> String {
    let shown: Vec<String> =
        names.iter().take(5).map(|name| format!("`{}`", name.replace('`', ""))).collect();
    let more = names.len().saturating_sub(shown.len());
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}
