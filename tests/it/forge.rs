//! GitHub at its worst: limits, tokens that die, permissions that are missing, pushes that seem to succeed, odd input.

use crate::support::{Fixpoint, ISSUE, REPO, World, fixpoint, plays::*};
use fixpoint::emulator::{Ci, Fault, NewRepository, Request, Trouble};
use std::time::Duration;

/// Everything in one round, CI green.
async fn all_goes_well(t: &mut Fixpoint) {
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.until("watching").await;
    t.settle().await;
    t.ci_passes().await;
    assert_eq!(t.phases().await, "queued → working(1) → publishing → watching → resting(green)");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_limit_is_honoured_to_the_second() {
    for (status, method, path) in
        [(429, "GET", "/repos/*/*/collaborators/**"), (403, "POST", "/repos/*/*/pulls")]
    {
        let mut t = fixpoint().await;
        let limit = Trouble::Status { status, retry_after: Some(2) };
        t.github.faults().add(Fault::next(path, limit).on(method));
        all_goes_well(&mut t).await;
        let requests = t.github.requests();
        let api: Vec<&Request> = requests.iter().filter(|r| r.path.starts_with("/repos/")).collect();
        let struck = api.iter().position(|r| r.status == status).expect("one was refused");
        let mut after = api[struck + 1..].iter().map(|r| r.at - api[struck].at);
        // What was on its way already when the refusal came is nobody's fault.
        let silence = after.find(|after| *after >= chrono::TimeDelta::seconds(1)).expect("it went on");
        assert!(silence >= chrono::TimeDelta::milliseconds(1900), "{status}: only {silence} of silence");
        assert_eq!(t.github.pulls(&t.repo).unwrap().len(), 1);
        t.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_ends_in_the_middle_is_minted_again() {
    let mut t = World { token_ttl: Duration::from_secs(2), ..World::new() }.start().await;
    t.model_plays([
        shell("true").after(Duration::from_secs(3)),
        edit("src/sum.sh", "$1 - $2", "$1 * $2"),
        finish("Multiply"),
        edit("src/sum.sh", "$1 * $2", "$1 + $2"),
        finish("Add"),
    ]);
    t.comment("/code").by("alice").on(ISSUE);
    t.until("watching").await;
    t.settle().await;
    // Ended long before their time: only a refusal tells.
    t.github.expire_tokens();
    t.ci_fails("expected 3, got 2").await;
    t.github.expire_tokens();
    t.ci_passes().await;
    assert!(t.phases().await.ends_with("working(2) → publishing → watching → resting(green)"));
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_write_access_to_contents_it_is_said_what_is_missing() {
    let mut t = fixpoint().await;
    t.github.grant("contents", Some("read"));
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    assert_eq!(t.phases().await, "queued → working(1) → publishing → done(refused)");
    t.until_says("contents: write").await;
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_access_to_checks_it_is_said_what_is_missing() {
    let mut t = fixpoint().await;
    t.github.grant("checks", None);
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.until("resting(not_started)").await;
    t.settle().await;
    t.until_says("\"checks\" permission").await;
    assert!(t.pull().draft);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_no_check_of_ours_may_be_shown_everything_else_goes_on() {
    let mut t = fixpoint().await;
    t.github.grant("checks", Some("read"));
    all_goes_well(&mut t).await;
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_that_github_refuses_is_an_answer() {
    let mut t = fixpoint().await;
    let refused = Trouble::Status { status: 422, retry_after: None };
    t.github.faults().add(Fault::next("/repos/*/*/pulls", refused).on("POST").times(5));
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.until("resting(refused)").await;
    t.settle().await;
    t.until_says("does not open the pull request").await;
    // Asked again it is pushed to the same branch, and opened.
    t.github.faults().clear();
    t.model_plays([write("README.md", "# sums\n"), finish("Say what it is")]);
    t.comment("/code retry").by("alice").on(ISSUE);
    t.until("watching").await;
    t.settle().await;
    assert_eq!(t.github.pulls(&t.repo).unwrap().len(), 1);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f25_the_ref_itself_says_how_a_push_ended() {
    let mut t = fixpoint().await;
    t.model_plays([
        edit("src/sum.sh", "$1 - $2", "$1 * $2"),
        finish("Multiply"),
        edit("src/sum.sh", "$1 * $2", "$1 + $2"),
        finish("Add"),
    ]);
    // First an answer that looks like success and has no effect; then an effect whose answer is lost.
    let nothing = Trouble::Status { status: 200, retry_after: None };
    t.github.faults().add(Fault::next("/*/*/git-receive-pack", nothing).on("POST"));
    t.comment("/code").by("alice").on(ISSUE);
    t.until("watching").await;
    let head = t.state().await.facts.head.unwrap().to_string();
    let branch = t.state().await.facts.branch;
    assert_eq!(t.github.branch(&t.repo, &branch).unwrap(), Some(head));
    t.settle().await;
    t.github.faults().add(Fault::next("/*/*/git-receive-pack", Trouble::LoseAnswer).on("POST"));
    t.ci_fails("expected 3, got 2").await;
    t.until("watching").await;
    t.settle().await;
    t.ci_passes().await;
    assert!(t.phases().await.ends_with("working(2) → publishing → watching → resting(green)"));
    let pushes = t.story().await.matches(&format!("pushes {branch}")).count();
    assert_eq!(pushes, 2, "what arrived is not pushed again");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f25_a_rule_that_forbids_the_push_is_told_in_githubs_words() {
    let mut world = World::new();
    world.repository.protected = vec!["fixpoint/1-the-sum-is-wrong".into()];
    let mut t = world.start().await;
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    assert_eq!(t.phases().await, "queued → working(1) → publishing → done(refused)");
    t.until_says("rotected branch").await;
    assert_eq!(t.github.branches(&t.repo).unwrap(), ["main"]);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f26_the_default_branch_is_never_pushed_to() {
    // Named just as ours would be.
    let ours = "fixpoint/1-the-sum-is-wrong";
    let mut repository =
        NewRepository::new(REPO, &[("src/sum.sh", "echo $(($1 - $2))\n")]).ci(Ci::scripted(&["test"]));
    repository.default_branch = ours.into();
    let mut t = World::new().repository(repository).start().await;
    let before = t.github.branch(&t.repo, ours).unwrap();
    all_goes_well(&mut t).await;
    assert_eq!(t.github.branch(&t.repo, ours).unwrap(), before);
    assert_ne!(t.pull().head_branch, ours);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_issue_full_of_control_characters_is_an_issue() {
    let body = "1 + 2\u{0} should\u{1b}[31m be\u{202e} 3.\u{8}\u{7f}\u{9b}";
    let mut t = World { body, title: "The \u{7}sum \u{1b}]0;is\u{2066} wrong", ..World::new() }.start().await;
    all_goes_well(&mut t).await;
    for shown in t.github.model().shown() {
        for sign in ["\u{0}", "\u{7}", "\u{8}", "\u{1b}", "\u{7f}", "\u{9b}", "\u{202e}", "\u{2066}"] {
            assert!(!shown.holds(sign), "the model was shown {sign:?}");
        }
    }
    for text in [t.pull().title, t.pull().body].iter().chain(&t.said()) {
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
    }
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comment_as_long_as_github_takes_is_followed() {
    let mut t = fixpoint().await;
    t.model_plays([finish("Nothing to do")]);
    let longest = format!("/code {}the very end", "🦀 word ".repeat(9_300));
    assert!((64_000..=65_536).contains(&longest.chars().count()), "{}", longest.chars().count());
    t.comment(&longest).by("alice").on(ISSUE);
    t.settle().await;
    assert_eq!(t.phases().await, "queued → working(1) → done(nothing_to_change)");
    assert!(t.github.model().shown()[0].holds("the very end"));
    assert_eq!(t.said().len(), 1);
    t.end().await;
}
