//! Deliveries by hand, in GitHub's shapes: who is heard, what is a fact, and that nothing can make sorting fail.

use super::{Asked, Delivery, Fact, Us, sort};
use crate::domain::{CommentId, InstallationId, Number, UserId, command::On};
use proptest::prelude::*;
use serde_json::{Value, json};

const US: Us<'_> = Us { app: 4711, slug: "fixpoint", word: "code", label: "fixpoint", bots: &[] };

const HEAD: &str = "9f3c2ab09f3c2ab09f3c2ab09f3c2ab09f3c2ab0";

fn alice() -> Value {
    json!({"id": 7, "login": "alice", "type": "User"})
}

fn bot() -> Value {
    json!({"id": 49_699_333, "login": "renovate[bot]", "type": "Bot"})
}

/// A delivery to the App: `more` with action, repository, sender and installation around it.
fn hook(action: &str, sender: &Value, more: Value) -> Value {
    let mut hook = json!({
        "action": action,
        "repository": {"id": 1, "name": "calendar", "full_name": "acme/calendar", "owner": {"id": 2, "login": "acme"}},
        "sender": sender,
        "installation": {"id": 3},
    });
    if let (Value::Object(hook), Value::Object(more)) = (&mut hook, more) {
        hook.extend(more);
    }
    hook
}

fn comment(action: &str, by: &Value, body: &str) -> Value {
    let comment = json!({"id": 99, "body": body, "user": by, "performed_via_github_app": null});
    hook(action, by, json!({"issue": {"number": 5}, "comment": comment}))
}

fn issue(action: &str, by: &Value, body: &str) -> Value {
    hook(action, by, json!({"issue": {"number": 5, "body": body, "user": by}, "label": {"name": "Fixpoint"}}))
}

fn review(by: &Value, state: &str, body: &str) -> Value {
    let review = json!({"id": 12, "state": state, "body": body, "user": by, "commit_id": HEAD});
    hook("submitted", by, json!({"pull_request": {"number": 6}, "review": review}))
}

fn does(event: &str, payload: &Value) -> String {
    let sorted = sort(event, payload, &US);
    format!("{}: {}", sorted.does(), sorted.reason())
}

#[test]
fn a_command_of_a_person_triggers_with_all_that_is_needed_to_act() {
    let Delivery::Trigger(trigger) =
        sort("issue_comment", &comment("created", &alice(), "/code fix it"), &US)
    else {
        panic!("no trigger")
    };
    assert_eq!(trigger.place.installation, Some(InstallationId(3)));
    assert_eq!(trigger.place.repo.to_string(), "acme/calendar");
    assert_eq!((trigger.number, trigger.on), (Number(5), On::Issue));
    assert_eq!(trigger.asked, Asked::Comment(CommentId(99)));
    assert_eq!((trigger.by.id, trigger.by.login.as_str()), (UserId(7), "alice"));
    assert_eq!(trigger.text, "/code fix it");
}

#[test]
fn a_comment_on_a_pull_request_is_one() {
    let mut payload = comment("created", &alice(), "/code rebase");
    payload["issue"]["pull_request"] = json!({"url": "https://api.github.com/repos/acme/calendar/pulls/5"});
    assert!(
        matches!(sort("issue_comment", &payload, &US), Delivery::Trigger(trigger) if trigger.on == On::Pull)
    );
}

#[test]
fn what_people_say_and_do() {
    let cases = [
        (
            "issue_comment",
            comment("created", &alice(), "/code --wrong"),
            "trigger: a command in a new comment",
        ),
        ("issue_comment", comment("created", &alice(), "thanks"), "fact: a comment without a command"),
        ("issue_comment", comment("created", &alice(), "> /code fix"), "fact: a comment without a command"),
        (
            "issues",
            issue("opened", &alice(), "It breaks.\n\n/code"),
            "trigger: a command in the text of a new issue",
        ),
        ("issues", issue("opened", &alice(), "It breaks."), "ignore: no command in its text"),
        ("issues", issue("labeled", &alice(), "x"), "trigger: the label that starts work was added"),
        ("issues", issue("unlabeled", &alice(), "x"), "ignore: nothing here depends on this"),
        ("issues", issue("reopened", &alice(), "/code"), "ignore: a reopened issue waits for a command"),
        ("issues", issue("closed", &alice(), "x"), "fact: an issue is closed or gone"),
        ("issues", issue("transferred", &alice(), "x"), "fact: an issue is closed or gone"),
        ("pull_request_review", review(&alice(), "changes_requested", ""), "trigger: a review was submitted"),
        ("pull_request_review", review(&alice(), "commented", "why?"), "trigger: a review was submitted"),
        ("pull_request_review", review(&alice(), "approved", "/code but"), "trigger: a review was submitted"),
        (
            "pull_request_review",
            review(&alice(), "approved", "fine"),
            "fact: who approves a pull request has changed",
        ),
        (
            "pull_request_review",
            review(&alice(), "approved", ""),
            "fact: who approves a pull request has changed",
        ),
    ];
    for (event, payload, expected) in cases {
        assert_eq!(does(event, &payload), expected, "{payload}");
    }
}

#[test]
fn f1_bots_are_dropped_before_any_work() {
    let dropped = "ignore: written by a bot or through an App";
    let command = "/code fix it";
    for (event, payload) in [
        ("issue_comment", comment("created", &bot(), command)),
        ("issue_comment", comment("created", &bot(), "thanks")),
        ("issues", issue("opened", &bot(), command)),
        ("issues", issue("labeled", &bot(), command)),
        ("pull_request_review", review(&bot(), "commented", command)),
        ("pull_request_review", review(&bot(), "approved", "")),
        ("pull_request", hook("labeled", &bot(), json!({"pull_request": {"number": 6}}))),
    ] {
        assert_eq!(does(event, &payload), dropped, "{event}");
    }
    let mut through_an_app = comment("created", &alice(), command);
    through_an_app["comment"]["performed_via_github_app"] = json!({"id": 1, "slug": "some-app"});
    assert_eq!(does("issue_comment", &through_an_app), dropped);
    let mut bots_text = comment("created", &alice(), command);
    bots_text["comment"]["user"] = bot();
    assert_eq!(does("issue_comment", &bots_text), dropped);
}

#[test]
fn f1_facts_are_facts_whoever_caused_them() {
    let pull = json!({"number": 6, "pull_request": {"number": 6, "merged": true, "head": {"ref": "x", "sha": HEAD}}});
    for (event, payload) in [
        ("check_run", hook("completed", &bot(), json!({"check_run": {"head_sha": HEAD, "app": {"id": 1}}}))),
        ("check_suite", hook("completed", &bot(), json!({"check_suite": {"head_sha": HEAD}}))),
        ("workflow_run", hook("completed", &bot(), json!({"workflow_run": {"head_sha": HEAD}}))),
        ("workflow_job", hook("queued", &bot(), json!({"workflow_job": {"head_sha": HEAD}}))),
        ("status", hook("", &bot(), json!({"sha": HEAD}))),
        ("push", hook("", &bot(), json!({"ref": "refs/heads/x", "before": HEAD, "after": HEAD}))),
        ("pull_request", hook("closed", &bot(), pull)),
        ("issues", issue("closed", &bot(), "x")),
    ] {
        assert!(does(event, &payload).starts_with("fact: "), "{event}: {}", does(event, &payload));
    }
}

#[test]
fn f4_a_bot_may_command_only_by_its_account_id() {
    let payload = comment("created", &bot(), "/code fix it");
    let allowed = Us { bots: &[UserId(49_699_333)], ..US };
    assert_eq!(sort("issue_comment", &payload, &allowed).does(), "trigger");
    let other = Us { bots: &[UserId(1)], ..US };
    assert_eq!(sort("issue_comment", &payload, &other).does(), "ignore");
}

#[test]
fn f14_edits_start_nothing() {
    let review = hook("edited", &alice(), json!({"review": {"body": "/code fix"}}));
    for (event, payload) in [
        ("issue_comment", comment("edited", &alice(), "/code fix it")),
        ("issues", issue("edited", &alice(), "/code fix it")),
        ("pull_request_review", review),
    ] {
        assert_eq!(does(event, &payload), "ignore: edits start nothing", "{event}");
    }
    assert_eq!(
        does("issue_comment", &comment("deleted", &alice(), "/code")).split(':').next(),
        Some("ignore")
    );
}

#[test]
fn f15_a_name_proves_nothing() {
    let person = json!({"id": 8, "login": "not-a-robot[bot]", "type": "User"});
    assert_eq!(sort("issue_comment", &comment("created", &person, "/code fix"), &US).does(), "trigger");
    let robot = json!({"id": 9, "login": "alice", "type": "Bot"});
    assert_eq!(sort("issue_comment", &comment("created", &robot, "/code fix"), &US).does(), "ignore");
    let mut forged = comment("created", &alice(), "/code fix");
    forged["comment"]["user"] = json!({"id": 10, "login": "alice", "type": "User"});
    assert_eq!(does("issue_comment", &forged), "ignore: sent by another than its author");
}

#[test]
fn our_own_checks_are_no_news_but_their_buttons_are_pressed() {
    let own = |action: &str, by: &Value| {
        let run = json!({"id": 5, "head_sha": HEAD, "app": {"id": 4711}, "pull_requests": [{"number": 6}]});
        hook(action, by, json!({"check_run": run, "requested_action": {"identifier": "retry"}}))
    };
    assert_eq!(does("check_run", &own("completed", &bot())), "ignore: our own check");
    assert_eq!(
        does(
            "check_suite",
            &hook("requested", &alice(), json!({"check_suite": {"head_sha": HEAD, "app": {"id": 4711}}}))
        ),
        "ignore: our own check"
    );
    let Delivery::Trigger(pressed) = sort("check_run", &own("requested_action", &alice()), &US) else {
        panic!()
    };
    assert_eq!((pressed.asked, pressed.text.as_str()), (Asked::Button { check_run: 5 }, "retry"));
    assert_eq!(sort("check_run", &own("rerequested", &alice()), &US).does(), "trigger");
    assert_eq!(sort("check_run", &own("rerequested", &bot()), &US).does(), "ignore");
}

#[test]
fn f36_a_check_of_a_fork_is_known_by_its_commit() {
    let run = json!({"head_sha": HEAD, "pull_requests": [], "app": {"id": 1}});
    let sorted = sort("check_run", &hook("completed", &bot(), json!({"check_run": run})), &US);
    assert!(matches!(sorted, Delivery::Fact(Fact::Checks { head, .. }) if head.as_str() == HEAD));
}

#[test]
fn pushes_say_what_is_there_now() {
    let zero = "0".repeat(40);
    let push = |reference: &str, before: &str, after: &str, deleted: bool| {
        let more = json!({"ref": reference, "before": before, "after": after, "deleted": deleted});
        sort("push", &hook("", &alice(), more), &US)
    };
    let there = push("refs/heads/a/b", &zero, HEAD, false);
    assert!(
        matches!(there, Delivery::Fact(Fact::Push { branch, before: None, after: Some(_), .. }) if branch == "a/b")
    );
    let gone = push("refs/heads/x", HEAD, &zero, true);
    assert!(matches!(gone, Delivery::Fact(Fact::Push { before: Some(_), after: None, .. })));
    assert_eq!(push("refs/tags/v1", HEAD, HEAD, false), Delivery::Ignore("not a branch"));
    let deleted = hook("", &alice(), json!({"ref": "x", "ref_type": "branch"}));
    assert!(matches!(sort("delete", &deleted, &US), Delivery::Fact(Fact::Push { after: None, .. })));
}

#[test]
fn lost_access_and_new_names_are_facts() {
    let removed =
        hook("removed", &alice(), json!({"repositories_removed": [{"id": 1}, {"id": null}, 3, {"id": 4}]}));
    let Delivery::Fact(Fact::RepositoriesRemoved { repos, .. }) =
        sort("installation_repositories", &removed, &US)
    else {
        panic!()
    };
    assert_eq!(repos.len(), 2);
    for (event, action, expected) in [
        ("installation", "deleted", "fact: the App has no access any more"),
        ("installation", "suspend", "fact: the App has no access any more"),
        ("installation", "created", "ignore: new access waits for a command"),
        ("installation_repositories", "added", "ignore: new access waits for a command"),
        ("repository", "deleted", "fact: a repository is gone or archived"),
        ("repository", "renamed", "fact: a repository has another name, owner or visibility"),
        ("repository", "created", "ignore: nothing here depends on this"),
        ("ping", "", "ignore: GitHub's greeting"),
        ("star", "created", "ignore: nothing here depends on this"),
        ("an_event_of_tomorrow", "happened", "ignore: an event that is not known here"),
        ("", "", "ignore: an event that is not known here"),
    ] {
        assert_eq!(does(event, &hook(action, &alice(), json!({}))), expected, "{event} {action}");
    }
}

#[test]
fn what_is_missing_is_named() {
    let whole = comment("created", &alice(), "/code fix");
    for (pointer, reason) in [
        ("/sender", "it does not say who sent it"),
        ("/sender/id", "it does not say who sent it"),
        ("/comment/user", "it does not say who wrote it"),
        ("/repository", "it names no repository"),
        ("/repository/id", "it names no repository"),
        ("/issue", "it names no issue or pull request"),
        ("/comment/id", "it names no comment"),
    ] {
        let mut payload = whole.clone();
        *payload.pointer_mut(pointer).unwrap() = Value::Null;
        assert_eq!(sort("issue_comment", &payload, &US), Delivery::Ignore(reason), "{pointer}");
    }
    for odd in [json!(null), json!([]), json!("x"), json!(1), json!({})] {
        assert_eq!(sort("issue_comment", &odd, &US).does(), "ignore");
    }
}

const EVENTS: &[&str] = &[
    "issue_comment",
    "issues",
    "pull_request",
    "pull_request_review",
    "push",
    "delete",
    "check_run",
    "check_suite",
    "workflow_run",
    "workflow_job",
    "status",
    "installation",
    "installation_repositories",
    "repository",
    "public",
    "ping",
    "nonsense",
];

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        proptest::sample::select(&[
            "created",
            "opened",
            "labeled",
            "closed",
            "submitted",
            "Bot",
            "/code x",
            HEAD,
            "refs/heads/"
        ])
        .prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    let key = proptest::sample::select(&[
        "action",
        "id",
        "number",
        "login",
        "type",
        "body",
        "user",
        "sender",
        "comment",
        "issue",
        "repository",
        "full_name",
        "owner",
        "name",
        "ref",
        "ref_type",
        "after",
        "sha",
        "head_sha",
        "app",
        "head",
        "base",
        "pull_request",
        "review",
        "state",
        "check_run",
        "label",
        "pull_requests",
        "installation",
        "repositories_removed",
        "workflow_run",
    ]);
    leaf.prop_recursive(5, 64, 12, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::hash_map(key.clone().prop_map(str::to_owned), inner, 0..12)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn anything_at_all_is_sorted(event in proptest::sample::select(EVENTS), payload in anything()) {
        let sorted = sort(event, &payload, &US);
        prop_assert!(!sorted.reason().is_empty());
    }
}
