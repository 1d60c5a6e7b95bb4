//! Our check runs: one a commit, completed as soon as there is something to say and never one that blocks; a second that waits for
//! another person's look, where the repository wants one.

use super::{Known, context, hash};
use crate::{
    domain::{Phase, Sha, say, session::Outcome},
    github::{CheckAction, CheckShow, Repository},
    store::Shown,
    work::{Halt, drive::Driver},
};

/// One of the check runs that a commit of ours can have.
#[derive(Clone, Copy)]
struct Kind {
    /// As GitHub shows it.
    name: &'static str,
    /// How it is known among what is shown, before the commit.
    thing: &'static str,
    /// What tells it from the other in its external id.
    mark: &'static str,
}

const OWN: Kind = Kind { name: "fixpoint", thing: "check:", mark: "" };
const SECOND: Kind = Kind { name: say::SECOND_PERSON, thing: "second:", mark: "second:" };

impl Driver {
    pub(super) async fn show_checks(&mut self, repository: &Repository, known: &Known) -> Result<(), Halt> {
        for (thing, show) in self.checks(known).await? {
            self.show_run(repository, known, &thing, &show).await?;
        }
        Ok(())
    }

    /// What our check runs say now, and as what each is known. What stands on a commit that another came after would otherwise be at
    /// work for ever.
    pub(in crate::work) async fn checks(&self, known: &Known) -> Result<Vec<(String, CheckShow)>, Halt> {
        let mut checks: Vec<_> = [self.check().await?, self.second()].into_iter().flatten().collect();
        if let Some(head) = self.pull().and(self.state.facts.head.as_ref()) {
            checks.extend(
                known.checks().filter(|(_, old)| old != head).map(|(kind, old)| self.superseded(kind, old)),
            );
        }
        Ok(checks)
    }

    async fn check(&self) -> Result<Option<(String, CheckShow)>, Halt> {
        let (Some(_), Some(head)) = (self.pull(), self.state.facts.head.clone()) else { return Ok(None) };
        // On a person's pull request nothing is shown before there is something to say.
        let facts = &self.state.facts;
        let began = facts.told || facts.rounds.iter().any(|round| round.commit.is_some());
        if facts.guest.is_some() && !began {
            return Ok(None);
        }
        let app = self.parts.app().await?;
        if app.id == 0 {
            // With a workflow's own token our check run would stand among those of some workflow, as one of CI's.
            return Ok(None);
        }
        let (title, summary) =
            say::check(&self.state, &context(&self.parts, app, &self.state, &self.short(), None));
        let conclusion = match &self.state.phase {
            Phase::Resting { outcome: Outcome::Green | Outcome::NoCi } => Some("success"),
            Phase::Resting { .. } | Phase::Done { .. } | Phase::Waiting { .. } => Some("neutral"),
            _ => None,
        };
        // GitHub shows buttons on completed runs only.
        let actions = match &self.state.phase {
            Phase::Resting { .. } => buttons(),
            _ => Vec::new(),
        };
        let (thing, plain) = self.plain(OWN, head, title, summary);
        Ok(Some((thing, CheckShow { conclusion, actions, ..plain })))
    }

    fn superseded(&self, kind: Kind, head: Sha) -> (String, CheckShow) {
        let (title, summary) = say::superseded();
        let (thing, plain) = self.plain(kind, head, title, summary);
        (thing, CheckShow { conclusion: Some("neutral"), ..plain })
    }

    /// Has a second person looked? Left open until then: where the repository's rules require it, it cannot be merged.
    fn second(&self) -> Option<(String, CheckShow)> {
        let head = self.own_pull().and(self.state.facts.head.clone())?;
        let wanted = self.parts.house.holds.second_person;
        let (enough, title, summary) = say::second_person(wanted, &self.state.facts)?;
        let (thing, plain) = self.plain(SECOND, head, title, summary);
        Some((thing, CheckShow { conclusion: enough.then_some("success"), ..plain }))
    }

    fn plain(&self, kind: Kind, head: Sha, title: String, summary: String) -> (String, CheckShow) {
        let show = CheckShow {
            external_id: format!("{}:{}{}", self.lease.session, kind.mark, head.short()),
            head,
            name: kind.name.to_owned(),
            conclusion: None,
            title,
            summary,
            actions: Vec::new(),
            details_url: None,
        };
        (format!("{}{}", kind.thing, show.head), show)
    }

    async fn show_run(
        &mut self,
        repository: &Repository,
        known: &Known,
        thing: &str,
        show: &CheckShow,
    ) -> Result<(), Halt> {
        let content = format!("{}\n{}\n{:?}", show.title, show.summary, show.conclusion);
        let shown = known.of(thing);
        if shown.is_some_and(|s| s.hash == hash(&content)) {
            return Ok(());
        }
        self.tick().await?;
        let id = match shown.and_then(|s| s.remote.parse::<u64>().ok()) {
            Some(id) => id,
            None => repository.check_once(show).await?,
        };
        repository.update_check(id, show).await?;
        self.remember(thing, &id.to_string(), &content).await
    }
}

impl Known {
    /// The check runs of ours that stand somewhere: of which kind, and on which commit.
    fn checks(&self) -> impl Iterator<Item = (Kind, Sha)> {
        let of =
            |shown: &Shown, kind: Kind| Some((kind, Sha::parse(shown.thing.strip_prefix(kind.thing)?).ok()?));
        self.0.iter().filter_map(move |shown| [OWN, SECOND].into_iter().find_map(|kind| of(shown, kind)))
    }
}

/// Whoever presses one is asked for permission like a commenter.
fn buttons() -> Vec<CheckAction> {
    let button = |label: &str, description: &str, identifier: &str| CheckAction {
        label: label.to_owned(),
        description: description.to_owned(),
        identifier: identifier.to_owned(),
    };
    vec![
        button("Retry", "The last request once more", "retry"),
        button("Fix", "Mend what CI says of this commit", "fix"),
    ]
}
