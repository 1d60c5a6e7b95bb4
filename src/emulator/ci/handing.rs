//! What a job is handed: the secrets that its workflow names, filled in as GitHub fills them in, and hidden in its log.

use crate::emulator::state::{Id, WorkflowRun, World};
use std::collections::BTreeMap;

/// The secrets of one job.
#[derive(Debug, Default)]
pub(super) struct Handing {
    secrets: BTreeMap<String, String>,
}

impl Handing {
    /// Those of the repository; none for a pull request from a fork.
    pub(super) fn of(world: &World, repo: Id, run: Option<&WorkflowRun>) -> Handing {
        let from_a_fork =
            run.is_some_and(|run| run.event == "pull_request" && world.home_of(repo, &run.head_sha) != repo);
        if from_a_fork {
            return Handing::default();
        }
        Handing { secrets: world.repositories[&repo].secrets.clone() }
    }

    /// A text with its `${{ secrets.X }}` filled in; a secret that is not there is empty, other expressions stay.
    pub(super) fn fill(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${{") {
            let Some((inner, behind)) = after.split_once("}}") else { break };
            out.push_str(before);
            match inner.trim().strip_prefix("secrets.") {
                Some(name) => out.push_str(self.secrets.get(name).map_or("", String::as_str)),
                None => out.push_str(&format!("${{{{{inner}}}}}")),
            }
            rest = behind;
        }
        out + rest
    }

    /// A line of a log, the secrets in it hidden.
    pub(super) fn masked(&self, line: &str) -> String {
        let hide = |line: String, secret: &String| line.replace(secret.as_str(), "***");
        self.secrets.values().filter(|secret| !secret.is_empty()).fold(line.to_owned(), hide)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_filled_in_and_hidden() {
        let handing = Handing { secrets: [("A".to_owned(), "quiet".to_owned())].into() };
        assert_eq!(
            handing.fill("x ${{ secrets.A }}${{secrets.B}} ${{ github.sha }} ${{"),
            "x quiet ${{ github.sha }} ${{"
        );
        assert_eq!(handing.masked("so quiet"), "so ***");
    }
}
