//! Commit statuses, and whether everything that reported on a commit passed.

use super::At;
use super::checks::passes;
use crate::emulator::auth::{Need, read, write};
use crate::emulator::events::What;
use crate::emulator::reply::{Answer, Call, Refusal, Reply, optional, required};
use crate::emulator::state::{CheckRun, Id, Status, World};
use chrono::Utc;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const STATUSES: Need = read(&["statuses"]);

fn statuses_of<'w>(world: &'w World, repo: Id, sha: &'w str) -> impl DoubleEndedIterator<Item = &'w Status> {
    world.repositories[&repo].statuses.iter().filter(move |status| status.sha == sha)
}

/// The newest status of each context.
fn newest<'w>(world: &'w World, repo: Id, sha: &'w str) -> Vec<&'w Status> {
    let by_context: BTreeMap<&str, &Status> =
        statuses_of(world, repo, sha).map(|status| (status.context.as_str(), status)).collect();
    by_context.into_values().collect()
}

pub(super) fn combined(world: &World, call: &Call, (owner, name): At<'_>, reference: &str) -> Answer {
    let repo = world.reach(call, owner, name, STATUSES)?;
    let sha = world.resolve(repo, reference)?;
    let newest = newest(world, repo, &sha);
    let any = |states: &[&str]| newest.iter().any(|status| states.contains(&status.state.as_str()));
    let state = match () {
        () if any(&["failure", "error"]) => "failure",
        () if newest.is_empty() || any(&["pending"]) => "pending",
        () => "success",
    };
    let api = world.api_of(repo);
    Ok(Reply::ok(json!({
        "state": state,
        "statuses": newest.iter().map(|status| world.show_status(repo, status)).collect::<Vec<_>>(),
        "sha": sha,
        "total_count": newest.len(),
        "repository": world.show_repository(repo),
        "commit_url": format!("{api}/commits/{sha}"),
        "url": format!("{api}/commits/{sha}/status"),
    })))
}

pub(super) fn statuses(world: &World, call: &Call, (owner, name): At<'_>, reference: &str) -> Answer {
    let repo = world.reach(call, owner, name, STATUSES)?;
    let sha = world.resolve(repo, reference)?;
    let shown = statuses_of(world, repo, &sha).rev().map(|status| with_creator(world, repo, status));
    Ok(call.page(&world.api, shown.collect()))
}

fn with_creator(world: &World, repo: Id, status: &Status) -> Value {
    let mut shown = world.show_status(repo, status);
    shown["creator"] = world.show_user(status.creator);
    shown
}

pub(super) fn set_status(world: &mut World, call: &Call, (owner, name): At<'_>, sha: &str) -> Answer {
    let repo = world.reach(call, owner, name, write(&["statuses"]))?;
    let body = call.json()?;
    let state = required(&body, "Status", "state")?;
    let context = optional(&body, "context").unwrap_or_else(|| "default".into());
    let sha = world.resolve(repo, sha)?;
    let (description, target) = (optional(&body, "description"), optional(&body, "target_url"));
    let status = world.set_status(repo, call.actor()?, &sha, &context, &state, description, target)?;
    Ok(Reply::created(with_creator(world, repo, &status)))
}

impl World {
    /// Sets a commit status and tells of it.
    #[expect(clippy::too_many_arguments, reason = "they are the fields of a status")]
    pub(crate) fn set_status(
        &mut self,
        repo: Id,
        creator: Id,
        sha: &str,
        context: &str,
        state: &str,
        description: Option<String>,
        target_url: Option<String>,
    ) -> Result<Status, Refusal> {
        if !["error", "failure", "pending", "success"].contains(&state) {
            return Err(Refusal::invalid(
                json!({ "resource": "Status", "code": "custom", "field": "state" }),
            ));
        }
        let (id, created) = (self.id(), Utc::now());
        let (sha, context, state) = (sha.to_owned(), context.to_owned(), state.to_owned());
        let status = Status { id, sha, context, state, description, target_url, creator, created };
        self.repo_mut(repo).statuses.push(status.clone());
        let parts = self.status_parts(repo, &status)?;
        self.hook("status", None, Some(repo), creator, parts);
        let (context, sha, state) = (status.context.clone(), status.sha.clone(), status.state.clone());
        self.happened(repo, What::Status { context, sha, state });
        Ok(status)
    }

    fn status_parts(&self, repo: Id, status: &Status) -> Result<Value, Refusal> {
        let git = self.open_git(repo)?;
        let commit = self.show_commit(repo, &git.find_commit(git2::Oid::from_str(&status.sha)?)?);
        let branches: Vec<Value> = crate::emulator::git::push::references(&git)
            .iter()
            .filter(|(name, sha)| **sha == status.sha && name.starts_with("refs/heads/"))
            .map(|(name, sha)| {
                let commit = json!({ "sha": sha, "url": format!("{}/commits/{sha}", self.api_of(repo)) });
                json!({ "name": &name["refs/heads/".len()..], "commit": commit, "protected": false })
            })
            .collect();
        let mut parts = self.show_status(repo, status);
        parts["sha"] = status.sha.clone().into();
        parts["name"] = self.full_name(&self.repositories[&repo]).into();
        parts["commit"] = commit;
        parts["branches"] = Value::Array(branches);
        for field in ["url", "node_id"] {
            if let Some(fields) = parts.as_object_mut() {
                fields.remove(field);
            }
        }
        Ok(parts)
    }

    /// Everything that reported on a commit passed: what `mergeable_state` looks at.
    pub(crate) fn checks_are_green(&self, repo: Id, sha: &str) -> bool {
        let here = &self.repositories[&repo];
        let mut newest_runs: BTreeMap<(Id, &str), &CheckRun> = BTreeMap::new();
        for run in here.check_runs.values().filter(|run| run.head_sha == sha) {
            newest_runs.insert((run.app, &run.name), run);
        }
        newest_runs.values().all(|run| run.progress.conclusion().is_some_and(passes))
            && newest(self, repo, sha).iter().all(|status| status.state == "success")
    }
}
