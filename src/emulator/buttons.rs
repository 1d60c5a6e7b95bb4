//! What people press on the App's own check runs. GitHub tells of it the App whose check run it is, and no other.

use super::reply::Refusal;
use super::state::{CheckRun, Id, World};
use serde_json::{Value, json};

impl World {
    /// A button that the App has put onto its check run.
    pub(crate) fn press(&self, repo: Id, by: Id, check: &str, identifier: &str) -> Result<(), Refusal> {
        let run = self.own_check(repo, check)?;
        let shown = run.progress.is_completed() && run.actions.iter().any(|one| one.identifier == identifier);
        if !shown {
            return Err(Refusal::unprocessable(&format!("{check} shows no button {identifier}")));
        }
        let action = json!({ "requested_action": { "identifier": identifier } });
        self.tell_of_button(repo, by, run, "requested_action", action);
        Ok(())
    }

    /// "Re-run" beside a check run.
    pub(crate) fn rerequest(&self, repo: Id, by: Id, check: &str) -> Result<(), Refusal> {
        let run = self.own_check(repo, check)?;
        if !run.progress.is_completed() {
            return Err(Refusal::unprocessable(&format!("{check} is not completed")));
        }
        self.tell_of_button(repo, by, run, "rerequested", json!({}));
        Ok(())
    }

    fn own_check(&self, repo: Id, name: &str) -> Result<&CheckRun, Refusal> {
        let mut runs = self.repositories[&repo].check_runs.values().rev();
        let own = runs.find(|run| run.name == name && run.app == self.app.id);
        own.ok_or_else(|| Refusal::unprocessable(&format!("the App has made no check run {name}")))
    }

    fn tell_of_button(&self, repo: Id, by: Id, run: &CheckRun, action: &str, mut parts: Value) {
        parts["check_run"] = self.show_check_run_hook(repo, run);
        self.hook("check_run", Some(action), Some(repo), by, parts);
    }
}
