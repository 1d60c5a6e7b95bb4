//! Pull requests, reviews and review comments.

use super::{node_id, roll_up};
use crate::emulator::git::store::Merge;
use crate::emulator::state::{Id, Issue, Pull, Review, ReviewComment, Side, World, stamp};
use serde_json::{Value, json};

impl World {
    fn show_side(&self, side: &Side) -> Value {
        let repo = &self.repositories[&side.repository];
        json!({
            "label": format!("{}:{}", self.login(repo.owner), side.branch),
            "ref": side.branch,
            "sha": side.sha,
            "user": self.show_user(repo.owner),
            "repo": if repo.gone { Value::Null } else { self.show_side_repository(side.repository) },
        })
    }

    /// Inside a pull request a repository also has its merge settings.
    fn show_side_repository(&self, id: Id) -> Value {
        let mut shown = self.show_repository(id);
        for name in ["allow_merge_commit", "allow_squash_merge", "allow_rebase_merge"] {
            shown[name] = true.into();
        }
        for name in [
            "allow_auto_merge",
            "allow_update_branch",
            "delete_branch_on_merge",
            "use_squash_pr_title_as_default",
        ] {
            shown[name] = false.into();
        }
        shown["merge_commit_message"] = "PR_TITLE".into();
        shown["merge_commit_title"] = "MERGE_MESSAGE".into();
        shown["squash_merge_commit_message"] = "COMMIT_MESSAGES".into();
        shown["squash_merge_commit_title"] = "COMMIT_OR_PR_TITLE".into();
        shown
    }

    pub(crate) fn show_pull(&self, repo: Id, number: u64) -> Value {
        let Some(issue) = self.repositories[&repo].issues.get(&number) else { return Value::Null };
        let Some(pull) = &issue.pull else { return Value::Null };
        let api = self.api_of(repo);
        let html = format!("{}/pull/{number}", self.web_of(repo));
        let labels: Vec<Value> = issue.labels.iter().map(|name| self.show_label(repo, name)).collect();
        let sha = pull.merged.as_ref().map(|merged| merged.sha.clone());
        json!({
            "url": format!("{api}/pulls/{number}"),
            "id": pull.id,
            "node_id": node_id("PR", pull.id),
            "html_url": html,
            "diff_url": format!("{html}.diff"),
            "patch_url": format!("{html}.patch"),
            "issue_url": format!("{api}/issues/{number}"),
            "number": number,
            "state": if issue.open { "open" } else { "closed" },
            "locked": issue.locked,
            "title": issue.title,
            "user": self.show_user(issue.author),
            "body": issue.body,
            "created_at": stamp(issue.created),
            "updated_at": stamp(issue.updated),
            "closed_at": issue.closed.map(stamp),
            "merged_at": pull.merged.as_ref().map(|merged| stamp(merged.at)),
            "merge_commit_sha": sha,
            "assignee": issue.assignees.first().map(|id| self.show_user(*id)),
            "assignees": self.show_users(&issue.assignees),
            "requested_reviewers": self.show_users(&pull.reviewers),
            "requested_teams": [],
            "labels": labels,
            "milestone": null,
            "draft": pull.draft,
            "commits_url": format!("{api}/pulls/{number}/commits"),
            "review_comments_url": format!("{api}/pulls/{number}/comments"),
            "review_comment_url": format!("{api}/pulls/comments{{/number}}"),
            "comments_url": format!("{api}/issues/{number}/comments"),
            "statuses_url": format!("{api}/statuses/{}", pull.head.sha),
            "head": self.show_side(&pull.head),
            "base": self.show_side(&pull.base),
            "_links": links(&api, &html, number, &pull.head.sha),
            "author_association": self.association_of_author(&self.repositories[&repo], issue.author),
            "auto_merge": null,
            "active_lock_reason": null,
        })
    }

    /// The pull request as `GET` shows it, and webhooks do: with what GitHub computed about merging it.
    pub(crate) fn show_full_pull(&self, repo: Id, number: u64) -> Value {
        let mut shown = self.show_pull(repo, number);
        let here = &self.repositories[&repo];
        let Some((issue, pull)) =
            here.issues.get(&number).and_then(|issue| Some((issue, issue.pull.as_ref()?)))
        else {
            return shown;
        };
        let size = self.difference(repo, &pull.base.sha, &pull.head.sha).unwrap_or_default();
        let merge = if issue.open && self.is_judged(pull) { self.try_merge(repo, pull) } else { None };
        shown["merged"] = pull.merged.is_some().into();
        shown["merged_by"] = pull.merged.as_ref().map_or(Value::Null, |merged| self.show_user(merged.by));
        shown["mergeable"] =
            merge.as_ref().map_or(Value::Null, |merge| matches!(merge, Merge::Clean(_)).into());
        shown["rebaseable"] = shown["mergeable"].clone();
        shown["mergeable_state"] = self.mergeable_state(repo, issue, pull, merge.as_ref()).into();
        shown["comments"] = here.comments.values().filter(|comment| comment.issue == number).count().into();
        shown["review_comments"] =
            here.review_comments.values().filter(|comment| comment.pull == number).count().into();
        shown["maintainer_can_modify"] = pull.maintainer_can_modify.into();
        shown["commits"] = size.commits.into();
        shown["additions"] = size.files.iter().map(|file| file.additions).sum::<usize>().into();
        shown["deletions"] = size.files.iter().map(|file| file.deletions).sum::<usize>().into();
        shown["changed_files"] = size.files.len().into();
        shown
    }

    fn mergeable_state(&self, repo: Id, issue: &Issue, pull: &Pull, merge: Option<&Merge>) -> &'static str {
        match merge {
            _ if !issue.open => "unknown",
            None => "unknown",
            Some(Merge::Conflict) => "dirty",
            Some(_) if pull.draft => "draft",
            Some(_) if self.checks_are_green(repo, &pull.head.sha) => "clean",
            Some(_) => "unstable",
        }
    }

    pub(crate) fn show_pull_minimal(&self, repo: Id, number: u64) -> Value {
        let Some(pull) = self.repositories[&repo].issues.get(&number).and_then(|issue| issue.pull.as_ref())
        else {
            return Value::Null;
        };
        let side = |side: &Side| {
            let name = &self.repositories[&side.repository].name;
            let repo = json!({ "id": side.repository, "url": self.api_of(side.repository), "name": name });
            json!({ "ref": side.branch, "sha": side.sha, "repo": repo })
        };
        json!({
            "url": format!("{}/pulls/{number}", self.api_of(repo)),
            "id": pull.id,
            "number": number,
            "head": side(&pull.head),
            "base": side(&pull.base),
        })
    }

    /// The open pull requests of a head commit, as checks list them: those from forks are left out.
    pub(crate) fn show_pulls_of(&self, repo: Id, sha: &str) -> Vec<Value> {
        let issues = self.repositories[&repo].issues.values();
        issues
            .filter(|issue| issue.open)
            .filter(|issue| {
                issue.pull.as_ref().is_some_and(|pull| pull.head.sha == sha && pull.head.repository == repo)
            })
            .map(|issue| self.show_pull_minimal(repo, issue.number))
            .collect()
    }

    pub(crate) fn show_review(&self, repo: Id, review: &Review) -> Value {
        let pull = format!("{}/pulls/{}", self.api_of(repo), review.pull);
        let html = format!("{}/pull/{}#pullrequestreview-{}", self.web_of(repo), review.pull, review.id);
        json!({
            "id": review.id,
            "node_id": node_id("PRR", review.id),
            "user": self.show_user(review.author),
            "body": review.body,
            "state": review.state,
            "html_url": html,
            "pull_request_url": pull,
            "_links": { "html": { "href": html }, "pull_request": { "href": pull } },
            "submitted_at": stamp(review.submitted),
            "commit_id": review.commit,
            "author_association": self.association(&self.repositories[&repo], review.author),
        })
    }

    pub(crate) fn show_review_comment(&self, repo: Id, comment: &ReviewComment) -> Value {
        let pulls = format!("{}/pulls", self.api_of(repo));
        let url = format!("{pulls}/comments/{}", comment.id);
        let pull = format!("{pulls}/{}", comment.pull);
        let html = format!("{}/pull/{}#discussion_r{}", self.web_of(repo), comment.pull, comment.id);
        let head = self.pull(repo, comment.pull).map(|pull| pull.head.sha.clone()).unwrap_or_default();
        let line = Some(comment.line).filter(|_| self.still_stands(repo, comment, &head));
        let side = if comment.left { "LEFT" } else { "RIGHT" };
        let mut shown = json!({
            "url": url,
            "pull_request_review_id": comment.review,
            "id": comment.id,
            "node_id": node_id("PRRC", comment.id),
            "diff_hunk": comment.hunk,
            "path": comment.path,
            "position": line.map(|_| comment.position),
            "original_position": comment.position,
            "commit_id": if line.is_some() { &head } else { &comment.commit },
            "original_commit_id": comment.commit,
            "user": self.show_user(comment.author),
            "body": comment.body,
            "created_at": stamp(comment.created),
            "updated_at": stamp(comment.updated),
            "html_url": html,
            "pull_request_url": pull,
            "author_association": self.association(&self.repositories[&repo], comment.author),
            "_links": { "self": { "href": url }, "html": { "href": html }, "pull_request": { "href": pull } },
            "start_line": line.and(comment.start_line),
            "original_start_line": comment.start_line,
            "start_side": comment.start_line.map(|_| side),
            "line": line,
            "original_line": comment.line,
            "side": side,
            "subject_type": "line",
            "reactions": roll_up(&comment.reactions, &url),
        });
        if let Some(first) = comment.in_reply_to {
            shown["in_reply_to_id"] = first.into();
        }
        shown
    }
}

fn links(api: &str, html: &str, number: u64, sha: &str) -> Value {
    json!({
        "self": { "href": format!("{api}/pulls/{number}") },
        "html": { "href": html },
        "issue": { "href": format!("{api}/issues/{number}") },
        "comments": { "href": format!("{api}/issues/{number}/comments") },
        "review_comments": { "href": format!("{api}/pulls/{number}/comments") },
        "review_comment": { "href": format!("{api}/pulls/comments{{/number}}") },
        "commits": { "href": format!("{api}/pulls/{number}/commits") },
        "statuses": { "href": format!("{api}/statuses/{sha}") },
    })
}
