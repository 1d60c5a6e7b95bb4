//! Which webhooks must be taken up one after the other.
//!
//! What is said on one issue or pull request is heard in the order it was said: a stop never overtakes what it stops.
//! Failed checks of a repository come one after the other too, for what rules begin because of them is counted. All else is
//! a hint, and hints have no order.

use serde::Deserialize;

/// Read leniently: what is of another form than GitHub's has no thread.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Payload {
    repository: Option<Named>,
    issue: Option<Numbered>,
    pull_request: Option<Numbered>,
    check_run: Option<Ended>,
    check_suite: Option<Ended>,
    workflow_run: Option<Ended>,
    workflow_job: Option<Ended>,
    state: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Named {
    id: Option<u64>,
}

#[derive(Deserialize)]
struct Numbered {
    number: Option<u64>,
}

#[derive(Deserialize)]
struct Ended {
    conclusion: Option<String>,
}

/// The thread of a webhook, as a key: those of one key are taken up in the order they came.
pub fn thread(body: &[u8]) -> Option<String> {
    let payload: Payload = serde_json::from_slice(body).ok()?;
    let repo = payload.repository?.id?;
    if let Some(number) = payload.issue.or(payload.pull_request).and_then(|named| named.number) {
        return Some(format!("{repo}#{number}"));
    }
    let of_status = payload.state.as_ref().and_then(|state| state.as_str());
    let ended = payload.check_run.or(payload.check_suite).or(payload.workflow_run).or(payload.workflow_job);
    let ended = ended.and_then(|run| run.conclusion);
    let red = matches!(ended.as_deref().or(of_status), Some("failure" | "timed_out" | "error"));
    red.then(|| format!("{repo} red"))
}

#[cfg(test)]
mod tests {
    use super::thread;
    use serde_json::json;

    #[test]
    fn f3_one_thread_is_one_queue_and_hints_have_none() {
        let of = |payload: serde_json::Value| thread(payload.to_string().as_bytes());
        let repository = json!({ "id": 7, "name": "demo" });
        let comment = json!({ "action": "created", "repository": repository, "issue": { "number": 3 } });
        let closed = json!({ "repository": repository, "pull_request": { "number": 3, "state": "closed" } });
        assert_eq!(of(comment), Some("7#3".into()));
        assert_eq!(of(closed), Some("7#3".into()));
        let run = |ends: &str| json!({ "repository": repository, "check_run": { "conclusion": ends } });
        assert_eq!((of(run("success")), of(run("failure"))), (None, Some("7 red".into())));
        assert_eq!(of(json!({ "repository": repository, "state": "failure" })), Some("7 red".into()));
        for odd in [json!(null), json!([1]), json!({ "repository": 7 }), json!({ "issue": { "number": 3 } })]
        {
            assert_eq!(of(odd), None);
        }
        assert_eq!(thread(b"not JSON"), None);
    }
}
