//! Reviews of our pull request, and reviews of ours.

use crate::support::{Fixpoint, ISSUE, World, fixpoint, plays::*};
use fixpoint::emulator::{LineComment, Permission, Play};
use serde_json::json;

/// A pull request of ours, green and ready.
async fn ready(t: &mut Fixpoint) -> u64 {
    t.github.collaborator(&t.repo, "rita", Permission::Write).unwrap();
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    t.ci_passes().await;
    t.pull().number
}

fn on_line(text: &str) -> LineComment {
    LineComment { path: "src/sum.sh".to_owned(), line: 1, body: text.to_owned(), ..LineComment::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn f21_a_review_is_one_request_and_each_thread_is_answered() {
    let mut t = fixpoint().await;
    let pull = ready(&mut t).await;
    let lines = [on_line("Quote the arguments."), on_line("Why not bc?")];
    let look = shell("cat src/sum.sh");
    t.model_plays([edit("src/sum.sh", "echo $(($1 + $2))", "echo \"$(($1 + $2))\""), look]);
    t.model_waits(1);
    t.github.review(&t.repo, pull, "rita", "CHANGES_REQUESTED", "Nearly.", &lines).unwrap();
    t.until_shown(4).await;
    for told in ["Nearly.", "Quote the arguments.", "Why not bc?", "echo $(($1 + $2))"] {
        assert!(t.shown(told), "{told} is told");
    }
    let first = t.thread_ids()[0];
    let replies = json!({ "summary": "Quote it", "replies": [{ "comment": first, "text": "Quoted." }] });
    t.model_plays([Play::call("finish", replies)]);
    t.model_goes_on().await;
    t.settle().await;
    t.ci_passes().await;
    let answers = t.github.line_comments(&t.repo, pull).unwrap();
    let ours: Vec<&str> =
        answers.iter().filter(|c| c.author == "fixpoint[bot]").map(|c| c.body.as_str()).collect();
    assert_eq!(ours.len(), 2, "{ours:#?}");
    let head = t.pull().head_sha;
    assert!(ours[0].contains(&head) && ours[0].contains("Quoted."), "{}", ours[0]);
    assert!(ours[1].contains("said nothing about this"), "{}", ours[1]);
    assert!(!t.writes().iter().any(|w| w.contains("resolve")), "a thread is its people's to resolve");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_review_puts_it_back_to_draft_and_asks_again_when_green() {
    let mut t = fixpoint().await;
    let pull = ready(&mut t).await;
    t.model_plays([edit("src/sum.sh", "echo $(($1 + $2))", "echo \"$(($1 + $2))\""), finish("Quote it")]);
    t.github.review(&t.repo, pull, "rita", "CHANGES_REQUESTED", "Quote it.", &[]).unwrap();
    t.settle().await;
    t.ci_passes().await;
    let story = t.story().await;
    assert!(story.contains("is a draft again"), "{story}");
    assert!(story.contains("rita is asked to review"), "{story}");
    assert!(t.phases().await.ends_with("watching → resting(green)"), "{story}");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_starts_nothing() {
    let mut t = fixpoint().await;
    let pull = ready(&mut t).await;
    t.github.review(&t.repo, pull, "rita", "APPROVED", "Good, though I would have used bc.", &[]).unwrap();
    t.settle().await;
    assert!(t.phases().await.ends_with("resting(green)"), "{}", t.phases().await);
    assert_eq!(t.state().await.facts.approvals.len(), 1);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f5_reviews_are_capped() {
    let mut t = World::new().limits(|l| l.reviews = 1).start().await;
    let pull = ready(&mut t).await;
    t.model_plays([write("A.md", "a\n"), finish("One")]);
    t.github.review(&t.repo, pull, "rita", "COMMENTED", "Add A.md.", &[]).unwrap();
    t.settle().await;
    t.ci_passes().await;
    t.github.review(&t.repo, pull, "rita", "COMMENTED", "Add B.md.", &[]).unwrap();
    t.settle().await;
    assert!(t.said().concat().contains("which is the cap"), "{:?}", t.said());
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn code_review_comments_on_lines_and_pushes_nothing() {
    let mut t = fixpoint().await;
    t.github.collaborator(&t.repo, "bob", Permission::Write).unwrap();
    let head =
        t.github.push_as(&t.repo, "bob", "bobs-work", &[("src/sum.sh", "echo $(($1 * $2))\n")]).unwrap();
    let number = t.github.open_pull(&t.repo, "bob", "bobs-work", "Multiply", "As asked.").unwrap();
    t.ci_passes().await;
    let found = json!({ "summary": "It multiplies where the issue wants a sum.", "comments": [
        { "path": "src/sum.sh", "line": 1, "body": "This multiplies.", "suggestion": "echo $(($1 + $2))" },
        { "path": "README.md", "line": 1, "body": "The title says nothing of sums." },
    ] });
    t.model_plays([write("src/sum.sh", "meddling\n"), Play::call("finish", found)]);
    t.comment("/code review the arithmetic").by("alice").on(number);
    t.settle().await;
    assert_eq!(t.phases().await, "queued → working(1) → resting(reviewed)");
    assert_eq!(t.github.branch(&t.repo, "bobs-work").unwrap(), Some(head));
    let writes = t.writes();
    assert_eq!(writes.iter().filter(|w| w.ends_with("/reviews")).count(), 1, "{writes:#?}");
    assert!(!writes.iter().any(|w| w.contains("/check-runs")), "{writes:#?}");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_review_of_ours_leaves_what_waits_for_a_yes_waiting() {
    let mut t = fixpoint().await;
    t.model_plays([write("build.rs", "fn main() {}\n"), finish("Build"), finish("Nothing is wrong.")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    t.ci_passes().await;
    assert!(t.phases().await.ends_with("resting(needs_person)"), "{}", t.phases().await);
    let pull = t.pull().number;
    t.comment("/code review").by("alice").on(pull);
    t.settle().await;
    assert!(t.phases().await.ends_with("working(1) → resting(needs_person)"), "{}", t.phases().await);
    t.comment("/code approve").by("alice").on(pull);
    t.settle().await;
    assert!(t.phases().await.ends_with("resting(green)") && !t.pull().draft, "{}", t.phases().await);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_title_is_the_first_requests_last_word_until_a_person_changes_it() {
    let mut t = fixpoint().await;
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 * $2"), finish("Multiply")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    t.model_plays([edit("src/sum.sh", "$1 * $2", "$1 + $2"), finish("Add the two numbers")]);
    t.ci_fails("expected 3, got 2").await;
    t.ci_passes().await;
    assert_eq!(t.pull().title, "Add the two numbers");
    t.end().await;
}
