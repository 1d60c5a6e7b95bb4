//! A GitHub small enough to hold in memory, real git behind it, and a scripted model.
//!
//! It exists so that nothing but the outermost wire is fake: `fixpoint demo`, `fixpoint emulator` and every
//! integration test talk to it as they would to GitHub, over HTTP, with tokens that expire, webhooks that are
//! signed, real clones and pushes, a CI that really runs, and faults on demand. It imports nothing of the rest
//! of the program, so that a mistake in reading GitHub's payloads cannot be made on both sides.
//!
//! [`Emulator`] is the handle: start it, make a repository, let people do things, look at what came of it.
//! The same doings are open to another process as JSON under `/_emulator/`.

mod arrange;
mod auth;
mod buttons;
mod ci;
mod control;
mod events;
mod faults;
mod front;
mod git;
mod graphql;
mod issues;
mod journal;
mod look;
mod model;
mod notifications;
mod people;
mod pulls;
mod render;
mod reply;
mod rest;
mod reviewers;
mod reviews;
mod setup;
mod state;
mod webhooks;

#[cfg(test)]
mod tests;

pub use arrange::Lender;
pub use ci::{Ci, Handed, How, JobPlay, On, PastRun, Play as CiPlay, Ran, Script};
pub use events::{Happened, What};
pub use faults::{Astray, Fault, Faults, HookFault, Trouble};
pub use graphql::{Picked, picked};
pub use journal::Request;
pub use look::{CheckView, CommentView, DeliveryView, IssueView, LineView, PullView, ReviewView};
pub use model::{Model, Play, Shown, ToolCall};
pub use notifications::Notification;
pub use people::PullWish;
pub use reviewers::LineComment;
pub use setup::{AppCredentials, Error, NewRepository, Options};
pub use state::{Annotation, CheckAction, Permission};

use journal::Journal;
use state::World;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{broadcast, mpsc, watch};

/// A running emulator. Clones are handles to the same one; it stops when the last is dropped.
#[derive(Debug, Clone)]
pub struct Emulator {
    hub: Arc<Hub>,
    running: Arc<setup::Running>,
}

/// What all parts share.
#[derive(Debug)]
pub(crate) struct Hub {
    world: Mutex<World>,
    pub(crate) faults: Faults,
    pub(crate) model: Model,
    pub(crate) journal: Arc<Journal>,
    pub(crate) client: reqwest::Client,
    /// Another process may drive it under `/_emulator/`.
    pub(crate) driven: bool,
    /// Held during a push.
    pub(crate) pushing: tokio::sync::Mutex<()>,
    /// Signed addresses that were asked for with a token, which must never leave GitHub's origin.
    pub(crate) leaked: Mutex<Vec<String>>,
}

impl Hub {
    /// Looks at or changes the world. Nothing in here may wait.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut World) -> T) -> T {
        work(&mut self.world.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The ways out of the world: webhooks, CI, the story, and the count of what is still going on.
#[derive(Debug, Clone)]
pub(crate) struct Wires {
    pub(crate) hooks: mpsc::UnboundedSender<webhooks::Hook>,
    pub(crate) ci: mpsc::UnboundedSender<ci::Order>,
    pub(crate) happened: broadcast::Sender<Happened>,
    pub(crate) busy: Busy,
    pub(crate) journal: Arc<Journal>,
    /// Where webhooks go.
    pub(crate) receiver: Arc<Mutex<Option<String>>>,
}

impl Wires {
    pub(crate) fn receiver(&self) -> Option<String> {
        self.receiver.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn deliver_to(&self, url: &str) {
        *self.receiver.lock().unwrap_or_else(PoisonError::into_inner) = Some(url.into());
    }
}

/// Counts what is under way, so that a test can wait for quiet.
#[derive(Debug, Clone)]
pub(crate) struct Busy(watch::Sender<usize>);

/// One thing under way.
#[derive(Debug)]
pub(crate) struct Guard(Busy);

impl Busy {
    fn new() -> Busy {
        Busy(watch::Sender::new(0))
    }

    pub(crate) fn begin(&self) -> Guard {
        self.0.send_modify(|count| *count += 1);
        Guard(self.clone())
    }

    pub(crate) async fn quiet(&self) {
        // The sender lives in self, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl Clone for Guard {
    fn clone(&self) -> Guard {
        self.0.begin()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}
