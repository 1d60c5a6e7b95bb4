//! What people do on GitHub: the hand of a test or of the demo's story. Every doing sends its webhooks.

use super::ci::Ci;
use super::issues::Reacted;
use super::pulls::NewPull;
use super::state::{Id, World};
use super::{Emulator, Error, Happened};
use tokio::sync::broadcast;

/// A pull request that a person opens.
#[derive(Debug, Clone, Default, serde::Deserialize)]
pub struct PullWish {
    /// `branch`, or `owner:branch` of a fork.
    pub head: String,
    /// `None`: the default branch.
    #[serde(default)]
    pub base: Option<String>,
    /// Its title.
    pub title: String,
    /// Its text.
    #[serde(default)]
    pub body: String,
    /// As a draft.
    #[serde(default)]
    pub draft: bool,
    /// The author does not let maintainers push to the fork's branch; by default they may.
    #[serde(default)]
    pub closed_to_maintainers: bool,
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

    /// Edits the title of an issue or pull request.
    pub fn edit_title(&self, repo: &str, number: u64, login: &str, title: &str) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            let by = world.user(login);
            world.edit_thread(repo, number, by, Some(title.into()), None)
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

    /// Takes a label away.
    pub fn unlabel(&self, repo: &str, number: u64, login: &str, label: &str) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            let by = world.user(login);
            world.remove_label(repo, number, by, label)
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
        let wish =
            PullWish { head: head.into(), title: title.into(), body: body.into(), ..PullWish::default() };
        self.open_pull_with(repo, login, wish)
    }

    /// Opens a pull request with everything that can be said about it.
    pub fn open_pull_with(&self, repo: &str, login: &str, wish: PullWish) -> Result<u64, Error> {
        self.at(repo, |world, repo| {
            let author = world.user(login);
            let default = world.repositories[&repo].default_branch.clone();
            let new = NewPull {
                title: wish.title,
                body: Some(wish.body),
                maintainer_can_modify: wish.head.contains(':') && !wish.closed_to_maintainers,
                head: wish.head,
                base: wish.base.unwrap_or(default),
                draft: wish.draft,
            };
            world.open_pull(repo, author, new)
        })
    }

    /// Has a pull request go to another branch.
    pub fn retarget(&self, repo: &str, number: u64, login: &str, base: &str) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            let by = world.user(login);
            world.retarget(repo, number, by, base)
        })
    }

    /// Makes a pull request a draft, or one that is ready.
    pub fn set_draft(&self, repo: &str, number: u64, login: &str, draft: bool) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            let by = world.user(login);
            world.set_draft(repo, number, by, draft)
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

    /// Sets a commit status as another service would.
    pub fn status(&self, repo: &str, sha: &str, context: &str, state: &str) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            let creator = world.user("ci-service[bot]");
            world
                .set_status(repo, creator, sha, context, state, Some(format!("{context}: {state}")), None)
                .map(|_| ())
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
}
