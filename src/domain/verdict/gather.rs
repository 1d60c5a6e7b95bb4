//! From GitHub's lists to one item a check: the newest of each, only those that count, each with what it means.

use super::{
    CheckRun, Checks, RedCheck, Status, Suite, WorkflowRun,
    judge::Context,
    merge::Versioned,
    signs::{self, Sign},
};
use crate::domain::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// One check that counts.
#[derive(Debug)]
pub(super) struct Item {
    pub name: String,
    pub means: Means,
    /// When it last changed.
    pub changed: Option<Timestamp>,
    pub red: Option<RedCheck>,
    pub url: Option<String>,
    actions: bool,
}

/// What a check's status and conclusion mean for the verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Means {
    Passed,
    Skipped,
    Pending,
    NeedsApproval,
    Failed,
    /// The workflow itself could not be started: its file is wrong, or GitHub refused.
    StartFailed,
    NotStarted(&'static str),
    Lost(&'static str),
    Cancelled,
}

/// The checks that count, and every name seen (own and ignored ones too), for the required ones.
pub(super) struct Gathered {
    pub items: Vec<Item>,
    pub seen: Vec<String>,
    /// GitHub Actions made a suite, which it does for a workflow that is to run, and nothing came of it.
    pub stalled: bool,
}

pub(super) fn gather(checks: &Checks, context: &Context<'_>) -> Gathered {
    let counts = Counts::new(context);
    let seen = checks.check_runs.iter().filter(|run| counts.head(&run.head_sha)).map(|run| run.name.clone());
    let seen = seen.chain(checks.statuses.iter().map(|status| status.context.clone())).collect();
    let runs = newest_runs(checks, &counts);
    let mut items: Vec<Item> =
        runs.iter().filter(|run| counts.name(&run.name)).map(|run| of_run(run, checks)).collect();
    items.extend(
        newest_statuses(checks).into_iter().filter(|status| counts.name(&status.context)).map(of_status),
    );
    let workflows = newest_workflows(checks, &counts);
    items.extend(workflows.iter().filter_map(|run| of_workflow(run, &workflows, &runs, &counts)));
    let suites = checks.check_suites.iter().filter(|suite| counts.app(&suite.app, &suite.head_sha));
    let alone = suites.filter(|suite| {
        !checks.workflow_runs.iter().any(|run| run.check_suite_id == suite.id && suite.id != 0)
    });
    let mut stalled = false;
    for suite in alone {
        let item = of_suite(suite, &runs, context);
        let empty = !runs.iter().any(|run| run.check_suite.id == suite.id);
        stalled |= item.is_none() && empty && suite.app.is_actions() && suite.conclusion.is_none();
        items.extend(item);
    }
    drop_excused(&mut items);
    Gathered { items, seen, stalled }
}

/// Is the name on the ignore list?
pub(super) fn ignored(context: &Context<'_>, name: &str) -> bool {
    !Counts::new(context).name(name)
}

impl Item {
    pub(super) fn is_actions(&self) -> bool {
        self.actions
    }
}

/// Which checks count at all.
struct Counts<'a> {
    context: &'a Context<'a>,
    ignore: Vec<globset::GlobMatcher>,
}

impl<'a> Counts<'a> {
    fn new(context: &'a Context<'a>) -> Self {
        // A pattern that is no glob is taken by its letters below.
        let ignore =
            context.ignore.iter().filter_map(|glob| Some(globset::Glob::new(glob).ok()?.compile_matcher()));
        Self { context, ignore: ignore.collect() }
    }

    fn name(&self, name: &str) -> bool {
        !self.context.ignore.iter().any(|ignored| ignored == name)
            && !self.ignore.iter().any(|glob| glob.is_match(name))
    }

    fn app(&self, app: &super::App, head: &str) -> bool {
        let own = self.context.own_app != 0 && app.id == self.context.own_app;
        !own && self.head(head)
    }

    /// An old head's check says nothing about this one.
    fn head(&self, head: &str) -> bool {
        head.is_empty() || self.context.head.is_none_or(|live| live.as_str().eq_ignore_ascii_case(head))
    }
}

fn newest_runs<'a>(checks: &'a Checks, counts: &Counts<'_>) -> Vec<&'a CheckRun> {
    let runs = checks.check_runs.iter().filter(|run| counts.app(&run.app, &run.head_sha));
    newest(runs, |run| (run.app.slug.as_str(), run.app.id, run.check_suite.id, run.name.as_str()))
}

fn newest_statuses(checks: &Checks) -> Vec<&Status> {
    newest(checks.statuses.iter(), |status| status.context.as_str())
}

fn newest_workflows<'a>(checks: &'a Checks, counts: &Counts<'_>) -> Vec<&'a WorkflowRun> {
    let runs = checks.workflow_runs.iter().filter(|run| counts.head(&run.head_sha));
    newest(runs, |run| (run.path.as_str(), run.name.as_str(), run.event.as_str()))
}

/// Of each key the newest: the highest id, and of one id the latest version.
fn newest<'a, T: Versioned, K: Ord>(
    all: impl Iterator<Item = &'a T>,
    key: impl Fn(&'a T) -> K,
) -> Vec<&'a T> {
    let mut newest: BTreeMap<K, &T> = BTreeMap::new();
    for one in all {
        let kept = newest.entry(key(one)).or_insert(one);
        if one.later(kept).is_gt() {
            *kept = one;
        }
    }
    newest.into_values().collect()
}

fn of_run(run: &CheckRun, checks: &Checks) -> Item {
    let mut means = means(&run.status, run.conclusion.as_deref());
    if matches!(means, Means::Failed | Means::Cancelled | Means::StartFailed) {
        means = match signs::read(run) {
            Some(Sign::NotStarted(why)) => Means::NotStarted(why),
            Some(Sign::Lost(why)) => Means::Lost(why),
            None => means,
        };
    }
    let changed = run.completed_at.max(run.started_at);
    let url = run.html_url.clone().or_else(|| run.details_url.clone());
    let red = RedCheck::of_run(run, workflow_of(run, checks));
    Item { name: run.name.clone(), means, changed, red: Some(red), url, actions: run.app.is_actions() }
}

fn of_status(status: &Status) -> Item {
    let means = match status.state.to_ascii_lowercase().as_str() {
        "success" => Means::Passed,
        "failure" | "error" => Means::Failed,
        _ => Means::Pending,
    };
    let changed = status.updated_at.max(status.created_at);
    let red = Some(RedCheck::of_status(status));
    Item { name: status.context.clone(), means, changed, red, url: status.target_url.clone(), actions: false }
}

/// A workflow run speaks only where its jobs cannot: before the first and between two of them, and when it has none.
fn of_workflow(
    run: &WorkflowRun,
    others: &[&WorkflowRun],
    runs: &[&CheckRun],
    counts: &Counts<'_>,
) -> Option<Item> {
    let jobs: Vec<_> = runs.iter().filter(|job| belongs(job, run)).collect();
    let mut means = means(&run.status, run.conclusion.as_deref());
    let job_speaks = match means {
        Means::NeedsApproval => false,
        Means::Pending => jobs.iter().any(|job| is_open(job)),
        _ => !jobs.is_empty(),
    };
    if job_speaks || !counts.name(&run.name) {
        return None;
    }
    let lives = |other: &&WorkflowRun| {
        other.id != run.id
            && (&other.path, &other.name) == (&run.path, &run.name)
            && matches!(
                self::means(&other.status, other.conclusion.as_deref()),
                Means::Passed | Means::Pending
            )
    };
    if means == Means::Cancelled && others.iter().any(lives) {
        return None;
    }
    if means == Means::Failed {
        means = Means::StartFailed;
    }
    let name = if run.name.is_empty() { &run.path } else { &run.name };
    Some(Item {
        name: name.clone(),
        means,
        changed: run.updated_at.max(run.created_at),
        red: Some(RedCheck::of_workflow(run)),
        url: run.html_url.clone(),
        actions: true,
    })
}

/// A suite speaks only where it has no runs to speak for it. Every App with `checks: write` gets a suite for each push and
/// most leave it queued for ever: only GitHub Actions' promise counts, and only while it is young.
fn of_suite(suite: &Suite, runs: &[&CheckRun], context: &Context<'_>) -> Option<Item> {
    let actions = suite.app.is_actions();
    let mut jobs = runs.iter().filter(|run| suite.id != 0 && run.check_suite.id == suite.id).peekable();
    let has_jobs = jobs.peek().is_some();
    let mut means = means(&suite.status, suite.conclusion.as_deref());
    let unseen = suite.latest_check_runs_count.unwrap_or(0) > 0;
    let young = suite.created_at.is_none_or(|made| context.now.since(made) < context.limits.ci_start);
    let speaks = match (has_jobs, &means) {
        // Between two jobs of a workflow no run is open, and the next one does not exist yet.
        (true, Means::Pending) => {
            actions && (young || suite.status == "in_progress") && !jobs.any(|job| is_open(job))
        }
        (true, _) => false,
        (false, Means::Pending) => unseen || (actions && young),
        (false, _) => unseen || actions,
    };
    if !speaks {
        return None;
    }
    if means == Means::Failed && !unseen {
        means = Means::StartFailed;
    }
    let name = if actions { "GitHub Actions".to_owned() } else { suite.app.slug.clone() };
    let changed = suite.updated_at.max(suite.created_at);
    let red = Some(RedCheck::of_suite(suite, &name));
    Some(Item { name, means, changed, red, url: None, actions })
}

/// A cancelled check is history when a check of the same name passed or runs: a newer event took its place. Also when its
/// runner was lost with it.
fn drop_excused(items: &mut Vec<Item>) {
    let lives = |item: &&Item| matches!(item.means, Means::Passed | Means::Pending);
    let alive: BTreeSet<(String, bool)> =
        items.iter().filter(lives).map(|item| (item.name.clone(), item.actions)).collect();
    let cancelled = |item: &Item| item.red.as_ref().is_some_and(|red| red.conclusion == "cancelled");
    items.retain(|item| !cancelled(item) || !alive.contains(&(item.name.clone(), item.actions)));
}

/// What GitHub's two words mean. Source: GitHub REST, "Check runs".
fn means(status: &str, conclusion: Option<&str>) -> Means {
    match conclusion.unwrap_or_default().to_ascii_lowercase().as_str() {
        "success" | "neutral" => Means::Passed,
        "skipped" => Means::Skipped,
        "failure" | "timed_out" => Means::Failed,
        "startup_failure" => Means::StartFailed,
        "action_required" => Means::NeedsApproval,
        "cancelled" => Means::Cancelled,
        // Not concluded, `stale`, or a word of tomorrow: never taken for green and never for red.
        _ if matches!(status, "action_required" | "waiting") => Means::NeedsApproval,
        _ => Means::Pending,
    }
}

fn is_open(run: &CheckRun) -> bool {
    matches!(means(&run.status, run.conclusion.as_deref()), Means::Pending | Means::NeedsApproval)
}

fn belongs(job: &CheckRun, run: &WorkflowRun) -> bool {
    let same_suite = run.check_suite_id != 0 && job.check_suite.id == run.check_suite_id;
    // Without any link a job of GitHub Actions may be anybody's: then the workflow run says nothing of its own.
    let unlinked = job.app.is_actions() && run.check_suite_id == 0 && run_in_address(job).is_none();
    same_suite || unlinked || run_in_address(job).is_some_and(|id| id == run.id)
}

fn workflow_of(job: &CheckRun, checks: &Checks) -> Option<u64> {
    let by_suite = checks
        .workflow_runs
        .iter()
        .find(|run| run.check_suite_id != 0 && run.check_suite_id == job.check_suite.id)
        .map(|run| run.id);
    by_suite.or_else(|| run_in_address(job))
}

/// `…/actions/runs/{run}/job/{job}`: how a job's page names its workflow run.
pub(super) fn run_in_address(job: &CheckRun) -> Option<u64> {
    let address = job.details_url.as_deref().or(job.html_url.as_deref())?;
    let (_, after) = address.split_once("/actions/runs/")?;
    after.split(['/', '?', '#']).next()?.parse().ok()
}
