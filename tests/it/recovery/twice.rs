//! Every once-effect is performed twice, as after a crash between an act and its record: the same story.

use super::{Case, Wish};
use crate::support::{ISSUE, World, plays::*};
use fixpoint::{
    domain::{Fault, fault},
    emulator::{JobPlay, LineComment, Permission},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_act_of_the_story() {
    let case = Case::new().await;
    let _server = case.serve(Wish { fault: Some(Fault::ActsTwice), ..Wish::default() }).await;
    case.say("/code fix the sum");
    case.judge(0).await.unwrap();
}

/// What the story has not: a label, a re-run, answers in a review, a review of ours, a branch that goes. On one thread:
/// a fault is its thread's.
#[tokio::test]
async fn each_act_that_the_story_has_not() {
    fault::seed(Some(Fault::ActsTwice));
    let mut t = World::new().start().await;
    t.github.grant("actions", Some("write"));
    t.github.collaborator(&t.repo, "rita", Permission::Write).unwrap();
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.github.label(&t.repo, ISSUE, "alice", "fixpoint").unwrap();
    t.settle().await;
    t.ci_ends(&JobPlay::loses_its_runner()).await;
    t.ci_passes().await;
    let pull = t.pull();
    let line = LineComment {
        path: "src/sum.sh".into(),
        line: 1,
        body: "Quote it.".into(),
        ..LineComment::default()
    };
    t.model_plays([edit("src/sum.sh", "echo $(($1 + $2))", "echo \"$(($1 + $2))\""), finish("Quote it")]);
    t.github.review(&t.repo, pull.number, "rita", "CHANGES_REQUESTED", "Nearly.", &[line]).unwrap();
    t.settle().await;
    t.ci_passes().await;
    t.model_plays([finish("Nothing is wrong.")]);
    t.comment("/code review").by("alice").on(pull.number);
    t.settle().await;
    t.github.merge(&t.repo, pull.number, "alice").unwrap();
    t.settle().await;
    let times = |end: &str| t.writes().iter().filter(|write| write.ends_with(end)).count();
    let one_of_each = [
        ("the status", t.said().iter().filter(|text| text.contains(":status -->")).count()),
        ("the pull request", t.github.pulls(&t.repo).unwrap().len()),
        ("the re-run", times("/rerun-failed-jobs")),
        ("the answer", t.github.line_comments(&t.repo, pull.number).unwrap().len() - 1),
        (
            "our review",
            t.github
                .reviews(&t.repo, pull.number)
                .unwrap()
                .iter()
                .filter(|r| r.author == "fixpoint[bot]" && !r.body.is_empty())
                .count(),
        ),
        ("the branch that is left", t.github.branches(&t.repo).unwrap().len()),
        ("the label's place", t.github.issue(&t.repo, ISSUE).unwrap().labels.len() + 1),
    ];
    for (what, times) in one_of_each {
        assert_eq!(times, 1, "{what}: {:#?}", t.writes());
    }
    for login in ["alice", "rita"] {
        let mut asked = t.told(login);
        asked.retain(|one| one.starts_with("review_requested"));
        assert!(asked.len() <= 2, "{login}: {asked:?}");
    }
    t.end().await;
}
