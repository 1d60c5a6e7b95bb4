//! What a test looks at afterwards.

use super::state::{CheckAction, Id, Issue, World};
use super::{Emulator, Error, Faults, Model, Notification, Request};
use serde::Serialize;
use std::sync::PoisonError;

/// A pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the fields are GitHub's own words")]
pub struct PullView {
    pub number: u64,
    pub title: String,
    pub body: String,
    pub author: String,
    pub open: bool,
    pub draft: bool,
    pub merged: bool,
    pub head_branch: String,
    pub head_sha: String,
    pub base_branch: String,
    pub labels: Vec<String>,
    pub requested_reviewers: Vec<String>,
}

/// An issue or the issue side of a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the fields are GitHub's own words")]
pub struct IssueView {
    pub number: u64,
    pub title: String,
    pub body: String,
    pub author: String,
    pub open: bool,
    pub is_pull: bool,
    pub labels: Vec<String>,
    /// `login: content`, in order.
    pub reactions: Vec<String>,
}

/// A comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the fields are GitHub's own words")]
pub struct CommentView {
    pub id: u64,
    pub author: String,
    pub body: String,
    /// `login: content`, in order.
    pub reactions: Vec<String>,
    /// The classifier with which it was hidden.
    pub minimized: Option<String>,
}

/// A review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the fields are GitHub's own words")]
pub struct ReviewView {
    pub id: u64,
    pub author: String,
    pub state: String,
    pub body: String,
    pub commit: String,
}

/// A comment on a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the fields are GitHub's own words")]
pub struct LineView {
    pub id: u64,
    pub review: u64,
    pub author: String,
    pub path: String,
    pub line: u64,
    pub start_line: Option<u64>,
    /// The line is one of the old version.
    pub left: bool,
    pub body: String,
    pub in_reply_to: Option<u64>,
    pub resolved: bool,
    /// `login: content`, in order.
    pub reactions: Vec<String>,
}

/// A check run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the fields are GitHub's own words")]
pub struct CheckView {
    pub id: u64,
    pub name: String,
    pub app: u64,
    pub status: String,
    pub conclusion: Option<String>,
    pub external_id: String,
    pub details_url: Option<String>,
    pub title: String,
    pub summary: String,
    pub actions: Vec<CheckAction>,
}

/// A webhook that was sent, or not.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the fields are GitHub's own words")]
pub struct DeliveryView {
    pub id: u64,
    pub guid: String,
    pub event: String,
    pub action: Option<String>,
    /// 0: no answer.
    pub status_code: u16,
    pub redelivery: bool,
    pub payload: serde_json::Value,
}

impl Emulator {
    /// A pull request as it stands.
    pub fn pull(&self, repo: &str, number: u64) -> Result<PullView, Error> {
        self.at(repo, |world, repo| {
            let issue = world.issue(repo, number)?;
            view(world, issue).ok_or_else(super::reply::Refusal::not_found)
        })
    }

    /// All pull requests of a repository, oldest first.
    pub fn pulls(&self, repo: &str) -> Result<Vec<PullView>, Error> {
        self.at(repo, |world, repo| {
            Ok(world.repositories[&repo].issues.values().filter_map(|issue| view(world, issue)).collect())
        })
    }

    /// An issue as it stands.
    pub fn issue(&self, repo: &str, number: u64) -> Result<IssueView, Error> {
        self.at(repo, |world, repo| {
            let issue = world.issue(repo, number)?;
            Ok(IssueView {
                number,
                title: issue.title.clone(),
                body: issue.body.clone().unwrap_or_default(),
                author: world.login(issue.author).into(),
                open: issue.open,
                is_pull: issue.pull.is_some(),
                labels: issue.labels.clone(),
                reactions: reactions(world, &issue.reactions),
            })
        })
    }

    /// The comments of an issue or pull request, oldest first.
    pub fn comments(&self, repo: &str, number: u64) -> Result<Vec<CommentView>, Error> {
        self.at(repo, |world, repo| {
            let comments =
                world.repositories[&repo].comments.values().filter(|comment| comment.issue == number);
            Ok(comments
                .map(|comment| CommentView {
                    id: comment.id,
                    author: world.login(comment.author).into(),
                    body: comment.body.clone(),
                    reactions: reactions(world, &comment.reactions),
                    minimized: comment.minimized.clone(),
                })
                .collect())
        })
    }

    /// The reviews of a pull request, oldest first.
    pub fn reviews(&self, repo: &str, number: u64) -> Result<Vec<ReviewView>, Error> {
        self.at(repo, |world, repo| {
            let reviews = world.repositories[&repo].reviews.values().filter(|review| review.pull == number);
            Ok(reviews
                .map(|review| ReviewView {
                    id: review.id,
                    author: world.login(review.author).into(),
                    state: review.state.clone(),
                    body: review.body.clone(),
                    commit: review.commit.clone(),
                })
                .collect())
        })
    }

    /// The comments on lines of a pull request, oldest first.
    pub fn line_comments(&self, repo: &str, number: u64) -> Result<Vec<LineView>, Error> {
        self.at(repo, |world, repo| {
            let comments =
                world.repositories[&repo].review_comments.values().filter(|comment| comment.pull == number);
            Ok(comments
                .map(|comment| LineView {
                    id: comment.id,
                    review: comment.review,
                    author: world.login(comment.author).into(),
                    path: comment.path.clone(),
                    line: comment.line,
                    start_line: comment.start_line,
                    left: comment.left,
                    body: comment.body.clone(),
                    in_reply_to: comment.in_reply_to,
                    resolved: comment.resolved_by.is_some(),
                    reactions: reactions(world, &comment.reactions),
                })
                .collect())
        })
    }

    /// The check runs of a commit, oldest first.
    pub fn check_runs(&self, repo: &str, sha: &str) -> Result<Vec<CheckView>, Error> {
        self.at(repo, |world, repo| {
            let runs = world.repositories[&repo].check_runs.values().filter(|run| run.head_sha == sha);
            Ok(runs
                .map(|run| CheckView {
                    id: run.id,
                    name: run.name.clone(),
                    app: run.app,
                    status: run.progress.status().into(),
                    conclusion: run.progress.conclusion().map(String::from),
                    external_id: run.external_id.clone(),
                    details_url: run.details_url.clone(),
                    title: run.title.clone().unwrap_or_default(),
                    summary: run.summary.clone().unwrap_or_default(),
                    actions: run.actions.clone(),
                })
                .collect())
        })
    }

    /// The logs of all jobs, oldest first, each under its job's name.
    pub fn job_logs(&self, repo: &str) -> Result<Vec<(String, String)>, Error> {
        self.at(repo, |world, repo| {
            let jobs = world.repositories[&repo].jobs.values();
            Ok(jobs.filter_map(|job| Some((job.name.clone(), job.log.clone()?))).collect())
        })
    }

    /// The commit of a branch.
    pub fn branch(&self, repo: &str, branch: &str) -> Result<Option<String>, Error> {
        self.at(repo, |world, repo| Ok(world.tip(repo, branch)))
    }

    /// The branches of a repository.
    pub fn branches(&self, repo: &str) -> Result<Vec<String>, Error> {
        self.at(repo, |world, repo| {
            let all = super::git::push::references(&world.open_git(repo)?);
            Ok(all.keys().filter_map(|name| name.strip_prefix("refs/heads/")).map(String::from).collect())
        })
    }

    /// A file at a branch or commit.
    pub fn file(&self, repo: &str, reference: &str, path: &str) -> Result<Option<Vec<u8>>, Error> {
        self.at(repo, |world, repo| {
            let sha = world.resolve(repo, reference)?;
            Ok(super::git::store::file_at(&world.repositories[&repo].git, &sha, path))
        })
    }

    /// Where the bare repository lies, for looking at it with git.
    pub fn git_directory(&self, repo: &str) -> Result<std::path::PathBuf, Error> {
        self.at(repo, |world, repo| Ok(world.repositories[&repo].git.clone()))
    }

    /// All notifications so far, oldest first.
    pub fn notifications(&self) -> Vec<Notification> {
        self.hub.with(|world| world.notifications.clone())
    }

    /// All requests so far, in order of arrival; those under `/_emulator/` are not among them.
    pub fn requests(&self) -> Vec<Request> {
        self.hub.journal.requests()
    }

    /// Signed addresses that were asked for with an `Authorization` header: each one is a leak.
    pub fn leaked_authorizations(&self) -> Vec<String> {
        self.hub.leaked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The webhooks so far, oldest first.
    pub fn deliveries(&self) -> Vec<DeliveryView> {
        self.hub.with(|world| {
            let view = |delivery: &super::state::Delivery| DeliveryView {
                id: delivery.id,
                guid: delivery.guid.clone(),
                event: delivery.event.clone(),
                action: delivery.action.clone(),
                status_code: delivery.status_code,
                redelivery: delivery.redelivery,
                payload: delivery.payload.clone(),
            };
            world.deliveries.iter().map(view).collect()
        })
    }

    /// Somebody presses "Redeliver" for each webhook that was never taken; gives how many there were.
    pub fn redeliver_failed(&self) -> usize {
        self.hub.with(|world| {
            let taken = |guid: &str| {
                world
                    .deliveries
                    .iter()
                    .any(|other| other.guid == guid && matches!(other.status_code, 200..=299))
            };
            let mut failed = Vec::new();
            for delivery in world.deliveries.iter().filter(|delivery| !taken(&delivery.guid)) {
                if !failed.iter().any(|known: &&super::state::Delivery| known.guid == delivery.guid) {
                    failed.push(delivery);
                }
            }
            failed.iter().for_each(|delivery| world.send_again(delivery));
            failed.len()
        })
    }

    /// The scripted model.
    pub fn model(&self) -> &Model {
        &self.hub.model
    }

    /// The faults in force.
    pub fn faults(&self) -> &Faults {
        &self.hub.faults
    }
}

fn view(world: &World, issue: &Issue) -> Option<PullView> {
    let pull = issue.pull.as_ref()?;
    let logins = |ids: &[Id]| ids.iter().map(|id| world.login(*id).to_owned()).collect();
    Some(PullView {
        number: issue.number,
        title: issue.title.clone(),
        body: issue.body.clone().unwrap_or_default(),
        author: world.login(issue.author).into(),
        open: issue.open,
        draft: pull.draft,
        merged: pull.merged.is_some(),
        head_branch: pull.head.branch.clone(),
        head_sha: pull.head.sha.clone(),
        base_branch: pull.base.branch.clone(),
        labels: issue.labels.clone(),
        requested_reviewers: logins(&pull.reviewers),
    })
}

fn reactions(world: &World, reactions: &[super::state::Reaction]) -> Vec<String> {
    reactions.iter().map(|reaction| format!("{}: {}", world.login(reaction.user), reaction.content)).collect()
}
