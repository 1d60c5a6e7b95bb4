//! What can be done to pull requests: opening, drafts, reviews, merging.

use super::events::What;
use super::git::push::{NO_COMMIT, Pusher, references};
use super::git::store::{Merge, signature};
use super::issues::check_length;
use super::reply::Refusal;
use super::state::{Id, Merged, Pull, Side, World};
use chrono::Utc;
use serde_json::{Value, json};

/// A pull request to be opened.
#[derive(Debug, Clone)]
pub(crate) struct NewPull {
    pub(crate) title: String,
    pub(crate) body: Option<String>,
    /// `branch` or `owner:branch`.
    pub(crate) head: String,
    pub(crate) base: String,
    pub(crate) draft: bool,
    pub(crate) maintainer_can_modify: bool,
}

fn problem(message: &str) -> Refusal {
    Refusal::invalid(json!({ "resource": "PullRequest", "code": "custom", "message": message }))
}

impl World {
    pub(crate) fn pull(&self, repo: Id, number: u64) -> Result<&Pull, Refusal> {
        self.issue(repo, number)?.pull.as_ref().ok_or_else(Refusal::not_found)
    }

    pub(crate) fn pull_mut(&mut self, repo: Id, number: u64) -> Result<&mut Pull, Refusal> {
        self.issue_mut(repo, number)?.pull.as_mut().ok_or_else(Refusal::not_found)
    }

    /// The fields of a webhook about a pull request.
    pub(crate) fn pull_parts(&self, repo: Id, number: u64) -> Value {
        json!({ "number": number, "pull_request": self.show_full_pull(repo, number) })
    }

    /// `owner:branch` or a branch of this repository.
    fn head_side(&self, repo: Id, head: &str) -> Result<Side, Refusal> {
        let invalid =
            || Refusal::invalid(json!({ "resource": "PullRequest", "field": "head", "code": "invalid" }));
        let (owner, branch) = head.split_once(':').unwrap_or(("", head));
        let here = &self.repositories[&repo];
        let own = owner.is_empty() || owner.eq_ignore_ascii_case(self.login(here.owner));
        let repository = if own {
            repo
        } else {
            let fork = |other: &&super::state::Repository| {
                other.fork_of == Some(repo) && self.login(other.owner).eq_ignore_ascii_case(owner)
            };
            self.repositories.values().find(fork).map(|fork| fork.id).ok_or_else(invalid)?
        };
        let sha = self.tip(repository, branch).ok_or_else(invalid)?;
        Ok(Side { repository, branch: branch.into(), sha })
    }

    pub(crate) fn open_pull(&mut self, repo: Id, author: Id, new: NewPull) -> Result<u64, Refusal> {
        check_length(new.body.as_deref().unwrap_or_default(), "PullRequest")?;
        let head = self.head_side(repo, &new.head)?;
        let base = self.tip(repo, &new.base).ok_or_else(|| {
            Refusal::invalid(json!({ "resource": "PullRequest", "field": "base", "code": "invalid" }))
        })?;
        let base = Side { repository: repo, branch: new.base.clone(), sha: base };
        if new.draft && !self.repositories[&repo].drafts {
            return Err(Refusal::unprocessable("Draft pull requests are not supported in this repository."));
        }
        if self.open_pulls_from(head.repository, &head.branch).iter().any(|(at, number)| {
            *at == repo && self.pull(repo, *number).is_ok_and(|pull| pull.base.branch == new.base)
        }) {
            let owner = self.login(self.repositories[&head.repository].owner);
            return Err(problem(&format!("A pull request already exists for {owner}:{}.", head.branch)));
        }
        let id = self.id();
        let mut issue = self.new_issue(repo, author, &new.title, new.body);
        let number = issue.number;
        self.bring(repo, head.repository, &head.sha, &format!("refs/pull/{number}/head"))?;
        if self.difference(repo, &base.sha, &head.sha)?.commits == 0 {
            self.repo_mut(repo).next_number = number;
            return Err(problem(&format!("No commits between {} and {}", new.base, head.branch)));
        }
        let (branch, sha) = (head.branch.clone(), head.sha.clone());
        issue.pull = Some(Pull {
            id,
            head,
            base,
            draft: new.draft,
            merged: None,
            maintainer_can_modify: new.maintainer_can_modify,
            reviewers: Vec::new(),
            queued: false,
            judged: (String::new(), 0),
        });
        let body = issue.body.clone().unwrap_or_default();
        self.repo_mut(repo).issues.insert(number, issue);
        self.hook("pull_request", Some("opened"), Some(repo), author, self.pull_parts(repo, number));
        self.notify_of_text(repo, number, author, "opened", &body);
        let login = self.login(author).to_owned();
        let opened =
            What::PullOpened { number, login, title: new.title, branch: branch.clone(), draft: new.draft };
        self.happened(repo, opened);
        self.start_ci(repo, "pull_request", &branch, NO_COMMIT, &sha, author);
        Ok(number)
    }

    /// A pull request that is opened again looks at its branch anew.
    pub(crate) fn follow_head(&mut self, repo: Id, number: u64) -> Result<(), Refusal> {
        let Ok(pull) = self.pull(repo, number) else { return Ok(()) };
        let head = pull.head.clone();
        let missing =
            || problem(&format!("state cannot be changed. The {} branch has been deleted.", head.branch));
        let sha = self.tip(head.repository, &head.branch).ok_or_else(missing);
        let sha = match sha {
            Ok(sha) => sha,
            Err(refusal) => {
                let issue = self.issue_mut(repo, number)?;
                issue.open = false;
                issue.closed = Some(Utc::now());
                return Err(refusal);
            }
        };
        self.bring(repo, head.repository, &sha, &format!("refs/pull/{number}/head"))?;
        self.pull_mut(repo, number)?.head.sha = sha;
        Ok(())
    }

    pub(crate) fn set_draft(&mut self, repo: Id, number: u64, by: Id, draft: bool) -> Result<(), Refusal> {
        if draft && !self.repositories[&repo].drafts {
            return Err(Refusal::unprocessable("Draft pull requests are not supported in this repository."));
        }
        let pull = self.pull_mut(repo, number)?;
        if pull.draft == draft {
            return Ok(());
        }
        pull.draft = draft;
        let action = if draft { "converted_to_draft" } else { "ready_for_review" };
        self.hook("pull_request", Some(action), Some(repo), by, self.pull_parts(repo, number));
        let login = self.login(by).to_owned();
        let what = if draft {
            What::ConvertedToDraft { number, login }
        } else {
            What::ReadyForReview { number, login }
        };
        self.happened(repo, what);
        Ok(())
    }

    pub(crate) fn request_review(&mut self, repo: Id, number: u64, by: Id, whom: Id) -> Result<(), Refusal> {
        let author = self.issue(repo, number)?.author;
        if author == whom {
            return Err(Refusal::unprocessable("Review cannot be requested from pull request author."));
        }
        if self.permission(&self.repositories[&repo], whom) == super::Permission::None
            || !self.repositories[&repo].members.contains_key(&whom) && self.repositories[&repo].owner != whom
        {
            return Err(Refusal::unprocessable(
                "Reviews may only be requested from collaborators. One or more of the users or teams you specified is not a collaborator of the repository.",
            ));
        }
        let pull = self.pull_mut(repo, number)?;
        if pull.reviewers.contains(&whom) {
            return Ok(());
        }
        pull.reviewers.push(whom);
        let mut parts = self.pull_parts(repo, number);
        parts["requested_reviewer"] = self.show_user(whom);
        self.hook("pull_request", Some("review_requested"), Some(repo), by, parts);
        self.notify_one(repo, number, by, whom, "review_requested", "review_requested");
        let (login, reviewer) = (self.login(by).to_owned(), self.login(whom).to_owned());
        self.happened(repo, What::ReviewRequested { number, login, reviewer });
        Ok(())
    }

    pub(crate) fn merge(&mut self, repo: Id, number: u64, by: Id) -> Result<String, Refusal> {
        let not_allowed = |why: &str| Refusal::new(http::StatusCode::METHOD_NOT_ALLOWED, why);
        let pull = self.pull(repo, number)?.clone();
        if !self.issue(repo, number)?.open || pull.draft {
            return Err(not_allowed("Pull Request is not mergeable"));
        }
        let Some(Merge::Clean(tree)) = self.try_merge(repo, &pull) else {
            return Err(not_allowed("Pull Request has merge conflicts"));
        };
        let git = self.open_git(repo)?;
        let before = references(&git);
        let who = signature(self.login(by), &self.email(by))?;
        let name = format!("refs/heads/{}", pull.base.branch);
        let base = git.find_commit(git.refname_to_id(&name)?)?;
        let head = git.find_commit(git2::Oid::from_str(&pull.head.sha)?)?;
        let message = format!("Merge pull request #{number} from {}", pull.head.branch);
        let sha = git
            .commit(Some(&name), &who, &who, &message, &git.find_tree(tree)?, &[&base, &head])?
            .to_string();
        let was_queued = std::mem::take(&mut self.pull_mut(repo, number)?.queued);
        if was_queued {
            self.tell_of_queue(repo, number, by, Some(("MERGE", "merged")))?;
        }
        self.pull_mut(repo, number)?.merged = Some(Merged { at: Utc::now(), by, sha: sha.clone() });
        self.set_open(repo, number, by, false)?;
        let login = self.login(by).to_owned();
        self.happened(repo, What::Merged { number, login, sha: sha.clone() });
        self.pushed(repo, Pusher { actor: by, app: 0 }, &before)?;
        self.close_what_it_fixes(repo, number, by)?;
        Ok(sha)
    }

    /// Puts a pull request into the merge queue or takes it out; the queue's own commit is merged in memory.
    pub(crate) fn queue(&mut self, repo: Id, number: u64, by: Id, queued: bool) -> Result<(), Refusal> {
        let pull = self.pull_mut(repo, number)?;
        if std::mem::replace(&mut pull.queued, queued) == queued {
            return Ok(());
        }
        self.tell_of_queue(repo, number, by, (!queued).then_some(("MANUAL", "dequeued")))
    }

    /// `left`: why it leaves the queue, for the pull request and for the group that it was tested in.
    fn tell_of_queue(
        &self,
        repo: Id,
        number: u64,
        by: Id,
        left: Option<(&str, &str)>,
    ) -> Result<(), Refusal> {
        let mut parts = self.pull_parts(repo, number);
        if let Some((reason, _)) = left {
            parts["reason"] = reason.into();
        }
        let action = if left.is_some() { "dequeued" } else { "enqueued" };
        self.hook("pull_request", Some(action), Some(repo), by, parts);
        let pull = self.pull(repo, number)?;
        let (base, sha) = (&pull.base.branch, &pull.head.sha);
        let group = json!({
            "head_sha": sha,
            "head_ref": format!("refs/heads/gh-readonly-queue/{base}/pr-{number}-{sha}"),
            "base_sha": pull.base.sha,
            "base_ref": format!("refs/heads/{base}"),
            "head_commit": self.show_simple_commit(repo, sha),
        });
        let mut parts = json!({ "merge_group": group });
        if let Some((_, reason)) = left {
            parts["reason"] = reason.into();
        }
        let action = if left.is_some() { "destroyed" } else { "checks_requested" };
        self.hook("merge_group", Some(action), Some(repo), by, parts);
        Ok(())
    }

    /// The pull request is to go to another branch.
    pub(crate) fn retarget(&mut self, repo: Id, number: u64, by: Id, base: &str) -> Result<(), Refusal> {
        let sha = self
            .tip(repo, base)
            .ok_or_else(|| problem(&format!("Proposed base branch '{base}' was not found")))?;
        let pull = self.pull_mut(repo, number)?;
        if pull.base.branch == base {
            return Ok(());
        }
        let before = std::mem::replace(&mut pull.base.branch, base.into());
        let old = std::mem::replace(&mut pull.base.sha, sha);
        self.issue_mut(repo, number)?.updated = Utc::now();
        let mut parts = self.pull_parts(repo, number);
        parts["changes"] = json!({ "base": { "ref": { "from": before }, "sha": { "from": old } } });
        self.hook("pull_request", Some("edited"), Some(repo), by, parts);
        let login = self.login(by).to_owned();
        self.happened(repo, What::Edited { number, login });
        Ok(())
    }

    /// Whether GitHub knows by now if it merges; being asked makes it find out.
    pub(crate) fn judge(&mut self, repo: Id, number: u64) {
        let Ok(pull) = self.pull(repo, number) else { return };
        let now = format!("{} {}", pull.head.sha, self.tip(repo, &pull.base.branch).unwrap_or_default());
        if let Ok(pull) = self.pull_mut(repo, number) {
            let asked = if pull.judged.0 == now { pull.judged.1.saturating_add(1) } else { 1 };
            pull.judged = (now, asked);
        }
    }

    /// See [`World::judge`].
    pub(crate) fn is_judged(&self, pull: &Pull) -> bool {
        let base = self.tip(pull.base.repository, &pull.base.branch).unwrap_or_default();
        self.merge_lag == 0
            || pull.judged.0 == format!("{} {base}", pull.head.sha) && pull.judged.1 > self.merge_lag
    }

    fn close_what_it_fixes(&mut self, repo: Id, number: u64, by: Id) -> Result<(), Refusal> {
        let issue = self.issue(repo, number)?;
        let into_default = issue
            .pull
            .as_ref()
            .is_some_and(|pull| pull.base.branch == self.repositories[&repo].default_branch);
        let body = issue.body.clone().unwrap_or_default();
        for fixed in fixes(&body) {
            if into_default && self.issue(repo, fixed).is_ok_and(|issue| issue.pull.is_none()) {
                self.set_open(repo, fixed, by, false)?;
            }
        }
        Ok(())
    }
}

/// The issues that a body closes: `Fixes #7`, `Closes #7`, `Resolves #7`.
fn fixes(body: &str) -> Vec<u64> {
    let words: Vec<String> = body.split_whitespace().map(str::to_lowercase).collect();
    let keyword = |word: &str| ["fix", "close", "resolve"].iter().any(|stem| word.starts_with(stem));
    let pairs = words.windows(2).filter(|pair| keyword(&pair[0]));
    pairs.filter_map(|pair| pair[1].strip_prefix('#')?.trim_end_matches(['.', ',']).parse().ok()).collect()
}
