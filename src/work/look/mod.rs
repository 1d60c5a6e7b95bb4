//! Asks GitHub how things stand: the branch, the pull request, every check of the head. A webhook is only a hint to ask
//! now; without one the same question is asked by the clock.

mod aid;
mod evidence;
mod greens;
mod logs;

pub(super) use logs::Logs;

use super::{
    Halt, Parts,
    drive::{After, Driver},
    own, rules,
};
use crate::{
    domain::{
        Entry, Phase, Sha, State, Timestamp,
        failure::Kind,
        policy::exposure,
        repo_config::Rerun,
        say,
        session::{Outcome, Whose},
        verdict::{Annotation, CheckRun, Checks, Context, Judgement, RedCheck, Verdict, judge},
    },
    git::Mirror,
    github::{GitHubError, Repository},
};
use aid::Aid;
use evidence::Witness;
use greens::Greens;
use std::time::Duration;

/// Red checks whose logs are read for one verdict: past these the agent is told of no more anyway.
const LOGS_READ: usize = 20;

/// A log that is not there is waited for as long as this many settle times: a minute at 20 s.
const FRESH: u32 = 3;

/// Failed jobs whose annotations are read: a matrix that fails as a whole fails for one reason.
const ANNOTATED: usize = 20;

/// Looks while CI runs, as multiples of the settle time: at 20 s they are 20 s, 1, 2 and 5 minutes.
const LOOKS: [u32; 4] = [1, 3, 6, 15];

/// Said where our own pushes cannot start CI.
pub(super) const TOKEN_STARTS_NOTHING: &str = "a push with a workflow's own `GITHUB_TOKEN` starts no workflow. Give the Action \
    an App's `app-id` and `private-key`, or close and open the pull request to start them by hand";

/// A look while CI runs. Without a webhook that told of news it is one of those that have a budget of their own.
pub(super) async fn watching(driver: &mut Driver) -> Result<After, Halt> {
    driver.parts.github.looks_by_the_clock(!driver.hinted);
    let after = watched(driver).await;
    driver.parts.github.looks_by_the_clock(false);
    after
}

async fn watched(driver: &mut Driver) -> Result<After, Halt> {
    let Phase::Watching { since } = driver.state.phase else { return Ok(After::Again) };
    driver.tick().await?;
    rules::take_up(&mut driver.parts, &driver.state).await?;
    let hinted = std::mem::take(&mut driver.hinted);
    // The pull request is still to be opened: the effect that does it is being retried.
    if let Some(entry) = outside(driver).await? {
        driver.record(entry).await?;
        return Ok(After::Again);
    }
    let Some(head) = driver.state.facts.head.clone() else { return Ok(After::Rest(None)) };
    let judged = judged(driver, &head, since).await?;
    let verdict = Box::pin(read(driver, &head, judged)).await?;
    let news = !matches!(&verdict, Verdict::Pending { tally } if driver.state.facts.tally == Some(*tally));
    let by_the_clock = next_look(driver, since, &verdict);
    if news {
        driver.record(Entry::Judged { head, verdict }).await?;
    }
    // A webhook came, before this look or during it (then it was read with the verdict): what it told of will have settled
    // by then, red as well as green.
    let next = if hinted || driver.hinted {
        driver.now.plus(driver.parts.settings.limits.settle)
    } else {
        by_the_clock
    };
    let changed = !matches!(driver.state.phase, Phase::Watching { since: s } if s == since);
    Ok(if changed { After::Again } else { After::Rest(Some(next)) })
}

/// A look at rest: was it merged, closed, pushed to; did the head change its colour?
pub(super) async fn resting(driver: &mut Driver) -> Result<After, Halt> {
    driver.parts.github.looks_by_the_clock(!driver.hinted);
    let after = rested(driver).await;
    driver.parts.github.looks_by_the_clock(false);
    after
}

async fn rested(driver: &mut Driver) -> Result<After, Halt> {
    driver.tick().await?;
    rules::take_up(&mut driver.parts, &driver.state).await?;
    driver.hinted = false;
    if let Some(entry) = outside(driver).await? {
        driver.record(entry).await?;
        return Ok(After::Again);
    }
    let (Phase::Resting { outcome }, Some(head)) =
        (driver.state.phase.clone(), driver.state.facts.head.clone())
    else {
        return Ok(After::Again);
    };
    // On a person's pull request, and after an end that CI has nothing to do with, its colour changes nothing.
    let well = matches!(outcome, Outcome::Green | Outcome::NoCi) && driver.state.facts.guest.is_none();
    if !well && !driver.state.awaits_green() {
        return Ok(After::rest(driver.now));
    }
    // The grace for checks to start is over at rest, the wait for them is not: one may have been started again by hand.
    let grace = driver.parts.settings.limits.ci_start;
    let pushed = Timestamp(driver.now.0.saturating_sub(i64::try_from(grace.as_millis()).unwrap_or(0)));
    let judged = judged(driver, &head, pushed).await?;
    // Red where red is known costs no log.
    if matches!(judged.1, Judgement::Red { .. }) && !well {
        return Ok(After::rest(driver.now));
    }
    let verdict = Box::pin(read(driver, &head, judged)).await?;
    let news = match &verdict {
        Verdict::Red { failures, .. } => !driver.state.facts.excepts(failures),
        Verdict::Green { .. } => driver.state.awaits_green(),
        _ => false,
    };
    if news {
        driver.record(Entry::Judged { head, verdict }).await?;
        return Ok(After::Again);
    }
    // Something has just changed colour and is not settled yet.
    if matches!(verdict, Verdict::Pending { .. }) {
        let settle = driver.parts.settings.limits.settle;
        let soon = if is_all_in(&verdict) { settle } else { settle * LOOKS[2] };
        return Ok(After::Rest(Some(driver.now.plus(soon))));
    }
    Ok(After::rest(driver.now))
}

/// When to look again without a hint: soon after a push, ever more seldom, at once when only the settle time is missing.
fn next_look(driver: &Driver, since: Timestamp, verdict: &Verdict) -> Timestamp {
    let settle = driver.parts.settings.limits.settle;
    if is_all_in(verdict) {
        return driver.now.plus(settle);
    }
    let age = driver.now.since(since);
    let mut gap = settle * LOOKS[3];
    for looks in LOOKS {
        if age < settle * looks * 2 {
            gap = settle * looks;
            break;
        }
    }
    driver.now.plus(gap.max(Duration::from_millis(200)))
}

/// Every check is green, and only the settle time is missing.
fn is_all_in(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Pending { tally: (green, all) } if all > &0 && green == all)
}

/// What changed outside that matters more than any check: the pull request closed, the branch moved or gone.
pub(super) async fn outside(driver: &mut Driver) -> Result<Option<Entry>, Halt> {
    let (parts, state) = (driver.parts.clone(), driver.state.clone());
    let repository = parts.repository(&state);
    let facts = &state.facts;
    let Some(head) = &facts.head else { return Ok(None) };
    let mut conflicts = false;
    if let Some(pull) = &facts.pull {
        let live = repository.pull(pull.number).await?;
        if !live.open {
            return Ok(Some(Entry::PullClosed { merged: live.merged }));
        }
        if live.base_branch != facts.base.branch {
            return Ok(Some(Entry::Retargeted { base: live.base_branch }));
        }
        if facts.guest.is_some() {
            return if live.head == *head { Ok(None) } else { moved(driver, live.head).await };
        }
        conflicts = live.mergeable == Some(false) && live.head == *head && state.keeps_up();
    }
    let Some(live) = repository.branch(&facts.branch).await? else {
        return Ok(Some(Entry::BranchDeleted));
    };
    if live == *head {
        return if conflicts { conflict(&repository, &state).await } else { Ok(None) };
    }
    moved(driver, live).await
}

/// The branch is at `live`, which the session does not know: what follows from that. `None`: the base is not there.
pub(super) async fn moved(driver: &Driver, live: Sha) -> Result<Option<Entry>, Halt> {
    let (parts, state) = (&driver.parts, &driver.state);
    let mirror = parts.mirror(state).await?;
    let [base, _] = parts.fetch_branches(&mirror, &parts.repository(state), state).await?;
    let Some(base) = base else { return Ok(None) };
    let session = (driver.lease.session, state);
    if let Some(found) = own::found(parts, session, &mirror, (&base, &live)).await? {
        return Ok(Some(found));
    }
    let whose = whose(state, &mirror, &live, &base).await?;
    Ok(Some(Entry::HeadMoved { head: live, whose }))
}

/// The head does not merge with the base: with which commit of it, unless that is known.
async fn conflict(repository: &Repository, state: &State) -> Result<Option<Entry>, Halt> {
    let base = repository.branch(&state.facts.base.branch).await?;
    let new = base.filter(|base| state.facts.conflict.as_ref() != Some(base));
    Ok(new.map(|base| Entry::Conflicted { base }))
}

/// Whose the commit is that stands on the branch where our head was, if it is none of ours. On a person's branch whatever
/// they do is theirs.
pub(super) async fn whose(state: &State, mirror: &Mirror, live: &Sha, base: &Sha) -> Result<Whose, Halt> {
    Ok(match (&state.facts.head, &state.facts.guest) {
        (Some(ours), None) if mirror.is_clean_merge(live, ours, base).await? => Whose::CleanMerge,
        _ => Whose::Foreign,
    })
}

/// Every check of the head, and what they say before a log is read.
async fn judged(driver: &Driver, head: &Sha, pushed: Timestamp) -> Result<(Checks, Judgement), Halt> {
    let (parts, state) = (driver.parts.clone(), driver.state.clone());
    let repository = parts.repository(&state);
    let mut checks = match repository.checks(head).await {
        // Waiting does not help: somebody has to grant it, so somebody is told.
        Err(GitHubError::Forbidden(why)) => {
            let why =
                format!("the App may not read the checks (its \"checks\" permission is missing): {why}");
            return Ok((Checks::default(), Judgement::Settled(Verdict::NotStarted { why })));
        }
        checks => checks?,
    };
    if let Some(own) = own_workflow(&parts) {
        without_workflow(&mut checks, own);
    }
    checks.required = repository.required_checks(&state.facts.base.branch).await?;
    checks.required.extend_from_slice(&parts.house.holds.checks.require);
    // A rule may require a check of our own; it is not what CI says.
    checks.required.retain(|name| name != say::SECOND_PERSON);
    annotate(&repository, &mut checks).await?;
    let mirror = parts.mirror(&state).await?;
    let workflows = match &state.facts.base.sha {
        Some(base) => has_workflows(&mirror, base, own_workflow(&parts)).await?,
        None => false,
    };
    let context = Context {
        head: Some(head),
        now: driver.now,
        pushed,
        limits: &parts.settings.limits,
        own_app: parts.app().await?.id,
        ignore: &parts.house.holds.checks.ignore,
        expected: workflows,
        touches_workflows: false,
    };
    let judgement = match judge(&checks, &context) {
        Judgement::Settled(Verdict::NotStarted { .. })
            if checks.workflow_runs.is_empty() && !parts.github.identity().starts_workflows() =>
        {
            Judgement::Settled(Verdict::NotStarted { why: TOKEN_STARTS_NOTHING.to_owned() })
        }
        judgement => judgement,
    };
    Ok((checks, judgement))
}

/// The workflow that this process runs in, where it does.
fn own_workflow(parts: &Parts) -> Option<&str> {
    parts.settings.action.as_ref()?.workflow.as_deref()
}

/// Are there workflows that may run on a push, as far as their place tells? The one that we run in is none.
async fn has_workflows(mirror: &Mirror, base: &Sha, own: Option<&str>) -> Result<bool, Halt> {
    let paths = mirror.paths(base, exposure::WORKFLOWS, exposure::MOST_WORKFLOWS).await?;
    Ok(paths.iter().any(|path| own != Some(path.as_str())))
}

/// Our own workflow's runs stand on the head too, the one that asks among them: they are not CI.
fn without_workflow(checks: &mut Checks, own: &str) {
    let ours = |path: &str| path.split('@').next() == Some(own);
    let runs = checks.workflow_runs.iter().filter(|run| ours(&run.path));
    let suites: Vec<u64> = runs.map(|run| run.check_suite_id).filter(|suite| *suite != 0).collect();
    checks.workflow_runs.retain(|run| !ours(&run.path));
    checks.check_suites.retain(|suite| !suites.contains(&suite.id));
    checks.check_runs.retain(|run| !suites.contains(&run.check_suite.id));
}

/// The verdict, with the logs of what is red read and sorted; what was seen is remembered. On the heap
/// where it is awaited: the readers of logs make it too large for the stack of a session.
async fn read(
    driver: &Driver,
    head: &Sha,
    (checks, judgement): (Checks, Judgement),
) -> Result<Verdict, Halt> {
    let (parts, state) = (driver.parts.clone(), driver.state.clone());
    let facts = (&state.facts, head);
    let book = (&parts.store, &driver.lease);
    let (red, tally) = match judgement {
        Judgement::Settled(verdict) => {
            evidence::remember(book, facts, &checks, &[]).await?;
            return Ok(verdict);
        }
        Judgement::Red { checks, tally } => (checks, tally),
    };
    let repository = parts.repository(&state);
    let own_app = parts.app().await?.id;
    let mut witness = Witness {
        repository: &repository,
        store: &parts.store,
        facts: &state.facts,
        own_app,
        base: Vec::new(),
    };
    let mut logs = Logs::new(&repository);
    if red.iter().any(|check| check.known.is_none()) {
        witness.base = witness.runs_of_base().await?;
        let greens = Greens::new(&repository, &state.facts.base.branch, witness.base.clone());
        logs = logs.with(Aid::of(&parts, &state).await?, greens);
    }
    let mut failures = Vec::new();
    for check in &red {
        let failure = match check.known {
            Some(kind) => Some(check.without_log(kind)),
            None if failures.len() >= LOGS_READ => Some(check.without_log(Kind::Change)),
            None => logs.read(check, is_young(driver, &checks, check)).await?,
        };
        // Its log comes within moments; until then nothing is settled.
        let Some(failure) = failure else { return Ok(Verdict::Pending { tally }) };
        failures.push(failure);
    }
    witness.sort(&mut logs, &mut failures).await?;
    evidence::remember(book, facts, &checks, &failures).await?;
    let first = parts.house.holds.checks.rerun == Rerun::First;
    Ok(evidence::verdict(failures, &red, tally, (&state.facts, &parts.settings.limits), first))
}

/// Ended a moment ago: its log may still be on its way.
fn is_young(driver: &Driver, checks: &Checks, check: &RedCheck) -> bool {
    let run = checks.check_runs.iter().find(|run| Some(run.id) == check.check_run);
    let ended = run.and_then(|run| run.completed_at);
    ended.is_some_and(|at| driver.now.since(at) < driver.parts.settings.limits.settle * FRESH)
}

/// What GitHub itself says on failed jobs of Actions: that there was no runner, or that it was lost, stands nowhere else.
/// A job that nothing is said of is asked for its steps: one that never began has none.
async fn annotate(repository: &Repository, checks: &mut Checks) -> Result<(), Halt> {
    let failed = |run: &&mut CheckRun| {
        let conclusion = run.conclusion.as_deref().unwrap_or_default();
        run.app.is_actions() && matches!(conclusion, "failure" | "cancelled")
    };
    for run in checks.check_runs.iter_mut().filter(failed).take(ANNOTATED) {
        if run.output.annotations_count == 0 {
            run.steps = repository.job_steps(run.id).await?;
            continue;
        }
        for message in repository.annotations(run.id).await? {
            run.annotations.push(Annotation { message, ..Annotation::default() });
        }
    }
    Ok(())
}
