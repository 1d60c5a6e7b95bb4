//! Webhooks that GitHub could not deliver, and having them sent again.

use super::{Finding, Patient};
use crate::{
    domain::{Timestamp, retention::REDELIVERED, text},
    github::{GitHub, HookDelivery},
    store::{self, Unreadable},
};
use chrono::{DateTime, Utc};
use secrecy::ExposeSecret;

const SUBJECT: &str = "deliveries";
/// Sent again at once: more would take a large part of an hour's requests. A second call takes the rest.
const AT_ONCE: usize = 500;
/// Of those that could not be read so many are listed.
const LISTED: u32 = 10;
/// Characters of a line of that list.
const LINE: usize = 300;

/// What failed within the last three days and has not come through since.
pub(super) async fn failed(patient: &Patient) -> Vec<Finding> {
    let Some(github) = patient.usable() else { return Vec::new() };
    if patient.config.server.pull {
        return vec![Finding::ok(SUBJECT, "read from GitHub's list, whether or not they came anywhere")];
    }
    let since = Timestamp(Utc::now().timestamp_millis()).minus(REDELIVERED);
    let all = match github.deliveries(since).await {
        Ok(all) => all,
        Err(error) => {
            return vec![Finding::warn(
                SUBJECT,
                text::terminal(&format!("the list cannot be read: {error}")),
            )];
        }
    };
    let lost = HookDelivery::lost(&all);
    let Some(oldest) = lost.last() else {
        return vec![Finding::ok(SUBJECT, format!("none of {} failed in the last three days", all.len()))];
    };
    if patient.redeliver {
        return vec![send_again(&github, &lost).await];
    }
    let what = format!("{} failed since {}", lost.len(), moment(&oldest.delivered_at));
    vec![
        Finding::warn(SUBJECT, what)
            .mend("a server that can be reached has each sent again by itself, up to four times;")
            .mend("`fixpoint doctor --redeliver` does it now, for all of them"),
    ]
}

/// What was kept and could not be read. Looking covers for what it would have said; why it is so is for a person.
pub(super) async fn unreadable(patient: &Patient) -> Vec<Finding> {
    const SUBJECT: &str = "quarantine";
    let url = patient.config.database.expose_secret();
    let found = match store::examine_quarantine(url, LISTED).await {
        // Whether it can be read at all is another check's to say.
        Err(_) | Ok((0, _)) => return Vec::new(),
        Ok(found) => found,
    };
    let (count, newest) = found;
    let what = match count {
        1 => "a delivery was kept that could not be read".to_owned(),
        more => format!("{more} deliveries were kept that could not be read"),
    };
    let mut found = Finding::warn(SUBJECT, what);
    for Unreadable { guid, event, reason, at } in &newest {
        let line = format!("{guid} ({event}, {} {}): {reason}", at.day(), at.clock());
        found = found.mend(text::terminal(&line.chars().take(LINE).collect::<String>()));
    }
    vec![found.mend("what each would have said is found by looking; if it is ours to read, please report it")]
}

async fn send_again(github: &GitHub, lost: &[&HookDelivery]) -> Finding {
    let mut sent = 0;
    // The oldest first, as they happened.
    for attempt in lost.iter().rev().take(AT_ONCE) {
        if let Err(error) = github.redeliver(attempt.id).await {
            let what = format!("{sent} of {} were sent again, then: {error}", lost.len());
            return Finding::fail(SUBJECT, text::terminal(&what));
        }
        sent += 1;
    }
    let found = Finding::ok(SUBJECT, format!("{sent} of {} that failed are sent again", lost.len()));
    match sent < lost.len() {
        true => found.mend("run it once more for the rest"),
        false => found,
    }
}

/// `2026-11-27 14:06 UTC`.
fn moment(at: &str) -> String {
    let read = DateTime::parse_from_rfc3339(at).map(|at| at.to_utc().format("%F %H:%M UTC").to_string());
    read.unwrap_or_else(|_| text::terminal(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_through_at_any_attempt_is_not_lost_and_each_is_sent_once() {
        let attempt = |id: u64, guid: &str, ok: bool| HookDelivery {
            id,
            guid: guid.into(),
            event: "push".into(),
            delivered_at: "2026-11-27T14:06:31Z".into(),
            ok,
            again: false,
        };
        let all = [
            attempt(9, "b", false),
            attempt(8, "a", true),
            attempt(7, "b", false),
            attempt(6, "c", false),
            attempt(5, "a", false),
        ];
        assert_eq!(HookDelivery::lost(&all).iter().map(|attempt| attempt.id).collect::<Vec<_>>(), [9, 6]);
        assert_eq!(moment("2026-11-27T14:06:31Z"), "2026-11-27 14:06 UTC");
    }
}
