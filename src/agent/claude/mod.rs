//! Claude Code as an engine: the program runs in the sandbox, asks its model through the gateway, and works with tools of its
//! own.
//!
//! Two things are heard of it. What the gateway tells is the host's own: each reply of the model and what it cost. What the
//! program writes may be the agent's, every byte: it names the results of calls that the gateway has seen, and the last word.

mod brief;
mod command;
mod ended;
mod events;
mod input;
mod lines;
mod round;
mod state;

use super::{End, Engine, Gateway, Journal, Outcome, Stop, Turn, Workspace};
use crate::domain::session::Spent;
use std::sync::Arc;

/// The engine, with a gateway for each of its models that is never opened itself.
pub(super) struct ClaudeCode {
    model: Arc<Gateway>,
    others: Vec<Arc<Gateway>>,
}

impl ClaudeCode {
    pub(super) fn new(model: Arc<Gateway>, others: Vec<Arc<Gateway>>) -> Self {
        Self { model, others }
    }
}

#[async_trait::async_trait]
impl Engine for ClaudeCode {
    async fn run(&self, turn: &Turn, workspace: &Workspace<'_>, journal: &dyn Journal) -> Outcome {
        let mut spent = Spent::default();
        let end = match workspace.gateway {
            Some(gateway) => round::run(turn, (workspace.sandbox, gateway), journal, &mut spent).await,
            None => End::Stopped(Stop::Broken("the sandbox has no way to the model".to_owned())),
        };
        Outcome { end, spent }
    }

    fn describe(&self) -> String {
        format!("claude-code, {} at {}", self.model.name(), self.model.host())
    }

    fn models(&self) -> Vec<String> {
        [&self.model].into_iter().chain(&self.others).map(|model| model.name().to_owned()).collect()
    }

    fn gateway(&self, model: Option<&str>) -> Option<Arc<Gateway>> {
        let mut others = self.others.iter();
        Some(others.find(|other| model == Some(other.name())).unwrap_or(&self.model).anew())
    }

    fn wants(&self) -> Option<[&'static str; 2]> {
        Some([command::PROGRAM, "--version"])
    }
}
