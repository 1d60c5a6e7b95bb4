//! A running fixpoint beside an emulated GitHub: what a test talks to.
//!
//! A test is a conversation: people say something, CI does something, [`Fixpoint::settle`] waits until nothing moves any
//! more, and the story is what everybody could see. Git, the database, the sandbox and the wire are real.

mod due;
pub mod plays;
pub mod postgres;
pub mod story;

pub use story::word;

use due::Due;
use fixpoint::{
    agent,
    app::{self, Running, Settings},
    domain::{Limits, State, egress::AllowList, policy::Rules, session, step},
    egress::{self, Upstream},
    emulator::{Ci, Emulator, Fault, NewRepository, Options, Permission, Trouble},
    github,
    http::WebhookSecrets,
    llm::{self, ModelSettings, Wire},
    sandbox::{DockerProvider, DockerSettings, LocalProvider, Provider},
    store::{Store, Summary},
    work,
};
use secrecy::SecretString;
use std::{path::PathBuf, sync::Arc, time::Duration};
use tempfile::TempDir;
use tokio::{sync::broadcast, time::Instant};

/// The repository of every test that does not ask for another.
pub const REPO: &str = "acme/calendar";

/// The model that is asked where a repository chooses no other.
pub const MODEL: &str = "claude-sonnet-4-5";

/// A secret of the operator's.
pub const SECRET: &str = "quiet-river-under-the-old-bridge";

/// The issue that the harness opens.
pub const ISSUE: u64 = 1;

/// Nothing that is waited for takes longer, however busy the machine is.
pub const LONGEST: Duration = Duration::from_secs(300);

/// Between two looks.
const LOOK: Duration = Duration::from_millis(50);

/// A world before it runs.
pub struct World {
    pub repository: NewRepository,
    pub limits: Limits,
    pub rules: Rules,
    pub daily: work::Daily,
    pub running: work::Running,
    pub sandboxes: Option<Provider>,
    /// What they may reach, where they are containers.
    pub allow: AllowList,
    /// Models that a repository may choose besides the usual one.
    pub models: Vec<String>,
    /// Images that a repository may run as services.
    pub services: Vec<String>,
    pub title: &'static str,
    pub body: &'static str,
    pub token_ttl: Duration,
    /// No webhook tells of checks: what they say is found by looking alone.
    pub deaf: bool,
    /// How long a model that does not answer is waited for.
    pub patience: Duration,
    /// How GitHub's list of deliveries is used. Where all is read from it, no webhook is sent.
    pub hooks: work::Hooks,
    /// Another database than a new SQLite file.
    pub database: Option<String>,
    /// How long leases hold.
    pub lease: Duration,
    /// Where data lies; else a folder of its own.
    pub data: Option<PathBuf>,
    /// Requests an hour that GitHub answers.
    pub rate_limit: u32,
    /// With less free disk nothing is begun.
    pub min_free_disk: u64,
    /// Claude Code in the sandbox works, instead of our own loop.
    pub claude: bool,
}

/// A running fixpoint and the world around it.
pub struct Fixpoint {
    pub github: Emulator,
    pub store: Store,
    pub repo: String,
    running: Option<Running>,
    events: broadcast::Receiver<fixpoint::emulator::Happened>,
    heard: Vec<fixpoint::emulator::Happened>,
    deaf: bool,
    pulls: bool,
    rebuild: Box<dyn Fn() -> Settings + Send + Sync>,
    database: String,
    // The last to go: everything above lives in it.
    _folder: TempDir,
}

/// Limits short enough for a test to wait for; those that no test waits for are long enough for a busy machine.
pub fn quick() -> Limits {
    Limits {
        settle: Duration::from_millis(150),
        review_wait: Duration::from_millis(300),
        ci_start: Duration::from_millis(1500),
        ci_wait: Duration::from_secs(600),
        round: Duration::from_secs(600),
        ..Limits::default()
    }
}

/// A fixpoint beside a small repository whose CI the test plays (one check, `test`).
pub async fn fixpoint() -> Fixpoint {
    World::new().start().await
}

impl World {
    pub fn new() -> Self {
        let files = [("README.md", "# calendar\n"), ("src/sum.sh", "echo $(($1 - $2))\n")];
        Self {
            repository: NewRepository::new(REPO, &files).ci(Ci::scripted(&["test"])),
            limits: quick(),
            rules: Rules::default(),
            daily: work::Daily { repository: 25_000_000, installation: 100_000_000 },
            running: work::Running { all: 4, repository: 4, installation: 4 },
            sandboxes: None,
            allow: AllowList::default(),
            models: Vec::new(),
            services: Vec::new(),
            title: "The sum is wrong",
            body: "1 + 2 should be 3.",
            token_ttl: Duration::from_secs(3600),
            deaf: false,
            patience: Duration::from_secs(300),
            hooks: work::Hooks::default(),
            database: None,
            // As in earnest: on a busy machine a disk can stand still for many seconds.
            lease: Duration::from_secs(60),
            data: None,
            rate_limit: Options::default().rate_limit,
            min_free_disk: 1 << 20,
            claude: false,
        }
    }

    /// CI that really runs this command on the pushed commit.
    pub fn ci_runs(mut self, command: &str) -> Self {
        self.repository = self.repository.ci(Ci::command("test", command));
        self
    }

    pub fn repository(mut self, repository: NewRepository) -> Self {
        self.repository = repository;
        self
    }

    pub fn ci(mut self, ci: Ci) -> Self {
        self.repository = self.repository.ci(ci);
        self
    }

    pub fn limits(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.limits);
        self
    }

    /// No webhook tells of checks.
    pub fn deaf(mut self) -> Self {
        self.deaf = true;
        self
    }

    pub async fn start(self) -> Fixpoint {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let _ = tracing_subscriber::fmt()
            .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
            .with_test_writer()
            .try_init();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let options =
            Options { token_ttl: self.token_ttl, rate_limit: self.rate_limit, ..Options::default() };
        let github = Emulator::start(options).await.expect("the emulator starts");
        let data = self.data.unwrap_or_else(|| folder.path().to_owned());
        let sandboxes = self.sandboxes.unwrap_or_else(|| {
            let program = PathBuf::from(env!("CARGO_BIN_EXE_fixpoint"));
            Provider::Local(LocalProvider::new(data.join("sandboxes")).with_program(program))
        });
        let (hub, limits, rules, models) = (github.clone(), self.limits, self.rules, self.models);
        let (caps, patience) = ((self.daily, self.running), self.patience);
        let (hooks, database, lease, min_free_disk) =
            (self.hooks, self.database, self.lease, self.min_free_disk);
        let services = self.services;
        let allow = self.allow;
        let claude = self.claude;
        let rebuild = move || {
            let engine = match claude {
                true => claude_code(&hub, patience),
                false => engine(&hub, &models, patience),
            };
            let mut settings =
                settings(&hub, data.clone(), sandboxes.clone(), limits.clone(), rules.clone(), caps);
            settings.work.lease = lease;
            if claude {
                // A program of some four hundred megabytes.
                settings.work.sandbox.memory = 1 << 30;
                settings.work.sandbox.cpus = 2.0;
                settings.work.engine = format!("claude-code, {MODEL}");
            }
            settings.work.services = services.clone();
            settings.work.sandbox_words = allow.words();
            settings.work.allow = allow.clone();
            settings.webhooks = settings.webhooks.filter(|_| !hooks.pull);
            let database = database.clone().unwrap_or(settings.database);
            Settings { engine, hooks, database, min_free_disk, ..settings }
        };
        let settings = rebuild();
        let database = settings.database.clone();
        let running = app::start(settings, client()).await.expect("fixpoint starts");
        if self.deaf {
            for event in ["check_run", "check_suite", "workflow_run", "workflow_job", "status"] {
                github.faults().astray(Some(event), u32::MAX, fixpoint::emulator::Astray::Drop);
            }
        }
        if !hooks.pull {
            github.deliver_to(&format!("http://{}/webhooks", running.address));
        }
        // Now that somebody listens: what could not be delivered would be asked for again.
        let repo = format!("{}/{}", self.repository.owner, self.repository.name);
        github.create_repository(self.repository).expect("a repository");
        github.collaborator(&repo, "alice", Permission::Write).expect("alice may write");
        let events = github.events();
        github.open_issue(&repo, "alice", self.title, self.body).expect("an issue");
        let store = running.store.clone();
        Fixpoint {
            pulls: hooks.pull,
            github,
            store,
            repo,
            running: Some(running),
            events,
            heard: Vec::new(),
            deaf: self.deaf,
            rebuild: Box::new(rebuild),
            database,
            _folder: folder,
        }
    }
}

/// What is spent is counted by days of UTC: a test that counts on it does not begin when one is about to end.
pub async fn not_at_midnight() {
    const DAY: i64 = 24 * 60 * 60;
    let left = DAY - chrono::Utc::now().timestamp().rem_euclid(DAY);
    if left < 300 {
        tokio::time::sleep(Duration::from_secs(left.unsigned_abs() + 1)).await;
    }
}

/// Is a program there that a test needs besides git? Where not it says so and the test lets that part be; CI has them all.
pub fn there_is(program: &str) -> bool {
    let null = std::process::Stdio::null;
    let tried = std::process::Command::new(program).arg("--version").stdout(null()).stderr(null()).status();
    let there = tried.is_ok_and(|status| status.success());
    assert!(there || std::env::var("CI").as_deref() != Ok("true"), "CI needs {program}");
    if !there {
        println!("skipped: {program} is not installed");
    }
    there
}

/// Containers of an image that a script makes, in an instance of the test's own; where it is not there it says so and the test lets
/// that part be, but CI has it.
pub async fn with_image(image: &str, script: &str, instance: &str) -> Option<Provider> {
    let settings = DockerSettings {
        instance: format!("{instance}-{}", std::process::id()),
        image: image.into(),
        program: Some(env!("CARGO_BIN_EXE_fixpoint").into()),
        ..Default::default()
    };
    let there = async {
        let engine = bollard::Docker::connect_with_defaults().ok()?.negotiate_version().await.ok()?;
        engine.inspect_image(image).await.ok()
    };
    if there.await.is_none() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "CI needs {image}: run {script}");
        println!("skipped: there is no engine with {image}; {script} makes it");
        return None;
    }
    Some(Provider::Docker(DockerProvider::connect(settings).await.unwrap()))
}

pub fn client() -> reqwest::Client {
    reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .expect("a client")
}

/// What the gateway asks the model with.
pub const MODEL_KEY: &str = "sk-ant-canary-9d41c7";

/// Claude Code over the emulated model.
pub fn claude_code(github: &Emulator, patience: Duration) -> Arc<dyn agent::Engine> {
    let base = format!("{}/v1/", github.model_url().trim_end_matches('/'));
    let url = url::Url::parse(&base).expect("an address");
    let settings = ModelSettings::new(Wire::Anthropic, url, MODEL, SecretString::from(MODEL_KEY));
    let gateway = llm::gateway::Gateway::new(ModelSettings { patience, ..settings }, client());
    Arc::from(agent::claude_code(gateway.expect("a gateway"), Vec::new()))
}

/// The engine over the emulated model, which answers to every name.
pub fn engine(github: &Emulator, others: &[String], patience: Duration) -> Arc<dyn agent::Engine> {
    let base = format!("{}/v1/", github.model_url().trim_end_matches('/'));
    let url = url::Url::parse(&base).expect("an address");
    let model = |name: &str| {
        let key = SecretString::from("key");
        let settings =
            ModelSettings { patience, ..ModelSettings::new(Wire::Anthropic, url.clone(), name, key) };
        llm::model(settings, client()).expect("a model")
    };
    Arc::from(agent::native(model(MODEL), others.iter().map(|name| model(name)).collect()))
}

pub fn settings(
    github: &Emulator,
    data: PathBuf,
    sandboxes: Provider,
    limits: Limits,
    rules: Rules,
    (daily, running): (work::Daily, work::Running),
) -> Settings {
    let app = github.app();
    let secret = SecretString::from(app.webhook_secret.clone());
    let url = |text: &str| url::Url::parse(text).expect("an address");
    Settings {
        listen: "127.0.0.1:0".to_owned(),
        database: format!("sqlite:{}", data.join("fixpoint.db").display()),
        github: github::Settings {
            api_url: url(github.api_url()),
            web_url: url(github.web_url()),
            identity: github::Identity::App {
                id: app.app_id.to_string(),
                private_key: SecretString::from(app.private_key_pem.clone()),
            },
        },
        webhooks: Some(WebhookSecrets { current: secret, old: None }),
        hooks: work::Hooks::default(),
        sandboxes,
        work: work::Settings {
            owner: uuid::Uuid::new_v4().to_string(),
            limits,
            rules,
            ask_first: false,
            word: "code".to_owned(),
            sandbox: work::SandboxSize {
                image: None,
                cpus: 1.0,
                memory: 512 << 20,
                pids: 256,
                disk: 256 << 20,
                service_memory: 256 << 20,
            },
            running,
            daily,
            images: Vec::new(),
            services: Vec::new(),
            allow: AllowList::default(),
            engine: format!("native, {MODEL}"),
            model_host: None,
            sandbox_words: "no network, no credential".to_owned(),
            public_url: None,
            secrets: vec![SecretString::from(SECRET)],
            lease: Duration::from_secs(60),
            retention: fixpoint::domain::Retention::default(),
            read_back: Duration::from_secs(60),
            action: None,
            check: None,
        },
        engine: engine(github, &[], Duration::from_secs(300)),
        data,
        min_free_disk: 1 << 20,
        installed: 256 << 20,
        proxy: None,
        upstream: Upstream::new(egress::system()).expect("a client"),
    }
}

impl Fixpoint {
    /// Somebody comments.
    pub fn comment(&self, text: &str) -> Saying<'_> {
        Saying { world: self, text: text.to_owned(), login: "alice".to_owned() }
    }

    /// The model's next replies.
    pub fn model_plays(&self, plays: impl IntoIterator<Item = fixpoint::emulator::Play>) {
        self.github.model().plays(plays);
    }

    /// The check's run on the newest head ends like that.
    pub async fn ci_fails(&mut self, log: &str) {
        self.ci_ends(&fixpoint::emulator::JobPlay::fails(log)).await;
    }

    pub async fn ci_passes(&mut self) {
        self.ci_ends(&fixpoint::emulator::JobPlay::passes()).await;
    }

    pub async fn ci_ends(&mut self, play: &fixpoint::emulator::JobPlay) {
        self.github.ci_ends(&self.repo, "test", play).expect("the check runs");
        self.settle().await;
    }

    /// Waits until nothing moves any more: no delivery open, nobody at work, nobody due, nothing new for a while.
    pub async fn settle(&mut self) {
        const QUIET: Duration = Duration::from_millis(500);
        // While CI is watched a verdict may still wait for its settle window and the next look.
        const QUIET_WATCH: Duration = Duration::from_millis(2000);
        // Looks that find nothing are no movement: they may come faster than it gets quiet, or take longer.
        const QUIET_LOOKS: Duration = Duration::from_millis(3500);
        let begun = Instant::now();
        let mut due = Due::open(&self.database).await;
        let (mut last, mut looks) = (String::new(), 0);
        // When anything was last seen to change, and when somebody was last seen at it.
        let (mut changed, mut stirred) = (begun, begun);
        loop {
            self.github.settled().await;
            let (picture, looked) = self.picture().await;
            let moving = picture.contains("\"phase\":\"queued\"")
                || picture.contains("\"phase\":\"working\"")
                || picture.contains("\"phase\":\"publishing\"")
                || picture.starts_with("open");
            let watching = picture.matches("\"phase\":\"watching\"").count();
            // Where no server runs nobody takes it up.
            let (unread, woken) = match self.running {
                Some(_) => (due.unread().await, due.woken().await),
                None => (false, false),
            };
            // A session that somebody holds is still being shown or looked at.
            let held = !self.store.live_leases().await.expect("leases").is_empty();
            if picture != last || moving || unread {
                (last, looks) = (picture, looked);
                (changed, stirred) = (Instant::now(), Instant::now());
            } else if held || woken {
                stirred = Instant::now();
            }
            let quiet = if watching > 0 { QUIET_WATCH } else { QUIET };
            let still = stirred.elapsed() > quiet && !(watching > 0 && self.deaf);
            // One look of each at the least began after the last change, and ended.
            let enough = looks + watching * if held { 3 } else { 2 };
            let vain = watching > 0 && changed.elapsed() > QUIET_LOOKS && looked >= enough;
            if still || vain {
                return due.close().await;
            }
            if begun.elapsed() > LONGEST {
                panic!("it does not settle:\n{last}\n{}", self.story().await);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits until every delivery is settled: what it says lies before its session, whether it was read or not.
    pub async fn delivered(&mut self) {
        let begun = Instant::now();
        loop {
            self.github.settled().await;
            if self.store.open_deliveries(1).await.expect("deliveries").is_empty() {
                return;
            }
            assert!(begun.elapsed() < LONGEST, "deliveries stay open:\n{}", self.story().await);
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits until whatever was said is known to its session.
    pub async fn heard(&mut self) {
        self.delivered().await;
        let begun = Instant::now();
        let mut due = Due::open(&self.database).await;
        while due.unread().await {
            assert!(begun.elapsed() < LONGEST, "it is not read:\n{}", self.story().await);
            tokio::time::sleep(LOOK).await;
        }
        due.close().await;
    }

    /// Of the model's next replies the one after so many waits for [`Fixpoint::model_goes_on`]; what was asked is shown by
    /// then.
    pub fn model_waits(&self, after: u32) {
        let held = Fault::next("/v1/messages", Trouble::HoldAnswer).on("POST").after(after);
        self.github.faults().add(held);
    }

    /// The reply that waits comes.
    pub async fn model_goes_on(&mut self) {
        self.until_held().await;
        self.github.faults().release();
    }

    /// Waits until a request is held.
    pub async fn until_held(&mut self) {
        self.until_seen("a request that is held", |t| t.github.faults().held() > 0).await;
    }

    /// How far off the only session's next look was, at the most, when nobody held it any more; `None`: it has begun before that
    /// could be seen, and is held.
    pub async fn next_look(&mut self) -> Option<Duration> {
        let begun = Instant::now();
        let mut due = Due::open(&self.database).await;
        let next = loop {
            if self.github.faults().held() > 0 {
                break None;
            }
            if let Some(at) = due.wakes_at().await {
                let left = at - chrono::Utc::now().timestamp_millis();
                break Some(Duration::from_millis(u64::try_from(left).unwrap_or(0)));
            }
            assert!(begun.elapsed() < LONGEST, "it is never given back:\n{}", self.story().await);
            tokio::time::sleep(LOOK).await;
        };
        due.close().await;
        next
    }

    /// Waits until the only session is in this phase. One that may be over in a moment is waited for with
    /// [`Fixpoint::until_phases`].
    pub async fn until(&mut self, phase: &str) {
        let begun = Instant::now();
        while begun.elapsed() < LONGEST {
            let sessions = self.sessions().await;
            if sessions.first().is_some_and(|s| story::word(&s.state) == phase) {
                return;
            }
            tokio::time::sleep(LOOK).await;
        }
        panic!("it never becomes {phase}:\n{}", self.story().await);
    }

    /// Waits until the phases of the only session end like this.
    pub async fn until_phases(&mut self, end: &str) {
        let begun = Instant::now();
        while begun.elapsed() < LONGEST {
            if self.phases().await.ends_with(end) {
                return;
            }
            tokio::time::sleep(LOOK).await;
        }
        panic!("its phases never end with {end}:\n{}", self.story().await);
    }

    /// Waits until the model was asked that often.
    pub async fn until_shown(&mut self, times: usize) {
        self.until_seen("what the model is asked", |t| t.github.model().shown().len() >= times).await;
    }

    /// Waits until fixpoint said that much on the issue.
    pub async fn until_said(&mut self, times: usize) {
        self.until_seen("so much said", |t| t.said().len() >= times).await;
    }

    /// Waits until everybody can see this.
    pub async fn until_seen(&mut self, what: &str, seen: impl Fn(&Self) -> bool) {
        let begun = Instant::now();
        while begun.elapsed() < LONGEST {
            if seen(self) {
                return;
            }
            tokio::time::sleep(LOOK).await;
        }
        panic!("never seen: {what}; said was {:?}\n{}", self.said(), self.story().await);
    }

    /// Waits until fixpoint says this on the issue.
    pub async fn until_says(&mut self, text: &str) {
        self.until_seen(text, |t| t.said().concat().contains(text)).await;
    }

    /// Was this shown to the model?
    pub fn shown(&self, text: &str) -> bool {
        self.github.model().shown().iter().any(|shown| shown.holds(text))
    }

    /// The numbers of a review's comments as the model was told them.
    pub fn thread_ids(&self) -> Vec<u64> {
        let shown = self.github.model().shown();
        let text = shown.last().map(|shown| shown.body.to_string()).unwrap_or_default();
        let after = text.split("# Comment ").skip(1);
        after.filter_map(|rest| rest.split(' ').next().and_then(|id| id.parse().ok())).collect()
    }

    /// The phases of the only session.
    pub async fn phases(&mut self) -> String {
        self.story().await.lines().last().unwrap_or_default().to_owned()
    }

    /// The newest pull request.
    pub fn pull(&self) -> fixpoint::emulator::PullView {
        self.github
            .pulls(&self.repo)
            .expect("pull requests")
            .into_iter()
            .max_by_key(|p| p.number)
            .expect("one")
    }

    /// What fixpoint said on the issue, oldest first, as it reads now.
    pub fn said(&self) -> Vec<String> {
        let comments = self.github.comments(&self.repo, ISSUE).expect("comments");
        comments.into_iter().filter(|c| c.author == "fixpoint[bot]").map(|c| c.body).collect()
    }

    /// What this person was notified of, oldest first.
    pub fn told(&self, login: &str) -> Vec<String> {
        let mine = self.github.notifications().into_iter().filter(|n| n.login == login);
        mine.map(|n| format!("{} on #{}", n.about, n.number)).collect()
    }

    /// Everything fixpoint wrote, tokens aside.
    pub fn writes(&self) -> Vec<String> {
        let requests = self.github.requests().into_iter().filter(fixpoint::emulator::Request::is_write);
        let ours = requests.filter(|r| !r.bare_path().ends_with("/access_tokens"));
        ours.map(|r| format!("{} {}", r.method, r.bare_path())).collect()
    }

    /// What can be seen of how things stand, and how often checks were looked at.
    async fn picture(&self) -> (String, usize) {
        let open = self.store.open_deliveries(1).await.expect("deliveries");
        let sessions = self.store.sessions(100).await.expect("sessions");
        let states: Vec<&State> = sessions.iter().map(|s| &s.state).collect();
        let requests = self.github.requests();
        let said = requests.iter().filter(|r| r.is_write()).count();
        let looks = requests.iter().filter(|r| r.bare_path().ends_with("/check-suites")).count();
        let head = if open.is_empty() { "" } else { "open " };
        (format!("{head}{said} {}", serde_json::to_string(&states).expect("states")), looks)
    }

    /// The sessions, oldest first.
    pub async fn sessions(&self) -> Vec<Summary> {
        let mut sessions = self.store.sessions(100).await.expect("sessions");
        sessions.reverse();
        sessions
    }

    /// The state of the only session.
    pub async fn state(&self) -> State {
        let sessions = self.sessions().await;
        assert_eq!(sessions.len(), 1, "one session is expected");
        sessions[0].state.clone()
    }

    /// Ends the process as a shutdown would, then starts it anew over the same data.
    pub async fn restart(&mut self) {
        self.stop().await;
        self.serve().await;
    }

    /// Ends the process as a shutdown would, and starts none.
    pub async fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop().await;
        }
    }

    /// Starts one over the same data; webhooks go there from now on.
    pub async fn serve(&mut self) {
        let running = self.node().await;
        if !self.pulls {
            self.github.deliver_to(&format!("http://{}/webhooks", running.address));
        }
        self.store = running.store.clone();
        self.running = Some(running);
    }

    /// The data folder.
    pub fn data(&self) -> &std::path::Path {
        self._folder.path()
    }

    /// One more process over the same data.
    pub async fn node(&self) -> Running {
        app::start((self.rebuild)(), client()).await.expect("fixpoint starts again")
    }

    /// The database's address.
    pub fn database(&self) -> String {
        self.database.clone()
    }

    /// Where webhooks go.
    pub fn address(&self) -> String {
        format!("http://{}/webhooks", self.running.as_ref().expect("it runs").address)
    }

    /// The machine is lost with everything on it; on another one the database is put back from a copy, and nothing else.
    pub async fn restore(&mut self, copy: &std::path::Path) {
        if let Some(running) = self.running.take() {
            running.stop().await;
        }
        let folder = self._folder.path();
        for entry in std::fs::read_dir(folder).expect("the data folder") {
            let path = entry.expect("an entry").path();
            let gone =
                if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
            gone.expect("it can be removed");
        }
        std::fs::copy(copy, folder.join("fixpoint.db")).expect("the copy is put back");
        self.restart().await;
    }

    /// The end of a conversation: whatever the story was, these hold.
    pub async fn end(&mut self) {
        self.settle().await;
        assert_eq!(self.github.model().left(), 0, "the model has replies that nobody asked for");
        assert_eq!(self.github.model().unscripted(), 0, "the model was asked more than the script knows");
        assert!(self.github.leaked_authorizations().is_empty(), "a token left GitHub's origin");
        for session in self.sessions().await {
            self.folds(&session).await;
        }
        if let Some(running) = self.running.take() {
            running.stop().await;
        }
    }

    /// A session's entries fold to its stored state, none of them out of order.
    async fn folds(&self, session: &Summary) {
        let mut state = self.store.first_state(session.id).await.expect("readable").expect("a first state");
        for stepped in self.store.history(session.id).await.expect("a history") {
            assert_ne!(stepped.ignored.as_deref(), Some("illegal transition"), "{:?}", stepped.entry);
            match step(&state, stepped.entry.clone(), stepped.now, &stepped.limits) {
                Ok(session::Step::To(next, _)) => state = *next,
                Ok(session::Step::Ignore(why)) => assert_eq!(stepped.ignored.as_deref(), Some(why)),
                Err(error) => panic!("{error}: {:?}", stepped.entry),
            }
        }
        assert_eq!(state, session.state, "the entries do not fold to the stored state");
    }
}

/// Somebody about to comment.
pub struct Saying<'a> {
    world: &'a Fixpoint,
    text: String,
    login: String,
}

impl Saying<'_> {
    pub fn by(mut self, login: &str) -> Self {
        login.clone_into(&mut self.login);
        self
    }

    /// Posts it on the thread.
    pub fn on(self, number: u64) -> u64 {
        self.world.github.comment(&self.world.repo, number, &self.login, &self.text).expect("a comment")
    }
}
