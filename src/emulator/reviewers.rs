//! What people do to the pull requests of others: reviews, comments on lines, buttons on the App's check runs.

use super::reviews::NewReview;
use super::{Emulator, Error};

/// A comment on a line of a pull request, inside a review. The line must be part of the difference, as on GitHub.
#[derive(Debug, Clone, Default, serde::Deserialize)]
pub struct LineComment {
    /// The file.
    pub path: String,
    /// 1-based line, of several the last.
    pub line: u64,
    /// The first of several lines.
    #[serde(default)]
    pub start_line: Option<u64>,
    /// The lines are those of the old version.
    #[serde(default)]
    pub left: bool,
    /// What is said; a suggestion is a code block `suggestion` in it.
    pub body: String,
}

impl LineComment {
    /// On one line of the new version.
    pub fn on(path: &str, line: u64, body: &str) -> LineComment {
        LineComment { path: path.into(), line, body: body.into(), ..LineComment::default() }
    }
}

impl Emulator {
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
        self.at(repo, |world, repo| {
            let author = world.user(login);
            world.review(repo, number, author, NewReview { state, body, commit: None, lines })
        })
    }

    /// Comments on a line without a review around it ("Add single comment"); gives back the comment's id.
    pub fn comment_on_line(
        &self,
        repo: &str,
        number: u64,
        login: &str,
        line: &LineComment,
    ) -> Result<u64, Error> {
        self.at(repo, |world, repo| {
            let author = world.user(login);
            world.comment_on_line(repo, number, author, line, None)
        })
    }

    /// Dismisses a review that approved or asked for changes.
    pub fn dismiss(&self, repo: &str, number: u64, login: &str, review: u64) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            let by = world.user(login);
            world.dismiss(repo, number, review, by)
        })
    }

    /// Presses a button on the newest check run of that name that the App made.
    pub fn press(&self, repo: &str, login: &str, check: &str, identifier: &str) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            let by = world.user(login);
            world.press(repo, by, check, identifier)
        })
    }

    /// Asks for the newest check run of that name that the App made to be run again.
    pub fn rerequest(&self, repo: &str, login: &str, check: &str) -> Result<(), Error> {
        self.at(repo, |world, repo| {
            let by = world.user(login);
            world.rerequest(repo, by, check)
        })
    }

    /// Answers in the thread of a line comment.
    pub fn reply(&self, repo: &str, number: u64, login: &str, to: u64, body: &str) -> Result<u64, Error> {
        self.at(repo, |world, repo| {
            let author = world.user(login);
            world.reply(repo, number, author, to, body)
        })
    }
}
