//! What is said: the status comment, messages, answers to reviews and reviews of our own.

use super::{Done, Undone, done};
use crate::{
    domain::{
        Number, Sha, say,
        session::{LineComment, Message, Spot},
    },
    github::{self, GitHubError, Repository},
    work::{drive::Driver, show},
};
use serde_json::json;

impl Driver {
    pub(super) async fn post_status(&mut self, repository: &Repository) -> Result<Done, Undone> {
        let body = self.status_body().await?;
        let thread = self.state.facts.thread.number;
        let marker = show::marker(&self.lease, "status");
        let (id, url, there) = repository.comment_found(thread, &marker, &body).await?;
        // One that was found says what held when it was written; then it is edited next.
        let written = if stands(&there, &body) { &body } else { &there };
        self.remember("status", &id.to_string(), written).await?;
        self.remember("status-url", &url, "").await?;
        done(json!({ "comment": id }))
    }

    /// Never of the App itself, and never of the author, whom GitHub refuses.
    pub(super) async fn request_review(
        &mut self,
        repository: &Repository,
        login: &str,
    ) -> Result<Done, Undone> {
        let Some(pull) = self.state.facts.pull.clone() else { return done(json!(null)) };
        // Review is asked of a ready pull request: asking on a draft would tell people too early.
        self.show_draft(repository, &self.known().await?).await?;
        match repository.request_review(pull.number, login).await {
            // Somebody who is not a collaborator any more cannot review; the pull request is ready all the same.
            Err(GitHubError::Invalid(why)) => done(json!({ "not asked": why })),
            other => {
                other?;
                done(json!(null))
            }
        }
    }

    pub(super) async fn say(
        &mut self,
        repository: &Repository,
        message: &Message,
        to: &str,
        (request_no, at): (u32, Option<Spot>),
    ) -> Result<Done, Undone> {
        let kind = match message {
            Message::Answer => "answer".to_owned(),
            Message::Question => "question".to_owned(),
            Message::Status => "stands".to_owned(),
            Message::CannotFollow { .. } => "cannot-follow".to_owned(),
        };
        let which = at.map_or_else(|| request_no.to_string(), |at| format!("c{}", at.comment));
        let marker = show::marker(&self.lease, &format!("{kind}-{which}"));
        let shown = self.parts.store.shown(self.lease.session).await?;
        let url =
            shown.iter().find(|s| s.thing == "status-url").map(|s| s.remote.clone()).unwrap_or_default();
        let patch = self.parts.store.patch(self.lease.session).await?;
        let app = self.parts.app().await?;
        let short = self.short();
        let context = show::context(&self.parts, app, &self.state, &short, patch.as_deref());
        let context = say::Context { before: self.before().await?, ..context };
        let text = say::message(message, &self.state, to, &url, &context);
        let body = format!("{text}\n\n{marker}");
        let thread = at.map_or(self.state.facts.thread.number, |at| at.thread);
        let (id, _, there) = repository.comment_found(thread, &marker, &body).await?;
        // The same kind again in one request edits the first: nobody is told twice.
        if !stands(&there, &body) {
            repository.edit_comment(id, &body).await?;
        }
        done(json!({ "comment": id }))
    }

    /// An answer in a thread of a review: the commit that came of it, and what the agent says. Whether it is resolved is the
    /// reviewer's to say.
    pub(super) async fn reply(
        &mut self,
        repository: &Repository,
        pull: Number,
        to: u64,
        (commit, words): (Option<&Sha>, Option<&str>),
    ) -> Result<Done, Undone> {
        let marker = show::marker(&self.lease, &format!("reply-{to}"));
        let body = format!("{}\n\n{marker}", say::reply(commit, words));
        let id = repository.reply_once(pull, to, &marker, &body).await?;
        done(json!({ "comment": id }))
    }

    /// A review with comments on lines. What GitHub has no place for, because the lines are not part of the difference,
    /// stands in the review's own text.
    pub(super) async fn review(
        &mut self,
        repository: &Repository,
        pull: Number,
        head: &Sha,
        (summary, comments): (&str, &[LineComment]),
        request_no: u32,
    ) -> Result<Done, Undone> {
        let marker = show::marker(&self.lease, &format!("review-{request_no}"));
        let (lines, rest): (Vec<_>, Vec<_>) = {
            let line = |comment: &LineComment| github::LineComment {
                path: comment.path.clone(),
                line: comment.line,
                start_line: comment.start_line,
                side: github::Side::Right,
                body: say::line_comment(comment),
            };
            github::placeable(&repository.files(pull).await?, comments.iter().map(line).collect())
        };
        let rest: Vec<(String, String)> =
            rest.into_iter().map(|c| (format!("{}:{}", c.path, c.line), c.body)).collect();
        let app = self.parts.app().await?;
        let short = self.short();
        let context = show::context(&self.parts, app, &self.state, &short, None);
        let body = format!("{}\n\n{marker}", say::review(&self.state, summary, lines.len(), &rest, &context));
        let id = repository.review_once(pull, head, &marker, &body, &lines).await?;
        done(json!({ "review": id }))
    }
}

/// Does a comment say this already? GitHub takes blank ends away.
fn stands(there: &str, body: &str) -> bool {
    there.trim_end() == body.trim_end()
}
