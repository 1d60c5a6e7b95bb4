//! What operators count on: an audit of what was done, budgets and limits that hold, a backup that can be put back.

use crate::support::{ISSUE, World, fixpoint, not_at_midnight, plays::*};
use fixpoint::{
    domain::{Audit, Number},
    emulator::{Fault, Permission, Play, Trouble},
    store,
};
use sqlx::{ConnectOptions, Connection, sqlite::SqliteConnectOptions};
use std::time::Duration;

/// The audit of the only session, one line each.
async fn audit(t: &crate::support::Fixpoint) -> Vec<String> {
    let session = t.sessions().await.remove(0);
    let facts = &session.state.facts;
    let threads = (facts.thread.number, facts.pull.as_ref().map(|pull| pull.number));
    let lines = t.store.audit_of(session.id, facts.repo.id, threads).await.unwrap();
    let by = |line: &store::AuditLine| line.by.as_ref().map_or("fixpoint".to_owned(), |by| by.login.clone());
    lines.iter().map(|line| format!("{} {} {}", by(line), line.what.kind(), line.what)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_tells_who_asked_what_left_and_what_was_published() {
    let mut t = fixpoint().await;
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("A secret in the summary")]);
    t.comment("/code leave no word of this").by("alice").on(ISSUE);
    t.settle().await;
    t.comment("/code stop").by("mallory").on(ISSUE);
    t.ci_passes().await;
    let lines = audit(&t).await;
    let head = t.state().await.facts.head.unwrap();
    let short = head.short();
    assert!(lines[0].starts_with("alice asked run in comment "), "{lines:#?}");
    for line in [
        format!("fixpoint left {short}, 18 bytes: src/sum.sh (18)"),
        format!("fixpoint pushed fixpoint/1-the-sum-is-wrong at {short}"),
        "fixpoint pull_opened #2".to_owned(),
        "mallory refused on #1: the sender has no write access".to_owned(),
    ] {
        assert!(lines.contains(&line), "{line}\n{lines:#?}");
    }
    assert_eq!(lines.iter().filter(|line| line.starts_with("fixpoint commented")).count(), 1, "{lines:#?}");
    let told = lines.concat();
    assert!(!told.contains("no word") && !told.contains("secret in"), "{told}");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_is_withheld_stands_in_the_audit() {
    let mut t = fixpoint().await;
    t.model_plays([write(".github/workflows/x.yml", "on: push\n"), finish("CI"), finish("I insist")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    let lines = audit(&t).await;
    assert!(lines.iter().any(|line| line.starts_with("fixpoint withheld ")), "{lines:#?}");
    assert!(!lines.iter().any(|line| line.starts_with("fixpoint pushed")), "{lines:#?}");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f60_a_billing_refusal_stops_and_is_not_told_in_public() {
    let mut t = fixpoint().await;
    t.model_plays([Play::error(400, "Your credit balance is too low. Go to Plans & Billing.")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    assert_eq!(t.phases().await, "queued → working(1) → done(engine_failed)");
    assert_eq!(t.github.model().shown().len(), 1, "it is not tried again");
    let said = t.said().concat();
    assert!(said.contains("Needs the operator"), "{said}");
    for word in ["redit", "illing", "balance", "127.0.0.1", "localhost"] {
        assert!(!said.contains(word), "{word} in {said}");
    }
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f60_overload_is_waited_out_and_then_can_be_retried() {
    let mut t = World { patience: Duration::from_secs(30), ..World::new() }.start().await;
    let later = Play::Error { status: 429, message: "Slow down".into(), retry_after: Some(0) };
    t.model_plays([later, Play::error(503, "Overloaded"), finish("Nothing to do")]);
    t.comment("/code first").by("alice").on(ISSUE);
    t.settle().await;
    assert_eq!(t.phases().await, "queued → working(1) → done(nothing_to_change)", "it passed in time");
    t.model_plays([Play::Error { status: 529, message: "Overloaded".into(), retry_after: Some(60) }]);
    t.comment("/code second").by("alice").on(ISSUE);
    t.settle().await;
    assert!(t.phases().await.ends_with("working(1) → done(engine_failed)"), "{}", t.phases().await);
    assert_eq!(t.github.model().shown().len(), 4, "a wait that is longer than the patience is not begun");
    let said = t.said().last().unwrap().clone();
    assert!(said.contains("The model could not be reached") && said.contains("/code retry"), "{said}");
    t.model_plays([finish("Nothing to do either")]);
    t.comment("/code retry").by("alice").on(ISSUE);
    t.settle().await;
    assert!(t.phases().await.ends_with("done(nothing_to_change)"), "{}", t.phases().await);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f2_an_installations_day_ends_in_the_middle_of_a_round_too() {
    not_at_midnight().await;
    let mut world = World::new();
    world.daily.installation = 10;
    let mut t = world.start().await;
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    assert_eq!(t.phases().await, "queued → working(1) → done(budget)", "not one call more");
    let second = t.github.open_issue(&t.repo, "alice", "Another", "").unwrap();
    t.comment("/code").by("alice").on(second);
    t.settle().await;
    assert!(t.phases().await.ends_with("queued → done(budget)"), "{}", t.phases().await);
    assert_eq!(t.github.model().shown().len(), 1);
    let comments = t.github.comments(&t.repo, second).unwrap();
    let ours: Vec<_> = comments.iter().filter(|c| c.author == "fixpoint[bot]").collect();
    assert_eq!(ours.iter().filter(|c| c.body.contains("a budget is used up")).count(), 1, "{ours:?}");
    for _ in 0..3 {
        t.comment("/code").by("alice").on(second);
    }
    t.settle().await;
    let again = t.github.comments(&t.repo, second).unwrap();
    assert_eq!(again.iter().filter(|c| c.author == "fixpoint[bot]").count(), ours.len(), "said once a day");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f55_the_last_edit_is_made_though_edits_are_refused_for_a_while() {
    let mut t = fixpoint().await;
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    let refused = Trouble::Status { status: 403, retry_after: Some(3) };
    t.github.faults().add(Fault::next("/repos/*/*/issues/comments/*", refused).on("PATCH"));
    t.ci_passes().await;
    t.until_seen("the last edit", |t| t.said()[0].contains("ready for review")).await;
    assert_eq!(t.said().len(), 1, "{:?}", t.said());
    let requests = t.github.requests();
    let at = requests.iter().find(|r| r.status == 403).expect("one was refused").at;
    let soon: Vec<_> = requests
        .iter()
        .filter(|r| r.caller == "fixpoint[bot]" && !r.path.contains(".git/"))
        .map(|r| ((r.at - at).num_milliseconds(), r.path.clone()))
        // What was on its way already when the refusal came is nobody's fault.
        .filter(|(after, _)| (1_000..2_900).contains(after))
        .collect();
    assert!(soon.is_empty(), "asked while it was to be silent: {soon:?}");
    t.end().await;
}

/// As a disk does that stands still: whoever writes meanwhile waits in vain.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_busy_for_a_while_ends_no_round() {
    // Longer than one call waits for a connection, and for the file then.
    const BUSY: Duration = Duration::from_secs(12);
    let mut t = fixpoint().await;
    t.model_plays([write("src/sum.sh", "echo 1\n"), finish("One")]);
    t.model_waits(0);
    t.comment("/code").by("alice").on(ISSUE);
    t.until_held().await;
    t.heard().await;
    let path = t.database().strip_prefix("sqlite:").unwrap().to_owned();
    let mut other = SqliteConnectOptions::new().filename(path).connect().await.unwrap();
    sqlx::query("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    // The reply comes, and is to be journalled.
    t.model_goes_on().await;
    tokio::time::sleep(BUSY).await;
    sqlx::query("ROLLBACK").execute(&mut other).await.unwrap();
    other.close().await.unwrap();
    t.until("watching").await;
    t.ci_passes().await;
    assert!(t.phases().await.ends_with("watching → resting(green)"), "{}", t.story().await);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f1_f4_bots_that_answer_everything_get_no_answer() {
    let mut t = fixpoint().await;
    for bot in ["other-fixpoint[bot]", "renovate[bot]"] {
        t.github.collaborator(&t.repo, bot, Permission::Write).unwrap();
    }
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code").by("alice").on(ISSUE);
    let (mut heard, mut answers) = (0, 0);
    // Each answers whatever fixpoint says or opens, and each other, with a command that would be followed from a person.
    for _ in 0..12 {
        t.settle().await;
        let mut threads = vec![ISSUE];
        threads.extend(t.github.pulls(&t.repo).unwrap().iter().map(|pull| pull.number));
        let said: usize = threads.iter().map(|n| t.github.comments(&t.repo, *n).unwrap().len()).sum();
        if said == heard {
            break;
        }
        for number in threads {
            for bot in ["other-fixpoint[bot]", "renovate[bot]"] {
                t.comment("/code fix what was said").by(bot).on(number);
                t.comment("@fixpoint please go on").by(bot).on(number);
                answers += 2;
            }
        }
        heard = said + answers;
        if answers > 40 {
            break;
        }
    }
    assert!(answers > 0, "they never got a word in");
    assert_eq!(t.sessions().await.len(), 1, "{}", t.story().await);
    assert_eq!(t.state().await.facts.request_no, 1);
    assert_eq!(t.github.model().shown().len(), 2);
    assert_eq!(t.said().len(), 1, "{:?}", t.said());
    t.ci_passes().await;
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_from_the_middle_of_a_round_goes_on_elsewhere() {
    let mut t = fixpoint().await;
    let elsewhere = tempfile::tempdir().unwrap();
    let copy = elsewhere.path().join("fixpoint.backup");
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), shell("true").after(Duration::from_secs(3600))]);
    t.comment("/code").by("alice").on(ISSUE);
    t.until_shown(2).await;
    store::backup(&t.database(), &copy).await.unwrap();
    assert!(store::backup(&t.database(), &copy).await.is_err(), "nothing is written over");
    t.restore(&copy).await;
    // The checkpoint was on the machine that is lost, so the round begins again.
    t.github.model().clear();
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.settle().await;
    t.ci_passes().await;
    assert!(t.phases().await.ends_with("watching → resting(green)"), "{}", t.phases().await);
    assert_eq!(t.state().await.facts.round, 1);
    assert_eq!(t.github.branches(&t.repo).unwrap().len(), 2);
    assert_eq!(t.github.pulls(&t.repo).unwrap().len(), 1);
    assert_eq!(t.said().len(), 1, "{:?}", t.said());
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_that_is_older_than_the_push_doubles_nothing() {
    let mut t = fixpoint().await;
    let elsewhere = tempfile::tempdir().unwrap();
    let copy = elsewhere.path().join("fixpoint.backup");
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), shell("true"), finish("Add")]);
    t.model_waits(1);
    t.comment("/code").by("alice").on(ISSUE);
    t.until_shown(2).await;
    store::backup(&t.database(), &copy).await.unwrap();
    t.model_goes_on().await;
    t.settle().await;
    let pushed = t.pull();
    assert!(t.phases().await.ends_with("watching"), "{}", t.phases().await);
    let asked = t.github.model().shown().len();
    t.restore(&copy).await;
    t.settle().await;
    // The commit on the branch names this session and its round: it is taken up as it stands.
    assert!(t.phases().await.ends_with("working(1) → watching"), "{}", t.phases().await);
    assert_eq!(t.github.model().shown().len(), asked, "no round is run twice");
    assert_eq!(t.github.branches(&t.repo).unwrap().len(), 2, "one branch of ours");
    assert_eq!(t.github.pulls(&t.repo).unwrap().len(), 1, "one pull request");
    let branch = t.github.branch(&t.repo, &pushed.head_branch).unwrap();
    assert_eq!(branch, Some(pushed.head_sha), "what was pushed stands");
    t.ci_passes().await;
    assert!(t.phases().await.ends_with("watching → resting(green)"), "{}", t.phases().await);
    let status = t.said().iter().filter(|said| !said.starts_with('@')).count();
    assert_eq!(status, 1, "one status comment: {:?}", t.said());
    t.model_plays([write("src/sum.sh", "echo $(($2 + $1))\n"), finish("Add the other way round")]);
    t.comment("/code the other way round").by("alice").on(ISSUE);
    t.settle().await;
    t.ci_passes().await;
    assert!(t.phases().await.ends_with("watching → resting(green)"), "{}", t.phases().await);
    assert_eq!(t.github.pulls(&t.repo).unwrap().len(), 1, "the same pull request");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_folder_that_is_deleted_is_fetched_again() {
    let mut t = fixpoint().await;
    let elsewhere = tempfile::tempdir().unwrap();
    let copy = elsewhere.path().join("fixpoint.backup");
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 * $2"), finish("Multiply")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    store::backup(&t.database(), &copy).await.unwrap();
    t.restore(&copy).await;
    t.model_plays([edit("src/sum.sh", "$1 * $2", "$1 + $2"), finish("Add")]);
    t.ci_fails("sum.sh:1: error: 1 and 2 should be 3").await;
    t.ci_passes().await;
    assert!(
        t.phases().await.ends_with("working(2) → publishing → watching → resting(green)"),
        "{}",
        t.phases().await
    );
    let threads = (Number(ISSUE), None);
    let lines =
        t.store.audit_of(t.sessions().await[0].id, t.state().await.facts.repo.id, threads).await.unwrap();
    assert_eq!(lines.iter().filter(|line| matches!(line.what, Audit::Pushed { .. })).count(), 2);
    t.end().await;
}

/// The program, with that database.
fn program(t: &crate::support::Fixpoint, arguments: &[&str]) -> (bool, String) {
    let done = std::process::Command::new(env!("CARGO_BIN_EXE_fixpoint"))
        .args(arguments)
        .env_remove("FIXPOINT_CONFIG")
        .env("FIXPOINT_DATABASE", t.database())
        .env("FIXPOINT_DATA_DIR", t.data())
        .current_dir(t.data())
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let said = [done.stdout, done.stderr].concat();
    (done.status.success(), String::from_utf8_lossy(&said).into_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commands_of_operations_say_what_they_do() {
    let mut t = fixpoint().await;
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    let id = t.sessions().await[0].id.short();
    let (well, table) = program(&t, &["session", "audit", &id]);
    assert!(well && table.contains("alice             asked           run in comment"), "{table}");
    let (well, lines) = program(&t, &["session", "audit", &id, "--json"]);
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert!(well && first["kind"] == "asked" && first["by"]["login"] == "alice", "{first}");
    let (well, said) = program(&t, &["backup", "copy.db"]);
    assert!(well && said.contains("copy.db holds the database"), "{said}");
    let (well, said) = program(&t, &["forget", "--repo", "acme/calendar", "--yes"]);
    assert!(
        !well && said.contains(&format!("{id}; end each with `fixpoint session cancel ID` first")),
        "{said}"
    );
    t.ci_passes().await;
    let (well, said) = program(&t, &["forget", "--user", "alice"]);
    assert!(!well && said.contains("1 session with") && said.ends_with("nothing was removed\n"), "{said}");
    assert_eq!(t.sessions().await.len(), 1);
    let (well, said) = program(&t, &["forget", "--repo", "acme/calendar", "--yes"]);
    assert!(well && said.contains("1 mirror") && said.ends_with("acme/calendar is forgotten\n"), "{said}");
    assert!(t.sessions().await.is_empty());
    assert!(!t.data().join("mirrors").read_dir().unwrap().any(|entry| entry.is_ok()), "the mirror is gone");
    let (well, said) = program(&t, &["forget", "--repo", "acme/calendar", "--yes"]);
    assert!(well && said == "nothing is kept of acme/calendar\n", "{said}");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_does_not_call_well_what_cannot_be_made() {
    let t = fixpoint().await;
    std::fs::write(t.data().join("file"), "").unwrap();
    let blocked = t.data().join("file");
    let done = std::process::Command::new(env!("CARGO_BIN_EXE_fixpoint"))
        .args(["doctor", "--json", "--profile", "observe"])
        .env_remove("FIXPOINT_CONFIG")
        .env("FIXPOINT_DATABASE", format!("sqlite:{}/fixpoint.db", blocked.display()))
        .env("FIXPOINT_DATA_DIR", blocked.join("data"))
        .current_dir(t.data())
        .output()
        .unwrap();
    assert!(!done.status.success());
    let found: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    for subject in ["database", "disk"] {
        let about = found["findings"].as_array().unwrap().iter().find(|f| f["subject"] == subject).unwrap();
        assert_eq!(about["level"], "fail", "{about}");
        assert!(about["what"].as_str().unwrap().contains("file is no folder"), "{about}");
    }
}
