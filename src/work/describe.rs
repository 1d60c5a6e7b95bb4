//! What our pull request says: title and text, each as long as nobody else has changed it.

use super::{
    Halt,
    drive::Driver,
    show::{self, Known},
};
use crate::{
    domain::{Number, say, text::BODY_LIMIT},
    github::Repository,
};

/// Among what is shown: every title that we gave it, one a line, the one that is wanted last.
const TITLES: &str = "pull-title";

impl Driver {
    /// Title and text as the state has them now.
    pub(super) async fn pull_says(&self, known: &Known) -> Result<(String, String), Halt> {
        let app = self.parts.app().await?;
        let short = self.short();
        let (title, body) =
            say::pull(&self.state, &show::context(&self.parts, app, &self.state, &short, None));
        let title = self.parts.house.holds.titled(title, self.state.facts.thread.number);
        // The title is the first request's: a later one does not rename the whole pull request.
        let first = titles(known).pop().filter(|_| self.state.facts.request_no > 1);
        Ok((first.unwrap_or(title), body))
    }

    pub(super) async fn show_pull(&mut self, repository: &Repository, known: &Known) -> Result<(), Halt> {
        let Some(pull) = self.own_pull() else { return Ok(()) };
        let (title, body) = self.pull_says(known).await?;
        let content = format!("{title}\n{body}");
        if known.of("pull").is_some_and(|s| s.hash == show::hash(&content)) {
            return Ok(());
        }
        self.tick().await?;
        self.describe(repository, pull.number, (&title, &body)).await?;
        self.remember("pull", &pull.number.to_string(), &content).await
    }

    /// Writes what differs from what stands there, and is ours.
    pub(super) async fn describe(
        &mut self,
        repository: &Repository,
        number: Number,
        (title, body): (&str, &str),
    ) -> Result<(), Halt> {
        // As they will stand there: what was left out of them would be known for ours by nobody.
        let (title, body) = (repository.as_written(title), repository.as_written(body));
        let titles = titles(&self.known().await?);
        self.will_be_titled(&title).await?;
        let live = repository.pull(number).await?;
        // What a person calls it, it is called.
        let ours = titles.is_empty() || titles.contains(&live.title);
        let title = Some(title.as_str()).filter(|title| ours && *title != live.title);
        let body = say::renewed(&live.body, &body);
        // Beside a long text of a person's ours finds no room any more.
        let body =
            Some(body.as_str()).filter(|body| *body != live.body && body.chars().count() <= BODY_LIMIT);
        if title.is_some() || body.is_some() {
            repository.edit_pull(number, title, body).await?;
        }
        Ok(())
    }

    /// Noted before it is given: a title that came late, or whose answer was lost, is known for ours.
    pub(super) async fn will_be_titled(&mut self, title: &str) -> Result<(), Halt> {
        let mut titles = titles(&self.known().await?);
        if titles.last().is_some_and(|last| last == title) {
            return Ok(());
        }
        titles.retain(|known| known != title);
        titles.push(title.to_owned());
        self.remember(TITLES, &titles.join("\n"), "").await
    }
}

fn titles(known: &Known) -> Vec<String> {
    known.of(TITLES).into_iter().flat_map(|shown| shown.remote.lines()).map(str::to_owned).collect()
}
