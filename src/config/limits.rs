//! The limits an operator can set, in the units people write. The comments are the text of the generated example.

use super::units;
use crate::domain;
use std::time::Duration;

/// What a session may use. Spans like "45m" or "3h", money like "$5", sizes like "5 MiB".
#[derive(Clone, Debug, PartialEq, confique::Config)]
#[config(layer_attr(serde(deny_unknown_fields)))]
pub struct Limits {
    /// Rounds a request, the first included. Later rounds rarely succeed where three failed.
    #[config(default = 3, env = "FIXPOINT_LIMITS_ROUNDS")]
    pub rounds: u32,

    /// Requests a pull request and day.
    #[config(default = 10, env = "FIXPOINT_LIMITS_REQUESTS_A_DAY")]
    pub requests_a_day: u32,

    /// Reviews a pull request that are worked on without a command.
    #[config(default = 5, env = "FIXPOINT_LIMITS_REVIEWS")]
    pub reviews: u32,

    /// Requests by a repository's rule, a pull request and day.
    #[config(default = 3, env = "FIXPOINT_LIMITS_AUTOMATIC_A_PULL")]
    pub automatic_a_pull: u32,

    /// Requests by a repository's rule, a repository and day.
    #[config(default = 20, env = "FIXPOINT_LIMITS_AUTOMATIC_A_REPOSITORY")]
    pub automatic_a_repository: u32,

    /// Steps of the agent a round.
    #[config(default = 200, env = "FIXPOINT_LIMITS_STEPS")]
    pub steps: u32,

    /// A round's wall clock.
    #[config(default = "45m", deserialize_with = units::span, env = "FIXPOINT_LIMITS_ROUND")]
    pub round: Duration,

    /// Money a request.
    #[config(default = "$5", deserialize_with = units::money, env = "FIXPOINT_LIMITS_REQUEST_MONEY")]
    pub request_money: u64,

    /// Tokens a request, where no price is known.
    #[config(default = 5_000_000, env = "FIXPOINT_LIMITS_REQUEST_TOKENS")]
    pub request_tokens: u64,

    /// Money a repository and day.
    #[config(default = "$25", deserialize_with = units::money, env = "FIXPOINT_LIMITS_REPOSITORY_MONEY_A_DAY")]
    pub repository_money_a_day: u64,

    /// Money an installation and day.
    #[config(default = "$100", deserialize_with = units::money, env = "FIXPOINT_LIMITS_INSTALLATION_MONEY_A_DAY")]
    pub installation_money_a_day: u64,

    /// Rounds at once. Without it half the processor's cores, at least one.
    #[config(env = "FIXPOINT_LIMITS_AT_ONCE")]
    pub at_once: Option<u32>,

    /// Rounds at once in a repository.
    #[config(default = 2, env = "FIXPOINT_LIMITS_AT_ONCE_A_REPOSITORY")]
    pub at_once_a_repository: u32,

    /// Rounds at once in an installation.
    #[config(default = 4, env = "FIXPOINT_LIMITS_AT_ONCE_AN_INSTALLATION")]
    pub at_once_an_installation: u32,

    /// Changed files a round.
    #[config(default = 100, env = "FIXPOINT_LIMITS_FILES")]
    pub files: u32,

    /// Size of a changed file.
    #[config(default = "5 MiB", deserialize_with = units::bytes, env = "FIXPOINT_LIMITS_FILE_SIZE")]
    pub file_size: u64,

    /// Size of all changed files.
    #[config(default = "50 MiB", deserialize_with = units::bytes, env = "FIXPOINT_LIMITS_TOTAL_SIZE")]
    pub total_size: u64,

    /// How long a commit may go without any check before it counts as having none.
    #[config(default = "3m", deserialize_with = units::span, env = "FIXPOINT_LIMITS_CI_START")]
    pub ci_start: Duration,

    /// How long all checks must have stood still before a verdict.
    #[config(default = "20s", deserialize_with = units::span, env = "FIXPOINT_LIMITS_SETTLE")]
    pub settle: Duration,

    /// How long to wait for checks that have started.
    #[config(default = "3h", deserialize_with = units::span, env = "FIXPOINT_LIMITS_CI_WAIT")]
    pub ci_wait: Duration,

    /// How long to wait for a person's answer.
    #[config(default = "7d", deserialize_with = units::span, env = "FIXPOINT_LIMITS_PERSON")]
    pub person: Duration,

    /// Re-runs of one check on one head.
    #[config(default = 1, env = "FIXPOINT_LIMITS_RERUNS_A_CHECK")]
    pub reruns_a_check: u32,

    /// Re-runs on one head.
    #[config(default = 2, env = "FIXPOINT_LIMITS_RERUNS_A_HEAD")]
    pub reruns_a_head: u32,
}

impl Limits {
    /// What the session's steps decide by.
    pub fn session(&self) -> domain::Limits {
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        domain::Limits {
            rounds: self.rounds,
            requests_a_day: self.requests_a_day,
            steps: self.steps,
            reviews: self.reviews,
            automatic_a_pull: self.automatic_a_pull,
            automatic_a_repository: self.automatic_a_repository,
            round: self.round,
            request_micros: self.request_money,
            request_tokens: self.request_tokens,
            files: size(u64::from(self.files)),
            file_bytes: size(self.file_size),
            total_bytes: size(self.total_size),
            ci_start: self.ci_start,
            settle: self.settle,
            ci_wait: self.ci_wait,
            person: self.person,
            reruns_a_check: self.reruns_a_check,
            reruns_a_head: self.reruns_a_head,
            ..domain::Limits::default()
        }
    }
}
