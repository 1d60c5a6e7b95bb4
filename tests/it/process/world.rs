//! An emulator and a server as processes of their own, driven over the emulator's control addresses.

use crate::support::{plays, there_is, word};
use fixpoint::{emulator, store::Store};
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, BufReader},
    process::{Child, Command},
};

const REPO: &str = "acme/calendar";

/// Longer than anything here takes, even on a machine that is busy with something else.
const LONGEST: Duration = Duration::from_secs(120);

/// What a server that was ending did not take any more, the next one finds in GitHub's list: it looks every five minutes.
const FOUND_LATER: Duration = Duration::from_secs(300 + 120);

/// Of each reply of the model so many: a killed server asks again.
const REPLIES: usize = 1000;

/// What a day of work costs of GitHub's hourly limit is spent here in minutes: without this the long runs would wait for the
/// next hour.
const RATE_LIMIT: &str = "100000";

/// What CI runs on every commit.
const CHECK: &str =
    "[ \"$(sh src/sum.sh 1 2)\" = 3 ] || { echo 'src/sum.sh:1: error: 1 and 2 should be 3'; exit 1; }";

/// The replies of the model. Which one comes follows from what the request holds, since a killed server asks again; the
/// key of a later one is longer, which is how the emulator chooses.
#[derive(Clone, Copy, Debug)]
pub(super) enum Play {
    FirstTry,
    FirstFinish,
    SecondTry,
    SecondFinish,
}

impl Play {
    const ALL: [Play; 4] = [Play::FirstTry, Play::FirstFinish, Play::SecondTry, Play::SecondFinish];

    fn key(self) -> &'static str {
        match self {
            Play::FirstTry => "",
            Play::FirstFinish => "# a first try",
            Play::SecondTry => "src/sum.sh:1: error: 1 and 2 should be 3",
            Play::SecondFinish => "# a second try, now that the log has told what is wrong with it",
        }
    }

    fn reply(self) -> emulator::Play {
        match self {
            Play::FirstTry => plays::write("src/sum.sh", "echo $(($1 * $2)) # a first try\n"),
            Play::FirstFinish => plays::finish("Multiply"),
            Play::SecondTry => {
                plays::write("src/sum.sh", &format!("echo $(($1 + $2)) {}\n", Play::SecondFinish.key()))
            }
            Play::SecondFinish => plays::finish("Add"),
        }
    }
}

/// The name of the one server, where there is only one.
const ALONE: &str = "data";

/// The two processes.
pub(super) struct Machine {
    client: reqwest::Client,
    github: String,
    server: Option<Server>,
    log: Log,
    /// Servers run under a recorder of whom they speak to, that writes there.
    recorded: Option<PathBuf>,
    folder: TempDir,
    settings: Settings,
    emulator: Child,
}

/// What differs from one test to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// Sandboxes are containers, not folders.
    pub(super) docker: bool,
    /// Deliveries are read from GitHub's list.
    pub(super) pull: bool,
}

impl Settings {
    /// Folders, and webhooks.
    pub(super) const USUAL: Self = Self { docker: false, pull: false };
}

/// Lines that a process wrote.
type Log = Arc<Mutex<Vec<String>>>;

/// A server that runs.
pub(super) struct Server {
    pub(super) process: Child,
    pub(super) address: String,
}

impl Machine {
    /// Both run; each reply of the model takes as long as said.
    pub(super) async fn start(delay: impl Fn(Play) -> Duration) -> Self {
        Self::start_with(Settings::USUAL, delay).await
    }

    /// The same with settings of its own.
    pub(super) async fn start_with(settings: Settings, delay: impl Fn(Play) -> Duration) -> Self {
        let mut machine = Self::without_server(delay).await;
        machine.settings = settings;
        machine.configure(ALONE, None).await;
        machine.serve().await;
        machine
    }

    /// The emulator runs.
    pub(super) async fn without_server(delay: impl Fn(Play) -> Duration) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut emulator = program();
        emulator
            .args(["emulator", "--listen", "127.0.0.1:0", "--rate-limit", RATE_LIMIT, "--log"])
            .arg(folder.path().join("log"));
        let mut emulator = emulator.spawn().unwrap();
        let first = until_line(emulator.stdout.take().unwrap(), Arc::default(), |line| {
            line.strip_prefix("listening on ").map(str::to_owned)
        });
        let github = first.await;
        let (server, log, settings, recorded) = (None, Log::default(), Settings::USUAL, None);
        let machine = Self { client, github, server, log, recorded, folder, settings, emulator };
        machine.prepare(delay).await;
        machine
    }

    async fn prepare(&self, delay: impl Fn(Play) -> Duration) {
        let files = json!({ "README.md": "# calendar\n", "src/sum.sh": "echo $(($1 - $2))\n" });
        self.ask("create_repository", json!({ "name": REPO, "files": files, "commands": { "test": CHECK } }))
            .await;
        self.ask("collaborator", json!({ "repo": REPO, "login": "alice", "permission": "write" })).await;
        let issue = json!({ "repo": REPO, "login": "alice", "title": "The sum is wrong", "body": "It is." });
        self.ask("open_issue", issue).await;
        for play in Play::ALL {
            let replies = vec![play.reply().after(delay(play)); REPLIES];
            self.ask("model_plays", json!({ "plays": replies, "key": play.key() })).await;
        }
    }

    /// Where the emulator listens, which is GitHub and the model.
    pub(super) fn github(&self) -> &str {
        &self.github
    }

    /// The emulator's process.
    pub(super) fn emulator(&self) -> u32 {
        self.emulator.id().expect("it runs")
    }

    /// What the only server goes by.
    pub(super) async fn configure_alone(&self) {
        self.configure(ALONE, None).await;
    }

    /// From now on servers are recorded into a file beside the others.
    pub(super) fn record(&mut self) -> PathBuf {
        let record = self.file("record");
        self.recorded = Some(record.clone());
        record
    }

    /// What a server with a folder of this name goes by; without another database it has one of its own.
    pub(super) async fn configure(&self, name: &str, database: Option<&str>) {
        let app = self.ask("app", json!({})).await;
        let at = |name: &str| self.file(name).display().to_string();
        let own = format!("sqlite:{}/fixpoint.db", at(name));
        std::fs::write(at("app.pem"), app["private_key_pem"].as_str().unwrap()).unwrap();
        std::fs::write(at("secret"), app["webhook_secret"].as_str().unwrap()).unwrap();
        let text = format!(
            r#"
                database = "{database}"
                data_dir = "{data}"
                [server]
                listen = "127.0.0.1:0"
                pull = {pull}
                [github]
                api_url = "{github}"
                web_url = "{github}"
                app_id = "{id}"
                private_key_file = "{key}"
                webhook_secret_file = "{secret}"
                [sandbox]
                kind = "{kind}"
                [model]
                url = "{github}/v1/"
                key = "key"
                [limits]
                settle = "200ms"
                ci_start = "5s"
                [log]
                format = "json"
                level = "info,fixpoint=debug"
            "#,
            database = database.unwrap_or(&own),
            data = at(name),
            pull = self.settings.pull,
            kind = if self.settings.docker { "docker" } else { "local" },
            github = self.github,
            id = app["app_id"],
            key = at("app.pem"),
            secret = at("secret"),
        );
        std::fs::create_dir(at(name)).unwrap();
        std::fs::write(at(&format!("{name}.toml")), text).unwrap();
    }

    /// Starts the server; webhooks go there from now on.
    pub(super) async fn serve(&mut self) {
        let server = self.start_server(ALONE).await;
        if !self.settings.pull {
            self.deliver_to(&server).await;
        }
        self.server = Some(server);
    }

    /// Starts the one that is configured under a name.
    pub(super) async fn start_server(&self, name: &str) -> Server {
        let config = self.file(&format!("{name}.toml"));
        let mut process = match &self.recorded {
            Some(record) => super::recorder::recorded(record, env!("CARGO_BIN_EXE_fixpoint")),
            None => program(),
        };
        let mut process = process.arg("serve").arg("--config").arg(config).spawn().unwrap();
        let address = until_line(process.stderr.take().unwrap(), self.log.clone(), |line| {
            let line: Value = serde_json::from_str(line).ok()?;
            Some(line["fields"]["address"].as_str()?.to_owned())
        });
        let address = address.await;
        Server { process, address }
    }

    /// Webhooks go there from now on.
    pub(super) async fn deliver_to(&self, server: &Server) {
        self.ask("deliver_to", json!({ "url": format!("http://{}/webhooks", server.address) })).await;
    }

    /// Where the server listens.
    pub(super) fn address(&self) -> String {
        self.server.as_ref().expect("a server runs").address.clone()
    }

    /// The most memory that the server ever held, in KiB: the kernel's own count of its process.
    pub(super) fn peak(&self) -> u64 {
        let process = self.server.as_ref().and_then(|server| server.process.id()).expect("a server runs");
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it has not died");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
        peak.trim_end_matches("kB").trim().parse().expect("a number")
    }

    /// What webhooks are signed with.
    pub(super) async fn secret(&self) -> String {
        self.ask("app", json!({})).await["webhook_secret"].as_str().unwrap().to_owned()
    }

    /// A place for a file beside the others.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The server's database.
    pub(super) fn database(&self) -> PathBuf {
        self.file(ALONE).join("fixpoint.db")
    }

    /// `kill -9`.
    pub(super) async fn kill(&mut self) {
        let mut server = self.server.take().expect("a server runs");
        server.process.kill().await.unwrap();
    }

    /// SIGTERM.
    pub(super) async fn terminate(&mut self) -> ExitStatus {
        let server = self.server.take().expect("a server runs");
        Self::end(server).await
    }

    /// A new server takes over while the old one still runs, which is then told to end; gives how it ended, and after how
    /// long.
    pub(super) async fn roll(&mut self) -> (ExitStatus, Duration) {
        let old = self.server.take().expect("a server runs");
        self.serve().await;
        let begun = Instant::now();
        (Self::end(old).await, begun.elapsed())
    }

    async fn end(mut server: Server) -> ExitStatus {
        server.signal(Signal::TERM);
        server.process.wait().await.unwrap()
    }

    /// Asks the emulator for something.
    pub(super) async fn ask(&self, verb: &str, arguments: Value) -> Value {
        let url = format!("{}/_emulator/{verb}", self.github);
        let answer = self.client.post(url).json(&arguments).send().await.unwrap();
        let (status, body) = (answer.status(), answer.text().await.unwrap());
        assert!(status.is_success(), "{verb}: {body}");
        serde_json::from_str(&body).unwrap_or(Value::Null)
    }

    /// Opens another issue and says `/code` on it.
    pub(super) async fn another(&self, number: usize) {
        let title = format!("The sum is wrong in case {number}");
        let issue = json!({ "repo": REPO, "login": "alice", "title": title, "body": "It is." });
        let number = self.ask("open_issue", issue).await;
        let comment =
            json!({ "repo": REPO, "number": number, "login": "alice", "body": "/code fix the sum" });
        self.ask("comment", comment).await;
    }

    /// How each session stands.
    pub(super) async fn words(&self) -> Vec<String> {
        let sessions = self.store().await.sessions(1000).await.unwrap_or_default();
        sessions.iter().map(|session| word(&session.state)).collect()
    }

    /// Sandboxes that are left.
    pub(super) fn sandboxes(&self) -> usize {
        self.sandboxes_of(ALONE)
    }

    /// Sandboxes of the server under a name.
    pub(super) fn sandboxes_of(&self, name: &str) -> usize {
        if self.settings.docker {
            let mut ask = std::process::Command::new("docker");
            let ours = format!("label=io.fixpoint.instance={}", fixpoint::app::instance(&self.file(name)));
            let output =
                ask.args(["ps", "--all", "--quiet", "--filter", &ours]).output().expect("docker runs");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            return output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
        }
        std::fs::read_dir(self.file(name).join("sandboxes")).map_or(0, Iterator::count)
    }

    /// What the checker finds in the emulator's log after so many kills.
    pub(super) fn findings(&self, kills: u32) -> String {
        if !there_is("python3") {
            return String::new();
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/check_story.py");
        let mut check = std::process::Command::new("python3");
        check.arg(script).arg(self.folder.path().join("log")).args(["--kills", &kills.to_string()]);
        let output = check.output().expect("python3 runs");
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    pub(super) async fn comment(&self, text: &str) {
        let comment = json!({ "repo": REPO, "number": 1, "login": "alice", "body": text });
        self.ask("comment", comment).await;
        // What was not stored when the server died would be lost on GitHub's side, which sends nothing twice.
        let store = self.store().await;
        self.within(FOUND_LATER, "the comment is taken up", async || {
            store.sessions(1).await.is_ok_and(|sessions| !sessions.is_empty())
        })
        .await;
    }

    /// A question on a new issue, that is answered at once; gives the issue.
    pub(super) async fn question(&self) -> u64 {
        let issue = json!({ "repo": REPO, "login": "alice", "title": "A question", "body": "" });
        let number = self.ask("open_issue", issue).await.as_u64().unwrap();
        let comment = json!({ "repo": REPO, "number": number, "login": "alice", "body": "/code status" });
        self.ask("comment", comment).await;
        number
    }

    /// How often we spoke on an issue.
    pub(super) async fn answers(&self, number: u64) -> usize {
        let comments = self.ask("comments", json!({ "repo": REPO, "number": number })).await;
        comments.as_array().unwrap().iter().filter(|c| c["author"] == "fixpoint[bot]").count()
    }

    /// Each question is answered once, and the one pull request is ready.
    pub(super) async fn until_all_is_done_once(&self, questions: &[u64]) {
        self.until("the pull request is ready", async || {
            self.ask("pulls", json!({ "repo": REPO })).await[0]["draft"] == false
        })
        .await;
        for number in questions {
            let answered = async || self.answers(*number).await > 0;
            self.within(FOUND_LATER, "a question is answered", answered).await;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        for number in questions {
            assert_eq!(self.answers(*number).await, 1, "#{number}");
        }
        let pulls = self.ask("pulls", json!({ "repo": REPO })).await;
        assert_eq!(pulls.as_array().unwrap().len(), 1, "{pulls}");
        let sessions = self.store().await.sessions(1000).await.unwrap();
        assert_eq!(sessions.len(), 1 + questions.len());
    }

    /// How often the model was asked.
    pub(super) async fn shown(&self) -> usize {
        self.ask("model_shown", json!({})).await.as_array().unwrap().len()
    }

    /// The model is asked so many times, and to the last of these questions no answer ever comes.
    pub(super) async fn no_answer_to(&self, question: u32) {
        let (path, skip) = ("/v1/messages", question - 1);
        let fault =
            json!({ "method": "POST", "path": path, "skip": skip, "times": 1, "trouble": "hold_answer" });
        self.ask("fault", fault).await;
    }

    /// How many leases of dead servers were taken over, as the servers' logs tell.
    pub(super) fn taken_over(&self) -> u64 {
        let log = self.log.lock().unwrap();
        let lines = log.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter_map(|line| line["fields"]["taken"].as_u64()).sum()
    }

    pub(super) async fn until_shown(&self, times: usize) {
        self.until("the model is asked", async || self.shown().await >= times).await;
    }

    /// The server's database, looked at from beside it.
    pub(super) async fn store(&self) -> Store {
        let (begun, database) = (Instant::now(), format!("sqlite:{}", self.database().display()));
        loop {
            // A database that does not answer in time is looked at again.
            match Store::open(&database).await {
                Ok(store) => return store,
                Err(error) => assert!(begun.elapsed() < LONGEST, "{error}"),
            }
        }
    }

    pub(super) async fn is_green(&self) -> bool {
        self.word().await == "resting(green)"
    }

    async fn word(&self) -> String {
        let sessions = self.store().await.sessions(1).await.unwrap_or_default();
        sessions.first().map_or_else(String::new, |session| word(&session.state))
    }

    pub(super) async fn until_green(&self) {
        self.until("it is green", async || self.is_green().await).await;
        // The ready pull request, the question to its asker and the last edit of the comment come after.
        self.until("the pull request is ready", async || {
            self.ask("pulls", json!({ "repo": REPO })).await[0]["draft"] == false
        })
        .await;
        self.until("alice is asked to review it, and the comment says so", async || {
            let told = self.ask("notifications", json!({})).await;
            let asked = |n: &Value| n["login"] == "alice" && n["about"] == "review_requested";
            let comments = self.ask("comments", json!({ "repo": REPO, "number": 1 })).await;
            let ends = ["is ready for review", "is green and open for review"];
            let is_end = |body: &str| ends.iter().any(|end| body.contains(end));
            let said = |c: &Value| c["body"].as_str().is_some_and(is_end);
            told.as_array().unwrap().iter().any(asked) && comments.as_array().unwrap().iter().any(said)
        })
        .await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }

    pub(super) async fn until(&self, what: &str, so: impl AsyncFn() -> bool) {
        self.within(LONGEST, what, so).await;
    }

    pub(super) async fn within(&self, longest: Duration, what: &str, so: impl AsyncFn() -> bool) {
        let begun = Instant::now();
        while !so().await {
            if begun.elapsed() > longest {
                let log = self.log.lock().unwrap();
                let tail = &log[log.len().saturating_sub(60)..];
                panic!("never: {what}; the server's log ends with\n{}", tail.join("\n"));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// One branch, one pull request, one comment, two rounds: whatever happened in between.
    pub(super) async fn has_done_everything_once(&self) {
        let sessions = self.store().await.sessions(10).await.unwrap();
        assert_eq!(sessions.len(), 1);
        let facts = &sessions[0].state.facts;
        assert_eq!((facts.request_no, facts.round, facts.rounds.len()), (1, 2, 2), "{:?}", facts.rounds);
        let branches = self.ask("branches", json!({ "repo": REPO })).await;
        assert_eq!(branches, json!([facts.branch, "main"]));
        let pulls = self.ask("pulls", json!({ "repo": REPO })).await;
        assert_eq!(pulls.as_array().unwrap().len(), 1, "{pulls}");
        let comments = self.ask("comments", json!({ "repo": REPO, "number": 1 })).await;
        let ours = comments.as_array().unwrap().iter().filter(|c| c["author"] == "fixpoint[bot]");
        assert_eq!(ours.count(), 1, "{comments}");
        let told = self.ask("notifications", json!({})).await;
        let told = told.as_array().unwrap().iter().filter(|n| n["login"] == "alice");
        assert_eq!(told.map(|n| n["about"].clone()).collect::<Vec<_>>(), ["comment", "review_requested"]);
        let file = json!({ "repo": REPO, "reference": facts.branch, "path": "src/sum.sh" });
        assert!(self.ask("file", file).await.as_str().unwrap().starts_with("echo $(($1 + $2))"));
        let leaked = self.ask("leaked_authorizations", json!({})).await;
        assert_eq!(leaked, json!([]));
    }
}

/// What a failed test left is kept, to be looked at.
impl Drop for Machine {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.folder.disable_cleanup(true);
            let log = self.log.lock().map(|lines| lines.join("\n")).unwrap_or_default();
            let kept = std::fs::write(self.file("servers.log"), log).is_ok();
            println!(
                "what is left is in {}{}",
                self.folder.path().display(),
                if kept { "" } else { ", without logs" }
            );
        }
    }
}

impl Server {
    pub(super) fn signal(&self, signal: Signal) {
        let id = self.process.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        rustix::process::kill_process(id.unwrap(), signal).unwrap();
    }
}

fn program() -> Command {
    alone(Command::new(Path::new(env!("CARGO_BIN_EXE_fixpoint"))))
}

/// Without what the environment says, and ended with whoever started it.
pub(super) fn alone(mut command: Command) -> Command {
    command.env("NO_PROXY", "127.0.0.1").env_remove("FIXPOINT_CONFIG").kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Waits for the line that tells something; what comes before and after is kept.
async fn until_line(
    stream: impl AsyncRead + Unpin + Send + 'static,
    log: Log,
    told: impl Fn(&str) -> Option<String>,
) -> String {
    let mut lines = BufReader::new(stream).lines();
    let found = loop {
        let line = tokio::time::timeout(LONGEST, lines.next_line()).await.expect("a line in time");
        let line = line.unwrap().unwrap_or_else(|| panic!("it ended: {}", log.lock().unwrap().join("\n")));
        let found = told(&line);
        log.lock().unwrap().push(line);
        if let Some(found) = found {
            break found;
        }
    };
    tokio::spawn(async move {
        while let Ok(Some(line)) = lines.next_line().await {
            log.lock().unwrap().push(line);
        }
    });
    found
}
