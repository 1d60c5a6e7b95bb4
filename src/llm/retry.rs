//! How often, and after which wait, a failed attempt is made again.

use super::{ModelError, sort::Failure};
use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use std::time::Duration;
use tokio::time::Instant;

/// Attempts while the provider is overloaded: with waits that double this spans minutes; longer outages are for the next
/// round or a person.
const BUSY: usize = 6;
/// Attempts while the connection breaks: a restart of a proxy is bridged, a wrong address is not asked for ever.
const LOST: u32 = 3;
/// Attempts while the answer cannot be read: once may be a hiccup, twice is the wrong server.
const NONSENSE: u32 = 2;
/// The longest single wait of our own choosing.
const LONGEST: Duration = Duration::from_secs(60);

/// The attempts of one question.
pub(super) struct Attempts {
    deadline: Instant,
    waits: ExponentialBackoff,
    made: u32,
}

impl Attempts {
    /// All waits together stay within `patience`.
    pub(super) fn new(patience: Duration) -> Self {
        // The first wait is small against the patience, so that a short patience still sees several attempts.
        let first = (patience / 64).clamp(Duration::from_millis(1), Duration::from_secs(2));
        let waits = ExponentialBuilder::new()
            .with_min_delay(first)
            .with_max_delay(LONGEST)
            .with_max_times(BUSY - 1)
            .with_jitter();
        Self { deadline: Instant::now() + patience, waits: waits.build(), made: 0 }
    }

    /// What is left of the patience.
    pub(super) fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// The wait before the next attempt, or the error where there shall be none.
    pub(super) fn next(&mut self, failure: Failure) -> Result<Duration, ModelError> {
        self.made += 1;
        let made = self.made;
        let own = self.waits.next();
        let left = self.left();
        match failure {
            Failure::Final(error) => Err(error),
            Failure::Busy { why, after } => match own.map(|own| after.unwrap_or(own).max(own)) {
                Some(wait) if wait < left => Ok(wait),
                _ => Err(ModelError::Overloaded(format!("{why}; gave up after {made} attempts"))),
            },
            Failure::Lost(why) => match own {
                Some(wait) if made < LOST && wait < left => Ok(wait),
                _ => Err(ModelError::Unreachable(format!("{why}; gave up after {made} attempts"))),
            },
            Failure::Nonsense(why) => match own {
                Some(wait) if made < NONSENSE && wait < left => Ok(wait),
                _ => Err(ModelError::Invalid(why)),
            },
        }
    }
}
