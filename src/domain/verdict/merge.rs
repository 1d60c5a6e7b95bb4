//! Two looks at one commit become one, whichever of them is older: the merge never goes backwards.
//!
//! Lists lag behind events and events overtake each other. Of each suite, run and status the later version is kept, by an
//! order that is total, so that merging is commutative, associative and idempotent: any order of looks, with any of them
//! twice, gives the same facts.

use super::{CheckRun, Checks, Status, Suite, WorkflowRun};
use crate::domain::Timestamp;
use serde::Serialize;
use std::cmp::Ordering;

impl Checks {
    /// Takes in what another look at the same commit has seen.
    pub fn merge(&mut self, other: Self) {
        merge(&mut self.check_suites, other.check_suites);
        merge(&mut self.check_runs, other.check_runs);
        merge(&mut self.statuses, other.statuses);
        merge(&mut self.workflow_runs, other.workflow_runs);
        self.required.extend(other.required);
        self.required.sort_unstable();
        self.required.dedup();
    }
}

/// Something of which several versions may be seen.
pub(super) trait Versioned: Serialize {
    /// What stays the same from version to version.
    fn key(&self) -> (u64, &str);
    /// What grows from version to version: the attempt, how far it got, when.
    fn progress(&self) -> (u64, Option<Timestamp>, u8, Option<Timestamp>);

    /// Which of two is the later: by id, then by progress; two that differ in neither are told apart by what they hold,
    /// the fuller one first, so that the order stays total.
    fn later(&self, other: &Self) -> Ordering {
        let by_progress = (self.key(), self.progress()).cmp(&(other.key(), other.progress()));
        by_progress.then_with(|| {
            let [this, that] = [self, other].map(|one| serde_json::to_string(one).unwrap_or_default());
            this.len().cmp(&that.len()).then_with(|| this.cmp(&that))
        })
    }
}

fn merge<T: Versioned>(mine: &mut Vec<T>, theirs: Vec<T>) {
    mine.extend(theirs);
    mine.sort_by(|one, other| other.later(one));
    mine.dedup_by(|older, newer| older.key() == newer.key());
}

/// How far a status word is on its way; a conclusion is the end of it whatever the status says.
fn stage(status: &str, conclusion: Option<&String>) -> u8 {
    match status {
        _ if conclusion.is_some() => 3,
        "completed" => 3,
        "in_progress" => 2,
        "waiting" | "pending" => 1,
        _ => 0,
    }
}

impl Versioned for CheckRun {
    fn key(&self) -> (u64, &str) {
        (self.id, &self.name)
    }
    fn progress(&self) -> (u64, Option<Timestamp>, u8, Option<Timestamp>) {
        (0, None, stage(&self.status, self.conclusion.as_ref()), self.completed_at.max(self.started_at))
    }
}

impl Versioned for Suite {
    fn key(&self) -> (u64, &str) {
        (self.id, "")
    }
    /// A re-run opens the same suite again, so that time decides before stage.
    fn progress(&self) -> (u64, Option<Timestamp>, u8, Option<Timestamp>) {
        (0, self.updated_at, stage(&self.status, self.conclusion.as_ref()), None)
    }
}

impl Versioned for Status {
    fn key(&self) -> (u64, &str) {
        (self.id, &self.context)
    }
    fn progress(&self) -> (u64, Option<Timestamp>, u8, Option<Timestamp>) {
        (0, self.updated_at, 0, self.created_at)
    }
}

impl Versioned for WorkflowRun {
    fn key(&self) -> (u64, &str) {
        (self.id, &self.path)
    }
    fn progress(&self) -> (u64, Option<Timestamp>, u8, Option<Timestamp>) {
        (self.run_attempt, None, stage(&self.status, self.conclusion.as_ref()), self.updated_at)
    }
}
