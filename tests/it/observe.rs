//! `fixpoint observe` over a month with every kind of red in it: the table is exact, and nothing is written.

use crate::support::{LONGEST, REPO};
use assert_cmd::Command;
use fixpoint::emulator::{Ci, Emulator, JobPlay, NewRepository, Options, PastRun, Permission};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader},
    time::Duration,
};

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

    /// A folder with a configuration that holds what is needed at the least.
    fn folder(&self, more: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let app = self.github.app();
        std::fs::write(folder.path().join("app.pem"), &app.private_key_pem).unwrap();
        let config = format!(
            "{more}[github]\napp_id = \"{}\"\nprivate_key_file = \"app.pem\"\napi_url = \"{}\"\nweb_url = \"{}\"\n",
            app.app_id,
            self.github.api_url(),
            self.github.web_url()
        );
        std::fs::write(folder.path().join("fixpoint.toml"), config).unwrap();
        folder
    }

    async fn observe(&self, more: &[&str]) -> String {
        let folder = self.folder("");
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

    fn wrote_nothing(&self) {
        let writes = self.github.requests().into_iter().filter(fixpoint::emulator::Request::is_write);
        let writes: Vec<String> =
            writes.map(|r| r.bare_path().to_owned()).filter(|p| !p.ends_with("/access_tokens")).collect();
        assert!(writes.is_empty(), "{writes:?}");
        assert!(self.github.leaked_authorizations().is_empty());
    }
}

/// `fixpoint serve` in a folder, killed with the test.
struct Served {
    child: std::process::Child,
    address: String,
}

impl Served {
    fn start(folder: &std::path::Path) -> Self {
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("fixpoint"));
        command.arg("serve").current_dir(folder).env("NO_PROXY", "127.0.0.1,localhost");
        // A port that nobody else can take meanwhile: it says itself which one it got.
        command.env("FIXPOINT_SERVER_LISTEN", "127.0.0.1:0").stderr(std::process::Stdio::piped());
        let mut served = Self { child: command.spawn().unwrap(), address: String::new() };
        let log = BufReader::new(served.child.stderr.take().unwrap());
        let (tell, told) = std::sync::mpsc::channel();
        // Read to its end: whoever logs must not wait for a reader.
        std::thread::spawn(move || {
            for line in log.lines().map_while(Result::ok) {
                println!("{line}");
                if let Some((_, at)) = line.split_once("its report is at http://") {
                    let _ = tell.send(at.trim_end_matches('/').to_owned());
                }
            }
        });
        served.address = told.recv_timeout(LONGEST).expect("it says where it listens");
        served
    }

    async fn get(&self, path: &str, host: &str) -> Option<(u16, String)> {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let asked =
            client.get(format!("http://{}{path}", self.address)).header("host", host).send().await.ok()?;
        Some((asked.status().as_u16(), asked.text().await.ok()?))
    }

    /// The data, once every repository is read.
    async fn data(&self) -> Value {
        let begun = tokio::time::Instant::now();
        while begun.elapsed() < LONGEST {
            if let Some((200, said)) = self.get("/observed.json", &self.address).await {
                let said: Value = serde_json::from_str(&said).unwrap();
                let all = said["repositories"].as_array().unwrap();
                if !all.is_empty() && all.iter().all(|one| one["read_at"].is_string()) {
                    return said;
                }
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("nothing was read");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
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
    t.wrote_nothing();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_without_a_past_is_no_error() {
    let t = History::new().await;
    let said: Value = serde_json::from_str(&t.observe(&["--json"]).await).unwrap();
    assert_eq!((&said["red"], &said["sessions"]), (&json!(0), &json!(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_only_observes_shows_every_repository_and_writes_nothing() {
    let mut t = History::new().await;
    t.github
        .create_repository(NewRepository::new("acme/quiet", &[("README.md", "# quiet\n")]).ci(Ci::none()))
        .unwrap();
    t.ran(3, "main", &[&[("test", passes(60))]]);
    t.ran(2, "a", &[&[("test", fails("sum.sh:1: error: <b>expected</b> 3, got 2", 300))]]);
    let folder = t.folder("profile = \"observe\"\n");
    let served = Served::start(folder.path());
    let said = served.data().await;
    assert_eq!(said["days"], 30);
    let told = |name: &str| {
        let all = said["repositories"].as_array().unwrap();
        all.iter().find(|one| one["repository"] == name).unwrap()["report"].clone()
    };
    assert_eq!((&told(REPO)["red"], &told(REPO)["sessions"]), (&json!(1), &json!(1)));
    assert_eq!(told("acme/quiet")["red"], 0);
    let (status, page) = served.get("/", &served.address).await.unwrap();
    assert_eq!(status, 200);
    assert!(page.contains("<h2>acme/calendar</h2>") && page.contains("<h2>acme/quiet</h2>"), "{page}");
    // What would have started sessions stands first.
    assert!(page.find("acme/calendar") < page.find("acme/quiet"));
    // A page of the web whose name leads to loopback reads nothing.
    let (status, page) = served.get("/observed.json", "attacker.example.com").await.unwrap();
    assert!(status == 403 && !page.contains("acme"), "{status} {page}");
    assert!(!folder.path().join("data").exists(), "it needs no database");
    t.wrote_nothing();
}
