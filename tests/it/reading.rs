//! What CI says is read right, whether webhooks tell of it or not: every conversation is held twice, once with them and once
//! by looking alone.

use crate::support::{Fixpoint, ISSUE, REPO, SECRET, World, plays::*};
use fixpoint::{
    domain::{
        Entry,
        failure::{Failure, Kind, Source},
    },
    emulator::{Astray, Ci, CiPlay, Fault, JobPlay, NewRepository, Trouble},
};
use std::time::Duration;

/// Two tests a conversation.
macro_rules! heard_and_seen {
    ($($name:ident),+ $(,)?) => { $(mod $name {
        #[tokio::test(flavor = "multi_thread")]
        async fn by_webhook() {
            super::talks::$name(crate::support::World::new()).await;
        }
        #[tokio::test(flavor = "multi_thread")]
        async fn by_looking() {
            super::talks::$name(crate::support::World::new().deaf()).await;
        }
    })+ };
}

heard_and_seen!(
    f36_a_status_names_no_pull_request,
    f37_a_red_check_is_told_with_its_log,
    f38_the_watch_outlives_the_process,
    f39_what_could_not_be_said_is_said_later,
    f40_the_same_failure_of_another_run_is_known_again,
    f41_a_job_without_a_step_is_no_code_failure,
    f42_a_known_flake_is_run_again_first,
    f43_re_runs_are_bounded,
    f44_a_restart_does_not_reset_the_cap,
    f45_an_approval_is_waited_for,
    f46_an_old_heads_failure_is_history,
    f47_a_log_that_is_late_is_waited_for,
    f47_without_a_log_the_archive_is_read,
    f47_without_an_archive_the_annotations_are_read,
    f48_a_long_log_is_read_without_the_token,
    f49_a_required_check_that_never_comes_is_named,
    f50_one_green_check_is_not_all,
    f51_a_check_that_hangs_is_not_waited_for,
    f52_green_counts_on_the_pushed_commit_only,
    f53_a_lost_webhook_stalls_nothing,
    red_on_the_base_is_told_and_may_be_left,
    what_the_last_green_log_said_too_gives_way,
    the_repositorys_own_matchers_say_what_an_error_is,
    our_secrets_do_not_come_out_of_a_log,
);

const BOOM: &str = "sum.sh:1: error: expected 3, got 2";

/// The look does not see what ends after it has read the checks, and the webhook of that is read along with what it found.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_told_during_a_look_is_not_left_to_the_clock() {
    let settle = Duration::from_secs(2);
    // By now the clock's looks are three settle times apart.
    let world = World::new().deaf().ci(Ci::scripted(&["test", "lint"]));
    let mut t = pushed(world.limits(|l| l.settle = settle)).await;
    // The look after this one is held as well: it must not be over before somebody saw when it was to come.
    let slow = Fault::next("/repos/*/*/rules/branches/*", Trouble::Hold).on("GET").times(2);
    t.github.faults().add(slow);
    t.github.ci_ends(&t.repo, "test", &JobPlay::passes()).unwrap();
    t.until_held().await;
    let session = t.sessions().await[0].id;
    let hint = Entry::Hint { head: t.state().await.facts.head.unwrap() };
    t.store.append(session, &hint).await.unwrap();
    t.github.faults().release();
    let next = t.next_look().await;
    assert!(next.is_none_or(|next| next < settle * 2), "{next:?}");
    t.github.faults().clear();
    t.github.faults().release();
    t.github.ci_ends(&t.repo, "lint", &JobPlay::passes()).unwrap();
    ends(&mut t, "watching → resting(green)").await;
}

/// A first round that pushed something.
async fn pushed(world: World) -> Fixpoint {
    let mut t = world.start().await;
    begun(&mut t).await;
    t
}

async fn begun(t: &mut Fixpoint) {
    t.model_plays([write("src/sum.sh", "echo 1\n"), finish("One")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
}

/// What the next round will do.
fn next(t: &Fixpoint, n: u32) {
    t.model_plays([write("src/sum.sh", &format!("echo {n}\n")), finish("Another")]);
}

/// The red check that the request ended with.
async fn at_the_cap(t: &mut Fixpoint) -> Failure {
    t.until("resting(not_green)").await;
    t.state().await.facts.failures[0].clone()
}

async fn ends(t: &mut Fixpoint, with: &str) {
    t.until_phases(with).await;
    t.settle().await;
    let phases = t.phases().await;
    assert!(phases.ends_with(with), "{phases}\n{}", t.story().await);
    t.end().await;
}

fn missing(path: &str, status: u16, times: u32) -> Fault {
    Fault::next(path, Trouble::Status { status, retry_after: None }).times(times)
}

/// More than an excerpt holds of lines that look like errors and are there every day.
fn noise() -> String {
    let letters = || "bcdfghjklmnpqrstvwz".chars();
    let words = letters().flat_map(|a| letters().map(move |b| format!("{a}a{b}")));
    words.map(|word| format!("old/{word}.c:7: error: {word} is deprecated, but {word} goes on\n")).collect()
}

const JOB_LOG: &str = "/repos/*/*/actions/jobs/*/logs";
const ARCHIVE: &str = "/repos/*/*/actions/runs/*/logs";

mod talks {
    use super::*;

    pub async fn f36_a_status_names_no_pull_request(world: World) {
        let mut t = pushed(world).await;
        next(&t, 2);
        let head = t.pull().head_sha;
        t.github.status(&t.repo, &head, "ci/old", "failure").unwrap();
        t.ci_passes().await;
        t.until_shown(3).await;
        assert!(t.github.model().shown()[2].holds("ci/old"), "the agent is told of the status");
        t.until_phases("working(2) → publishing → watching").await;
        t.ci_passes().await;
        ends(&mut t, "working(2) → publishing → watching → resting(green)").await;
    }

    pub async fn f37_a_red_check_is_told_with_its_log(world: World) {
        let mut t = pushed(world.limits(|l| l.rounds = 1)).await;
        t.ci_fails(BOOM).await;
        let failure = at_the_cap(&mut t).await;
        assert_eq!((failure.source, failure.kind), (Source::JobLog, Kind::Change));
        assert!(failure.line.contains("expected 3, got 2"), "{failure:?}");
        assert!(failure.url.unwrap().contains("/runs/"));
        ends(&mut t, "resting(not_green)").await;
    }

    pub async fn f38_the_watch_outlives_the_process(world: World) {
        let mut t = pushed(world).await;
        t.restart().await;
        t.ci_passes().await;
        ends(&mut t, "watching → resting(green)").await;
    }

    pub async fn f39_what_could_not_be_said_is_said_later(world: World) {
        let mut t = world.start().await;
        t.github.faults().add(missing("/repos/*/*/issues/*/comments", 502, 2).on("POST"));
        begun(&mut t).await;
        t.until_said(1).await;
        t.ci_passes().await;
        assert_eq!(t.said().len(), 1, "{:?}", t.said());
        ends(&mut t, "resting(green)").await;
    }

    pub async fn f40_the_same_failure_of_another_run_is_known_again(world: World) {
        let mut t = pushed(world).await;
        next(&t, 2);
        t.ci_fails(&format!("run 1 in /tmp/build-7a3f: started at 10:01:02\n{BOOM}")).await;
        next(&t, 3);
        t.ci_fails(&format!("run 2 in /tmp/build-99c1: started at 11:44:59\n{BOOM}")).await;
        let shown = t.github.model().shown();
        assert!(!shown[2].holds("in the same way"), "the first time it is new");
        assert!(
            shown[4].holds("failed in the same way before your last change"),
            "the second time it is not"
        );
        t.ci_passes().await;
        ends(&mut t, "working(3) → publishing → watching → resting(green)").await;
    }

    pub async fn f41_a_job_without_a_step_is_no_code_failure(world: World) {
        let mut t = pushed(world).await;
        let silent = JobPlay { annotations: Vec::new(), ..JobPlay::is_not_started() };
        t.ci_ends(&silent).await;
        assert_eq!(t.state().await.facts.round, 1);
        ends(&mut t, "watching → resting(not_started)").await;
    }

    /// On the base it failed and passed unchanged: here it is run again before anybody thinks.
    pub async fn f42_a_known_flake_is_run_again_first(world: World) {
        let mut t = world.start().await;
        t.github.grant("actions", Some("write"));
        t.github.push_as(&t.repo, "alice", "main", &[("NEW.md", "new\n")]).unwrap();
        t.github.ci_ends(&t.repo, "test", &JobPlay::fails(BOOM)).unwrap();
        t.github.rerun_failed(&t.repo, "alice").unwrap();
        t.github.ci_ends(&t.repo, "test", &JobPlay::passes()).unwrap();
        begun(&mut t).await;
        t.ci_fails(BOOM).await;
        assert!(t.story().await.contains("failed jobs are started again"), "{}", t.story().await);
        t.ci_passes().await;
        assert_eq!(t.state().await.facts.round, 1, "no round was spent");
        ends(&mut t, "publishing → watching → resting(green)").await;
    }

    pub async fn f43_re_runs_are_bounded(world: World) {
        let mut t = world.start().await;
        t.github.grant("actions", Some("write"));
        begun(&mut t).await;
        t.ci_ends(&JobPlay::loses_its_runner()).await;
        t.ci_ends(&JobPlay::loses_its_runner()).await;
        let again = t.story().await.matches("failed jobs are started again").count();
        assert_eq!((again, t.state().await.facts.round), (1, 1));
        ends(&mut t, "watching → resting(infrastructure)").await;
    }

    pub async fn f44_a_restart_does_not_reset_the_cap(world: World) {
        let mut t = pushed(world.limits(|l| l.rounds = 2)).await;
        next(&t, 2);
        t.ci_fails("a.sh:1: error: one").await;
        t.restart().await;
        t.ci_fails("a.sh:2: error: two things").await;
        assert_eq!(t.state().await.facts.round, 2);
        ends(&mut t, "working(2) → publishing → watching → resting(not_green)").await;
    }

    pub async fn f45_an_approval_is_waited_for(world: World) {
        let mut t = world.start().await;
        t.github.ci_plays(&t.repo, CiPlay::ActionRequired).unwrap();
        begun(&mut t).await;
        assert!(t.said().concat().contains("approv"), "{:?}", t.said());
        t.github.approve_runs(&t.repo).unwrap();
        t.settle().await;
        t.ci_passes().await;
        assert_eq!(t.state().await.facts.round, 1);
        ends(&mut t, "watching → resting(green)").await;
    }

    pub async fn f46_an_old_heads_failure_is_history(world: World) {
        let mut t = pushed(world).await;
        let old = t.pull().head_sha;
        next(&t, 2);
        t.ci_fails(BOOM).await;
        t.github.status(&t.repo, &old, "ci/old", "failure").unwrap();
        t.ci_passes().await;
        ends(&mut t, "working(2) → publishing → watching → resting(green)").await;
    }

    pub async fn f47_a_log_that_is_late_is_waited_for(world: World) {
        let mut t = pushed(world.limits(|l| (l.settle, l.rounds) = (Duration::from_secs(1), 1))).await;
        t.github.faults().add(missing(JOB_LOG, 404, 1));
        t.ci_fails(BOOM).await;
        let failure = at_the_cap(&mut t).await;
        assert!(failure.line.contains("expected 3, got 2"), "{failure:?}");
        // Whoever looks seldom finds it late: by then the archive is asked instead of waiting.
        assert!(matches!(failure.source, Source::JobLog | Source::Archive), "{failure:?}");
        ends(&mut t, "watching → resting(not_green)").await;
    }

    pub async fn f47_without_a_log_the_archive_is_read(world: World) {
        let mut t = pushed(world.limits(|l| l.rounds = 1)).await;
        t.github.faults().add(missing(JOB_LOG, 410, 9));
        t.ci_fails(BOOM).await;
        let failure = at_the_cap(&mut t).await;
        assert_eq!(failure.source, Source::Archive);
        assert!(failure.line.contains("expected 3, got 2"), "{failure:?}");
        ends(&mut t, "watching → resting(not_green)").await;
    }

    pub async fn f47_without_an_archive_the_annotations_are_read(world: World) {
        let mut t = pushed(world.limits(|l| l.rounds = 1)).await;
        t.github.faults().add(missing(JOB_LOG, 410, 9));
        t.github.faults().add(missing(ARCHIVE, 410, 9));
        t.ci_fails(BOOM).await;
        assert_eq!(at_the_cap(&mut t).await.source, Source::Annotations);
        ends(&mut t, "watching → resting(not_green)").await;
    }

    /// That no token goes along is looked at in the end of every conversation.
    pub async fn f48_a_long_log_is_read_without_the_token(world: World) {
        let mut t = pushed(world.limits(|l| l.rounds = 1)).await;
        t.ci_fails(&format!("{}{BOOM}", "a line that says nothing\n".repeat(100_000))).await;
        let failure = at_the_cap(&mut t).await;
        assert!(failure.line.contains("expected 3, got 2"), "{failure:?}");
        assert!(failure.excerpt.len() <= 8_000);
        ends(&mut t, "watching → resting(not_green)").await;
    }

    pub async fn f49_a_required_check_that_never_comes_is_named(mut world: World) {
        world.repository.protected = vec!["main".to_owned()];
        world.repository.required_checks = vec!["windows".to_owned()];
        let mut t = pushed(world).await;
        t.ci_passes().await;
        t.until("resting(not_started)").await;
        t.settle().await;
        assert!(t.said().concat().contains("windows"), "{:?}", t.said());
        ends(&mut t, "watching → resting(not_started)").await;
    }

    pub async fn f50_one_green_check_is_not_all(world: World) {
        let mut t = pushed(world.ci(fixpoint::emulator::Ci::scripted(&["test", "lint"]))).await;
        t.ci_passes().await;
        assert!(t.phases().await.ends_with("watching") && t.pull().draft);
        t.github.ci_ends(&t.repo, "lint", &JobPlay::passes()).unwrap();
        t.settle().await;
        ends(&mut t, "watching → resting(green)").await;
    }

    pub async fn f51_a_check_that_hangs_is_not_waited_for(world: World) {
        let mut t = world.limits(|l| l.ci_wait = Duration::from_secs(2)).start().await;
        t.github.ci_plays(&t.repo, CiPlay::Jobs(vec![("test".into(), JobPlay::hangs())])).unwrap();
        begun(&mut t).await;
        t.until("resting(timed_out)").await;
        ends(&mut t, "watching → resting(timed_out)").await;
    }

    pub async fn f52_green_counts_on_the_pushed_commit_only(world: World) {
        let mut t = pushed(world).await;
        t.ci_passes().await;
        next(&t, 2);
        t.comment("/code once more").by("alice").on(ISSUE);
        t.settle().await;
        assert!(t.phases().await.ends_with("publishing → watching"), "what was green is not the head");
        t.ci_passes().await;
        ends(&mut t, "watching → resting(green)").await;
    }

    /// Those that would have told of the end are lost, whether others came before or not.
    pub async fn f53_a_lost_webhook_stalls_nothing(world: World) {
        let mut t = pushed(world).await;
        for event in ["check_run", "check_suite", "workflow_run", "workflow_job"] {
            t.github.faults().astray(Some(event), 100, Astray::Drop);
        }
        t.github.ci_ends(&t.repo, "test", &JobPlay::passes()).unwrap();
        t.until("resting(green)").await;
        ends(&mut t, "watching → resting(green)").await;
    }

    /// What was there when all was well is not why it is red: the new line is shown, and is the one line.
    pub async fn what_the_last_green_log_said_too_gives_way(world: World) {
        let mut t = world.limits(|l| l.rounds = 1).start().await;
        t.github.push_as(&t.repo, "alice", "main", &[("NEW.md", "new\n")]).unwrap();
        let green = JobPlay { log: Some(noise()), ..JobPlay::passes() };
        t.github.ci_ends(&t.repo, "test", &green).unwrap();
        // A later commit on which nothing ran: the green log is further back.
        t.github.ci_plays(&t.repo, CiPlay::Nothing).unwrap();
        t.github.push_as(&t.repo, "alice", "main", &[("NEWER.md", "new\n")]).unwrap();
        begun(&mut t).await;
        let noise = noise();
        let (before, after) = noise.split_at(noise.find("old/gaf").unwrap());
        t.ci_fails(&format!("{before}src/cup.c:7: error: the cup ran over\n{after}")).await;
        let failure = at_the_cap(&mut t).await;
        assert_eq!(failure.line, "src/cup.c:7: error: the cup ran over");
        assert!(failure.excerpt.contains("the cup ran over"), "{}", failure.excerpt);
        ends(&mut t, "watching → resting(not_green)").await;
    }

    pub async fn the_repositorys_own_matchers_say_what_an_error_is(world: World) {
        let pattern = r#"[{"regexp": "^<(.+)> (\\d+) !! (.+)$", "file": 1, "line": 2, "message": 3}]"#;
        let matcher = format!(r#"{{"problemMatcher": [{{"owner": "odd", "pattern": {pattern}}}]}}"#);
        let files = [("src/sum.sh", "echo 0\n"), (".github/odd.json", matcher.as_str())];
        let repository = NewRepository::new(REPO, &files).ci(Ci::scripted(&["test"]));
        let mut t = pushed(world.repository(repository).limits(|l| l.rounds = 1)).await;
        let plain = "a line that says nothing\n".repeat(1_000);
        t.ci_fails(&format!("{plain}<sum.sh> 1 !! the cup ran over\n{plain}")).await;
        let failure = at_the_cap(&mut t).await;
        assert_eq!(failure.line, "<sum.sh> 1 !! the cup ran over");
        assert!(failure.excerpt.contains("the cup ran over"), "{}", failure.excerpt);
        ends(&mut t, "watching → resting(not_green)").await;
    }

    pub async fn our_secrets_do_not_come_out_of_a_log(world: World) {
        let mut t = pushed(world.limits(|l| l.rounds = 1)).await;
        t.ci_fails(&format!("{BOOM}\nsum.sh:2: error: {SECRET} was found")).await;
        let failure = at_the_cap(&mut t).await;
        assert!(failure.excerpt.contains("error: *** was found"), "{}", failure.excerpt);
        assert!(!serde_json::to_string(&t.state().await).unwrap().contains(SECRET));
        ends(&mut t, "watching → resting(not_green)").await;
    }

    /// A red like any other; only as the last one, and declared outside the request, it may stay.
    pub async fn red_on_the_base_is_told_and_may_be_left(world: World) {
        let mut t = world.start().await;
        t.github.push_as(&t.repo, "alice", "main", &[("NEW.md", "new\n")]).unwrap();
        t.github.ci_ends(&t.repo, "test", &JobPlay::fails(BOOM)).unwrap();
        begun(&mut t).await;
        t.model_plays([outside("Nothing to mend", "the runner's shell is too old for it")]);
        t.ci_fails(BOOM).await;
        assert!(t.github.model().shown()[2].holds("fails in the same way on the base branch"));
        let said = t.said().concat();
        assert!(said.contains("`test` fails on `main` in the same way"), "{said}");
        ends(&mut t, "working(2) → resting(green)").await;
    }
}
