//! What people do on GitHub: the hand of a test or of the demo's story. Every doing sends its webhooks.

use super::ci::{Ci, How, JobPlay, Play as CiPlay};
use super::issues::Reacted;
use super::pulls::{NewLineComment, NewPull};
use super::state::{ACTIONS_APP, Id, Permission, Token, World};
use super::{Emulator, Error, Happened};
use chrono::{TimeDelta, Utc};
use std::collections::BTreeMap;
use tokio::sync::broadcast;

/// A person's token outlives every test.
const PERSONS_TOKEN: TimeDelta = TimeDelta::days(30);

/// A comment on a line of a pull request, inside a review.
#[derive(Debug, Clone, serde::Deserialize)]
pub struct LineComment {
    /// The file.
    pub path: String,
    /// 1-based line in the new version.
    pub line: u64,
    /// What is said.
    pub body: String,
}

impl Emulator {
    /// Does something in a repository `owner/name`.
    pub(crate) fn at<T>(
        &self,
        full_name: &str,
        work: impl FnOnce(&mut World, Id) -> Result<T, super::reply::Refusal>,
    ) -> Result<T, Error> {
        self.hub.with(|world| {
            let found =
                full_name.split_once('/').and_then(|(owner, name)| world.find_repository(owner, name));
            let repo = found.ok_or_else(|| Error::NoRepository(full_name.into()))?;
            Ok(work(world, repo)?)
        })
    }

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
            let token = Token {
                actor: world.bot_of(ACTIONS_APP),
                app: ACTIONS_APP,
                permissions: permissions
                    .iter()
                    .map(|(name, level)| ((*name).into(), (*level).into()))
                    .collect(),
                repositories: Some(vec![repo]),
                expires: Utc::now() + world.token_ttl,
            };
            Ok(world.mint(token))
        })
    }

    /// Opens an issue; gives back its number.
    pub fn open_issue(&self, repo: &str, login: &str, title: &str, body: &str) -> Result<u64, Error> {
        self.open_issue_with(repo, login, title, body, &[])
    }

    /// Opens an issue with labels.
    pub fn open_issue_with(
        &self,
        repo: &str,
        login: &str,
        title: &str,
        body: &str,
        labels: &[&str],
    ) -> Result<u64, Error> {
        let labels: Vec<String> = labels.iter().map(|&label| label.into()).collect();
        self.at(repo, |world, repo| {
            let author = world.user(login);
            world.open_issue(repo, author, title, Some(body.into()), &labels)
        })
    }

    /// Comments on an issue or pull request; gives back the comment's id.
    pub fn comment(&self, repo: &str, number: u64, login: &str, body: &str) -> Result<u64, Error> {
        self.at(repo, |world, repo| {
            let author = world.user(login);
            world.comment(repo, number, author, body)
        })
    }

    /// Edits a comment.
    pub fn edit_comment(&self, repo: &str, id: u64, login: &str, body: &str) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            let by = world.user(login);
            world.edit_comment(repo, id, by, body)
        })
    }

    /// Deletes a comment.
    pub fn delete_comment(&self, repo: &str, id: u64, login: &str) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            let by = world.user(login);
            world.delete_comment(repo, id, by)
        })
    }

    /// Edits the body of an issue or pull request.
    pub fn edit_body(&self, repo: &str, number: u64, login: &str, body: &str) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            let by = world.user(login);
            world.edit_thread(repo, number, by, None, Some(body.into()))
        })
    }

    /// Puts a reaction on an issue.
    pub fn react(&self, repo: &str, number: u64, login: &str, content: &str) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            let by = world.user(login);
            world.react(repo, Reacted::Issue(number), by, content).map(|_| ())
        })
    }

    /// Labels an issue or pull request.
    pub fn label(&self, repo: &str, number: u64, login: &str, label: &str) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            let by = world.user(login);
            world.add_label(repo, number, by, label)
        })
    }

    /// Locks a conversation: only those who may push comment from now on.
    pub fn lock(&self, repo: &str, number: u64) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            world.issue_mut(repo, number)?.locked = true;
            Ok(())
        })
    }

    /// Closes an issue or pull request.
    pub fn close(&self, repo: &str, number: u64, login: &str) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            let by = world.user(login);
            world.set_open(repo, number, by, false)
        })
    }

    /// Opens it again.
    pub fn reopen(&self, repo: &str, number: u64, login: &str) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            let by = world.user(login);
            world.set_open(repo, number, by, true)
        })
    }

    /// Merges a pull request; gives back the merge commit.
    pub fn merge(&self, repo: &str, number: u64, login: &str) -> Result<String, Error> {
        self.at(repo, |world, repo| {
            let by = world.user(login);
            world.merge(repo, number, by)
        })
    }

    /// Puts a pull request into the merge queue.
    pub fn queue_for_merge(&self, repo: &str, number: u64, login: &str) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            let by = world.user(login);
            world.queue(repo, number, by, true)
        })
    }

    /// Takes it out of the queue again.
    pub fn take_from_queue(&self, repo: &str, number: u64, login: &str) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            let by = world.user(login);
            world.queue(repo, number, by, false)
        })
    }

    /// Opens a pull request from `head` (`branch`, or `owner:branch` of a fork) into the default branch.
    pub fn open_pull(
        &self,
        repo: &str,
        login: &str,
        head: &str,
        title: &str,
        body: &str,
    ) -> Result<u64, Error> {
        self.at(repo, |world, repo| {
            let author = world.user(login);
            let base = world.repositories[&repo].default_branch.clone();
            let new = NewPull {
                title: title.into(),
                body: Some(body.into()),
                head: head.into(),
                base,
                draft: false,
                maintainer_can_modify: head.contains(':'),
            };
            world.open_pull(repo, author, new)
        })
    }

    /// Reviews a pull request: `APPROVED`, `CHANGES_REQUESTED` or `COMMENTED`.
    pub fn review(
        &self,
        repo: &str,
        number: u64,
        login: &str,
        state: &str,
        body: &str,
        lines: &[LineComment],
    ) -> Result<u64, Error> {
        let lines: Vec<NewLineComment> = lines
            .iter()
            .map(|line| NewLineComment { path: line.path.clone(), line: line.line, body: line.body.clone() })
            .collect();
        self.at(repo, |world, repo| {
            let author = world.user(login);
            world.review(repo, number, author, state, body, &lines)
        })
    }

    /// Answers in the thread of a line comment.
    pub fn reply(&self, repo: &str, number: u64, login: &str, to: u64, body: &str) -> Result<u64, Error> {
        self.at(repo, |world, repo| {
            let author = world.user(login);
            world.reply(repo, number, author, to, body)
        })
    }

    /// Pushes a commit to a branch (made from the default branch when it is new); gives back its id.
    pub fn push_as(
        &self,
        repo: &str,
        login: &str,
        branch: &str,
        files: &[(&str, &str)],
    ) -> Result<String, Error> {
        let files: Vec<_> =
            files.iter().map(|(path, text)| ((*path).to_owned(), Some(text.as_bytes().to_vec()))).collect();
        let message = format!("Change {}", files.first().map_or("nothing", |(path, _)| path.as_str()));
        self.at(repo, |world, repo| {
            let actor = world.user(login);
            world.push_files(repo, actor, branch, &files, &message)
        })
    }

    /// Merges the default branch into a branch, as the button "Update branch" does.
    pub fn update_branch(&self, repo: &str, login: &str, branch: &str) -> Result<String, Error> {
        self.at(repo, |world, repo| {
            let actor = world.user(login);
            world.update_branch(repo, actor, branch)
        })
    }

    /// Deletes a branch.
    pub fn delete_branch(&self, repo: &str, login: &str, branch: &str) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            let actor = world.user(login);
            world.delete_branch(repo, actor, branch)
        })
    }

    /// Makes a fork that belongs to that person: `login/name`.
    pub fn fork(&self, repo: &str, login: &str) -> Result<String, Error> {
        self.at(repo, |world, repo| world.fork(repo, login))
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

    /// Sets a commit status as another service would.
    pub fn status(&self, repo: &str, sha: &str, context: &str, state: &str) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            let creator = world.user("ci-service[bot]");
            world
                .set_status(repo, creator, sha, context, state, Some(format!("{context}: {state}")), None)
                .map(|_| ())
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

    /// How many requests are left of the hour.
    pub fn set_rate_remaining(&self, remaining: u32) {
        self.hub.with(|world| world.rate.used = world.rate.limit.saturating_sub(remaining));
    }

    /// A code that `POST /app-manifests/{code}/conversions` takes once.
    pub fn manifest_code(&self, manifest: serde_json::Value) -> String {
        self.hub.with(|world| {
            let code = hex::encode(rand::random::<[u8; 10]>());
            world.manifests.insert(code.clone(), manifest);
            code
        })
    }

    /// What happens from now on.
    pub fn events(&self) -> broadcast::Receiver<Happened> {
        self.hub.with(|world| world.wires.happened.subscribe())
    }

    /// Waits until no webhook is on its way and no CI job runs. Jobs that a test holds back do not count.
    pub async fn settled(&self) {
        let busy = self.hub.with(|world| world.wires.busy.clone());
        busy.quiet().await;
    }
}

impl World {
    fn update_branch(&mut self, repo: Id, actor: Id, branch: &str) -> Result<String, super::reply::Refusal> {
        let git = self.open_git(repo)?;
        let before = super::git::push::references(&git);
        let name = format!("refs/heads/{branch}");
        let base = format!("refs/heads/{}", self.repositories[&repo].default_branch);
        let ours = git.find_commit(git.refname_to_id(&name)?)?;
        let theirs = git.find_commit(git.refname_to_id(&base)?)?;
        let mut index = git.merge_commits(&ours, &theirs, None)?;
        if index.has_conflicts() {
            return Err(super::reply::Refusal::unprocessable("merge conflict between base and head"));
        }
        let tree = git.find_tree(index.write_tree_to(&git)?)?;
        let who = super::git::store::signature(self.login(actor), &self.email(actor))?;
        let message = format!("Merge branch '{}' into {branch}", self.repositories[&repo].default_branch);
        let id = git.commit(Some(&name), &who, &who, &message, &tree, &[&ours, &theirs])?;
        self.pushed(repo, super::git::push::Pusher { actor, app: 0 }, &before)?;
        Ok(id.to_string())
    }

    fn delete_branch(&mut self, repo: Id, actor: Id, branch: &str) -> Result<(), super::reply::Refusal> {
        let git = self.open_git(repo)?;
        let before = super::git::push::references(&git);
        git.find_reference(&format!("refs/heads/{branch}"))?.delete()?;
        self.pushed(repo, super::git::push::Pusher { actor, app: 0 }, &before)
    }

    fn fork(&mut self, repo: Id, login: &str) -> Result<String, super::reply::Refusal> {
        let owner = self.user(login);
        let source = &self.repositories[&repo];
        let new = super::NewRepository {
            owner: self.login(owner).into(),
            name: source.name.clone(),
            private: source.private,
            default_branch: source.default_branch.clone(),
            files: Vec::new(),
            ci: Ci::none(),
            drafts: true,
            installed: false,
            protected: Vec::new(),
            required_checks: Vec::new(),
        };
        let (from, name) = (source.git.to_string_lossy().into_owned(), source.name.clone());
        let fork = self.create_repository(new)?;
        super::git::store::run(
            &self.repositories[&fork].git,
            &["fetch", "--quiet", &from, "refs/heads/*:refs/heads/*"],
        )?;
        self.repo_mut(fork).fork_of = Some(repo);
        Ok(format!("{login}/{name}"))
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
