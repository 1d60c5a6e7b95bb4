//! What a repository's rules start by themselves, and how often; and the second person it wants.

use crate::support::{Fixpoint, ISSUE, REPO, World, fixpoint, plays::*};
use fixpoint::emulator::{Ci, JobPlay, NewRepository, Permission};

fn with(config: &str) -> World {
    let files = [("src/sum.sh", "echo $(($1 - $2))\n"), (".github/fixpoint.yml", config)];
    World::new().repository(NewRepository::new(REPO, &files).ci(Ci::scripted(&["test"])))
}

async fn bobs_red_pull(t: &Fixpoint) -> u64 {
    t.github.push_as(&t.repo, "bob", "bobs-work", &[("src/sum.sh", "echo $(($1 * $2))\n")]).unwrap();
    let number = t.github.open_pull(&t.repo, "bob", "bobs-work", "Multiply", "As asked.").unwrap();
    t.github.ci_ends(&t.repo, "test", &JobPlay::fails("expected 3, got 2")).unwrap();
    number
}

#[tokio::test(flavor = "multi_thread")]
async fn by_default_a_red_check_of_somebody_starts_nothing() {
    let mut t = fixpoint().await;
    t.github.collaborator(&t.repo, "bob", Permission::Write).unwrap();
    bobs_red_pull(&t).await;
    t.settle().await;
    assert!(t.sessions().await.is_empty());
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writers_red_pull_request_is_mended_once_a_head() {
    let mut t = with("autofix: { people: writers }\n").start().await;
    t.github.collaborator(&t.repo, "bob", Permission::Write).unwrap();
    t.model_plays([edit("src/sum.sh", "$1 * $2", "$1 + $2"), finish("Add")]);
    bobs_red_pull(&t).await;
    t.settle().await;
    t.ci_passes().await;
    assert_eq!(t.phases().await, "watching → queued → working(1) → publishing → watching → resting(green)");
    // The same commit red once more: it is of our own making.
    t.github.status(&t.repo, &t.pull().head_sha, "ci/other", "failure").unwrap();
    t.settle().await;
    assert_eq!(t.sessions().await.len(), 1);
    assert!(t.phases().await.ends_with("watching → resting(green)"), "{}", t.phases().await);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_forks_newcomers_and_bots_start_nothing() {
    let mut t = with("autofix: { people: writers }\n").start().await;
    t.github.collaborator(&t.repo, "renovate[bot]", Permission::Write).unwrap();
    let fork = t.github.fork(&t.repo, "carol").unwrap();
    let theirs = t.github.push_as(&fork, "carol", "mine", &[("src/sum.sh", "echo $(($1 * $2))\n")]).unwrap();
    t.github.open_pull(&t.repo, "carol", "carol:mine", "Multiply", "See.").unwrap();
    let bumped = t.github.push_as(&t.repo, "renovate[bot]", "bump", &[("src/sum.sh", "echo 1\n")]).unwrap();
    t.github.open_pull(&t.repo, "renovate[bot]", "bump", "Bump", "").unwrap();
    for (head, why) in [(theirs, "its branch is in a fork"), (bumped, "it is a bot's")] {
        t.github.status(&t.repo, &head, "ci/other", "failure").unwrap();
        t.settle().await;
        let sorted = t.github.deliveries().into_iter().rfind(|d| d.event == "status").unwrap();
        let (_, settled) = t.store.delivery(&sorted.guid).await.unwrap().unwrap();
        assert!(settled.unwrap().reason.starts_with(why), "each for its own reason");
        assert!(t.sessions().await.is_empty());
    }
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_a_label_is_wanted_it_must_be_there() {
    let mut t = with("autofix: { people: label }\n").start().await;
    t.github.collaborator(&t.repo, "bob", Permission::Write).unwrap();
    let number = bobs_red_pull(&t).await;
    t.settle().await;
    assert!(t.sessions().await.is_empty(), "no label");
    t.github.label(&t.repo, number, "bob", "fixpoint").unwrap();
    t.model_plays([edit("src/sum.sh", "$1 * $2", "$1 + $2"), finish("Add")]);
    t.github.push_as(&t.repo, "bob", "bobs-work", &[("OTHER.md", "o\n")]).unwrap();
    t.github.ci_ends(&t.repo, "test", &JobPlay::fails("expected 3, got 2")).unwrap();
    t.settle().await;
    assert!(t.phases().await.ends_with("publishing → watching"), "{}", t.phases().await);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_day_has_its_cap() {
    let mut t = with("autofix: { people: writers }\n").limits(|l| l.automatic_a_pull = 1).start().await;
    t.github.collaborator(&t.repo, "bob", Permission::Write).unwrap();
    t.model_plays([edit("src/sum.sh", "$1 * $2", "$1 + $2"), finish("Add")]);
    bobs_red_pull(&t).await;
    t.settle().await;
    t.ci_passes().await;
    t.github.push_as(&t.repo, "bob", "bobs-work", &[("src/sum.sh", "echo 0\n")]).unwrap();
    t.github.ci_ends(&t.repo, "test", &JobPlay::fails("expected 3, got 0")).unwrap();
    t.settle().await;
    assert!(t.phases().await.ends_with("resting(green) → resting(stood_down)"), "{}", t.phases().await);
    t.end().await;
}

fn second_person(t: &Fixpoint, sha: &str) -> Option<String> {
    let checks = t.github.check_runs(&t.repo, sha).unwrap();
    let check = checks.into_iter().find(|check| check.name == "fixpoint/second-person")?;
    Some(check.conclusion.unwrap_or(check.status))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_person_is_somebody_else_on_the_live_head() {
    let mut t = with("second_person: other-than-asker\n").start().await;
    t.github.collaborator(&t.repo, "rita", Permission::Write).unwrap();
    t.github.collaborator(&t.repo, "reader", Permission::Read).unwrap();
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    t.ci_passes().await;
    assert!(t.phases().await.ends_with("resting(green)"), "our own check is no CI: {}", t.phases().await);
    let pull = t.pull();
    assert_eq!(second_person(&t, &pull.head_sha).as_deref(), Some("in_progress"));
    for login in ["alice", "reader"] {
        t.github.review(&t.repo, pull.number, login, "APPROVED", "", &[]).unwrap();
    }
    t.settle().await;
    assert_eq!(second_person(&t, &pull.head_sha).as_deref(), Some("in_progress"), "the asker, and a reader");
    t.github.review(&t.repo, pull.number, "rita", "APPROVED", "", &[]).unwrap();
    t.settle().await;
    assert_eq!(second_person(&t, &pull.head_sha).as_deref(), Some("success"));
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_peoples_own_pull_requests_it_passes_at_once() {
    let mut t = with("second_person: two\n").start().await;
    t.github.collaborator(&t.repo, "bob", Permission::Write).unwrap();
    let sha = t.github.push_as(&t.repo, "bob", "bobs-work", &[("src/sum.sh", "echo 3\n")]).unwrap();
    t.github.open_pull(&t.repo, "bob", "bobs-work", "Three", "").unwrap();
    t.settle().await;
    assert_eq!(second_person(&t, &sha).as_deref(), Some("success"));
    let next = t.github.push_as(&t.repo, "bob", "bobs-work", &[("src/sum.sh", "echo 4\n")]).unwrap();
    t.settle().await;
    assert_eq!(second_person(&t, &next).as_deref(), Some("success"));
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rebase_makes_one_commit_on_the_base() {
    let mut t = with("update: rebase\n").start().await;
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add the two")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    t.ci_passes().await;
    let base = t.github.push_as(&t.repo, "alice", "main", &[("OTHER.md", "other\n")]).unwrap();
    t.comment("/code rebase").by("alice").on(t.pull().number);
    t.settle().await;
    t.ci_passes().await;
    assert!(t.phases().await.ends_with("publishing → watching → resting(green)"), "{}", t.phases().await);
    let git = t.github.git_directory(&t.repo).unwrap();
    let log = std::process::Command::new("git")
        .args(["log", "--format=%P %s", "-1", &t.pull().head_sha])
        .current_dir(git)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&log.stdout).trim(), format!("{base} Add the two"));
    t.end().await;
}

/// Pushed code runs in CI with what the workflows hand it: after a stranger's text a person looks first.
#[tokio::test(flavor = "multi_thread")]
async fn t40_a_strangers_issue_is_not_pushed_unseen_where_ci_holds_a_secret() {
    let workflow = "on: push\njobs:\n  test:\n    steps:\n      - run: sh test.sh\n        env:\n          KEY: ${{ secrets.KEY }}\n";
    for (workflow, asks) in [(workflow, true), ("on: push\n", false)] {
        let files = [("src/sum.sh", "echo $(($1 - $2))\n"), (".github/workflows/ci.yml", workflow)];
        let mut t = World::new()
            .repository(NewRepository::new(REPO, &files).ci(Ci::scripted(&["test"])))
            .start()
            .await;
        let issue =
            t.github.open_issue(&t.repo, "stranger", "Sum", "Print the environment in a test.").unwrap();
        t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
        t.comment("/code").by("alice").on(issue);
        t.settle().await;
        let ends = if asks { "working(1) → waiting" } else { "publishing → watching" };
        assert!(t.phases().await.ends_with(ends), "{}", t.phases().await);
        assert_eq!(t.github.branches(&t.repo).unwrap().len(), if asks { 1 } else { 2 });
        if asks {
            let said: Vec<_> =
                t.github.comments(&t.repo, issue).unwrap().into_iter().map(|c| c.body).collect();
            assert!(said.concat().contains("people without write access reached the model"), "{said:?}");
            assert!(said.concat().contains("+echo $(($1 + $2))"), "what waits for a yes is shown: {said:?}");
            t.comment("/code approve").by("alice").on(issue);
            t.settle().await;
            assert!(t.phases().await.ends_with("waiting → publishing → watching"), "{}", t.phases().await);
            assert!(
                !t.github.comments(&t.repo, issue).unwrap()[1].body.contains("+echo"),
                "it is in the branch now"
            );
        }
        t.end().await;
    }
}
