//! What can be done to issues and comments, by whom ever: the API and people's doings both come through here.

use super::events::What;
use super::reply::Refusal;
use super::state::{Comment, Id, Issue, Label, Reaction, Time, World};
use chrono::Utc;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// GitHub's cap on the text of an issue, pull request or comment, in characters.
const LONGEST_BODY: usize = 65_536;

/// Where a reaction sits.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reacted {
    Issue(u64),
    Comment(Id),
    ReviewComment(Id),
}

pub(crate) fn check_length(body: &str, resource: &str) -> Result<(), Refusal> {
    if body.chars().count() <= LONGEST_BODY {
        return Ok(());
    }
    let message = format!("Body is too long (maximum is {LONGEST_BODY} characters)");
    Err(Refusal::invalid(json!({
        "resource": resource, "code": "unprocessable", "field": "data", "message": message,
    })))
}

impl World {
    pub(crate) fn issue(&self, repo: Id, number: u64) -> Result<&Issue, Refusal> {
        self.repositories[&repo].issues.get(&number).ok_or_else(Refusal::not_found)
    }

    pub(crate) fn issue_mut(&mut self, repo: Id, number: u64) -> Result<&mut Issue, Refusal> {
        self.repo_mut(repo).issues.get_mut(&number).ok_or_else(Refusal::not_found)
    }

    /// The fields of a webhook about an issue.
    pub(crate) fn issue_parts(&self, repo: Id, number: u64) -> Value {
        json!({ "issue": self.show_issue(repo, number) })
    }

    pub(crate) fn new_issue(&mut self, repo: Id, author: Id, title: &str, body: Option<String>) -> Issue {
        let (id, now, lag) = (self.id(), Utc::now(), self.list_lag);
        let here = self.repo_mut(repo);
        let number = here.next_number;
        here.next_number += 1;
        Issue {
            id,
            number,
            title: title.into(),
            body,
            author,
            via_app: self.is_app_bot(author),
            open: true,
            locked: false,
            labels: Vec::new(),
            assignees: Vec::new(),
            created: now,
            updated: now,
            closed: None,
            closed_by: None,
            reactions: Vec::new(),
            subscribers: BTreeSet::from([author]),
            lag,
            pull: None,
        }
    }

    pub(crate) fn is_app_bot(&self, user: Id) -> bool {
        user == self.app.bot
    }

    pub(crate) fn open_issue(
        &mut self,
        repo: Id,
        author: Id,
        title: &str,
        body: Option<String>,
        labels: &[String],
    ) -> Result<u64, Refusal> {
        check_length(body.as_deref().unwrap_or_default(), "Issue")?;
        labels.iter().for_each(|name| self.ensure_label(repo, name));
        let mut issue = self.new_issue(repo, author, title, body);
        let number = issue.number;
        issue.labels = labels.to_vec();
        let body = issue.body.clone().unwrap_or_default();
        self.repo_mut(repo).issues.insert(number, issue);
        self.hook("issues", Some("opened"), Some(repo), author, self.issue_parts(repo, number));
        for name in labels {
            let mut parts = self.issue_parts(repo, number);
            parts["label"] = self.show_label(repo, name);
            self.hook("issues", Some("labeled"), Some(repo), author, parts);
        }
        self.notify_of_text(repo, number, author, "opened", &body);
        let login = self.login(author).to_owned();
        self.happened(repo, What::IssueOpened { number, login, title: title.into(), body });
        Ok(number)
    }

    pub(crate) fn comment(&mut self, repo: Id, number: u64, author: Id, body: &str) -> Result<Id, Refusal> {
        check_length(body, "IssueComment")?;
        if self.issue(repo, number)?.locked
            && self.permission(&self.repositories[&repo], author) < super::Permission::Write
        {
            return Err(Refusal::new(
                http::StatusCode::FORBIDDEN,
                "Unable to create comment because issue is locked.",
            ));
        }
        let (id, now, lag) = (self.id(), Utc::now(), self.list_lag);
        let comment = Comment {
            id,
            issue: number,
            author,
            via_app: self.is_app_bot(author),
            body: body.into(),
            created: now,
            updated: now,
            reactions: Vec::new(),
            minimized: None,
            lag,
        };
        self.repo_mut(repo).comments.insert(id, comment);
        self.issue_mut(repo, number)?.updated = now;
        self.hook("issue_comment", Some("created"), Some(repo), author, self.comment_parts(repo, id));
        self.notify_of_text(repo, number, author, "comment", body);
        let login = self.login(author).to_owned();
        self.happened(repo, What::Commented { number, id, login, body: body.into() });
        Ok(id)
    }

    fn comment_parts(&self, repo: Id, id: Id) -> Value {
        let Some(comment) = self.repositories[&repo].comments.get(&id) else { return json!({}) };
        json!({ "issue": self.show_issue(repo, comment.issue), "comment": self.show_comment(repo, comment) })
    }

    pub(crate) fn edit_comment(&mut self, repo: Id, id: Id, editor: Id, body: &str) -> Result<(), Refusal> {
        check_length(body, "IssueComment")?;
        let comment = self.repo_mut(repo).comments.get_mut(&id).ok_or_else(Refusal::not_found)?;
        let before = std::mem::replace(&mut comment.body, body.into());
        comment.updated = Utc::now();
        let number = comment.issue;
        let mut parts = self.comment_parts(repo, id);
        parts["changes"] = json!({ "body": { "from": before } });
        self.hook("issue_comment", Some("edited"), Some(repo), editor, parts);
        let login = self.login(editor).to_owned();
        self.happened(repo, What::CommentEdited { number, id, login, body: body.into() });
        Ok(())
    }

    pub(crate) fn delete_comment(&mut self, repo: Id, id: Id, by: Id) -> Result<(), Refusal> {
        let parts = self.comment_parts(repo, id);
        let comment = self.repo_mut(repo).comments.remove(&id).ok_or_else(Refusal::not_found)?;
        self.hook("issue_comment", Some("deleted"), Some(repo), by, parts);
        let login = self.login(by).to_owned();
        self.happened(repo, What::CommentDeleted { number: comment.issue, id, login });
        Ok(())
    }

    /// The reactions of a thing and the number of its thread.
    pub(crate) fn reactions_mut(
        &mut self,
        repo: Id,
        on: Reacted,
    ) -> Result<(u64, &mut Vec<Reaction>), Refusal> {
        let here = self.repo_mut(repo);
        let found = match on {
            Reacted::Issue(number) => {
                here.issues.get_mut(&number).map(|issue| (number, &mut issue.reactions))
            }
            Reacted::Comment(id) => {
                here.comments.get_mut(&id).map(|comment| (comment.issue, &mut comment.reactions))
            }
            Reacted::ReviewComment(id) => {
                here.review_comments.get_mut(&id).map(|comment| (comment.pull, &mut comment.reactions))
            }
        };
        found.ok_or_else(Refusal::not_found)
    }

    /// Adds a reaction; the same one twice stays one. Says whether it is new.
    pub(crate) fn react(
        &mut self,
        repo: Id,
        on: Reacted,
        user: Id,
        content: &str,
    ) -> Result<(Reaction, bool), Refusal> {
        if !super::render::REACTIONS.contains(&content) {
            return Err(Refusal::invalid(
                json!({ "resource": "Reaction", "code": "invalid", "field": "content" }),
            ));
        }
        let id = self.id();
        let (number, reactions) = self.reactions_mut(repo, on)?;
        if let Some(there) = reactions.iter().find(|there| there.user == user && there.content == content) {
            return Ok((there.clone(), false));
        }
        let reaction = Reaction { id, user, content: content.into(), created: Utc::now() };
        reactions.push(reaction.clone());
        let login = self.login(user).to_owned();
        self.happened(repo, What::Reacted { number, login, content: content.into() });
        Ok((reaction, true))
    }

    pub(crate) fn ensure_label(&mut self, repo: Id, name: &str) {
        let id = self.id();
        let label = Label { id, name: name.into(), color: "ededed".into(), description: None };
        self.repo_mut(repo).labels.entry(name.to_lowercase()).or_insert(label);
    }

    pub(crate) fn add_label(&mut self, repo: Id, number: u64, by: Id, name: &str) -> Result<(), Refusal> {
        self.ensure_label(repo, name);
        let issue = self.issue_mut(repo, number)?;
        if issue.labels.iter().any(|there| there.eq_ignore_ascii_case(name)) {
            return Ok(());
        }
        issue.labels.push(name.into());
        self.tell_of_label(repo, number, by, "labeled", name);
        let login = self.login(by).to_owned();
        self.happened(repo, What::Labeled { number, login, label: name.into() });
        Ok(())
    }

    pub(crate) fn remove_label(&mut self, repo: Id, number: u64, by: Id, name: &str) -> Result<(), Refusal> {
        let issue = self.issue_mut(repo, number)?;
        let before = issue.labels.len();
        issue.labels.retain(|there| !there.eq_ignore_ascii_case(name));
        if issue.labels.len() == before {
            return Err(Refusal::new(http::StatusCode::NOT_FOUND, "Label does not exist"));
        }
        self.tell_of_label(repo, number, by, "unlabeled", name);
        let login = self.login(by).to_owned();
        self.happened(repo, What::Unlabeled { number, login, label: name.into() });
        Ok(())
    }

    fn tell_of_label(&self, repo: Id, number: u64, by: Id, action: &str, name: &str) {
        let (event, mut parts) = self.thread_parts(repo, number);
        parts["label"] = self.show_label(repo, name);
        self.hook(event, Some(action), Some(repo), by, parts);
    }

    /// The webhook of a thread: `issues` or `pull_request`.
    pub(crate) fn thread_parts(&self, repo: Id, number: u64) -> (&'static str, Value) {
        let is_pull = self.issue(repo, number).is_ok_and(|issue| issue.pull.is_some());
        if is_pull {
            ("pull_request", self.pull_parts(repo, number))
        } else {
            ("issues", self.issue_parts(repo, number))
        }
    }

    pub(crate) fn set_open(&mut self, repo: Id, number: u64, by: Id, open: bool) -> Result<(), Refusal> {
        let now: Time = Utc::now();
        let issue = self.issue_mut(repo, number)?;
        if issue.open == open {
            return Ok(());
        }
        if open && issue.pull.as_ref().is_some_and(|pull| pull.merged.is_some()) {
            return Err(Refusal::invalid(
                json!({ "resource": "PullRequest", "code": "invalid", "field": "state", "message": "state cannot be changed. The pull request has been merged." }),
            ));
        }
        issue.open = open;
        issue.updated = now;
        issue.closed = (!open).then_some(now);
        issue.closed_by = (!open).then_some(by);
        let merged = issue.pull.as_ref().is_some_and(|pull| pull.merged.is_some());
        if open {
            self.follow_head(repo, number)?;
        }
        let action = if open { "reopened" } else { "closed" };
        let (event, parts) = self.thread_parts(repo, number);
        self.hook(event, Some(action), Some(repo), by, parts);
        self.notify_of_text(repo, number, by, if merged { "merged" } else { action }, "");
        let login = self.login(by).to_owned();
        match (open, merged) {
            (true, _) => self.happened(repo, What::Reopened { number, login }),
            (false, false) => self.happened(repo, What::Closed { number, login }),
            (false, true) => {}
        }
        Ok(())
    }

    /// Changes title or body.
    pub(crate) fn edit_thread(
        &mut self,
        repo: Id,
        number: u64,
        by: Id,
        title: Option<String>,
        body: Option<String>,
    ) -> Result<(), Refusal> {
        check_length(body.as_deref().unwrap_or_default(), "Issue")?;
        let issue = self.issue_mut(repo, number)?;
        let mut changes = json!({});
        if let Some(title) = title.filter(|title| *title != issue.title) {
            changes["title"] = json!({ "from": std::mem::replace(&mut issue.title, title) });
        }
        if let Some(body) = body.filter(|body| issue.body.as_ref() != Some(body)) {
            changes["body"] = json!({ "from": issue.body.replace(body).unwrap_or_default() });
        }
        if changes.as_object().is_none_or(serde_json::Map::is_empty) {
            return Ok(());
        }
        issue.updated = Utc::now();
        let (event, mut parts) = self.thread_parts(repo, number);
        parts["changes"] = changes;
        self.hook(event, Some("edited"), Some(repo), by, parts);
        let login = self.login(by).to_owned();
        self.happened(repo, What::Edited { number, login });
        Ok(())
    }
}
