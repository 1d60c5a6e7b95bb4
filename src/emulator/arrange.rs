//! What is set up and turned around people: roles, tokens, the App's permissions, CI, limits.

use super::ci::{Ci, How, JobPlay, Play as CiPlay};
use super::state::{ACTIONS_APP, Id, Permission, Token, World};
use super::{Emulator, Error};
use chrono::{TimeDelta, Utc};
use std::collections::BTreeMap;

/// A repository whose objects another one may use.
#[derive(Debug, Clone)]
pub struct Lender {
    /// Its folder of objects.
    pub objects: std::path::PathBuf,
    /// Its list of commits whose parents it does not hold, where it is shallow.
    pub shallow: Option<std::path::PathBuf>,
}

/// A person's token outlives every test.
const PERSONS_TOKEN: TimeDelta = TimeDelta::days(30);

impl Emulator {
    /// Gives a person a role; made when the login is new. Gives back the account's id.
    pub fn collaborator(&self, repo: &str, login: &str, permission: Permission) -> Result<u64, Error> {
        self.at(repo, |world, repo| Ok(world.make_member(repo, login, permission, false)))
    }

    /// A member of the organisation who hides it: may push, and `author_association` says `NONE`.
    pub fn hidden_member(&self, repo: &str, login: &str, permission: Permission) -> Result<u64, Error> {
        self.at(repo, |world, repo| Ok(world.make_member(repo, login, permission, true)))
    }

    /// The person is told of everything in the repository.
    pub fn watch(&self, repo: &str, login: &str) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            let id = world.user(login);
            world.repo_mut(repo).watchers.insert(id);
            Ok(())
        })
    }

    /// The account takes another login; the old one becomes free.
    pub fn rename_user(&self, login: &str, to: &str) -> u64 {
        self.hub.with(|world| {
            let id = world.user(login);
            if let Some(user) = world.users.get_mut(&id) {
                user.login = to.into();
            }
            id
        })
    }

    /// A token with which that person may call the API and push.
    pub fn user_token(&self, login: &str) -> String {
        self.hub.with(|world| {
            let actor = world.user(login);
            world.mint(Token {
                actor,
                app: 0,
                permissions: BTreeMap::new(),
                repositories: None,
                expires: Utc::now() + PERSONS_TOKEN,
            })
        })
    }

    /// The token that a workflow gets from Actions: what it pushes starts no workflow.
    pub fn actions_token(&self, repo: &str, permissions: &[(&str, &str)]) -> Result<String, Error> {
        self.at(repo, |world, repo| {
            let bot = world.bot_of(ACTIONS_APP);
            Ok(world.mint_for(repo, bot, ACTIONS_APP, permissions))
        })
    }

    /// A token of the App's installation for one repository, without asking for it over the wire.
    pub fn app_token(&self, repo: &str, permissions: &[(&str, &str)]) -> Result<String, Error> {
        self.at(repo, |world, repo| Ok(world.mint_for(repo, world.app.bot, world.app.id, permissions)))
    }

    /// Locks a conversation: only those who may push comment from now on.
    pub fn lock(&self, repo: &str, number: u64) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            world.issue_mut(repo, number)?.locked = true;
            Ok(())
        })
    }

    /// Changes the name of a repository; its id stays.
    pub fn rename_repository(&self, repo: &str, login: &str, to: &str) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            let by = world.user(login);
            let former = world.full_name(&world.repositories[&repo]);
            world.repo_mut(repo).former.push(former);
            let from = std::mem::replace(&mut world.repo_mut(repo).name, to.into());
            let changes = serde_json::json!({ "changes": { "repository": { "name": { "from": from } } } });
            world.hook("repository", Some("renamed"), Some(repo), by, changes);
            Ok(())
        })
    }

    /// Deletes a repository: from now on everything in it is a 404.
    pub fn delete_repository(&self, repo: &str, login: &str) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            let by = world.user(login);
            world.hook("repository", Some("deleted"), Some(repo), by, serde_json::json!({}));
            world.repo_mut(repo).gone = true;
            Ok(())
        })
    }

    /// Makes a repository read-only.
    pub fn archive(&self, repo: &str) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            world.repo_mut(repo).archived = true;
            Ok(())
        })
    }

    /// Replaces the CI of a repository.
    pub fn set_ci(&self, repo: &str, ci: Ci) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            world.repo_mut(repo).ci = ci;
            Ok(())
        })
    }

    /// Appends to a scripted CI what its next workflow run does.
    pub fn ci_plays(&self, repo: &str, play: CiPlay) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            let here = world.repo_mut(repo);
            if let How::Scripted(script) = &mut here.ci.how {
                script.plays.push_back(play);
                return Ok(());
            }
            Err(super::reply::Refusal::unprocessable("this repository's CI is not scripted"))
        })
    }

    /// Lets a waiting job of that name on the newest commit that has one go as `play` says.
    pub fn ci_ends(&self, repo: &str, check: &str, play: &JobPlay) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            let missing = || super::reply::Refusal::unprocessable(&format!("no job {check} waits"));
            let job = world.waiting_job(repo, check, None).ok_or_else(missing)?;
            world.start_job(repo, job);
            world.play_job(repo, job, play);
            Ok(())
        })
    }

    /// Gives an empty repository a branch with the commits of another one on this disk. Nothing is copied: it borrows
    /// their objects for as long as it lives. CI runs on it as after that person's push; no webhook tells of the push
    /// itself, which would have to show each of maybe many thousand commits.
    pub fn borrow(
        &self,
        repo: &str,
        login: &str,
        from: &Lender,
        (branch, sha): (&str, &str),
    ) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            let actor = world.user(login);
            let git = world.repositories[&repo].git.clone();
            super::git::store::borrow(&git, from)?;
            world.open_git(repo)?.reference(
                &format!("refs/heads/{branch}"),
                git2::Oid::from_str(sha)?,
                true,
                "borrowed",
            )?;
            world.start_ci(repo, "push", branch, super::git::push::NO_COMMIT, sha, actor);
            Ok(())
        })
    }

    /// A secret of the repository's CI: handed to the jobs whose workflow names it, but for those of a fork's pull request.
    pub fn secret(&self, repo: &str, name: &str, value: &str) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            world.repo_mut(repo).secrets.insert(name.to_owned(), value.to_owned());
            Ok(())
        })
    }

    /// Writes a workflow run into the history, as if it had run then; its jobs take as long as their plays say.
    pub fn past_run(&self, repo: &str, login: &str, past: &super::PastRun) -> Result<u64, Error> {
        self.at(repo, |world, repo| {
            let actor = world.user(login);
            world.past_run(repo, actor, past)
        })
    }

    /// The archive of a workflow run's logs is this one, recorded elsewhere.
    pub fn recorded_logs(&self, repo: &str, run: u64, archive: impl Into<bytes::Bytes>) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            let run = world.repo_mut(repo).workflow_runs.get_mut(&run);
            run.ok_or_else(super::reply::Refusal::not_found)?.archive = Some(archive.into());
            Ok(())
        })
    }

    /// Somebody has the failed jobs of the newest workflow run started again.
    pub fn rerun_failed(&self, repo: &str, login: &str) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            let actor = world.user(login);
            let newest = world.repositories[&repo].workflow_runs.keys().next_back().copied();
            let run = newest.ok_or_else(super::reply::Refusal::not_found)?;
            world.rerun(repo, actor, run, super::rest::actions::Which::Failed).map(|_| ())
        })
    }

    /// A maintainer approves every workflow run that waits for it; gives back how many did.
    pub fn approve_runs(&self, repo: &str) -> Result<usize, Error> {
        self.at(repo, |world, repo| {
            let runs = world.repositories[&repo].workflow_runs.values();
            let waiting: Vec<Id> = runs
                .filter(|run| run.progress.conclusion() == Some("action_required"))
                .map(|run| run.id)
                .collect();
            waiting.iter().try_for_each(|run| world.approve_run(repo, *run))?;
            Ok(waiting.len())
        })
    }

    /// Changes what the App was granted; `None` takes a permission away. Tokens made before keep theirs.
    pub fn grant(&self, permission: &str, level: Option<&str>) {
        self.hub.with(|world| {
            match level {
                Some(level) => world.app.permissions.insert(permission.into(), level.into()),
                None => world.app.permissions.remove(permission),
            };
            let installation = serde_json::json!({ "installation": world.show_installation() });
            world.hook("installation", Some("new_permissions_accepted"), None, world.app.owner, installation);
        });
    }

    /// Changes what the App's settings ask for; nobody has accepted it yet.
    pub fn ask_for(&self, permission: &str, level: &str) {
        self.hub.with(|world| {
            let asked = world.app.asked.get_or_insert_with(|| world.app.permissions.clone());
            asked.insert(permission.into(), level.into());
        });
    }

    /// Takes an event from the App's webhook.
    pub fn unsubscribe(&self, event: &str) {
        self.hub.with(|world| world.app.events.remove(event));
    }

    /// Suspends the installation, or lets it go on.
    pub fn suspend(&self, suspended: bool) {
        self.hub.with(|world| {
            world.app.suspended = suspended.then(Utc::now);
            let installation = serde_json::json!({ "installation": world.show_installation() });
            let action = if suspended { "suspend" } else { "unsuspend" };
            world.hook("installation", Some(action), None, world.app.owner, installation);
        });
    }

    /// Installs the App on a repository or takes it away from there.
    pub fn install(&self, repo: &str, installed: bool) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            world.repo_mut(repo).installed = installed;
            world.tell_of_installation(repo, installed);
            Ok(())
        })
    }

    /// All tokens end now.
    pub fn expire_tokens(&self) {
        self.hub.with(|world| world.tokens.clear());
    }

    /// What is created from now on is missing from that many list answers.
    pub fn set_list_lag(&self, reads: u32) {
        self.hub.with(|world| world.list_lag = reads);
    }

    /// GitHub does not know whether a pull request merges until it was asked that often, each time anew when its head or
    /// base has moved; webhooks never know then.
    pub fn set_merge_lag(&self, reads: u32) {
        self.hub.with(|world| world.merge_lag = reads);
    }

    /// Whether the App's tokens push to a fork's branch that has an open pull request whose author lets maintainers push.
    /// By default they do not.
    pub fn reach_forks(&self, reached: bool) {
        self.hub.with(|world| world.reaches_forks = reached);
    }

    /// How many requests are left of the hour.
    pub fn set_rate_remaining(&self, remaining: u32) {
        self.hub.with(|world| world.rate.used = world.rate.limit.saturating_sub(remaining));
    }

    /// A code that `POST /app-manifests/{code}/conversions` takes once.
    pub fn manifest_code(&self, manifest: serde_json::Value) -> String {
        self.hub.with(|world| world.keep_manifest(manifest))
    }
}

impl World {
    fn mint_for(&mut self, repo: Id, actor: Id, app: Id, permissions: &[(&str, &str)]) -> String {
        let permissions = permissions.iter().map(|(name, level)| ((*name).into(), (*level).into())).collect();
        let expires = Utc::now() + self.token_ttl;
        self.mint(Token { actor, app, permissions, repositories: Some(vec![repo]), expires })
    }

    fn tell_of_installation(&self, repo: Id, installed: bool) {
        let here = &self.repositories[&repo];
        let short = serde_json::json!({
            "id": repo,
            "node_id": super::render::node_id("R", repo),
            "name": here.name,
            "full_name": self.full_name(here),
            "private": here.private,
        });
        let (added, removed) = if installed { (vec![short], vec![]) } else { (vec![], vec![short]) };
        let parts = serde_json::json!({
            "installation": self.show_installation(),
            "repository_selection": "selected",
            "repositories_added": added,
            "repositories_removed": removed,
            "requester": null,
        });
        let action = if installed { "added" } else { "removed" };
        self.hook("installation_repositories", Some(action), None, self.app.owner, parts);
    }
}

/// A word for the role, for those who only have a string.
impl std::str::FromStr for Permission {
    type Err = Error;

    fn from_str(word: &str) -> Result<Permission, Error> {
        let all = [
            Permission::None,
            Permission::Read,
            Permission::Triage,
            Permission::Write,
            Permission::Maintain,
            Permission::Admin,
        ];
        all.into_iter().find(|permission| permission.role() == word).ok_or_else(|| {
            Error::Refused(format!("\"{word}\" is no role; roles are read, triage, write, maintain, admin"))
        })
    }
}
