//! What GitHub's limits leave us, an account at a time: while it asks for silence nothing is sent, and what makes people
//! notice something has a budget below the one GitHub punishes.

use super::errors::{GitHubError, asked_to_wait, number, until_reset};
use crate::domain::InstallationId;
use http::{HeaderMap, StatusCode};
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Writes a minute and an hour. GitHub's limits on content are 80 and 500; the rest is room for other nodes.
/// Source: GitHub REST, "Rate limits: secondary rate limits".
const WRITES: [(Duration, usize); 2] = [(Duration::from_secs(60), 60), (Duration::from_secs(3600), 400)];

/// Of an installation's hourly requests so much may go to looking by the clock, as its divisor: the rest is for what people
/// ask.
const LOOKS: u64 = 5;

/// An installation's hourly requests before GitHub has said how many they are: the least that any has.
/// Source: GitHub REST, "Rate limits: primary rate limit for GitHub App installations".
const LEAST_RATE: u64 = 5_000;

const HOUR: Duration = Duration::from_secs(3600);

/// What is left of an installation's hourly requests, as its last answer said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Requests an hour.
    pub limit: u64,
    /// Requests left until the reset.
    pub remaining: u64,
    /// Time to the reset when the answer came.
    pub reset: Duration,
}

/// Limits of every installation, and of the App itself (`None`).
#[derive(Debug, Default)]
pub(super) struct Limits(Mutex<HashMap<Option<InstallationId>, Account>>);

#[derive(Debug, Default)]
struct Account {
    silent_until: Option<Instant>,
    /// Refusals without a time in a row.
    streak: u32,
    /// When the writes of the last hour were made, oldest first.
    writes: VecDeque<Instant>,
    /// When a look of the last hour cost a request, oldest first.
    looks: VecDeque<Instant>,
    rate: Option<Rate>,
}

impl Limits {
    /// May a request go out now? A write takes one from the budget.
    pub(super) fn pass(&self, who: Option<InstallationId>, write: bool) -> Result<(), GitHubError> {
        let mut accounts = self.lock();
        let account = accounts.entry(who).or_default();
        let now = Instant::now();
        if let Some(until) = account.silent_until.filter(|until| *until > now) {
            return Err(GitHubError::Limited(until - now));
        }
        if write {
            account.spend(now)?;
        }
        Ok(())
    }

    /// May a look by the clock send a request now? Takes one from what looks may use.
    pub(super) fn look(&self, who: Option<InstallationId>) -> Result<(), GitHubError> {
        self.lock().entry(who).or_default().look(Instant::now())
    }

    /// The last look's request cost nothing: nothing had changed.
    pub(super) fn look_was_free(&self, who: Option<InstallationId>) {
        self.lock().entry(who).or_default().looks.pop_back();
    }

    /// Takes an answer's headers in; gives the wait that it asks for, if it does.
    pub(super) fn learn(
        &self,
        who: Option<InstallationId>,
        status: StatusCode,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Option<Duration> {
        let mut accounts = self.lock();
        let account = accounts.entry(who).or_default();
        let told = rate(headers);
        account.rate = told.or(account.rate);
        let now = Instant::now();
        let silent = account.silent_until.is_some_and(|until| until > now);
        let wait = asked_to_wait(status, headers, body, account.streak);
        account.streak = match wait {
            Some(_) => account.streak + 1,
            // Asked before the silence: it says nothing of what will be answered after it.
            None if silent => account.streak,
            None => 0,
        };
        // The last request that was left succeeded; the next one would not.
        let spent = told.filter(|rate| rate.remaining == 0).map(|rate| rate.reset);
        if let Some(silence) = wait.or(spent) {
            // Of requests that were on their way together the one that is answered last may ask for less than another.
            account.silent_until = account.silent_until.max(Some(now + silence));
        }
        wait
    }

    /// What is left of the hourly requests; `None` before the first answer.
    pub(super) fn rate(&self, who: Option<InstallationId>) -> Option<Rate> {
        self.lock().get(&who)?.rate
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Option<InstallationId>, Account>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Account {
    fn look(&mut self, now: Instant) -> Result<(), GitHubError> {
        while self.looks.front().is_some_and(|at| now.duration_since(*at) >= HOUR) {
            self.looks.pop_front();
        }
        let most = self.rate.map_or(LEAST_RATE, |rate| rate.limit) / LOOKS;
        if let Some(first) = self.looks.front().filter(|_| self.looks.len() as u64 >= most) {
            return Err(GitHubError::Limited(HOUR.saturating_sub(now.duration_since(*first))));
        }
        self.looks.push_back(now);
        Ok(())
    }

    fn spend(&mut self, now: Instant) -> Result<(), GitHubError> {
        let longest = WRITES[1].0;
        while self.writes.front().is_some_and(|at| now.duration_since(*at) >= longest) {
            self.writes.pop_front();
        }
        for (span, most) in WRITES {
            let nth = self.writes.len().checked_sub(most).and_then(|first| self.writes.get(first));
            if let Some(left) = nth.and_then(|at| span.checked_sub(now.duration_since(*at))) {
                return Err(GitHubError::Limited(left));
            }
        }
        self.writes.push_back(now);
        Ok(())
    }
}

fn rate(headers: &HeaderMap) -> Option<Rate> {
    Some(Rate {
        limit: number(headers, "x-ratelimit-limit")?,
        remaining: number(headers, "x-ratelimit-remaining")?,
        reset: until_reset(headers),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_takes_a_fifth_of_the_hour_and_no_more() {
        let mut account = Account::default();
        let start = Instant::now();
        let looks = |account: &mut Account, at| {
            (0..2_000).filter(|_| account.look(start + Duration::from_secs(at)).is_ok()).count()
        };
        assert_eq!(looks(&mut account, 0), 1_000);
        let refused = account.look(start + Duration::from_secs(600));
        assert!(matches!(refused, Err(GitHubError::Limited(wait)) if wait == Duration::from_secs(3000)));
        account.rate = Some(Rate { limit: 12_500, remaining: 9_000, reset: HOUR });
        assert_eq!(looks(&mut account, 600), 1_500, "a larger installation may look more");
        assert_eq!(looks(&mut account, 3_600), 1_000);
    }

    #[test]
    fn c20_what_was_on_its_way_neither_shortens_a_silence_nor_ends_a_streak() {
        let limits = Limits::default();
        let learn = |status: StatusCode, pairs: &[(&'static str, &str)]| {
            let headers: HeaderMap = pairs
                .iter()
                .map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap()))
                .collect();
            limits.learn(None, status, &headers, &[]).map(|wait| wait.as_secs())
        };
        assert_eq!(learn(StatusCode::FORBIDDEN, &[("retry-after", "3600")]), Some(3600));
        assert_eq!(learn(StatusCode::FORBIDDEN, &[("retry-after", "1")]), Some(1));
        let last = [("x-ratelimit-limit", "5000"), ("x-ratelimit-remaining", "0")];
        assert_eq!(learn(StatusCode::OK, &last), None);
        let silence = limits.pass(None, false);
        assert!(matches!(silence, Err(GitHubError::Limited(left)) if left > HOUR / 2), "{silence:?}");
        assert_eq!(learn(StatusCode::TOO_MANY_REQUESTS, &[]), Some(240), "two came before it");
    }

    #[test]
    fn c20_the_write_budget_ends_and_comes_back() {
        let mut account = Account::default();
        let start = Instant::now();
        let passed = |account: &mut Account, at| account.spend(start + Duration::from_secs(at)).is_ok();
        assert_eq!((0..100).filter(|_| passed(&mut account, 0)).count(), 60);
        assert!(!passed(&mut account, 59));
        assert_eq!((0..100).filter(|_| passed(&mut account, 61)).count(), 60);
        assert_eq!(
            (2..60).flat_map(|m| vec![m * 61; 20]).filter(|at| passed(&mut account, *at)).count(),
            280
        );
        assert!(passed(&mut account, 3601), "the first hour's writes are forgotten");
    }
}
