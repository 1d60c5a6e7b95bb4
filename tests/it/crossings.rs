//! What people do while something else is going on: each meets the session in another phase.

use crate::support::{Fixpoint, ISSUE, World, fixpoint, plays::*};
use fixpoint::{
    emulator::{Ci, Emulator, Fault, Permission, Trouble},
    work::Running,
};
use std::time::Duration;

/// A fixpoint that has pushed its first round, whose CI is what the test says with [`Fixpoint::status`].
async fn watching(rounds: u32) -> Fixpoint {
    let world = World::new().ci(Ci::none()).limits(|l| {
        l.rounds = rounds;
        l.ci_start = Duration::from_secs(600);
    });
    let mut t = world.start().await;
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 * $2"), finish("Multiply")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.until("watching").await;
    t
}

impl Fixpoint {
    /// Another service says this of the branch's head.
    async fn status(&self, state: &str) {
        let head = self.state().await.facts.head.expect("a head").to_string();
        self.github.status(&self.repo, &head, "ci/other", state).expect("a status");
    }

    /// The next push is on its way until [`Fixpoint::push_arrives`].
    fn slow_push(&self) {
        let slow = Fault::next("/*/*/git-receive-pack", Trouble::Hold).on("POST");
        self.github.faults().add(slow);
    }

    /// Whatever was said has come by now, and then the push.
    async fn push_arrives(&mut self) {
        self.until_held().await;
        self.delivered().await;
        self.github.faults().release();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn code_while_queued_is_joined() {
    let running = Running { all: 4, repository: 1, installation: 4 };
    let mut t = World { running, ..World::new() }.start().await;
    t.github.model().plays_where("the first thing", [finish("Nothing")]);
    t.github.model().plays_where("mend the second", [finish("Nothing either")]);
    t.model_waits(0);
    t.comment("/code do the first thing").by("alice").on(ISSUE);
    t.until_shown(1).await;
    let second = t.github.open_issue(&t.repo, "alice", "Another", "").unwrap();
    t.comment("/code mend the second").by("alice").on(second);
    t.comment("/code and mind the zero").by("alice").on(second);
    t.heard().await;
    t.model_goes_on().await;
    t.settle().await;
    let sessions = t.sessions().await;
    assert_eq!(sessions.len(), 2);
    assert_eq!(sessions[1].state.facts.request_no, 1);
    assert_eq!(t.phases().await, "queued → working(1) → done(nothing_to_change)");
    let shown = t.github.model().shown();
    assert_eq!(shown.len(), 2, "one request for both sentences");
    assert!(shown[1].holds("mend the second") && shown[1].holds("and mind the zero"));
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn code_while_working_reaches_the_agent_in_the_same_request() {
    let mut t = fixpoint().await;
    t.model_plays([shell("true"), edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.model_waits(0);
    t.comment("/code").by("alice").on(ISSUE);
    t.until_shown(1).await;
    t.comment("/code and mind the zero").by("alice").on(ISSUE);
    t.heard().await;
    t.model_goes_on().await;
    t.settle().await;
    t.ci_passes().await;
    assert_eq!(t.phases().await, "queued → working(1) → publishing → watching → resting(green)");
    assert!(t.github.model().shown()[1..].iter().all(|s| s.holds("and mind the zero")));
    assert_eq!(t.state().await.facts.request_no, 1);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn code_while_publishing_is_a_request_of_its_own_after_the_push() {
    let mut t = fixpoint().await;
    t.slow_push();
    t.model_plays([
        edit("src/sum.sh", "$1 - $2", "$1 * $2"),
        finish("Multiply"),
        edit("src/sum.sh", "$1 * $2", "$1 + $2"),
        finish("Add"),
    ]);
    t.comment("/code").by("alice").on(ISSUE);
    t.until("publishing").await;
    t.comment("/code no, add them").by("alice").on(ISSUE);
    t.push_arrives().await;
    t.settle().await;
    assert_eq!(
        t.phases().await,
        "queued → working(1) → publishing → queued → working(1) → publishing → watching"
    );
    assert!(t.github.model().shown()[2].holds("no, add them"));
    assert_eq!(t.github.pulls(&t.repo).unwrap().len(), 1);
    t.ci_passes().await;
    assert!(t.phases().await.ends_with("watching → resting(green)"), "{}", t.phases().await);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f11_code_right_behind_the_end_of_a_session_begins_another() {
    let mut t = fixpoint().await;
    t.slow_push();
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 * $2"), finish("Multiply"), finish("Nothing")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.until("publishing").await;
    t.github.close(&t.repo, ISSUE, "alice").unwrap();
    t.delivered().await;
    t.github.reopen(&t.repo, ISSUE, "alice").unwrap();
    t.delivered().await;
    // The session is live, so that it is its to hear; when it does it is over.
    t.comment("/code no, leave it").by("alice").on(ISSUE);
    t.push_arrives().await;
    t.settle().await;
    let sessions = t.sessions().await;
    assert_eq!(sessions.len(), 2);
    assert!(t.github.model().shown()[2].holds("no, leave it"));
    assert_eq!(sessions[1].state.facts.request_no, 1);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_while_publishing_finishes_what_is_on_its_way() {
    let mut t = fixpoint().await;
    t.slow_push();
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.until("publishing").await;
    t.comment("/code stop").by("alice").on(ISSUE);
    t.push_arrives().await;
    t.settle().await;
    assert_eq!(t.phases().await, "queued → working(1) → publishing → resting(stopped)");
    let head = t.state().await.facts.head.unwrap().to_string();
    assert!(t.pull().draft, "what was pushed has its pull request, as a draft");
    assert_eq!(t.github.branch(&t.repo, &t.pull().head_branch).unwrap(), Some(head));
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_while_watching_rests() {
    let mut t = fixpoint().await;
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 * $2"), finish("Multiply")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.until("watching").await;
    t.comment("/code stop").by("alice").on(ISSUE);
    t.until("resting(stopped)").await;
    t.ci_fails("expected 3, got 2").await;
    assert!(t.phases().await.ends_with("watching → resting(stopped)"), "{}", t.phases().await);
    assert!(t.pull().draft);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reopened_rests_and_goes_on_when_asked() {
    let mut t = fixpoint().await;
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 * $2"), finish("Multiply")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.until("watching").await;
    t.settle().await;
    let number = t.pull().number;
    t.github.close(&t.repo, number, "alice").unwrap();
    t.until("done(closed)").await;
    t.github.reopen(&t.repo, number, "alice").unwrap();
    t.until("resting(reopened)").await;
    t.model_plays([edit("src/sum.sh", "$1 * $2", "$1 + $2"), finish("Add")]);
    t.comment("/code add them").by("alice").on(ISSUE);
    t.settle().await;
    t.ci_passes().await;
    assert!(
        t.phases()
            .await
            .ends_with("resting(reopened) → queued → working(1) → publishing → watching → resting(green)"),
        "{}",
        t.phases().await
    );
    assert_eq!(t.github.pulls(&t.repo).unwrap().len(), 1, "the same pull request");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_branch_is_the_end() {
    let mut t = watching(3).await;
    // With the pull request open: before that GitHub would not open one for a branch that is gone.
    t.settle().await;
    let branch = t.state().await.facts.branch;
    t.github.delete_branch(&t.repo, "alice", &branch).unwrap();
    t.settle().await;
    assert!(t.phases().await.ends_with("watching → done(closed)"), "{}", t.phases().await);
    assert_eq!(t.github.branch(&t.repo, &branch).unwrap(), None, "it is not pushed again");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_access_it_is_over() {
    let losses: [fn(&Emulator, &str); 3] = [
        |github, _| github.suspend(true),
        |github, repo| github.install(repo, false).unwrap(),
        |github, repo| github.delete_repository(repo, "alice").unwrap(),
    ];
    for lose in losses {
        let mut t = watching(3).await;
        lose(&t.github, &t.repo);
        t.until("done(no_access)").await;
        t.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn red_that_turns_green_at_rest_is_ready() {
    let mut t = watching(1).await;
    t.status("failure").await;
    t.until("resting(not_green)").await;
    t.settle().await;
    assert!(t.pull().draft);
    t.status("success").await;
    t.until("resting(green)").await;
    t.until_seen("it is ready", |t| !t.pull().draft).await;
    assert_eq!(t.state().await.facts.rounds.len(), 1, "no round was run for it");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn green_that_turns_red_at_rest_uses_the_rounds_that_are_left() {
    let mut t = watching(2).await;
    t.status("success").await;
    t.until("resting(green)").await;
    t.settle().await;
    t.model_plays([edit("src/sum.sh", "$1 * $2", "$1 + $2"), finish("Add")]);
    t.status("failure").await;
    t.until_phases("working(2) → publishing → watching").await;
    t.until_seen("it is a draft again", |t| t.pull().draft).await;
    t.status("success").await;
    t.until("resting(green)").await;
    t.until_seen("it is ready", |t| !t.pull().draft).await;
    assert!(
        t.phases()
            .await
            .ends_with("resting(green) → queued → working(2) → publishing → watching → resting(green)"),
        "{}",
        t.phases().await
    );
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f46_f52_an_old_heads_green_is_history() {
    let mut t = watching(2).await;
    let old = t.state().await.facts.head.unwrap().to_string();
    t.model_plays([edit("src/sum.sh", "$1 * $2", "$1 + $2"), finish("Add")]);
    t.status("failure").await;
    t.until_phases("working(2) → publishing → watching").await;
    t.github.status(&t.repo, &old, "ci/other", "success").unwrap();
    t.settle().await;
    assert!(t.phases().await.ends_with("working(2) → publishing → watching"), "{}", t.phases().await);
    assert!(t.pull().draft);
    t.status("success").await;
    t.until("resting(green)").await;
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_nobody_answers_is_ended_and_that_is_said_once() {
    let mut t = World::new().limits(|l| l.person = Duration::from_secs(2)).start().await;
    t.model_plays([ask("Shall overflow wrap or saturate?")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.until("done(no_answer)").await;
    t.until_says("nobody answered").await;
    t.settle().await;
    let ended =
        t.said().iter().filter(|said| said.contains("@alice") && said.contains("nobody answered")).count();
    assert_eq!(ended, 1, "{:?}", t.said());
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn approve_where_nothing_waits_is_answered() {
    let mut t = fixpoint().await;
    t.github.collaborator(&t.repo, "bob", Permission::Write).unwrap();
    t.model_plays([finish("Nothing")]);
    t.model_waits(0);
    t.comment("/code").by("alice").on(ISSUE);
    t.until_shown(1).await;
    t.comment("/code approve").by("bob").on(ISSUE);
    t.heard().await;
    t.model_goes_on().await;
    t.settle().await;
    t.until_says("Nothing waits for an approval").await;
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_the_merge_queue_nothing_is_pushed() {
    let mut t = watching(3).await;
    t.status("success").await;
    t.settle().await;
    let pull = t.pull();
    t.github.queue_for_merge(&t.repo, pull.number, "alice").unwrap();
    t.settle().await;
    t.model_plays([write("NOTES.md", "Sums.\n"), finish("Note it")]);
    t.comment("/code say what it is").by("alice").on(pull.number);
    t.until("publishing").await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(t.pull().head_sha, pull.head_sha, "what is in the queue stays what it was");
    t.github.take_from_queue(&t.repo, pull.number, "alice").unwrap();
    t.until("watching").await;
    assert_ne!(t.pull().head_sha, pull.head_sha);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_base_is_followed() {
    let mut t = watching(3).await;
    t.settle().await;
    t.github.push_as(&t.repo, "alice", "stable", &[("OLD.md", "old\n")]).unwrap();
    t.github.retarget(&t.repo, t.pull().number, "alice", "stable").unwrap();
    t.settle().await;
    assert_eq!(t.state().await.facts.base.branch, "stable");
    t.model_plays([]);
    t.comment("/code rebase").by("alice").on(t.pull().number);
    t.settle().await;
    let branch = t.pull().head_branch;
    assert!(t.github.file(&t.repo, &branch, "OLD.md").unwrap().is_some(), "the new base is taken in");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renamed_repository_is_the_same_one() {
    let mut t = watching(3).await;
    t.github.rename_repository(&t.repo, "alice", "almanac").unwrap();
    t.repo = "acme/almanac".to_owned();
    t.settle().await;
    assert_eq!(t.state().await.facts.repo.to_string(), "acme/almanac");
    t.status("success").await;
    t.settle().await;
    assert!(t.phases().await.ends_with("resting(green)"), "{}", t.phases().await);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_buttons_of_our_check_ask_like_a_comment() {
    let mut t = watching(1).await;
    t.status("failure").await;
    t.settle().await;
    assert!(t.phases().await.ends_with("resting(not_green)"), "{}", t.phases().await);
    t.github.press(&t.repo, "mallory", "fixpoint", "retry").unwrap();
    t.settle().await;
    assert!(t.phases().await.ends_with("resting(not_green)"), "a stranger presses in vain");
    t.model_plays([write("NOTES.md", "Sums.\n"), finish("Note it")]);
    t.github.press(&t.repo, "alice", "fixpoint", "retry").unwrap();
    t.settle().await;
    assert!(
        t.phases().await.ends_with("queued → working(1) → publishing → watching"),
        "{}",
        t.phases().await
    );
    t.status("failure").await;
    t.settle().await;
    t.model_plays([write("MORE.md", "Sums.\n"), finish("Note more")]);
    t.github.rerequest(&t.repo, "alice", "fixpoint").unwrap();
    t.settle().await;
    assert!(t.phases().await.ends_with("working(1) → publishing → watching"), "{}", t.phases().await);
    t.end().await;
}
