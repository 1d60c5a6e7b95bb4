//! Starting an emulator, and what is set up in it before anything happens.

use super::auth::{PRIVATE_KEY, Rate};
use super::ci::Ci;
use super::git::store;
use super::journal::Journal;
use super::reply::Refusal;
use super::state::{ACTIONS_APP, App, Id, Kind, Member, Permission, Repository, World};
use super::{Busy, Emulator, Faults, Hub, Model, Wires, ci, front, webhooks};
use chrono::{TimeDelta, Utc};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{broadcast, mpsc};
use tokio_util::sync::{CancellationToken, DropGuard};

/// What the App may do unless a test says otherwise: what fixpoint asks for, re-runs included.
const PERMISSIONS: [(&str, &str); 7] = [
    ("metadata", "read"),
    ("contents", "write"),
    ("issues", "write"),
    ("pull_requests", "write"),
    ("checks", "write"),
    ("statuses", "read"),
    ("actions", "write"),
];

/// Events of the installation itself are sent in any case and stand in no list.
const EVENTS: [&str; 14] = [
    "issue_comment",
    "issues",
    "pull_request",
    "pull_request_review",
    "pull_request_review_comment",
    "check_suite",
    "check_run",
    "status",
    "workflow_run",
    "workflow_job",
    "push",
    "repository",
    "merge_group",
    "label",
];

/// The story keeps this many events for a listener that is slow.
const STORY: usize = 16_384;

/// How an emulator is started.
#[derive(Debug)]
pub struct Options {
    /// Where GitHub, git and the model are; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where the bare repositories lie; `None`: a temporary folder that goes with the emulator.
    pub root: Option<PathBuf>,
    /// How long installation tokens live. GitHub's live an hour.
    pub token_ttl: Duration,
    /// Requests an hour.
    pub rate_limit: u32,
    /// The login that owns the App and its installation, made as an organisation.
    pub owner: String,
    /// The App's slug; its bot is `slug[bot]`.
    pub slug: String,
    /// Every request, webhook and moved branch as one JSON a line.
    pub log: Option<std::fs::File>,
    /// Ids count up from here: emulators whose ids must not meet start far from each other.
    pub first_id: u64,
    /// The App's id. Its key is in every copy of the program: whoever holds something that others on the machine must
    /// not read takes an id that they cannot guess.
    pub app_id: u64,
    /// Another process may drive it under `/_emulator/`.
    pub driven: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            root: None,
            token_ttl: Duration::from_secs(3600),
            rate_limit: 5000,
            owner: "acme".into(),
            slug: "fixpoint".into(),
            log: None,
            first_id: 10_000,
            app_id: 4101,
            driven: true,
        }
    }
}

/// What an App needs to know about itself.
#[derive(Clone)]
pub struct AppCredentials {
    /// The numeric id.
    pub app_id: u64,
    /// The client id, which GitHub also takes as `iss`.
    pub client_id: String,
    /// The slug.
    pub slug: String,
    /// PKCS#1 PEM. The key is the emulator's own and worth nothing elsewhere.
    pub private_key_pem: String,
    /// The secret that webhooks are signed with.
    pub webhook_secret: String,
    /// The one installation.
    pub installation_id: u64,
}

impl std::fmt::Debug for AppCredentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AppCredentials")
            .field("app_id", &self.app_id)
            .field("slug", &self.slug)
            .finish_non_exhaustive()
    }
}

/// A repository to be made.
#[derive(Debug, Clone)]
pub struct NewRepository {
    /// Its owner's login.
    pub owner: String,
    /// Its name.
    pub name: String,
    /// Not readable by everybody.
    pub private: bool,
    /// The default branch.
    pub default_branch: String,
    /// The first commit; none: an empty repository.
    pub files: Vec<(String, Vec<u8>)>,
    /// Its CI.
    pub ci: Ci,
    /// Draft pull requests are possible.
    pub drafts: bool,
    /// The App is installed there.
    pub installed: bool,
    /// Branches that cannot be pushed to.
    pub protected: Vec<String>,
    /// Checks without which nothing is merged into a protected branch.
    pub required_checks: Vec<String>,
}

impl NewRepository {
    /// A public repository `owner/name` with a first commit of `files` and no CI.
    pub fn new(full_name: &str, files: &[(&str, &str)]) -> NewRepository {
        let (owner, name) = full_name.split_once('/').unwrap_or(("acme", full_name));
        NewRepository {
            owner: owner.into(),
            name: name.into(),
            private: false,
            default_branch: "main".into(),
            files: files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect(),
            ci: Ci::none(),
            drafts: true,
            installed: true,
            protected: Vec::new(),
            required_checks: Vec::new(),
        }
    }

    /// With that CI.
    #[must_use]
    pub fn ci(mut self, ci: Ci) -> NewRepository {
        self.ci = ci;
        self
    }

    /// Readable only by members.
    #[must_use]
    pub fn private(mut self) -> NewRepository {
        self.private = true;
        self
    }
}

/// Why something could not be done in the emulator.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It could not be started.
    #[error("the emulator could not start: {0}")]
    Start(String),
    /// A doing was refused, as GitHub would refuse it.
    #[error("the emulated GitHub refused: {0}")]
    Refused(String),
    /// There is no such repository.
    #[error("the emulator has no repository {0}")]
    NoRepository(String),
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        let details: String = refusal.errors.iter().map(|error| format!(" {error}")).collect();
        Error::Refused(format!("{refusal}{details}"))
    }
}

/// Ends everything when it is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) web: String,
    _stop: Option<DropGuard>,
    _root: Option<tempfile::TempDir>,
}

impl Running {
    /// For a handle that lives inside the emulator and must not end it.
    pub(crate) fn borrowed(hub: &Hub) -> Running {
        Running { web: hub.with(|world| world.web.clone()), _stop: None, _root: None }
    }
}

impl Emulator {
    /// Starts one.
    pub async fn start(mut options: Options) -> Result<Emulator, Error> {
        let failed = |what: &str, error: &dyn std::fmt::Display| Error::Start(format!("{what}: {error}"));
        let listener = TcpListener::bind(options.listen)
            .await
            .map_err(|error| failed(&format!("cannot listen on {}", options.listen), &error))?;
        let here = listener.local_addr().map_err(|error| failed("no local address", &error))?;
        let storage = TcpListener::bind((here.ip(), 0))
            .await
            .map_err(|error| failed("cannot listen for logs", &error))?;
        let there = storage.local_addr().map_err(|error| failed("no local address", &error))?;
        let temporary = match &options.root {
            Some(_) => None,
            None => Some(tempfile::tempdir().map_err(|error| failed("no temporary folder", &error))?),
        };
        let root = options
            .root
            .clone()
            .or(temporary.as_ref().map(|root| root.path().to_owned()))
            .unwrap_or_default();
        // Another part of the program may have chosen the provider already; both choose ring.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .no_proxy()
            .build()
            .map_err(|error| failed("no HTTP client", &error))?;

        let (hooks, hooks_out) = mpsc::unbounded_channel();
        let (orders, orders_out) = mpsc::unbounded_channel();
        let (happened, _) = broadcast::channel(STORY);
        let journal = Arc::new(Journal::default());
        if let Some(log) = options.log.take() {
            journal.log_to(log);
        }
        let wires = Wires {
            hooks,
            ci: orders,
            happened,
            busy: Busy::new(),
            journal: journal.clone(),
            receiver: Arc::default(),
        };
        let web = format!("http://{here}");
        let world = World::new(&options, &web, &format!("http://{there}"), root, wires);
        let hub = Arc::new(Hub {
            world: Mutex::new(world),
            faults: Faults::default(),
            model: Model::default(),
            journal,
            client,
            driven: options.driven,
            pushing: tokio::sync::Mutex::new(()),
            leaked: Mutex::new(Vec::new()),
        });
        let stop = CancellationToken::new();
        tokio::spawn(front::serve(hub.clone(), listener, front::Door::Main, stop.clone()));
        tokio::spawn(front::serve(hub.clone(), storage, front::Door::Storage, stop.clone()));
        tokio::spawn(stop.clone().run_until_cancelled_owned(webhooks::deliver(hub.clone(), hooks_out)));
        tokio::spawn(stop.clone().run_until_cancelled_owned(ci::runner(hub.clone(), orders_out)));
        let running = Running { web, _stop: Some(stop.drop_guard()), _root: temporary };
        Ok(Emulator { hub, running: Arc::new(running) })
    }

    /// The address of the REST API, as `GITHUB_API_URL`: no slash at its end.
    pub fn api_url(&self) -> &str {
        &self.running.web
    }

    /// The address that pages and clones have.
    pub fn web_url(&self) -> &str {
        &self.running.web
    }

    /// The base address of the scripted model, for both wires; `/v1/…` follows.
    pub fn model_url(&self) -> &str {
        &self.running.web
    }

    /// What the App under test is configured with.
    pub fn app(&self) -> AppCredentials {
        self.hub.with(|world| AppCredentials {
            app_id: world.app.id,
            client_id: world.app.client_id.clone(),
            slug: world.app.slug.clone(),
            private_key_pem: PRIVATE_KEY.into(),
            webhook_secret: world.app.webhook_secret.clone(),
            installation_id: world.app.installation,
        })
    }

    /// Where webhooks go from now on.
    pub fn deliver_to(&self, url: &str) {
        self.hub.with(|world| world.wires.deliver_to(url));
    }

    /// Makes a repository. Its owner is an organisation unless that login is known as a person.
    pub fn create_repository(&self, new: NewRepository) -> Result<u64, Error> {
        self.hub.with(|world| Ok(world.create_repository(new)?))
    }
}

impl World {
    fn new(options: &Options, web: &str, storage: &str, root: PathBuf, wires: Wires) -> World {
        let now = Utc::now();
        let app = App {
            id: options.app_id,
            client_id: format!("Iv23li{}", options.app_id),
            slug: options.slug.clone(),
            name: options.slug.clone(),
            bot: 0,
            owner: 0,
            webhook_secret: hex::encode(rand::random::<[u8; 20]>()),
            installation: 7001,
            permissions: PERMISSIONS.iter().map(|(name, level)| ((*name).into(), (*level).into())).collect(),
            asked: None,
            events: EVENTS.iter().map(|event| (*event).into()).collect(),
            suspended: None,
            created: now,
        };
        let mut world = World {
            api: web.into(),
            web: web.into(),
            storage: storage.into(),
            root,
            last_id: options.first_id,
            users: BTreeMap::new(),
            app,
            tokens: BTreeMap::new(),
            token_ttl: TimeDelta::from_std(options.token_ttl).unwrap_or(TimeDelta::MAX),
            repositories: BTreeMap::new(),
            deliveries: VecDeque::new(),
            manifests: BTreeMap::new(),
            signed: BTreeMap::new(),
            notifications: Vec::new(),
            rate: Rate::new(options.rate_limit),
            list_lag: 0,
            merge_lag: 0,
            reaches_forks: false,
            wires,
        };
        world.app.owner = world.make_user(&options.owner, Kind::Organization);
        world.app.bot = world.make_user(&format!("{}[bot]", options.slug), Kind::Bot);
        world.make_user("github-actions[bot]", Kind::Bot);
        debug_assert_ne!(world.app.id, ACTIONS_APP);
        world
    }

    pub(crate) fn create_repository(&mut self, new: NewRepository) -> Result<Id, Refusal> {
        if self.find_repository(&new.owner, &new.name).is_some() {
            return Err(Refusal::unprocessable("name already exists on this account"));
        }
        let owner = match self.find_user(&new.owner) {
            Some(owner) => owner,
            None => self.make_user(&new.owner, Kind::Organization),
        };
        let id = self.id();
        let path = self.root.join(format!("{id}.git"));
        store::create(&path, &new.default_branch)?;
        let now = Utc::now();
        let repository = Repository {
            id,
            owner,
            name: new.name,
            former: Vec::new(),
            private: new.private,
            default_branch: new.default_branch.clone(),
            git: path,
            fork_of: None,
            archived: false,
            gone: false,
            installed: new.installed,
            drafts: new.drafts,
            members: BTreeMap::new(),
            watchers: BTreeSet::new(),
            labels: BTreeMap::new(),
            protected: new.protected.into_iter().collect(),
            required_checks: new.required_checks,
            next_number: 1,
            issues: BTreeMap::new(),
            comments: BTreeMap::new(),
            reviews: BTreeMap::new(),
            review_comments: BTreeMap::new(),
            suites: BTreeMap::new(),
            check_runs: BTreeMap::new(),
            statuses: Vec::new(),
            workflow_runs: BTreeMap::new(),
            jobs: BTreeMap::new(),
            work: BTreeMap::new(),
            ci: new.ci,
            secrets: BTreeMap::new(),
            created: now,
            pushed: now,
        };
        self.repositories.insert(id, repository);
        if !new.files.is_empty() {
            let files: Vec<_> = new.files.into_iter().map(|(path, bytes)| (path, Some(bytes))).collect();
            let git = self.open_git(id)?;
            let who = store::signature(self.login(owner), &self.email(owner))?;
            store::commit(&git, &new.default_branch, &new.default_branch, &files, "First commit", &who)?;
        }
        Ok(id)
    }

    pub(crate) fn make_member(&mut self, repo: Id, login: &str, permission: Permission, hidden: bool) -> Id {
        let id = self.user(login);
        self.repo_mut(repo).members.insert(id, Member { permission, hidden });
        id
    }
}
