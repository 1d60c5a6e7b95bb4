//! What CI hands to a change: one sentence of all of it, and folded the jobs one by one.

use super::{voice::Voice, words};
use crate::domain::policy::exposure::{EVERY_SECRET, Job, Permissions};
use std::collections::BTreeSet;

/// Names of one kind in the sentence; all of them stand in the fold.
const NAMED: usize = 6;

/// `CI hands it: …`, or nothing where it hands nothing.
pub(super) fn line(voice: &Voice<'_>) -> String {
    let things = things(voice);
    if things.is_empty() { String::new() } else { format!("CI hands it: {things}.") }
}

/// What all jobs together are handed, in one line.
pub(super) fn things(voice: &Voice<'_>) -> String {
    let jobs = &voice.facts().handed.jobs;
    let mut things: Vec<String> =
        [secrets(jobs), environments(jobs), writes(jobs), machines(jobs), unread(jobs)]
            .into_iter()
            .flatten()
            .collect();
    if voice.facts().handed.more > 0 {
        things.push(format!("and more in {}", words::count(voice.facts().handed.more, "other job")));
    }
    things.join("; ")
}

/// Job by job.
pub(super) fn fold(voice: &Voice<'_>) -> Option<(String, String)> {
    let handed = &voice.facts().handed;
    if handed.is_empty() {
        return None;
    }
    // A job that runs on several events is handed the same on each.
    let mut body = String::new();
    let mut done: Vec<(&str, &str)> = Vec::new();
    for job in &handed.jobs {
        let key = (job.workflow.as_str(), job.job.as_str());
        if done.contains(&key) {
            continue;
        }
        done.push(key);
        let same: Vec<&Job> =
            handed.jobs.iter().filter(|o| (o.workflow.as_str(), o.job.as_str()) == key).collect();
        let events: BTreeSet<String> = same.iter().map(|job| words::code(&job.event, 40)).collect();
        let events = events.into_iter().collect::<Vec<_>>().join(", ");
        let one = std::slice::from_ref(job);
        let things = [secrets(one), environments(one), writes(one), machines(one), unread(one)];
        let things = things.into_iter().flatten().collect::<Vec<_>>().join("; ");
        body.push_str(&format!("- {} in {} on {events}: {things}\n", words::code(&job.job, 80), file(job)));
    }
    if handed.more > 0 {
        body.push_str(&format!("- and {}\n", words::count(handed.more, "more job")));
    }
    Some(("What CI hands to it".to_owned(), body))
}

fn secrets(jobs: &[Job]) -> Option<String> {
    let names: BTreeSet<&str> = jobs.iter().flat_map(|job| &job.secrets).map(String::as_str).collect();
    match names.len() {
        0 => None,
        _ if names.contains(EVERY_SECRET) => Some("every secret there is".to_owned()),
        1 => Some(format!("the secret {}", list(names))),
        _ => Some(format!("the secrets {}", list(names))),
    }
}

fn environments(jobs: &[Job]) -> Option<String> {
    let names: BTreeSet<&str> = jobs.iter().filter_map(|job| job.environment.as_deref()).collect();
    match names.len() {
        0 => None,
        1 => Some(format!("the environment {}", list(names))),
        _ => Some(format!("the environments {}", list(names))),
    }
}

fn writes(jobs: &[Job]) -> Option<String> {
    let tokens: Vec<&Permissions> =
        jobs.iter().map(|job| &job.permissions).filter(|of| of.writes()).collect();
    let mut names = BTreeSet::new();
    for token in &tokens {
        match token {
            Permissions::Word(_) => return Some("a token that may write".to_owned()),
            Permissions::Each(each) => {
                let may = each.iter().filter(|(_, level)| !matches!(level.as_str(), "read" | "none"));
                names.extend(may.map(|(name, _)| name.as_str()));
            }
        }
    }
    (!names.is_empty()).then(|| format!("a token that may write {}", list(names)))
}

fn machines(jobs: &[Job]) -> Option<String> {
    let own = jobs.iter().filter(|job| job.self_hosted && job.unread.is_none());
    let names: BTreeSet<&str> = own.map(|job| job.runner.as_str()).collect();
    (!names.is_empty()).then(|| format!("a runner that may not be GitHub's ({})", list(names)))
}

fn unread(jobs: &[Job]) -> Option<String> {
    let told: Vec<&Job> = jobs.iter().filter(|job| job.unread.is_some()).collect();
    let files: BTreeSet<&str> = told.iter().map(|job| job.workflow.as_str()).collect();
    match told.as_slice() {
        [] => None,
        [one] => {
            let why = one.unread.as_deref().map(|why| words::inline(why, 120)).unwrap_or_default();
            Some(format!("perhaps more by {} ({})", file(one), why.trim_end_matches('.')))
        }
        _ => Some(format!("perhaps more by {}, which cannot be read in full", list(files))),
    }
}

fn list(names: BTreeSet<&str>) -> String {
    let more = names.len().saturating_sub(NAMED);
    let shown: Vec<String> = names.into_iter().take(NAMED).map(|name| words::code(name, 60)).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

/// The file's name: all of them are in one folder.
fn file(job: &Job) -> String {
    words::code(job.workflow.rsplit('/').next().unwrap_or(&job.workflow), 80)
}
