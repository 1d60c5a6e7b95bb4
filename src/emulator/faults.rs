//! Trouble on demand: errors, latency, answers that get lost after their effect, rate limits, webhooks gone astray.

use http::StatusCode;
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trouble {
    /// Answered with this status and no effect. 403 is GitHub's secondary limit, 429 its primary one.
    Status {
        /// HTTP status.
        status: u16,
        /// Seconds in `Retry-After`, where it is sent.
        retry_after: Option<u64>,
    },
    /// The connection is closed before anything happened.
    Refuse,
    /// The effect takes place, then the connection is closed without an answer.
    LoseAnswer,
    /// The answer comes this many milliseconds later.
    Slow(u64),
    /// Nothing happens until [`Faults::release`]: a request that is long on its way.
    Hold,
    /// The effect takes place, the answer waits for [`Faults::release`].
    HoldAnswer,
}

/// One fault: which requests it strikes and how often.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// `None`: any method.
    pub method: Option<String>,
    /// A glob over the path (`*` stays inside a segment, `**` does not), e.g. `/repos/*/*/pulls`. With a query in it:
    /// over path and query.
    pub path: String,
    /// How many matching requests pass untouched first.
    pub skip: u32,
    /// How many are struck then.
    pub times: u32,
    /// What happens to those.
    pub trouble: Trouble,
}

impl Fault {
    /// Strikes the next request whose path matches.
    pub fn next(path: &str, trouble: Trouble) -> Fault {
        Fault { method: None, path: path.into(), skip: 0, times: 1, trouble }
    }

    /// Only requests of that method.
    #[must_use]
    pub fn on(mut self, method: &str) -> Fault {
        self.method = Some(method.into());
        self
    }

    /// After `skip` matching requests have passed.
    #[must_use]
    pub fn after(mut self, skip: u32) -> Fault {
        self.skip = skip;
        self
    }

    /// That many times.
    #[must_use]
    pub fn times(mut self, times: u32) -> Fault {
        self.times = times;
        self
    }

    fn matches(&self, method: &str, path: &str) -> bool {
        let glob = globset::GlobBuilder::new(&self.path).literal_separator(true).build();
        let path = if self.path.contains('?') { path } else { path.split('?').next().unwrap_or_default() };
        let path_matches = glob.is_ok_and(|glob| glob.compile_matcher().is_match(path));
        path_matches && self.method.as_ref().is_none_or(|only| only.eq_ignore_ascii_case(method))
    }
}

/// What happens to webhooks on their way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Astray {
    /// Never sent; the deliveries list shows a failed one.
    Drop,
    /// Sent twice under the same delivery id.
    Duplicate,
    /// Sent after the one that follows it.
    Reorder,
    /// Sent this many milliseconds later.
    Delay(u64),
}

/// A rule for webhooks of one event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookFault {
    /// `None`: every event.
    pub event: Option<String>,
    /// How many are struck.
    pub times: u32,
    /// What happens to those.
    pub astray: Astray,
    /// Of a hundred so many are struck, spread evenly, and none that is sent again.
    #[serde(default)]
    pub share: Option<u32>,
    /// How many it has seen.
    #[serde(default, skip)]
    seen: u32,
}

impl HookFault {
    /// Does it strike this one? Each hundred is gone through in steps that meet every number once.
    fn strikes(&mut self, event: &str, again: bool) -> bool {
        if self.event.as_deref().is_some_and(|only| only != event) {
            return false;
        }
        let Some(share) = self.share else { return true };
        self.seen = self.seen.wrapping_add(1);
        !again && self.seen.wrapping_mul(37) % 100 < share
    }
}

#[derive(Debug, Default)]
struct Rules {
    requests: Vec<Fault>,
    hooks: Vec<HookFault>,
}

/// The faults in force. All counting is by request in order of arrival.
#[derive(Debug, Default)]
pub struct Faults {
    rules: Mutex<Rules>,
    /// Requests that wait, and how often all that waited were let go.
    held: watch::Sender<(usize, u64)>,
}

impl Faults {
    fn rules(&self) -> MutexGuard<'_, Rules> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many requests are held.
    pub fn held(&self) -> usize {
        self.held.borrow().0
    }

    /// Lets go whatever is held.
    pub fn release(&self) {
        self.held.send_modify(|(waiting, times)| (*waiting, *times) = (0, *times + 1));
    }

    pub(crate) async fn hold(&self) {
        let mut held = self.held.subscribe();
        let before = held.borrow().1;
        self.held.send_modify(|(waiting, _)| *waiting += 1);
        let _ = held.wait_for(|(_, times)| *times > before).await;
    }

    /// Adds a fault.
    pub fn add(&self, fault: Fault) {
        self.rules().requests.push(fault);
    }

    /// Adds a rule for webhooks.
    pub fn astray(&self, event: Option<&str>, times: u32, astray: Astray) {
        let event = event.map(String::from);
        self.rules().hooks.push(HookFault { event, times, astray, share: None, seen: 0 });
    }

    /// Adds a rule that strikes so many of a hundred webhooks; what is sent again comes through.
    pub fn astray_share(&self, share: u32, astray: Astray) {
        let rule = HookFault { event: None, times: u32::MAX, astray, share: Some(share), seen: 0 };
        self.rules().hooks.push(rule);
    }

    /// Ends all trouble.
    pub fn clear(&self) {
        *self.rules() = Rules::default();
    }

    /// The faults that have not struck as often as they should have.
    pub fn left(&self) -> Vec<Fault> {
        self.rules().requests.clone()
    }

    pub(crate) fn strike(&self, method: &str, path: &str) -> Option<Trouble> {
        let mut rules = self.rules();
        let at = rules.requests.iter().position(|fault| fault.matches(method, path))?;
        let fault = &mut rules.requests[at];
        if fault.skip > 0 {
            fault.skip -= 1;
            return None;
        }
        fault.times = fault.times.saturating_sub(1);
        let trouble = fault.trouble.clone();
        if fault.times == 0 {
            rules.requests.remove(at);
        }
        Some(trouble)
    }

    pub(crate) fn strike_hook(&self, event: &str, again: bool) -> Option<Astray> {
        let mut rules = self.rules();
        let at = rules.hooks.iter_mut().position(|rule| rule.strikes(event, again))?;
        let rule = &mut rules.hooks[at];
        rule.times = rule.times.saturating_sub(1);
        let astray = rule.astray.clone();
        if rule.times == 0 {
            rules.hooks.remove(at);
        }
        Some(astray)
    }
}

impl Trouble {
    /// GitHub's words for a status that it answers when it is unwell.
    pub(crate) fn words(status: StatusCode) -> &'static str {
        match status {
            StatusCode::FORBIDDEN => {
                "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
            }
            StatusCode::TOO_MANY_REQUESTS => "API rate limit exceeded",
            StatusCode::UNAUTHORIZED => "Bad credentials",
            StatusCode::NOT_FOUND => "Not Found",
            StatusCode::BAD_GATEWAY => "Server Error",
            StatusCode::SERVICE_UNAVAILABLE => {
                "Sorry, this endpoint is temporarily unavailable. Please try again."
            }
            _ => "Server Error",
        }
    }

    pub(crate) fn pause(&self) -> Duration {
        match self {
            Trouble::Slow(milliseconds) => Duration::from_millis(*milliseconds),
            _ => Duration::ZERO,
        }
    }
}
