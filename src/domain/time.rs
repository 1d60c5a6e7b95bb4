//! Points in time. The database's clock is the only one that decides anything, so that nodes cannot disagree.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Milliseconds since 1970-01-01 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// This moment moved on by `span` (to the end of time if it would pass it).
    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)))
    }

    /// That much earlier.
    pub fn minus(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)))
    }

    /// How long ago `earlier` was; nothing if it is still to come.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// `14:06 UTC`: what people read in a comment that is edited now and then.
    pub fn clock(self) -> String {
        self.utc().format("%H:%M UTC").to_string()
    }

    /// `2026-01-31`: the day that daily limits count by.
    pub fn day(self) -> String {
        self.utc().format("%Y-%m-%d").to_string()
    }

    /// `2026-01-31T14:06:00Z`, as GitHub and logs write it.
    pub fn rfc3339(self) -> String {
        self.utc().format("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    fn utc(self) -> chrono::DateTime<chrono::Utc> {
        chrono::DateTime::from_timestamp_millis(self.0).unwrap_or_default()
    }
}
