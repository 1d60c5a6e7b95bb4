//! Issues and their comments.

use super::{node_id, roll_up};
use crate::emulator::state::{Comment, Id, Issue, World, stamp};
use serde_json::{Value, json};

impl World {
    pub(crate) fn show_issue(&self, repo: Id, number: u64) -> Value {
        let Some(issue) = self.repositories[&repo].issues.get(&number) else { return Value::Null };
        let url = format!("{}/issues/{number}", self.api_of(repo));
        let kind = if issue.pull.is_some() { "pull" } else { "issues" };
        let comments = self.repositories[&repo].comments.values().filter(|comment| comment.issue == number);
        let labels: Vec<Value> = issue.labels.iter().map(|name| self.show_label(repo, name)).collect();
        let mut shown = json!({
            "url": url,
            "repository_url": self.api_of(repo),
            "labels_url": format!("{url}/labels{{/name}}"),
            "comments_url": format!("{url}/comments"),
            "events_url": format!("{url}/events"),
            "html_url": format!("{}/{kind}/{number}", self.web_of(repo)),
            "id": issue.id,
            "node_id": node_id("I", issue.id),
            "number": number,
            "title": issue.title,
            "user": self.show_user(issue.author),
            "labels": labels,
            "state": if issue.open { "open" } else { "closed" },
            "state_reason": if issue.open { Value::Null } else { "completed".into() },
            "locked": issue.locked,
            "assignee": issue.assignees.first().map(|id| self.show_user(*id)),
            "assignees": self.show_users(&issue.assignees),
            "milestone": null,
            "comments": comments.count(),
            "created_at": stamp(issue.created),
            "updated_at": stamp(issue.updated),
            "closed_at": issue.closed.map(stamp),
            "author_association": self.association(&self.repositories[&repo], issue.author),
            "active_lock_reason": null,
            "body": issue.body,
            "reactions": roll_up(&issue.reactions, &url),
            "timeline_url": format!("{url}/timeline"),
            "performed_via_github_app": self.show_via(issue.via_app),
        });
        self.add_pull_part(repo, issue, &mut shown);
        shown
    }

    fn add_pull_part(&self, repo: Id, issue: &Issue, shown: &mut Value) {
        let Some(pull) = &issue.pull else { return };
        let html = format!("{}/pull/{}", self.web_of(repo), issue.number);
        shown["draft"] = pull.draft.into();
        shown["pull_request"] = json!({
            "url": format!("{}/pulls/{}", self.api_of(repo), issue.number),
            "html_url": html,
            "diff_url": format!("{html}.diff"),
            "patch_url": format!("{html}.patch"),
            "merged_at": pull.merged.as_ref().map(|merged| stamp(merged.at)),
        });
    }

    /// The issue as `GET` shows it: with the one who closed it.
    pub(crate) fn show_full_issue(&self, repo: Id, number: u64) -> Value {
        let mut shown = self.show_issue(repo, number);
        let closed_by = self.repositories[&repo].issues.get(&number).and_then(|issue| issue.closed_by);
        shown["closed_by"] = closed_by.map_or(Value::Null, |id| self.show_user(id));
        shown
    }

    pub(crate) fn show_comment(&self, repo: Id, comment: &Comment) -> Value {
        let issues = format!("{}/issues", self.api_of(repo));
        let url = format!("{issues}/comments/{}", comment.id);
        let pull =
            self.repositories[&repo].issues.get(&comment.issue).is_some_and(|issue| issue.pull.is_some());
        let kind = if pull { "pull" } else { "issues" };
        json!({
            "url": url,
            "html_url": format!("{}/{kind}/{}#issuecomment-{}", self.web_of(repo), comment.issue, comment.id),
            "issue_url": format!("{issues}/{}", comment.issue),
            "id": comment.id,
            "node_id": node_id("IC", comment.id),
            "user": self.show_user(comment.author),
            "created_at": stamp(comment.created),
            "updated_at": stamp(comment.updated),
            "author_association": self.association(&self.repositories[&repo], comment.author),
            "body": comment.body,
            "reactions": roll_up(&comment.reactions, &url),
            "performed_via_github_app": self.show_via(comment.via_app),
        })
    }
}
