//! The emulator held against GitHub's own published schemas: every answer, every webhook.
//!
//! Strict about what the emulator sends; that fixpoint reads leniently is tested elsewhere.

mod graphql;
mod schemas;
mod tour;

use fixpoint::emulator::Emulator;
use graphql::Schema;
use schemas::Contract;
use std::collections::BTreeSet;
use std::sync::{Mutex, OnceLock, PoisonError};
use tour::Tour;

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_of_the_emulator_fits_githubs_openapi_document() {
    let Some(mut contract) = Contract::load() else { return };
    let tour = Tour::through_everything().await;
    let mut complaints = BTreeSet::new();
    for request in tour.emulator.requests().iter().filter(|request| is_rest(request)) {
        complaints.extend(contract.request(request));
    }
    assert!(complaints.is_empty(), "{}", complaints.into_iter().collect::<Vec<_>>().join("\n"));
    hold(&tour.emulator);
    assert!(contract.covered.len() >= 78, "the tour is too short: {:#?}", contract.covered);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_webhook_of_the_emulator_fits_githubs_webhook_schemas() {
    let Some(mut contract) = Contract::load() else { return };
    let tour = Tour::through_everything().await;
    let deliveries = tour.emulator.deliveries();
    let mut complaints = BTreeSet::new();
    for delivery in &deliveries {
        complaints.extend(contract.delivery(delivery));
    }
    assert!(complaints.is_empty(), "{}", complaints.into_iter().collect::<Vec<_>>().join("\n"));
    let kinds: BTreeSet<&str> = deliveries.iter().map(|delivery| delivery.event.as_str()).collect();
    let expected = [
        "check_run",
        "check_suite",
        "installation",
        "installation_repositories",
        "issue_comment",
        "issues",
        "label",
        "merge_group",
        "pull_request",
        "pull_request_review",
        "pull_request_review_comment",
        "push",
        "repository",
        "status",
        "workflow_job",
        "workflow_run",
    ];
    assert_eq!(kinds, BTreeSet::from(expected));
}

/// Holds what was said between fixpoint and the emulator so far against GitHub's schemas. Without them: nothing.
pub fn hold(emulator: &Emulator) {
    static KNOWN: OnceLock<Option<Mutex<(Contract, Schema)>>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| Contract::load().zip(Schema::load()).map(Mutex::new));
    let Some(known) = known else { return };
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    let mut complaints = BTreeSet::new();
    for request in emulator.requests() {
        if is_rest(&request) {
            complaints.extend(known.0.request(&request));
        } else if let Some(document) = request.body["query"].as_str() {
            complaints.extend(known.1.complaints(document));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.into_iter().collect::<Vec<_>>().join("\n"));
}

/// The emulator's own control, git, the model and GraphQL are not in the document.
fn is_rest(request: &fixpoint::emulator::Request) -> bool {
    let path = request.bare_path();
    !path.contains(".git/") && !path.starts_with("/v1/") && !path.ends_with("/graphql")
}
