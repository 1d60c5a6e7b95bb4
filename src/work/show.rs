//! What GitHub should show of a session, rendered from its state and written only where it differs from what was last
//! written. Coalescing, the last edit and the stale writer are no cases of their own.

mod checks;

use super::{Halt, Parts, action, drive::Driver};
use crate::{
    domain::{
        Fault, Phase, State,
        policy::Secrets,
        say, seeded,
        session::{Outcome, Pull},
        text::{BODY_LIMIT, cut},
    },
    github::{App, Repository},
    store::{Lease, Shown},
};
use sha2::{Digest, Sha256};
use std::time::Duration;

/// A kept patch up to this stands folded in the message itself.
const PATCH_IN_MESSAGE: usize = 40_000;

/// What could not be shown is not tried again sooner.
const SHOW_AGAIN: Duration = Duration::from_secs(2);

/// How a marker ends.
const MARKED: &str = " -->";

/// What GitHub shows of a session, as it was recorded when a pass over it began.
pub(super) struct Known(Vec<Shown>);

impl Known {
    pub(super) fn of(&self, thing: &str) -> Option<&Shown> {
        self.0.iter().find(|shown| shown.thing == thing)
    }
}

/// The hidden marker by which a comment of ours is known again.
pub(super) fn marker(lease: &Lease, thing: &str) -> String {
    format!("{}{thing}{MARKED}", marks(lease))
}

/// What a comment of this session is marked as.
pub(super) fn marked<'a>(lease: &Lease, body: &'a str) -> Option<&'a str> {
    let (_, rest) = body.split_once(&marks(lease))?;
    Some(rest.split_once(MARKED)?.0)
}

fn marks(lease: &Lease) -> String {
    format!("<!-- fixpoint:{}:", lease.session)
}

/// What sentences need besides the state.
pub(super) fn context<'a>(
    parts: &'a Parts,
    app: &'a App,
    state: &'a State,
    session: &'a str,
    patch: Option<&'a str>,
) -> say::Context<'a> {
    say::Context {
        // The state's moment and not the rendering's: else every look would be an edit.
        now: state.facts.as_of,
        limits: &parts.settings.limits,
        web_url: parts.github.web_url().as_str().trim_end_matches('/'),
        // There are no pages yet that a link could lead to.
        public_url: None,
        word: &parts.settings.word,
        app: &app.slug,
        engine: parts.settings.engine.as_str(),
        host: parts.settings.model_host.as_deref(),
        session,
        survey: state.facts.survey.as_ref(),
        sandbox: parts.settings.sandbox_words.as_str(),
        patch: patch.filter(|p| p.len() <= PATCH_IN_MESSAGE && may_be_shown(parts, state, p)),
        before: None,
        kept: patch.is_some(),
    }
}

/// A refused change is not published by way of its patch: neither a secret, nor a path that is denied.
fn may_be_shown(parts: &Parts, state: &State, patch: &str) -> bool {
    let refused = matches!(
        &state.phase,
        Phase::Resting { outcome: Outcome::Refused { .. } }
            | Phase::Done { outcome: Outcome::Refused { .. } }
    );
    !refused && !Secrets::new(&parts.settings.own_secrets()).are_in(patch.as_bytes())
}

impl Driver {
    /// Brings everything up to date. A failure is no reason to stop the work; where it may pass, gives the wait until it is
    /// tried again, so that the last edit is made though nothing else happens.
    pub(super) async fn show(&mut self) -> Option<Duration> {
        let error = self.try_show().await.err()?;
        tracing::warn!(%error, "GitHub does not show the latest state yet");
        match error {
            Halt::Later(_, wait) => Some(wait.max(SHOW_AGAIN)),
            _ => None,
        }
    }

    async fn try_show(&mut self) -> Result<(), Halt> {
        let repository = self.parts.repository(&self.state);
        // Read once: no two of these write the same thing.
        let known = self.known().await?;
        self.show_status(&repository, &known).await?;
        self.show_pull(&repository, &known).await?;
        self.show_draft(&repository, &known).await?;
        self.show_label(&repository, &known).await?;
        self.show_checks(&repository, &known).await?;
        if self.parts.settings.action.is_some() {
            // Its block tells what has just been shown; where nothing was, this writes nothing.
            self.show_status(&repository, &self.known().await?).await?;
        }
        Ok(())
    }

    pub(super) async fn status_body(&self) -> Result<String, Halt> {
        let app = self.parts.app().await?;
        let patch = self.parts.store.patch(self.lease.session).await?;
        let (short, before) = (self.short(), self.before().await?);
        let context = context(&self.parts, app, &self.state, &short, patch.as_deref());
        let text = say::status(&self.state, &say::Context { before, ..context });
        let text = match self.parts.house.holds.remark() {
            Some(remark) => format!("{text}\n\n{remark}"),
            None => text,
        };
        let marker = marker(&self.lease, "status");
        let block = action::written(&self.parts, self.lease.session, &self.state).await?;
        let hidden = format!("\n\n{marker}{block}");
        Ok(format!("{}{hidden}", cut(&text, BODY_LIMIT - hidden.len())))
    }

    async fn show_status(&mut self, repository: &Repository, known: &Known) -> Result<(), Halt> {
        let Some(shown) = known.of("status") else { return Ok(()) };
        let body = self.status_body().await?;
        let id = shown.remote.parse().map(crate::domain::CommentId);
        let Ok(id) = id else { return Ok(()) };
        if shown.hash == hash(&body) && !seeded(Fault::StatusUnhashed) {
            return Ok(());
        }
        self.tick().await?;
        repository.edit_comment(id, &body).await?;
        self.remember("status", &shown.remote, &body).await
    }

    /// Ready when the request ended well; a draft while it is worked on or needs a person.
    pub(super) async fn show_draft(&mut self, repository: &Repository, known: &Known) -> Result<(), Halt> {
        let Some(pull) = self.own_pull().filter(|p| p.draftable) else { return Ok(()) };
        let wanted = match self.state.is_ready() {
            Some(true) => "ready",
            Some(false) => "draft",
            None => return Ok(()),
        };
        // A pull request begins as a draft.
        let shown = known.of("draft").map_or_else(|| hash("draft"), |s| s.hash.clone());
        if shown == hash(wanted) {
            return Ok(());
        }
        self.tick().await?;
        let live = repository.pull(pull.number).await?;
        if live.draft != (wanted == "draft") && live.open {
            repository.set_draft(&live, wanted == "draft").await?;
        }
        self.remember("draft", &pull.number.to_string(), wanted).await
    }

    /// The label by which people find what waits for them: put on when a person is needed, taken off when not any more.
    async fn show_label(&mut self, repository: &Repository, known: &Known) -> Result<(), Halt> {
        let wanted = if self.state.facts.told && self.state.needs_person() { "on" } else { "off" };
        let shown = known.of("needs-human");
        if shown.map_or(wanted == "off", |s| s.hash == hash(wanted)) {
            return Ok(());
        }
        self.tick().await?;
        let number = self.state.facts.thread.number;
        let label = &self.parts.house.holds.labels.needs_human;
        match wanted {
            "on" => repository.add_labels(number, &[label]).await?,
            _ => repository.remove_label(number, label).await?,
        }
        self.remember("needs-human", &number.to_string(), wanted).await
    }

    /// How many come before it, while it waits for a place.
    pub(super) async fn before(&self) -> Result<Option<u32>, Halt> {
        match self.state.phase {
            Phase::Queued => Ok(self.parts.store.before(self.lease.session).await?),
            _ => Ok(None),
        }
    }

    /// The session as people see it.
    pub(super) fn short(&self) -> String {
        self.lease.session.short()
    }

    fn pull(&self) -> Option<Pull> {
        self.state.facts.pull.clone()
    }

    /// The pull request, where it is ours: of a person's only they change text and state.
    pub(super) fn own_pull(&self) -> Option<Pull> {
        self.pull().filter(|_| self.state.facts.guest.is_none())
    }

    /// What GitHub shows of the session, as far as was recorded by now.
    pub(super) async fn known(&self) -> Result<Known, Halt> {
        Ok(Known(self.parts.store.shown(self.lease.session).await?))
    }

    pub(super) async fn shown(&self, thing: &str) -> Result<Option<Shown>, Halt> {
        Ok(self.known().await?.of(thing).cloned())
    }

    pub(super) async fn remember(&self, thing: &str, remote: &str, content: &str) -> Result<(), Halt> {
        let shown = Shown { thing: thing.to_owned(), remote: remote.to_owned(), hash: hash(content) };
        Ok(self.parts.store.show(&self.lease, &shown).await?)
    }
}

pub(super) fn hash(content: &str) -> String {
    hex::encode(Sha256::digest(content.as_bytes()))
}
