//! How long what is kept is kept, each with its reason.

use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// GitHub sends a delivery again when somebody asks for it within this time. What guards against doing the same thing
/// twice must stay for longer. Source: GitHub, "Redelivering webhooks".
pub const REDELIVERED: Duration = Duration::from_secs(3 * 24 * 60 * 60);

/// What has been asked once (a comment, a review) is known again for so long, whatever else is forgotten: an old backup
/// that is restored, or an old delivery that somebody replays, must not begin it anew. A key is a number and holds nothing.
pub const SUBJECTS: Duration = Duration::from_secs(400 * 24 * 60 * 60);

/// How long what is kept is kept. Nothing of a session that is not over is ever removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Deliveries as they arrived, once they are settled, those set aside as well: long enough to find out over a weekend
    /// what became of one. More than [`REDELIVERED`].
    pub deliveries: Duration,
    /// What the agent said, did and saw, after its session is over: long enough to explain a change that was merged.
    pub transcripts: Duration,
    /// Checkpoints and patches that were not pushed, after the session is over: long enough to come back from a holiday
    /// and want the work after all.
    pub patches: Duration,
    /// A session that is over: what was asked, what became of it, what it cost.
    pub sessions: Duration,
    /// The audit: a year, and a month to look at it.
    pub audit: Duration,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            deliveries: 7 * DAY,
            transcripts: 30 * DAY,
            patches: 14 * DAY,
            sessions: 400 * DAY,
            audit: 400 * DAY,
        }
    }
}
