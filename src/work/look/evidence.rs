//! What speaks for it that a red check is not the change's doing: the same failure on the base, or one that went away on
//! one and the same commit before.

use super::logs::Logs;
use crate::{
    domain::{
        Failure, Limits, Sha,
        failure::{Kind, Source},
        session::Facts,
        verdict::{CheckRun, Checks, RedCheck, Verdict},
    },
    github::Repository,
    store::{Lease, Store},
    work::Halt,
};

/// Logs of the base that are read for one verdict: who breaks the base breaks few checks in different ways.
const BASE_LOGS: usize = 10;

/// Where evidence is looked for.
pub(super) struct Witness<'a> {
    pub(super) repository: &'a Repository,
    pub(super) store: &'a Store,
    pub(super) facts: &'a Facts,
    /// Our own App's id: its checks are not CI.
    pub(super) own_app: u64,
    /// The check runs of the base, newest first, once they were read.
    pub(super) base: Vec<CheckRun>,
}

impl Witness<'_> {
    /// Sorts what the logs blame on the change.
    pub(super) async fn sort(&self, logs: &mut Logs<'_>, failures: &mut [Failure]) -> Result<(), Halt> {
        let mut left = BASE_LOGS;
        for failure in failures.iter_mut().filter(|f| is_blamed(f)) {
            if let Some((kind, evidence)) = self.on_base(logs, failure, &mut left).await? {
                (failure.kind, failure.evidence) = (kind, Some(evidence));
            } else if let Some(flake) = self.store.flake(self.facts.repo.id, &failure.signature).await? {
                let head = flake.head.get(..7).unwrap_or_default();
                let day = flake.at.day();
                failure.kind = Kind::Flaky;
                failure.evidence =
                    Some(format!("it failed in the same way on {head} ({day}) and passed there unchanged"));
            }
        }
        Ok(())
    }

    /// Every check run of the base's commit that is not our own, newest first.
    pub(super) async fn runs_of_base(&self) -> Result<Vec<CheckRun>, Halt> {
        let Some(base) = &self.facts.base.sha else { return Ok(Vec::new()) };
        let mut runs = self.repository.every_check_run(base).await?;
        runs.retain(|run| self.own_app == 0 || run.app.id != self.own_app);
        runs.sort_by_key(|run| std::cmp::Reverse(run.id));
        Ok(runs)
    }

    /// Red on the base with the same signature; or it was, and a later attempt passed there.
    async fn on_base(
        &self,
        logs: &mut Logs<'_>,
        failure: &Failure,
        left: &mut usize,
    ) -> Result<Option<(Kind, String)>, Halt> {
        let base = self.facts.base.sha.as_ref().map_or("", Sha::short);
        let mut passed = false;
        for run in self.base.iter().filter(|run| run.name == failure.check) {
            match run.conclusion.as_deref() {
                Some("success") => passed = true,
                Some("failure" | "timed_out") if *left > 0 => {
                    *left -= 1;
                    let Some(there) = logs.read(&RedCheck::of(run), false).await? else { continue };
                    if there.signature != failure.signature {
                        continue;
                    }
                    return Ok(Some(match passed {
                        true => (
                            Kind::Flaky,
                            format!("on the base ({base}) it failed in the same way and passed unchanged"),
                        ),
                        false => (Kind::Base, format!("it fails in the same way on the base ({base})")),
                    }));
                }
                _ => {}
            }
        }
        Ok(None)
    }
}

/// A failure of which nothing is known says nothing about another of which nothing is known.
fn is_blamed(failure: &Failure) -> bool {
    failure.kind == Kind::Change && failure.source != Source::Nothing
}

/// Remembers what failed and what passed on a commit, so that the next time it is known to be flaky.
pub(super) async fn remember(
    (store, lease): (&Store, &Lease),
    (facts, head): (&Facts, &Sha),
    checks: &Checks,
    failures: &[Failure],
) -> Result<(), Halt> {
    let passed = checks.check_runs.iter().filter(|run| run.conclusion.as_deref() == Some("success"));
    let passed: Vec<&str> = passed.map(|run| run.name.as_str()).collect();
    if !passed.is_empty() {
        store.checks_passed(lease, facts.repo.id, head, &passed).await?;
    }
    let failed: Vec<(&str, &str)> = failures
        .iter()
        .filter(|f| f.kind != Kind::Infrastructure && f.source != Source::Nothing)
        .map(|f| (f.check.as_str(), f.signature.as_str()))
        .collect();
    if !failed.is_empty() {
        store.checks_failed(lease, head, &failed).await?;
    }
    Ok(())
}

/// The verdict that sorted failures give: nobody's code where all that is red is the machine's doing, or a flake that may
/// still be run again; red because of the change else. With `first` whatever is red is run again, within the same bounds,
/// before it is called the change's.
pub(super) fn verdict(
    failures: Vec<Failure>,
    checks: &[RedCheck],
    tally: (u32, u32),
    (facts, limits): (&Facts, &Limits),
    first: bool,
) -> Verdict {
    let again = |failure: &Failure| {
        let used = facts.reruns.iter().filter(|check| **check == failure.check).count();
        let can = checks.iter().any(|check| check.name == failure.check && check.workflow_run.is_some());
        can && used < limits.reruns_a_check as usize && facts.reruns.len() < limits.reruns_a_head as usize
    };
    let nobodys = |failure: &&Failure| match failure.kind {
        Kind::Infrastructure => true,
        Kind::Flaky => again(failure),
        Kind::Change | Kind::Base => first && again(failure),
    };
    let mut sorted = failures;
    match sorted.first() {
        Some(first) if sorted.iter().all(|failure| nobodys(&failure)) => {
            let why = first.evidence.clone().unwrap_or_else(|| first.line.clone());
            Verdict::Infrastructure { failures: sorted, why }
        }
        _ => {
            sorted.sort_by_key(|failure| match failure.kind {
                Kind::Change => 0,
                Kind::Base => 1,
                Kind::Flaky => 2,
                Kind::Infrastructure => 3,
            });
            Verdict::Red { failures: sorted, tally }
        }
    }
}
