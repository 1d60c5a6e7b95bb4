//! Every limit that decides what a session may still do, in one place, each with its reason.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What a session may use. Stored beside each entry it was applied to, so that a state can be folded again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Rounds a request, the first included. Later rounds rarely succeed where three failed.
    pub rounds: u32,
    /// Requests a pull request and day: a thread that needs more needs a person.
    pub requests_a_day: u32,
    /// Reviews that are worked on by themselves in a pull request: a reviewer that is never content may be a machine.
    pub reviews: u32,
    /// How long a review's comments are waited for: they may come after the review.
    #[serde(with = "seconds")]
    pub review_wait: Duration,
    /// Requests by a rule and not by a person, for one head.
    pub automatic_a_head: u32,
    /// The same, a pull request and day.
    pub automatic_a_pull: u32,
    /// The same, a repository and day.
    pub automatic_a_repository: u32,
    /// Steps of the agent a round: past this it goes in circles.
    pub steps: u32,
    /// A round's wall clock.
    #[serde(with = "seconds")]
    pub round: Duration,
    /// Money a request may spend, in millionths of a dollar.
    pub request_micros: u64,
    /// Tokens a request may use, all kinds together, where no price is known.
    pub request_tokens: u64,
    /// Changed files a round.
    pub files: usize,
    /// Bytes a changed file.
    pub file_bytes: usize,
    /// Bytes of all changed files.
    pub total_bytes: usize,
    /// How long a commit may go without any check before it counts as having none.
    #[serde(with = "seconds")]
    pub ci_start: Duration,
    /// How long all checks must have stood still before a verdict.
    #[serde(with = "seconds")]
    pub settle: Duration,
    /// How long to wait for checks that have started.
    #[serde(with = "seconds")]
    pub ci_wait: Duration,
    /// How long to wait for a person's answer.
    #[serde(with = "seconds")]
    pub person: Duration,
    /// Re-runs of one check on one head.
    pub reruns_a_check: u32,
    /// Re-runs on one head.
    pub reruns_a_head: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            rounds: 3,
            requests_a_day: 10,
            reviews: 5,
            review_wait: Duration::from_secs(10),
            automatic_a_head: 1,
            automatic_a_pull: 3,
            automatic_a_repository: 20,
            steps: 200,
            round: Duration::from_secs(45 * 60),
            request_micros: 5_000_000,
            request_tokens: 5_000_000,
            files: 100,
            file_bytes: 5 << 20,
            total_bytes: 50 << 20,
            ci_start: Duration::from_secs(3 * 60),
            settle: Duration::from_secs(20),
            ci_wait: Duration::from_secs(3 * 60 * 60),
            person: Duration::from_secs(7 * 24 * 60 * 60),
            reruns_a_check: 1,
            reruns_a_head: 2,
        }
    }
}

mod seconds {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::time::Duration;
    pub(super) fn serialize<S: Serializer>(span: &Duration, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_f64(span.as_secs_f64())
    }
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        let seconds = f64::deserialize(from)?;
        Duration::try_from_secs_f64(seconds).map_err(serde::de::Error::custom)
    }
}
