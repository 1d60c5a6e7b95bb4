//! Reviews: given, answered, dismissed; and where in a difference a comment on a line stands.

use super::events::What;
use super::issues::check_length;
use super::reply::Refusal;
use super::reviewers::LineComment;
use super::state::{Id, Review, ReviewComment, World};
use chrono::Utc;
use serde_json::{Value, json};

/// A review to be made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewReview<'a> {
    /// `APPROVED`, `CHANGES_REQUESTED`, `COMMENTED` or `PENDING`.
    pub(crate) state: &'a str,
    pub(crate) body: &'a str,
    /// `None`: the head.
    pub(crate) commit: Option<&'a str>,
    pub(crate) lines: &'a [LineComment],
}

/// Where a comment stands.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Spot {
    /// The hunk down to the line.
    hunk: String,
    /// Lines below the head of the file's first hunk.
    position: u64,
}

impl World {
    pub(crate) fn review(
        &mut self,
        repo: Id,
        number: u64,
        author: Id,
        new: NewReview<'_>,
    ) -> Result<Id, Refusal> {
        check_length(new.body, "PullRequestReview")?;
        let commit = self.reviewed(repo, number, new.commit)?;
        if self.issue(repo, number)?.author == author && !matches!(new.state, "COMMENTED" | "PENDING") {
            return Err(Refusal::unprocessable("Can not approve your own pull request"));
        }
        if new.body.is_empty() && new.lines.is_empty() && new.state == "CHANGES_REQUESTED" {
            return Err(Refusal::unprocessable("Review must have a body or comments"));
        }
        // One line that is not there, and nothing of the review is taken.
        let spots = new
            .lines
            .iter()
            .map(|line| self.spot(repo, number, &commit, line))
            .collect::<Result<Vec<_>, _>>()?;
        let id = self.enter_review(repo, number, author, new.state, new.body, &commit);
        self.pull_mut(repo, number)?.reviewers.retain(|reviewer| *reviewer != author);
        for (line, spot) in new.lines.iter().zip(spots) {
            self.enter_line(repo, number, author, id, line, spot, &commit, None)?;
        }
        if new.state == "PENDING" {
            return Ok(id);
        }
        self.tell_of_review(repo, id, author, "submitted");
        self.notify_of_text(repo, number, author, "review", new.body);
        let login = self.login(author).to_owned();
        let (state, body) = (new.state.to_owned(), new.body.to_owned());
        self.happened(repo, What::Reviewed { number, login, state, body });
        Ok(id)
    }

    /// A review loses its say.
    pub(crate) fn dismiss(&mut self, repo: Id, number: u64, id: Id, by: Id) -> Result<(), Refusal> {
        let review = self.repo_mut(repo).reviews.get_mut(&id).filter(|review| review.pull == number);
        let review = review.ok_or_else(Refusal::not_found)?;
        if !matches!(review.state.as_str(), "APPROVED" | "CHANGES_REQUESTED") {
            return Err(Refusal::unprocessable("Can not dismiss a commented pull request review"));
        }
        review.state = "DISMISSED".into();
        self.tell_of_review(repo, id, by, "dismissed");
        Ok(())
    }

    fn tell_of_review(&self, repo: Id, id: Id, by: Id, action: &str) {
        let Some(review) = self.repositories[&repo].reviews.get(&id) else { return };
        let mut shown = self.show_review(repo, review);
        // Webhooks write the state in small letters, and a body that is empty as none.
        shown["state"] = review.state.to_lowercase().into();
        if review.body.is_empty() {
            shown["body"] = Value::Null;
        }
        let parts = json!({ "review": shown, "pull_request": self.show_pull(repo, review.pull) });
        self.hook("pull_request_review", Some(action), Some(repo), by, parts);
    }

    /// A single comment on a line: GitHub makes a review around it.
    pub(crate) fn comment_on_line(
        &mut self,
        repo: Id,
        number: u64,
        author: Id,
        line: &LineComment,
        commit: Option<&str>,
    ) -> Result<Id, Refusal> {
        let commit = self.reviewed(repo, number, commit)?;
        let spot = self.spot(repo, number, &commit, line)?;
        let review = self.enter_review(repo, number, author, "COMMENTED", "", &commit);
        let id = self.enter_line(repo, number, author, review, line, spot, &commit, None)?;
        self.tell_of_review(repo, review, author, "submitted");
        self.notify_of_text(repo, number, author, "comment", &line.body);
        Ok(id)
    }

    /// A reply in a thread is a review of its own to GitHub, and notifies like a comment.
    pub(crate) fn reply(
        &mut self,
        repo: Id,
        number: u64,
        author: Id,
        to: Id,
        body: &str,
    ) -> Result<Id, Refusal> {
        let first = self.repositories[&repo].review_comments.get(&to).filter(|first| first.pull == number);
        let first = first.ok_or_else(Refusal::not_found)?.clone();
        let line = LineComment {
            path: first.path,
            line: first.line,
            start_line: first.start_line,
            left: first.left,
            body: body.into(),
        };
        let spot = Spot { hunk: first.hunk, position: first.position };
        let review = self.enter_review(repo, number, author, "COMMENTED", "", &first.commit);
        let thread = first.in_reply_to.unwrap_or(to);
        let id = self.enter_line(repo, number, author, review, &line, spot, &first.commit, Some(thread))?;
        self.tell_of_review(repo, review, author, "submitted");
        self.notify_of_text(repo, number, author, "comment", body);
        Ok(id)
    }

    pub(crate) fn edit_line_comment(&mut self, repo: Id, id: Id, by: Id, body: &str) -> Result<(), Refusal> {
        check_length(body, "PullRequestReviewComment")?;
        let comment = self.repo_mut(repo).review_comments.get_mut(&id).ok_or_else(Refusal::not_found)?;
        let before = std::mem::replace(&mut comment.body, body.into());
        comment.updated = Utc::now();
        let mut parts = self.line_parts(repo, id);
        parts["changes"] = json!({ "body": { "from": before } });
        self.hook("pull_request_review_comment", Some("edited"), Some(repo), by, parts);
        Ok(())
    }

    pub(crate) fn delete_line_comment(&mut self, repo: Id, id: Id, by: Id) -> Result<(), Refusal> {
        let parts = self.line_parts(repo, id);
        self.repo_mut(repo).review_comments.remove(&id).ok_or_else(Refusal::not_found)?;
        self.hook("pull_request_review_comment", Some("deleted"), Some(repo), by, parts);
        Ok(())
    }

    fn line_parts(&self, repo: Id, id: Id) -> Value {
        let Some(comment) = self.repositories[&repo].review_comments.get(&id) else { return json!({}) };
        json!({
            "comment": self.show_review_comment(repo, comment),
            "pull_request": self.show_pull(repo, comment.pull),
        })
    }

    /// The commit that is looked at: a known one, else the head.
    fn reviewed(&self, repo: Id, number: u64, commit: Option<&str>) -> Result<String, Refusal> {
        let head = &self.pull(repo, number)?.head.sha;
        self.resolve(repo, commit.unwrap_or(head))
    }

    fn enter_review(
        &mut self,
        repo: Id,
        number: u64,
        author: Id,
        state: &str,
        body: &str,
        commit: &str,
    ) -> Id {
        let (id, lag) = (self.id(), self.list_lag);
        let review = Review {
            id,
            pull: number,
            author,
            state: state.into(),
            body: body.into(),
            commit: commit.into(),
            submitted: Utc::now(),
            lag,
        };
        self.repo_mut(repo).reviews.insert(id, review);
        id
    }

    #[expect(clippy::too_many_arguments, reason = "each is one field of what is entered")]
    fn enter_line(
        &mut self,
        repo: Id,
        number: u64,
        author: Id,
        review: Id,
        new: &LineComment,
        spot: Spot,
        commit: &str,
        in_reply_to: Option<Id>,
    ) -> Result<Id, Refusal> {
        check_length(&new.body, "PullRequestReviewComment")?;
        let (id, now, lag) = (self.id(), Utc::now(), self.list_lag);
        let comment = ReviewComment {
            id,
            pull: number,
            review,
            author,
            body: new.body.clone(),
            path: new.path.clone(),
            line: new.line,
            start_line: new.start_line,
            left: new.left,
            position: spot.position,
            hunk: spot.hunk,
            commit: commit.into(),
            in_reply_to,
            resolved_by: None,
            created: now,
            updated: now,
            reactions: Vec::new(),
            lag,
        };
        self.repo_mut(repo).review_comments.insert(id, comment);
        self.hook(
            "pull_request_review_comment",
            Some("created"),
            Some(repo),
            author,
            self.line_parts(repo, id),
        );
        let login = self.login(author).to_owned();
        let (path, body) = (new.path.clone(), new.body.clone());
        self.happened(repo, What::ReviewCommented { number, id, login, path, body });
        Ok(id)
    }

    fn spot(&self, repo: Id, number: u64, commit: &str, line: &LineComment) -> Result<Spot, Refusal> {
        let base = &self.pull(repo, number)?.base.sha;
        let files = self.difference(repo, base, commit)?.files;
        let unplaced = |what: &str| Refusal {
            errors: vec![format!("{what} could not be resolved").into()],
            ..Refusal::unprocessable("Unprocessable Entity")
        };
        let file = files.into_iter().find(|file| file.path == line.path).ok_or_else(|| unplaced("Path"))?;
        let patch = file.patch.unwrap_or_default();
        spot(&patch, line.start_line.unwrap_or(line.line), line.line, line.left)
            .ok_or_else(|| unplaced("Line"))
    }

    /// Whether the line that a comment is about is still there as it was.
    pub(crate) fn still_stands(&self, repo: Id, comment: &ReviewComment, head: &str) -> bool {
        let git = &self.repositories[&repo].git;
        let line = |sha: &str| {
            let file = super::git::store::file_at(git, sha, &comment.path)?;
            let at = usize::try_from(comment.line).ok()?.checked_sub(1)?;
            file.split(|byte| *byte == b'\n').nth(at).map(<[u8]>::to_vec)
        };
        // A line of the old version stays what it was for as long as the base does.
        comment.commit == head || comment.left || line(&comment.commit) == line(head)
    }
}

/// The place of the lines `start` to `line`, if they stand in one hunk of the patch.
fn spot(patch: &str, start: u64, line: u64, left: bool) -> Option<Spot> {
    let (mut old, mut new, mut begun) = (0, 0, false);
    let mut hunk: Vec<&str> = Vec::new();
    for (position, text) in (0..).zip(patch.lines()) {
        if let Some((from, to)) = heads(text) {
            (old, new, begun) = (from, to, false);
            hunk = vec![text];
            continue;
        }
        hunk.push(text);
        let (is_old, is_new) = (!text.starts_with('+'), !text.starts_with('-'));
        if text.starts_with('\\') {
            continue;
        }
        let here = if left { is_old.then_some(old) } else { is_new.then_some(new) };
        begun |= here == Some(start);
        if here == Some(line) {
            return begun.then(|| Spot { hunk: hunk.join("\n"), position });
        }
        old += u64::from(is_old);
        new += u64::from(is_new);
    }
    None
}

/// The first lines of a hunk by its head, `@@ -a,b +c,d @@`.
fn heads(line: &str) -> Option<(u64, u64)> {
    let mut words = line.strip_prefix("@@ -")?.split(' ');
    let first = |text: &str| text.split(',').next()?.parse().ok();
    Some((first(words.next()?)?, first(words.next()?.strip_prefix('+')?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_has_its_place_in_one_hunk() {
        let patch = "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -10,2 +10,3 @@ x\n j\n+k\n l";
        let at = |start, line, left| spot(patch, start, line, left).map(|spot| spot.position);
        assert_eq!(
            (at(1, 1, false), at(2, 2, true), at(2, 2, false), at(11, 11, false)),
            (Some(1), Some(2), Some(3), Some(7))
        );
        assert_eq!(
            (at(1, 3, false), at(3, 10, false), at(4, 4, false), at(12, 12, true)),
            (Some(4), None, None, None)
        );
        assert_eq!(spot(patch, 10, 11, false).unwrap().hunk, "@@ -10,2 +10,3 @@ x\n j\n+k");
    }
}
