//! `fixpoint observe` over a month with every kind of red in it: the table is exact, and nothing is written.

use crate::support::REPO;
use assert_cmd::Command;
use fixpoint::emulator::{Ci, Emulator, JobPlay, NewRepository, Options, PastRun, Permission};
use serde_json::{Value, json};
use std::time::Duration;

const WRONG: &str = "sum.sh:1: error: expected 3, got 2";
const UNUSED: &str = "lint.sh:2: error: unused variable";
const TIMEOUT: &str = "FAILED tests/test_net.py::test_timeout - TimeoutError: no answer";

struct History {
    github: Emulator,
    commits: u32,
}

impl History {
    async fn new() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let github = Emulator::start(Options::default()).await.unwrap();
        github
            .create_repository(NewRepository::new(REPO, &[("README.md", "# calendar\n")]).ci(Ci::none()))
            .unwrap();
        github.collaborator(REPO, "alice", Permission::Write).unwrap();
        Self { github, commits: 0 }
    }

    /// A run on a new commit of the branch.
    fn ran(&mut self, days_ago: u64, branch: &str, attempts: &[&[(&str, JobPlay)]]) {
        self.commits += 1;
        let text = self.commits.to_string();
        let sha = self.github.push_as(REPO, "alice", branch, &[("count", &text)]).unwrap();
        let jobs = |jobs: &&[(&str, JobPlay)]| {
            jobs.iter().map(|(name, play)| ((*name).to_owned(), play.clone())).collect()
        };
        let past = PastRun {
            branch: branch.to_owned(),
            sha,
            ago: Duration::from_secs(days_ago * 24 * 60 * 60),
            attempts: attempts.iter().map(jobs).collect(),
        };
        self.github.past_run(REPO, "alice", &past).unwrap();
    }

    async fn observe(&self, more: &[&str]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let app = self.github.app();
        std::fs::write(folder.path().join("app.pem"), &app.private_key_pem).unwrap();
        let config = format!(
            "[github]\napp_id = \"{}\"\nprivate_key_file = \"app.pem\"\napi_url = \"{}\"\nweb_url = \"{}\"\n",
            app.app_id,
            self.github.api_url(),
            self.github.web_url()
        );
        std::fs::write(folder.path().join("fixpoint.toml"), config).unwrap();
        let arguments: Vec<String> =
            ["observe", "--repo", REPO].iter().chain(more).map(ToString::to_string).collect();
        let run = move || {
            let mut command = Command::cargo_bin("fixpoint").unwrap();
            command.current_dir(folder.path()).env("NO_PROXY", "127.0.0.1,localhost");
            let output = command.args(arguments).assert().success();
            String::from_utf8(output.get_output().stdout.clone()).unwrap()
        };
        tokio::task::spawn_blocking(run).await.unwrap()
    }
}

fn took(play: JobPlay, seconds: u64) -> JobPlay {
    play.after(Duration::from_secs(seconds))
}

fn fails(log: &str, seconds: u64) -> JobPlay {
    took(JobPlay::fails(log), seconds)
}

fn passes(seconds: u64) -> JobPlay {
    took(JobPlay::passes(), seconds)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_table_of_a_month_is_exact() {
    let mut t = History::new().await;
    let red_test = |seconds| ("test", fails(WRONG, seconds));
    // Too long ago.
    t.ran(40, "main", &[&[("test", fails(WRONG, 60))]]);
    t.ran(29, "main", &[&[("test", passes(180)), ("lint", passes(60))]]);
    // A session of two rounds: 5 + 2 and 5 + 1 minutes.
    t.ran(28, "a", &[&[red_test(300), ("lint", passes(61))]]);
    t.ran(27, "a", &[&[red_test(300), ("lint", passes(60))]]);
    t.ran(26, "a", &[&[("test", passes(300)), ("lint", passes(60))]]);
    // The base breaks, and a branch of it is red in the same way: a session of one round, 3 + 1 minutes.
    t.ran(25, "main", &[&[("test", passes(180)), ("lint", fails(UNUSED, 60))]]);
    t.ran(24, "b", &[&[("test", passes(180)), ("lint", fails(UNUSED, 60))]]);
    t.ran(22, "c", &[&[("test", fails(TIMEOUT, 60))], &[("test", passes(60))]]);
    t.ran(21, "d", &[&[("test", took(JobPlay::loses_its_runner(), 60))]]);
    t.ran(20, "e", &[&[("test", JobPlay::is_not_started())]]);
    t.ran(19, "f", &[]);
    // After the green another session, 5 + 1 minutes.
    t.ran(18, "a", &[&[red_test(300), ("lint", took(JobPlay::concludes("cancelled"), 30))]]);
    t.ran(17, "g", &[&[("test", JobPlay::concludes("cancelled"))]]);
    let said: Value = serde_json::from_str(&t.observe(&["--days", "30", "--json"]).await).unwrap();
    assert_eq!(
        said,
        json!({
            "red": 9,
            "by_kind": { "change": 3, "base": 2, "flaky": 1, "infrastructure": 1, "not_started": 2 },
            "flaky": ["tests/test_net.py::test_timeout"],
            "base_red": ["lint"],
            "sessions": 3,
            "ci_minutes": 23,
        })
    );
    let words = t.observe(&[]).await;
    insta::assert_snapshot!(words, @r"
    acme/calendar, 30 days: 12 workflow runs, 9 red

      red because of the change                          3
      red on the base too                                2
      flaky: passed on the same commit                   1
      the machine, the network or the service            1
      did not start: billing, no runner, a bad file      2

    Flaky: tests/test_net.py::test_timeout
    Red on the base: lint
    Sessions that would have started: 3; their rounds would have taken 23 minutes of CI.
    ");
    let writes = t.github.requests().into_iter().filter(fixpoint::emulator::Request::is_write);
    let writes: Vec<String> =
        writes.map(|r| r.bare_path().to_owned()).filter(|p| !p.ends_with("/access_tokens")).collect();
    assert!(writes.is_empty(), "{writes:?}");
    assert!(t.github.leaked_authorizations().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_without_a_past_is_no_error() {
    let t = History::new().await;
    let said: Value = serde_json::from_str(&t.observe(&["--json"]).await).unwrap();
    assert_eq!((&said["red"], &said["sessions"]), (&json!(0), &json!(0)));
}
