//! What a push sets going: the webhook, the pull requests of the branch, CI.

use super::store;
use crate::emulator::events::What;
use crate::emulator::journal::Line;
use crate::emulator::render::{short_sha, simple_commit};
use crate::emulator::reply::Refusal;
use crate::emulator::state::{ACTIONS_APP, Id, Kind, World};
use chrono::Utc;
use git2::Oid;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(crate) const NO_COMMIT: &str = "0000000000000000000000000000000000000000";
/// GitHub puts at most this many commits into a push webhook.
const COMMITS_TOLD: usize = 2048;

/// Who pushes: an account, and the App whose token it used (0: none).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pusher {
    pub(crate) actor: Id,
    pub(crate) app: Id,
}

/// All references of a repository with what they point at.
pub(crate) fn references(git: &git2::Repository) -> BTreeMap<String, String> {
    let Ok(all) = git.references() else { return BTreeMap::new() };
    all.flatten()
        .filter_map(|reference| Some((reference.name().ok()?.to_owned(), reference.target()?.to_string())))
        .collect()
}

impl World {
    /// Compares two readings of the references and lets everything follow from the differences.
    pub(crate) fn pushed(
        &mut self,
        repo: Id,
        who: Pusher,
        before: &BTreeMap<String, String>,
    ) -> Result<(), Refusal> {
        let after = references(&self.open_git(repo)?);
        let names = before.keys().chain(after.keys()).filter(|name| name.starts_with("refs/heads/"));
        let changed: std::collections::BTreeSet<String> =
            names.filter(|name| before.get(*name) != after.get(*name)).cloned().collect();
        for name in changed {
            let branch = name.trim_start_matches("refs/heads/");
            let old = before.get(&name).map_or(NO_COMMIT, String::as_str);
            let new = after.get(&name).map_or(NO_COMMIT, String::as_str);
            self.branch_moved(repo, who, branch, old, new)?;
        }
        Ok(())
    }

    fn branch_moved(
        &mut self,
        repo: Id,
        who: Pusher,
        branch: &str,
        old: &str,
        new: &str,
    ) -> Result<(), Refusal> {
        self.repo_mut(repo).pushed = Utc::now();
        let login = self.login(who.actor).to_owned();
        let parts = self.push_parts(repo, who.actor, branch, old, new)?;
        self.wires.journal.line(&Line::Branch {
            at: Utc::now(),
            repository: &self.full_name(&self.repositories[&repo]),
            login: &login,
            branch,
            before: old,
            after: new,
            forced: parts["forced"] == true,
        });
        self.hook("push", None, Some(repo), who.actor, parts);
        if new == NO_COMMIT {
            self.happened(repo, What::BranchDeleted { login, branch: branch.into() });
            return self.close_pulls_of(repo, who.actor, branch);
        }
        self.happened(
            repo,
            What::Pushed { login, branch: branch.into(), before: old.into(), sha: new.into() },
        );
        self.move_pulls_of(repo, who.actor, branch, old, new)?;
        // A push by the token that a workflow got from Actions starts no workflow.
        if who.app != ACTIONS_APP {
            self.ask_apps_for_checks(repo, branch, old, new);
            self.start_ci(repo, "push", branch, old, new, who.actor);
            self.start_ci_of_pulls(repo, branch, old, new, who.actor);
        }
        Ok(())
    }

    /// Open pull requests from this branch, in this repository and in those it was forked from.
    pub(crate) fn open_pulls_from(&self, repo: Id, branch: &str) -> Vec<(Id, u64)> {
        let mut found = Vec::new();
        for base in self.repositories.values() {
            for issue in base.issues.values().filter(|issue| issue.open) {
                let from_here = issue
                    .pull
                    .as_ref()
                    .is_some_and(|pull| pull.head.repository == repo && pull.head.branch == branch);
                if from_here {
                    found.push((base.id, issue.number));
                }
            }
        }
        found
    }

    fn move_pulls_of(
        &mut self,
        repo: Id,
        actor: Id,
        branch: &str,
        old: &str,
        new: &str,
    ) -> Result<(), Refusal> {
        for (base, number) in self.open_pulls_from(repo, branch) {
            self.bring(base, repo, new, &format!("refs/pull/{number}/head"))?;
            let now = Utc::now();
            if let Some(issue) = self.repo_mut(base).issues.get_mut(&number) {
                issue.updated = now;
                if let Some(pull) = &mut issue.pull {
                    pull.head.sha = new.into();
                }
            }
            let mut parts = self.pull_parts(base, number);
            parts["before"] = old.into();
            parts["after"] = new.into();
            self.hook("pull_request", Some("synchronize"), Some(base), actor, parts);
        }
        Ok(())
    }

    fn start_ci_of_pulls(&mut self, repo: Id, branch: &str, old: &str, new: &str, actor: Id) {
        for (base, _) in self.open_pulls_from(repo, branch) {
            self.start_ci(base, "pull_request", branch, old, new, actor);
        }
    }

    fn close_pulls_of(&mut self, repo: Id, actor: Id, branch: &str) -> Result<(), Refusal> {
        for (base, number) in self.open_pulls_from(repo, branch) {
            self.set_open(base, number, actor, false)?;
        }
        Ok(())
    }

    fn push_parts(&self, repo: Id, actor: Id, branch: &str, old: &str, new: &str) -> Result<Value, Refusal> {
        let git = self.open_git(repo)?;
        let commits = told_commits(&git, old, new)?;
        let html = self.web_of(repo);
        let shown: Vec<Value> = commits.iter().map(|commit| show_pushed(&git, commit, &html)).collect();
        let forced = match (Oid::from_str(old), Oid::from_str(new)) {
            (Ok(old), Ok(new)) if !old.is_zero() && !new.is_zero() => {
                !git.graph_descendant_of(new, old).unwrap_or(false)
            }
            _ => false,
        };
        let login = self.login(actor);
        Ok(json!({
            "ref": format!("refs/heads/{branch}"),
            "before": old,
            "after": new,
            "base_ref": null,
            "created": old == NO_COMMIT,
            "deleted": new == NO_COMMIT,
            "forced": forced,
            "compare": format!("{html}/compare/{}...{}", short_sha(old), short_sha(new)),
            "head_commit": shown.last(),
            "commits": shown,
            "pusher": { "name": login, "email": self.email(actor) },
        }))
    }

    /// The address that GitHub gives to accounts that hide theirs.
    pub(crate) fn email(&self, actor: Id) -> String {
        format!("{actor}+{}@users.noreply.github.com", self.login(actor))
    }

    /// Pushes `files` as a person would, from a clone of their own.
    pub(crate) fn push_files(
        &mut self,
        repo: Id,
        actor: Id,
        branch: &str,
        files: &[(String, Option<Vec<u8>>)],
        message: &str,
    ) -> Result<String, Refusal> {
        let git = self.open_git(repo)?;
        let before = references(&git);
        let who = store::signature(self.login(actor), &self.email(actor))?;
        let from = self.repositories[&repo].default_branch.clone();
        let id = store::commit(&git, branch, &from, files, message, &who)?;
        let app =
            if self.users.get(&actor).is_some_and(|user| user.kind == Kind::Bot) { self.app.id } else { 0 };
        self.pushed(repo, Pusher { actor, app }, &before)?;
        Ok(id.to_string())
    }
}

fn told_commits<'git>(
    git: &'git git2::Repository,
    old: &str,
    new: &str,
) -> Result<Vec<git2::Commit<'git>>, git2::Error> {
    if new == NO_COMMIT {
        return Ok(Vec::new());
    }
    let mut walk = git.revwalk()?;
    walk.set_sorting(git2::Sort::TOPOLOGICAL | git2::Sort::REVERSE)?;
    walk.push(Oid::from_str(new)?)?;
    if old == NO_COMMIT {
        // A new branch tells of what no other branch has; its tip is told in any case.
        for (name, id) in references(git) {
            if name.starts_with("refs/heads/") && id != new {
                walk.hide(Oid::from_str(&id)?)?;
            }
        }
    } else if git.find_commit(Oid::from_str(old)?).is_ok() {
        walk.hide(Oid::from_str(old)?)?;
    }
    let mut commits =
        walk.flatten().take(COMMITS_TOLD).map(|id| git.find_commit(id)).collect::<Result<Vec<_>, _>>()?;
    if commits.is_empty() {
        commits.push(git.find_commit(Oid::from_str(new)?)?);
    }
    Ok(commits)
}

fn show_pushed(git: &git2::Repository, commit: &git2::Commit<'_>, html: &str) -> Value {
    let mut shown = simple_commit(commit);
    let mut lists: BTreeMap<&str, Vec<String>> =
        BTreeMap::from([("added", vec![]), ("removed", vec![]), ("modified", vec![])]);
    let old = commit.parent(0).and_then(|parent| parent.tree()).ok();
    if let Ok(diff) = commit.tree().and_then(|new| git.diff_tree_to_tree(old.as_ref(), Some(&new), None)) {
        for delta in diff.deltas() {
            let (list, file) = match delta.status() {
                git2::Delta::Added => ("added", delta.new_file()),
                git2::Delta::Deleted => ("removed", delta.old_file()),
                _ => ("modified", delta.new_file()),
            };
            let path = file.path().map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
            lists.entry(list).or_default().push(path);
        }
    }
    for (list, paths) in lists {
        shown[list] = json!(paths);
    }
    shown["distinct"] = true.into();
    shown["url"] = format!("{html}/commit/{}", commit.id()).into();
    shown
}
