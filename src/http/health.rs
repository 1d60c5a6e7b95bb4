//! Whether the process lives, and whether it can take work.

use super::HttpState;
use crate::store::DiskMark;
use axum::{extract::State, http::StatusCode};
/// `GET /healthz`.
pub(super) async fn alive() -> &'static str {
    "alive\n"
}

/// `GET /readyz`. Says what is missing in a word; the details are the operator's, in the log.
pub(super) async fn ready(State(state): State<HttpState>) -> (StatusCode, &'static str) {
    if let Err(error) = state.store.ready().await {
        tracing::warn!(%error, "not ready");
        return (StatusCode::SERVICE_UNAVAILABLE, "the database cannot be used\n");
    }
    if let Some(problem) = state.disk.as_ref().and_then(DiskMark::problem) {
        tracing::warn!(problem, "not ready");
        return (StatusCode::SERVICE_UNAVAILABLE, "the disk is full\n");
    }
    (StatusCode::OK, "ready\n")
}
