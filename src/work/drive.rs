//! Drives one claimed session until nothing is left to do.

use super::{Halt, Parts, REFUSED_LOOK, look, round, rules};
use crate::{
    domain::{
        Entry, Phase, State, Step, Timestamp,
        session::{Deadline, Ending, RoundEnd},
        step,
    },
    egress::Way,
    sandbox::Sandbox,
    store::{Advance, Claimed, Lease, StoreError},
};
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// A queued session that found no place looks again after this.
const QUEUE_LOOK: Duration = Duration::from_secs(5);

/// A repository without a commit is looked at again after this.
const EMPTY_LOOK: Duration = Duration::from_secs(60);

/// Without anything worth reading a status comment comes after this, so that nobody wonders.
pub(super) const SILENCE: Duration = Duration::from_secs(600);

/// At rest the outside is looked at this often.
const REST_LOOK: Duration = Duration::from_secs(3600);

/// The holder of a session.
pub(super) struct Driver {
    pub(super) parts: Parts,
    pub(super) lease: Lease,
    pub(super) state: State,
    pub(super) now: Timestamp,
    /// A webhook named the head since the last look.
    pub(super) hinted: bool,
    /// The running sandbox, so that it is stopped whatever ends the work.
    pub(super) sandbox: Option<Arc<dyn Sandbox>>,
    /// Its way out, of which the audit is told when it is closed.
    pub(super) way: Option<Way>,
}

/// Drives a claimed session, then gives it back.
pub(super) async fn drive(parts: Parts, claimed: Claimed, shutdown: CancellationToken) {
    let span =
        tracing::info_span!("session", id = %claimed.lease.session.short(), epoch = %claimed.lease.epoch);
    // On the heap: a session's whole work is one future, too large for the stack of whoever spawns it.
    let work = Box::pin(driven(parts, claimed, shutdown));
    tracing::Instrument::instrument(work, span).await;
}

async fn driven(parts: Parts, claimed: Claimed, shutdown: CancellationToken) {
    let Claimed { lease, state, now } = claimed;
    let mut driver = Driver {
        parts: parts.clone(),
        lease: lease.clone(),
        state,
        now,
        hinted: false,
        sandbox: None,
        way: None,
    };
    let result = tokio::select! {
        result = driver.run() => result,
        () = lost(&parts, &lease) => Err(Halt::LeaseLost),
        () = shutdown.cancelled() => Err(Halt::Shutdown),
    };
    driver.close_sandbox().await;
    let wake_at = match result {
        Ok(wake_at) => wake_at,
        Err(Halt::LeaseLost) => return tracing::warn!("the lease was lost; another holder goes on"),
        Err(Halt::Shutdown) => Some(driver.now),
        Err(Halt::Empty) => Some(driver.now.plus(EMPTY_LOOK)),
        Err(Halt::Refused(error)) => {
            tracing::warn!(error, "looked at again later");
            Some(driver.now.plus(REFUSED_LOOK))
        }
        Err(Halt::Later(error, wait)) => {
            tracing::warn!(error, ?wait, "looked at again later");
            Some(driver.now.plus(wait))
        }
    };
    if let Err(error) = parts.store.release(&lease, wake_at).await {
        tracing::warn!(%error, "the lease could not be given back; it runs out by itself");
    }
}

/// Prolongs the lease for as long as the work goes on; completes when it is lost.
async fn lost(parts: &Parts, lease: &Lease) {
    let mut missed = Duration::ZERO;
    let beat = parts.settings.lease / 4;
    while missed < parts.settings.lease {
        tokio::time::sleep(beat).await;
        match parts.store.heartbeat(lease, parts.settings.lease).await {
            Ok(_) => missed = Duration::ZERO,
            Err(StoreError::LeaseLost) => return,
            Err(error) => {
                tracing::warn!(%error, "the lease could not be prolonged");
                missed += beat;
            }
        }
    }
}

impl Driver {
    /// Works until nothing is left; gives the moment to be woken.
    async fn run(&mut self) -> Result<Option<Timestamp>, Halt> {
        // Where GitHub does not answer, what came in is taken all the same: a stop must not wait for it.
        if let Err(error) = rules::take_up(&mut self.parts, &self.state).await {
            tracing::debug!(%error, "the repository's configuration is not known yet");
        }
        if let Err(error) = self.heal().await {
            tracing::warn!(%error, "the mirror lacks commits of the session");
        }
        if let Phase::Working = self.state.phase {
            match self.already_pushed().await {
                Ok(None) => {}
                Ok(Some(found)) => self.record(found).await?,
                Err(error) => tracing::debug!(%error, "whether the round was pushed already is not known"),
            }
        }
        loop {
            self.absorb().await?;
            let effects_due = self.perform_due().await?;
            let unshown = self.show().await.map(|wait| self.now.plus(wait));
            if self.absorb().await? || self.break_silence().await? {
                continue;
            }
            let after = match self.state.phase {
                Phase::Queued => round::begin(self).await?,
                Phase::Working => {
                    Box::pin(round::run(self)).await?;
                    After::Again
                }
                Phase::Publishing { .. } => After::Rest(None),
                Phase::Watching { .. } => look::watching(self).await?,
                Phase::Resting { .. } => Box::pin(look::resting(self)).await?,
                Phase::Waiting { since, .. } => self.waiting(since).await?,
                Phase::Done { .. } => After::Rest(None),
            };
            match after {
                After::Again => {}
                After::Rest(own) => {
                    let read_back = self.read_back().await?;
                    return Ok([own, effects_due, read_back, self.silence(), unshown]
                        .into_iter()
                        .flatten()
                        .min());
                }
            }
        }
    }

    /// Steps every entry that came in, one commit each. Says whether there was any.
    pub(super) async fn absorb(&mut self) -> Result<bool, Halt> {
        let unread = self.parts.patiently(|| self.parts.store.unread(&self.lease)).await?;
        if !unread.is_empty() {
            self.tick().await?;
        }
        for entry in &unread {
            self.hinted |=
                matches!(&entry.entry, Entry::Hint { head } if Some(head) == self.state.facts.head.as_ref());
            let limits = self.parts.settings.limits.clone();
            let (next, effects, ignored) = match step(&self.state, entry.entry.clone(), self.now, &limits) {
                Ok(Step::To(next, effects)) => (*next, effects, None),
                Ok(Step::Ignore(why)) => (self.state.clone(), Vec::new(), Some(why)),
                Err(error) => {
                    tracing::error!(%error, "an entry of our own came out of order");
                    (self.state.clone(), Vec::new(), Some("illegal transition"))
                }
            };
            if let Entry::RoundEnded { end: RoundEnd { ending: Ending::Failed { why, .. }, .. } } =
                &entry.entry
            {
                // On a public thread the reason is not told: the operator finds it here.
                tracing::error!(why, "the engine could not work");
            }
            let (from, to) = (self.state.phase_word(), next.phase_word());
            tracing::debug!(entry = ?entry.entry, from, to, ignored, "step");
            if from != to {
                let (repo, thread) = (&next.facts.repo, next.facts.thread.number);
                tracing::info!(%repo, %thread, from, to, round = next.facts.round, "session");
            }
            let (now, state, effects) = (self.now, &next, effects.as_slice());
            let advance = Advance { entry, ignored, now, limits: &limits, state, effects };
            match self.parts.patiently(|| self.parts.store.advance(&self.lease, &advance)).await {
                // It would be live again, where another has begun in the meantime.
                Err(StoreError::Owned(_)) if self.state.is_done() => {
                    let ignored = Some("another session is at work there");
                    let stays = Advance { ignored, state: &self.state, effects: &[], ..advance };
                    self.parts.patiently(|| self.parts.store.advance(&self.lease, &stays)).await?;
                }
                advanced => {
                    advanced?;
                    self.state = next;
                }
            }
        }
        Ok(!unread.is_empty())
    }

    /// Stores an entry of our own and steps it (with whatever came in before it).
    pub(super) async fn record(&mut self, entry: Entry) -> Result<(), Halt> {
        self.parts.patiently(|| self.parts.store.append(self.lease.session, &entry)).await?;
        self.absorb().await?;
        Ok(())
    }

    /// Reads the database's clock and proves the lease on the way.
    pub(super) async fn tick(&mut self) -> Result<Timestamp, Halt> {
        let beat = || self.parts.store.heartbeat(&self.lease, self.parts.settings.lease);
        self.now = self.parts.patiently(beat).await?;
        Ok(self.now)
    }

    async fn waiting(&mut self, since: Timestamp) -> Result<After, Halt> {
        let until = since.plus(self.parts.settings.limits.person);
        if self.tick().await? < until {
            if let Some(entry) = Box::pin(look::outside(self)).await? {
                self.record(entry).await?;
                return Ok(After::Again);
            }
            let look = self.now.plus(REST_LOOK).min(until);
            return Ok(After::Rest(Some(look)));
        }
        self.record(Entry::Expired { deadline: Deadline::Person }).await?;
        Ok(After::Again)
    }

    /// After a long silence a status comment is due, though nothing has happened.
    async fn break_silence(&mut self) -> Result<bool, Halt> {
        let quiet = self.state.is_live() && !self.state.facts.told;
        if !quiet || self.now.since(self.state.facts.since) < SILENCE {
            return Ok(false);
        }
        self.record(Entry::Expired { deadline: Deadline::Silence }).await?;
        Ok(true)
    }

    /// When the silence will have lasted long enough for that.
    fn silence(&self) -> Option<Timestamp> {
        let quiet = self.state.is_live() && !self.state.facts.told;
        quiet.then(|| self.state.facts.since.plus(SILENCE)).filter(|due| *due > self.now)
    }
}

/// What a phase's work came to.
pub(super) enum After {
    /// Something changed: go round again.
    Again,
    /// Nothing to do until then (or until something comes in).
    Rest(Option<Timestamp>),
}

impl After {
    /// A place was not free.
    pub(super) fn queue(now: Timestamp) -> Self {
        Self::Rest(Some(now.plus(QUEUE_LOOK)))
    }

    /// At rest.
    pub(super) fn rest(now: Timestamp) -> Self {
        Self::Rest(Some(now.plus(REST_LOOK)))
    }
}
