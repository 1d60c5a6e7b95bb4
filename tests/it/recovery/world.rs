//! One story to be interrupted: a red round, then a green one. The emulator lives on; the server is a [`Process`], which
//! dies.

use crate::support::{self, plays, story};
use fixpoint::{
    app,
    domain::{Fault, fault},
    emulator::{self, Ci, Emulator, NewRepository, Options, Permission, Trouble},
    sandbox::{LocalProvider, Provider},
    store::Store,
    work,
};
use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio::sync::{oneshot, watch};

pub(super) const REPO: &str = support::REPO;

/// What CI runs on every commit.
const CHECK: &str =
    "[ \"$(sh src/sum.sh 1 2)\" = 3 ] || { echo 'src/sum.sh:1: error: 1 and 2 should be 3'; exit 1; }";

/// Nothing here takes longer, even on a machine that is busy with something else; nor beside eleven others of its kind, as
/// in the long form.
const LONGEST: Duration = Duration::from_secs(120);
const LONGEST_OF_MANY: Duration = Duration::from_secs(400);

/// So long nothing is asked of GitHub when it is over.
const QUIET: Duration = Duration::from_millis(1500);

/// Webhooks that nobody took are sent again this often.
const AGAIN: Duration = Duration::from_secs(1);

/// The replies of the model that the story has.
pub(super) const REPLIES: usize = 4;

/// An emulator with the story's beginning, and room for servers.
pub(super) struct Case {
    pub(super) github: Emulator,
    pub(super) folder: TempDir,
    database: String,
    lease: Duration,
    pub(super) read_back: Duration,
    /// How long the end is waited for.
    pub(super) longest: Duration,
    /// It is given up before, where nothing was asked of GitHub for so long.
    pub(super) patience: Duration,
    rounds: u32,
}

impl Case {
    pub(super) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite:{}", folder.path().join("fixpoint.db").display());
        Self::over(folder, database, Duration::from_secs(60)).await
    }

    /// Over a database that is there, whose leases are this long.
    pub(super) async fn over(folder: TempDir, database: String, lease: Duration) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let _ = tracing_subscriber::fmt()
            .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
            .with_test_writer()
            .try_init();
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let github = Emulator::start(Options { log: Some(log), ..Options::default() }).await.unwrap();
        let files = [("README.md", "# calendar\n"), ("src/sum.sh", "echo $(($1 - $2))\n")];
        github.create_repository(NewRepository::new(REPO, &files).ci(Ci::command("test", CHECK))).unwrap();
        github.collaborator(REPO, "alice", Permission::Write).unwrap();
        github.open_issue(REPO, "alice", "The sum is wrong", "1 + 2 should be 3.").unwrap();
        let case = Self {
            github,
            folder,
            database,
            lease,
            read_back: Duration::from_secs(60),
            longest: if super::long() { LONGEST_OF_MANY } else { LONGEST },
            patience: LONGEST_OF_MANY,
            rounds: 3,
        };
        case.plays();
        case
    }

    /// Which reply comes follows from what the request holds, since a new server may ask again.
    fn plays(&self) {
        const FIRST: &str = "# a first try";
        const RED: &str = "src/sum.sh:1: error: 1 and 2 should be 3";
        const SECOND: &str = "# a second try, now that the log has told what is wrong with it";
        let write = |text: String| plays::write("src/sum.sh", &text);
        let replies = [
            ("", write(format!("echo $(($1 * $2)) {FIRST}\n"))),
            (FIRST, plays::finish("Multiply")),
            (RED, write(format!("echo $(($1 + $2)) {SECOND}\n"))),
            (SECOND, plays::finish("Add")),
        ];
        for (key, reply) in replies {
            self.github.model().plays_where(key, vec![reply; 20]);
        }
    }

    /// The model never finds it; so many rounds are allowed.
    pub(super) fn hopeless(&mut self, rounds: u32) {
        self.rounds = rounds;
        self.github.model().clear();
        for round in 0..8 {
            let other = plays::write("src/sum.sh", &format!("echo $(($1 * $2 - {round}))\n"));
            self.github.model().plays([other, plays::finish("Try")]);
        }
    }

    pub(super) fn say(&self, text: &str) -> u64 {
        self.github.comment(REPO, support::ISSUE, "alice", text).unwrap()
    }

    /// A server over the case's database. Webhooks go there from now on.
    pub(super) async fn serve(&self, wish: Wish) -> Process {
        // Whoever opens a SQLite file is alone with it; on PostgreSQL the leases of the dead have to run out.
        if self.database.starts_with("postgres") {
            self.store().await.take_over().await.unwrap();
        }
        let process = Process::start(self.settings(), wish).await;
        self.github.deliver_to(&process.webhooks);
        self.github.redeliver_failed();
        process
    }

    /// A server to which no webhook comes.
    pub(super) async fn serve_unheard(&self) -> Process {
        Process::start(self.settings(), Wish::default()).await
    }

    fn settings(&self) -> app::Settings {
        let data = self.folder.path().to_owned();
        let program = PathBuf::from(env!("CARGO_BIN_EXE_fixpoint"));
        let sandboxes = Provider::Local(LocalProvider::new(self.sandboxes()).with_program(program));
        let mut limits = support::quick();
        limits.rounds = self.rounds;
        let caps = (
            work::Daily { repository: 25_000_000, installation: 100_000_000 },
            work::Running { all: 4, repository: 4, installation: 4 },
        );
        let mut settings = support::settings(&self.github, data, sandboxes, limits, Default::default(), caps);
        settings.database = self.database.clone();
        settings.work.lease = self.lease;
        settings.work.read_back = self.read_back;
        settings
    }

    fn sandboxes(&self) -> PathBuf {
        self.folder.path().join("sandboxes")
    }

    /// Sandboxes that are still there.
    pub(super) fn left(&self) -> usize {
        std::fs::read_dir(self.sandboxes()).map_or(0, Iterator::count)
    }

    /// Where the database is.
    pub(super) fn database(&self) -> &str {
        &self.database
    }

    /// Whoever serves from now on has this database.
    pub(super) fn restored(&mut self, database: &Path) {
        self.database = format!("sqlite:{}", database.display());
    }

    /// The database, looked at from beside.
    pub(super) async fn store(&self) -> Store {
        let begun = Instant::now();
        loop {
            match Store::open(&self.database).await {
                Ok(store) => return store,
                Err(error) => assert!(begun.elapsed() < self.longest, "{error}"),
            }
        }
    }

    /// Waits until the session has ended like that and nothing moves any more; says what stands there instead if it never
    /// does.
    pub(super) async fn until(&self, word: &str) -> Result<(), String> {
        let store = self.store().await;
        let (begun, mut sent) = (Instant::now(), Instant::now());
        let mut seen: Option<(usize, Instant)> = None;
        let mut moved = (0, Instant::now());
        loop {
            // A database that does not answer in time is looked at again.
            let sessions = store.sessions(10).await.unwrap_or_default();
            let words: Vec<String> = sessions.iter().map(|s| support::word(&s.state)).collect();
            let idle = store.live_leases().await.is_ok_and(|leases| leases.is_empty());
            let asked = self.github.requests().len();
            if moved.0 != asked {
                moved = (asked, Instant::now());
            }
            if words == [word] && idle {
                match seen {
                    Some((before, since)) if before == asked && since.elapsed() > QUIET => return Ok(()),
                    Some((before, _)) if before == asked => {}
                    _ => seen = Some((asked, Instant::now())),
                }
            } else {
                seen = None;
            }
            if begun.elapsed() > self.longest || moved.1.elapsed() > self.patience {
                return Err(format!("it never becomes {word}: {words:?}\n{}", self.story().await));
            }
            self.send_again(&mut sent);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Waits until what was sent was taken up.
    pub(super) async fn until_taken_up(&self) {
        self.github.settled().await;
        let (begun, store) = (Instant::now(), self.store().await);
        while !store.open_deliveries(1).await.is_ok_and(|open| open.is_empty()) {
            assert!(begun.elapsed() < self.longest, "a delivery is never taken up");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until everything is shown, and is to be read back some time.
    pub(super) async fn until_shown(&self) -> Result<(), String> {
        self.until_green().await?;
        match self.read_back().await {
            Some(due) if due != "done" => Ok(()),
            other => Err(format!("nothing waits to be read back: {other:?}")),
        }
    }

    /// Waits until what GitHub shows was read back.
    pub(super) async fn until_read_back(&self) -> Result<(), String> {
        let begun = Instant::now();
        while begun.elapsed() < self.longest {
            if self.read_back().await.is_some_and(|due| due == "done") {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Err(format!("it is never read back:\n{}", self.story().await))
    }

    /// When what GitHub shows is to be read back, or that it was.
    async fn read_back(&self) -> Option<String> {
        let store = self.store().await;
        let session = store.sessions(1).await.ok()?.first().map(|session| session.id)?;
        let shown = store.shown(session).await.ok()?;
        shown.into_iter().find(|shown| shown.thing == "read-back").map(|shown| shown.remote)
    }

    pub(super) async fn until_green(&self) -> Result<(), String> {
        self.until("resting(green)").await
    }

    /// What everybody sees at the end, whatever happened in between: ids and moments left out.
    pub(super) async fn story(&self) -> String {
        let mut lines = Vec::new();
        let store = self.store().await;
        for session in store.sessions(10).await.unwrap() {
            lines.push(story::phases_of(&store, &session).await);
            lines.push(format!(
                "{} rounds in request {}",
                session.state.facts.round, session.state.facts.request_no
            ));
        }
        lines.push(format!("branches: {}", self.github.branches(REPO).unwrap().join(", ")));
        for pull in self.github.pulls(REPO).unwrap() {
            let state = if pull.draft { "draft" } else { "ready" };
            let words = format!("{}, {}", pull.title, pull.body.lines().next().unwrap_or_default());
            let sum = self.github.file(REPO, &pull.head_branch, "src/sum.sh").unwrap().unwrap_or_default();
            lines.push(format!(
                "#{} {state}, {words}: {}",
                pull.number,
                String::from_utf8_lossy(&sum).trim()
            ));
            // None can be taken back; of two that say the same GitHub shows the newest.
            let runs = self.github.check_runs(REPO, &pull.head_sha).unwrap();
            let said = |run: emulator::CheckView| {
                format!("check {}: {}", run.name, run.conclusion.unwrap_or_default())
            };
            let mut checks: Vec<String> = runs.into_iter().map(said).collect();
            checks.dedup();
            lines.append(&mut checks);
        }
        for comment in self.github.comments(REPO, support::ISSUE).unwrap() {
            let first = comment.body.lines().next().unwrap_or_default();
            lines.push(format!("{}: {first} {}", comment.author, comment.reactions.join(", ")));
        }
        // A comment that another took back again was told of all the same: each once.
        let mut told: Vec<String> = Vec::new();
        for one in self.github.notifications().into_iter().filter(|n| n.login == "alice") {
            if !told.contains(&one.about) {
                told.push(one.about);
            }
        }
        lines.push(format!("alice is told of: {}", told.join(", ")));
        lines.join("\n")
    }

    /// What the checker finds in the emulator's log.
    pub(super) fn findings(&self, kills: u32) -> Vec<String> {
        if !support::there_is("python3") {
            return Vec::new();
        }
        let rounds = self.rounds.to_string();
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let output = Command::new("python3")
            .arg(root.join("scripts/check_story.py"))
            .arg(self.folder.path().join("log"))
            .args(["--rounds", &rounds, "--kills", &kills.to_string()])
            .output()
            .expect("python3 runs");
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    /// Waits until the checker finds something, or for as long as is waited for anything.
    pub(super) async fn until_found(&self, kills: u32) {
        let begun = Instant::now();
        while self.findings(kills).is_empty() && begun.elapsed() < self.longest {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Of calls that write, as globs without ids and commits, each with how many of its kind come before it. Whether what
    /// failed is asked for again hangs on what came first, the look at the list or a sending that did not fail.
    pub(super) fn calls(&self) -> Vec<(String, u32)> {
        let mut calls: Vec<(String, u32)> = Vec::new();
        let writes = self.github.requests().into_iter().filter(fixpoint::emulator::Request::is_write);
        for request in writes.filter(|request| !request.bare_path().starts_with("/app/hook/")) {
            let call = kind(&format!("{} {}", request.method, request.bare_path()));
            let before = calls.iter().filter(|(known, _)| *known == call).count();
            calls.push((call, u32::try_from(before).unwrap()));
        }
        calls
    }

    /// Something happens to a call once so many of its kind have passed.
    pub(super) fn trouble(&self, call: &str, nth: u32, trouble: Trouble) {
        let (method, path) = call.split_once(' ').unwrap();
        self.github.faults().add(emulator::Fault::next(path, trouble).on(method).after(nth));
    }

    /// Waits until so many calls are held; an error where the story ends before.
    pub(super) async fn until_held(&self, calls: usize) -> Result<(), String> {
        let held = async {
            while self.github.faults().held() < calls {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::select! {
            () = held => Ok(()),
            ended = self.until_green() => Err(format!("{} calls are held: {ended:?}", self.github.faults().held())),
        }
    }

    /// What a server did not take before it died or stood still is sent again, as whoever watches over it does.
    fn send_again(&self, last: &mut Instant) {
        if last.elapsed() > AGAIN {
            self.github.redeliver_failed();
            *last = Instant::now();
        }
    }

    /// The whole judgement after so many deaths: the story is the one that was never interrupted, the log shows nothing lost
    /// or doubled, and of the model's replies only what was on its way was asked for again.
    pub(super) async fn judge(&self, kills: u32) -> Result<(), String> {
        let ended = self.until_green().await;
        let mut wrong = self.findings(kills);
        let story = self.story().await;
        match ended {
            Err(why) => wrong.push(why),
            Ok(()) if story != super::STORY => wrong.push(format!("another story:\n{story}")),
            Ok(()) => {}
        }
        let asked = self.github.model().shown().len();
        if asked > REPLIES + kills as usize {
            wrong.push(format!("the model was asked {asked} times for {REPLIES} replies"));
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
    }
}

fn kind(call: &str) -> String {
    // Ids are drawn from one counter, which webhooks move as well.
    let id = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit()) || part.len() == 40;
    call.split('/').map(|part| if id(part) { "*" } else { part }).collect::<Vec<_>>().join("/")
}

/// How a server runs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wish {
    /// A mistake that it makes.
    pub(super) fault: Option<Fault>,
    /// It stands still after so many commits.
    pub(super) stop_after: Option<u64>,
}

/// A server on a thread of its own. Dropped, it is dead: nothing of it runs any more, whatever it was about.
pub(super) struct Process {
    pub(super) store: Arc<Store>,
    webhooks: String,
    stopped: watch::Receiver<bool>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Process {
    async fn start(settings: app::Settings, wish: Wish) -> Self {
        let (started, told) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            fault::seed(wish.fault);
            runtime.block_on(async {
                let running = app::start(settings, support::client()).await.expect("fixpoint starts");
                let stopped = match wish.stop_after {
                    Some(commits) => running.store.stop_after(commits),
                    None => watch::Sender::new(false).subscribe(),
                };
                let store = running.store.clone();
                let _ = started.send((store, format!("http://{}/webhooks", running.address), stopped));
                let _ = ended.await;
            });
            runtime.shutdown_background();
        });
        let (store, webhooks, stopped) = told.await.expect("it starts");
        Self { store: Arc::new(store), webhooks, stopped, end: Some(end), thread: Some(thread) }
    }

    /// Waits until it has made its last commit; false where the story is over before.
    pub(super) async fn stands_still(&mut self, case: &Case) -> bool {
        tokio::select! {
            still = self.stopped.wait_for(|still| *still) => still.is_ok(),
            // A story that never ends is judged as it is.
            _ = case.until_green() => false,
        }
    }

    /// It goes on after it stood still.
    pub(super) fn wakes(&self) {
        self.store.go_on();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
