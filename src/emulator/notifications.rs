//! Who would have got a notification from GitHub, and why.
//!
//! Counted are inbox notifications: one for each new comment, review, pull request, request for review,
//! mention, assignment and change of state. Edits, reactions, labels, checks and pushes notify nobody, nobody
//! hears of their own doings, bots have no inbox.

use super::state::{Id, Kind, World};
use chrono::Utc;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// One notification in one person's inbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Notification {
    /// When.
    pub at: chrono::DateTime<Utc>,
    /// Whose inbox.
    pub login: String,
    /// `owner/name`.
    pub repository: String,
    /// Issue or pull request.
    pub number: u64,
    /// GitHub's word: `subscribed`, `mention`, `review_requested`, `assign`, `state_change`.
    pub reason: String,
    /// What was done: `opened`, `comment`, `review`, `review_requested`, `assigned`, `closed`, `merged`, `reopened`.
    pub about: String,
    /// Who did it.
    pub by: String,
}

impl World {
    /// A new text in a thread: watchers, subscribers and those mentioned hear of it, each once.
    pub(crate) fn notify_of_text(&mut self, repo: Id, number: u64, by: Id, about: &str, text: &str) {
        let mentioned: Vec<Id> = mentions(text).iter().filter_map(|login| self.find_user(login)).collect();
        let reason =
            if matches!(about, "closed" | "merged" | "reopened") { "state_change" } else { "subscribed" };
        let here = self.repo_mut(repo);
        let mut told: BTreeMap<Id, &str> = here.watchers.iter().map(|id| (*id, reason)).collect();
        if let Some(issue) = here.issues.get_mut(&number) {
            told.extend(issue.subscribers.iter().map(|id| (*id, reason)));
            issue.subscribers.insert(by);
            issue.subscribers.extend(&mentioned);
        }
        told.extend(mentioned.iter().map(|id| (*id, "mention")));
        for (id, reason) in told {
            self.notify(repo, number, by, id, reason, about);
        }
    }

    /// Somebody is asked to do something: that one alone hears of it, and is subscribed from now on.
    pub(crate) fn notify_one(&mut self, repo: Id, number: u64, by: Id, whom: Id, reason: &str, about: &str) {
        if let Some(issue) = self.repo_mut(repo).issues.get_mut(&number) {
            issue.subscribers.insert(whom);
        }
        self.notify(repo, number, by, whom, reason, about);
    }

    fn notify(&mut self, repo: Id, number: u64, by: Id, whom: Id, reason: &str, about: &str) {
        let person = self.users.get(&whom).is_some_and(|user| user.kind == Kind::User);
        if whom == by || !person {
            return;
        }
        self.notifications.push(Notification {
            at: Utc::now(),
            login: self.login(whom).into(),
            repository: self.full_name(&self.repositories[&repo]),
            number,
            reason: reason.into(),
            about: about.into(),
            by: self.login(by).into(),
        });
    }
}

/// The logins mentioned in a text, code and HTML comments left out.
pub(crate) fn mentions(text: &str) -> BTreeSet<String> {
    let prose = without_code(text);
    let mut found = BTreeSet::new();
    let mut before = ' ';
    for (at, sign) in prose.char_indices() {
        if sign == '@' && !before.is_alphanumeric() {
            let login = prose[at + 1..].split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next();
            found.extend(login.filter(|login| !login.is_empty()).map(String::from));
        }
        before = sign;
    }
    found
}

fn without_code(text: &str) -> String {
    let mut prose = String::new();
    let mut rest = text;
    let spans = [("<!--", "-->"), ("```", "```"), ("`", "`")];
    while let Some((at, (open, close))) = spans
        .iter()
        .filter_map(|span| Some((rest.find(span.0)?, *span)))
        .min_by_key(|(at, span)| (*at, usize::MAX - span.0.len()))
    {
        prose.push_str(&rest[..at]);
        prose.push(' ');
        let inside = &rest[at + open.len()..];
        rest = inside.find(close).map_or("", |end| &inside[end + close.len()..]);
    }
    prose.push_str(rest);
    prose
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mentions_are_read_from_prose_only() {
        let text = "@alice look, `@bob`, mail@carol.org <!-- @dave -->\n```\n@erin\n```\n(@frank-x)";
        assert_eq!(mentions(text), BTreeSet::from(["alice".to_owned(), "frank-x".to_owned()]));
    }
}
