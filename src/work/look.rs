//! Asks GitHub how things stand: the branch, the pull request, every check of the head. A webhook is only a hint to ask
//! now; without one the same question is asked by the clock.

use super::{
    Halt,
    drive::{After, Driver},
};
use crate::{
    digest::{Digester, Kind as LogKind, Options},
    domain::{
        Entry, Failure, Phase, Sha, Timestamp,
        failure::{Kind, Source},
        session::{Outcome, Whose},
        verdict::{Annotation, CheckRun, Checks, Context, Judgement, RedCheck, Verdict, judge},
    },
    git::Mirror,
    github::{GitHubError, JobLog, Repository},
};
use std::time::Duration;

/// What of a job's log is read: the end of it. Larger logs exist; what failed stands near the end.
const LOG: usize = 64 << 20;

/// What of each log the model is given.
const EXCERPT: usize = 8_000;

/// Failed jobs whose annotations are read: a matrix that fails as a whole fails for one reason.
const ANNOTATED: usize = 20;

/// Looks while CI runs, as multiples of the settle time: at 20 s they are 20 s, 1, 2 and 5 minutes.
const LOOKS: [u32; 4] = [1, 3, 6, 15];

/// A look while CI runs.
pub(super) async fn watching(driver: &mut Driver) -> Result<After, Halt> {
    let Phase::Watching { since } = driver.state.phase else { return Ok(After::Again) };
    driver.tick().await?;
    driver.hinted = false;
    // The pull request is still to be opened: the effect that does it is being retried.
    if let Some(entry) = outside(driver).await? {
        driver.record(entry).await?;
        return Ok(After::Again);
    }
    let Some(head) = driver.state.facts.head.clone() else { return Ok(After::Rest(None)) };
    let verdict = verdict(driver, &head, since).await?;
    let news = !matches!(&verdict, Verdict::Pending { tally } if driver.state.facts.tally == Some(*tally));
    let next = next_look(driver, since, &verdict);
    if news {
        driver.record(Entry::Judged { head, verdict }).await?;
    }
    let changed = !matches!(driver.state.phase, Phase::Watching { since: s } if s == since);
    Ok(if changed { After::Again } else { After::Rest(Some(next)) })
}

/// A look at rest: was it merged, closed, pushed to; did the head change its colour?
pub(super) async fn resting(driver: &mut Driver) -> Result<After, Halt> {
    driver.tick().await?;
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
    // The grace for checks to start is over at rest.
    let verdict = verdict(driver, &head, Timestamp(0)).await?;
    let news = matches!((&verdict, &outcome), (Verdict::Red { .. }, Outcome::Green | Outcome::NoCi))
        || matches!(&verdict, Verdict::Green { .. })
            && !matches!(outcome, Outcome::Green | Outcome::NeedsPerson | Outcome::StoodDown { .. });
    if news {
        driver.record(Entry::Judged { head, verdict }).await?;
        return Ok(After::Again);
    }
    Ok(After::rest(driver.now))
}

/// When to look again without a hint: soon after a push, ever more seldom, at once when only the settle time is missing.
fn next_look(driver: &Driver, since: Timestamp, verdict: &Verdict) -> Timestamp {
    let settle = driver.parts.settings.limits.settle;
    let all_in = matches!(verdict, Verdict::Pending { tally: (green, all) } if all > &0 && green == all);
    if all_in {
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

/// What changed outside that matters more than any check: the pull request closed, the branch moved or gone.
async fn outside(driver: &mut Driver) -> Result<Option<Entry>, Halt> {
    let (parts, state) = (driver.parts.clone(), driver.state.clone());
    let repository = parts.repository(&state);
    if let Some(pull) = &state.facts.pull {
        let live = repository.pull(pull.number).await?;
        if !live.open {
            return Ok(Some(Entry::PullClosed { merged: live.merged }));
        }
    }
    let Some(head) = &state.facts.head else { return Ok(None) };
    let Some(live) = repository.branch(&state.facts.branch).await? else {
        return Ok(Some(Entry::BranchDeleted));
    };
    if live == *head {
        return Ok(None);
    }
    let mirror = parts.mirror(&state).await?;
    let refs = [&state.facts.base.branch, &state.facts.branch].map(|b| format!("refs/heads/{b}"));
    let found = parts.fetch(&mirror, &repository, &refs).await?;
    let Some(base) = found.first().cloned().flatten() else { return Ok(None) };
    let whose = whose(&mirror, &live, head, &base).await?;
    Ok(Some(Entry::HeadMoved { head: live, whose }))
}

/// Whose the commit is that stands on our branch where `ours` was.
pub(super) async fn whose(mirror: &Mirror, live: &Sha, ours: &Sha, base: &Sha) -> Result<Whose, Halt> {
    Ok(match mirror.is_clean_merge(live, ours, base).await? {
        true => Whose::CleanMerge,
        false => Whose::Foreign,
    })
}

async fn verdict(driver: &mut Driver, head: &Sha, pushed: Timestamp) -> Result<Verdict, Halt> {
    let (parts, state) = (driver.parts.clone(), driver.state.clone());
    let repository = parts.repository(&state);
    let mut checks = match repository.checks(head).await {
        // Waiting does not help: somebody has to grant it, so somebody is told.
        Err(GitHubError::Forbidden(why)) => {
            let why =
                format!("the App may not read the checks (its \"checks\" permission is missing): {why}");
            return Ok(Verdict::NotStarted { why });
        }
        checks => checks?,
    };
    checks.required = repository.required_checks(&state.facts.base.branch).await?;
    annotate(&repository, &mut checks).await?;
    let mirror = parts.mirror(&state).await?;
    let workflows = match &state.facts.base.sha {
        Some(base) => mirror.paths(base, 100_000).await?.iter().any(|p| p.starts_with(".github/workflows/")),
        None => false,
    };
    let context = Context {
        head: Some(head),
        now: driver.now,
        pushed,
        limits: &parts.settings.limits,
        own_app: parts.app().await?.id,
        ignore: &[],
        expected: workflows,
        touches_workflows: false,
    };
    match judge(&checks, &context) {
        Judgement::Settled(verdict) => Ok(verdict),
        Judgement::Red { checks, tally } => {
            let mut failures = Vec::new();
            for check in &checks {
                failures.push(read(&repository, check).await?);
            }
            Ok(sort(failures, tally))
        }
    }
}

/// What GitHub itself says on failed jobs of Actions: that there was no runner, or that it was lost, stands nowhere else.
async fn annotate(repository: &Repository, checks: &mut Checks) -> Result<(), Halt> {
    let failed = |run: &&mut CheckRun| {
        let conclusion = run.conclusion.as_deref().unwrap_or_default();
        run.app.is_actions()
            && run.output.annotations_count > 0
            && matches!(conclusion, "failure" | "cancelled")
    };
    for run in checks.check_runs.iter_mut().filter(failed).take(ANNOTATED) {
        for message in repository.annotations(run.id).await? {
            run.annotations.push(Annotation { message, ..Annotation::default() });
        }
    }
    Ok(())
}

/// Red because of the change, unless every log says it was the machine.
fn sort(failures: Vec<Failure>, tally: (u32, u32)) -> Verdict {
    let (infrastructure, change): (Vec<_>, Vec<_>) =
        failures.into_iter().partition(|f| f.kind == Kind::Infrastructure);
    match infrastructure.first() {
        Some(first) if change.is_empty() => {
            let why = first.line.clone();
            Verdict::Infrastructure { failures: infrastructure, why }
        }
        _ => Verdict::Red { failures: change.into_iter().chain(infrastructure).collect(), tally },
    }
}

/// Reads one red check: the job's own log first, then annotations, then the check's output; what was used is said.
async fn read(repository: &Repository, check: &RedCheck) -> Result<Failure, Halt> {
    let mut source = Source::Nothing;
    let mut bytes = Vec::new();
    if let (true, Some(job)) = (check.is_actions, check.check_run)
        && let JobLog::Text(log) = repository.job_log(job, LOG).await?
    {
        (source, bytes) = (Source::JobLog, log);
    }
    if bytes.is_empty()
        && let Some(run) = check.check_run
    {
        let lines = repository.annotations(run).await?;
        if !lines.is_empty() {
            (source, bytes) = (Source::Annotations, lines.join("\n").into_bytes());
        }
    }
    if bytes.is_empty() && !check.output.trim().is_empty() {
        (source, bytes) = (Source::Output, check.output.clone().into_bytes());
    }
    let read = tokio::task::spawn_blocking({
        let name = check.name.clone();
        move || {
            let mut digester =
                Digester::new(Options { budget: EXCERPT, check: name.as_str(), ..Options::default() });
            digester.push(&bytes);
            digester.finish()
        }
    });
    let digest = read.await.map_err(|e| Halt::Later(e.to_string(), Duration::from_secs(60)))?;
    let line = match digest.line_text.is_empty() {
        true => format!("it ended with {}", check.conclusion),
        false => digest.line_text,
    };
    Ok(Failure {
        check: check.name.clone(),
        kind: if digest.kind == LogKind::Infrastructure { Kind::Infrastructure } else { Kind::Change },
        signature: digest.signature,
        line: line.chars().take(200).collect(),
        excerpt: digest.text,
        tests: digest.tests,
        url: check.url.clone(),
        source,
    })
}
