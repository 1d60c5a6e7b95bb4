//! Waiting for a database that is busy.

use super::StoreError;
use backon::{ConstantBuilder, Retryable};
use std::time::{Duration, Instant};

/// Between two tries of what a busy database did not begin; each has taken seconds.
const PAUSES: ConstantBuilder =
    ConstantBuilder::new().with_delay(Duration::from_millis(100)).without_max_times();

/// Makes a call of the store again while it is busy, for so long: a disk that stands still for some seconds must not cost what
/// cannot be done over. After any other failure nobody knows what was written.
///
/// # Errors
/// Those of the call; [`StoreError::Busy`] when it still is.
pub async fn patiently<T, F>(patience: Duration, call: impl FnMut() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let begun = Instant::now();
    let again = |error: &StoreError| matches!(error, StoreError::Busy) && begun.elapsed() < patience;
    let told = |_: &StoreError, _| tracing::warn!("the database is busy; it is tried again");
    call.retry(PAUSES).when(again).notify(told).await
}
