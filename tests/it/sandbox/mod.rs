//! Sandboxes as they really are: containers of the engine on this machine, and local processes.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod altered;
mod attacks;
mod inside;
mod life;
mod measure;
mod tools;
mod trip;

pub(crate) use attacks::FORGER;

use fixpoint::{
    domain::{Epoch, SessionId, Sha},
    sandbox::{Command, DockerProvider, DockerSettings, LocalProvider, Provider, Sandbox, Spec},
    toolbox::wire::{self, Caps, Snapshot, WireError},
};
use std::{
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const IMAGE: &str = "fixpoint-sandbox:latest";

const CAPS: Caps = Caps { files: 100, file_bytes: 1 << 20, total_bytes: 4 << 20 };

pub(crate) fn spec() -> Spec {
    Spec {
        session: SessionId(uuid::Uuid::now_v7()),
        epoch: Epoch(1),
        image: None,
        cpus: 1.0,
        memory: 256 << 20,
        pids: 128,
        disk: 128 << 20,
        // For tests that are not about it: also what takes a hundred times longer than usual comes to its end.
        wall_clock: Duration::from_secs(900),
        services: Vec::new(),
        service_memory: 128 << 20,
        way_out: false,
    }
}

fn program() -> PathBuf {
    env!("CARGO_BIN_EXE_fixpoint").into()
}

pub(crate) fn settings() -> DockerSettings {
    // An instance of its own for everybody who asks, in this run and beside it: nobody sweeps what another test has held for
    // longer than a sandbox of a session that is not known is left alone.
    static ASKED: AtomicU32 = AtomicU32::new(0);
    let instance = format!("test-{}-{}", std::process::id(), ASKED.fetch_add(1, Ordering::Relaxed));
    DockerSettings { instance, image: IMAGE.into(), program: Some(program()), ..Default::default() }
}

/// The provider of these settings, or `None` with a plain message where no engine can be used; where all must
/// run that is a failure.
pub(crate) async fn docker_with(settings: DockerSettings) -> Option<Provider> {
    let tried = DockerProvider::connect(settings).await;
    match tried {
        Ok(provider) => Some(Provider::Docker(provider)),
        Err(error) if std::env::var("CI").as_deref() == Ok("true") => panic!("CI needs an engine: {error}"),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

pub(crate) async fn docker() -> Option<Provider> {
    docker_with(settings()).await
}

/// On the other runtime, where the engine has it.
pub(crate) async fn runsc() -> Option<Provider> {
    let engine = bollard::Docker::connect_with_defaults().ok()?.negotiate_version().await.ok()?;
    if !engine.info().await.ok()?.runtimes.unwrap_or_default().contains_key("runsc") {
        eprintln!("skipped: the engine has no runtime runsc");
        return None;
    }
    docker_with(DockerSettings { runtime: Some("runsc".into()), ..settings() }).await
}

/// Each runtime that the engine has: what holds on one kernel must hold on the other.
pub(crate) async fn runtimes() -> Vec<Provider> {
    [docker().await, runsc().await].into_iter().flatten().collect()
}

fn local(root: &tempfile::TempDir) -> Provider {
    Provider::Local(LocalProvider::new(root.path().join("sandboxes")).with_program(program()))
}

/// What a command wrote on its two streams, and its exit status.
pub(crate) struct Ran {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: i64,
}

pub(crate) async fn run(sandbox: &dyn Sandbox, command: Command) -> Ran {
    let mut process = sandbox.exec(command).await.unwrap();
    process.stdin.shutdown().await.unwrap();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let (code, _, _) = tokio::join!(
        process.wait,
        process.stdout.read_to_end(&mut out),
        process.stderr.read_to_end(&mut err)
    );
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ran { out: text(out), err: text(err), code: code.unwrap() }
}

pub(crate) async fn sh(sandbox: &dyn Sandbox, script: &str) -> Ran {
    run(sandbox, Command::named("sh", ["-c", script])).await
}

/// A repository on the host and what a mirror would send of it.
struct Origin {
    folder: tempfile::TempDir,
    repository: git2::Repository,
}

impl Origin {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let repository = git2::Repository::init_bare(folder.path()).unwrap();
        Self { folder, repository }
    }

    /// A tree of (path, mode, content).
    fn tree(&self, files: &[(&str, u32, &[u8])]) -> git2::Oid {
        let mut index = git2::Index::new().unwrap();
        for (path, mode, content) in files {
            let id = match mode {
                0o160_000 => git2::Oid::from_bytes(&[7; 20]).unwrap(),
                _ => self.repository.blob(content).unwrap(),
            };
            let time = git2::IndexTime::new(0, 0);
            let entry = git2::IndexEntry {
                ctime: time,
                mtime: time,
                dev: 0,
                ino: 0,
                mode: *mode,
                uid: 0,
                gid: 0,
                file_size: 0,
                id,
                flags: 0,
                flags_extended: 0,
                path: (*path).into(),
            };
            index.add(&entry).unwrap();
        }
        index.write_tree_to(&self.repository).unwrap()
    }

    /// A commit with a parent that is not sent along.
    fn commit(&self, tree: git2::Oid) -> git2::Oid {
        let by = git2::Signature::new("a", "a@example.com", &git2::Time::new(0, 0)).unwrap();
        let empty = self.repository.find_tree(self.tree(&[])).unwrap();
        let parent = self.repository.commit(None, &by, &by, "first", &empty, &[]).unwrap();
        let parent = self.repository.find_commit(parent).unwrap();
        let tree = self.repository.find_tree(tree).unwrap();
        self.repository.commit(None, &by, &by, "second", &tree, &[&parent]).unwrap()
    }

    fn pack(&self, commit: git2::Oid, tree: Option<git2::Oid>) -> Vec<u8> {
        let mut pack = self.repository.packbuilder().unwrap();
        pack.insert_object(commit, None).unwrap();
        pack.insert_tree(self.repository.find_commit(commit).unwrap().tree_id()).unwrap();
        if let Some(tree) = tree {
            pack.insert_tree(tree).unwrap();
        }
        let mut bytes = git2::Buf::new();
        pack.write_buf(&mut bytes).unwrap();
        bytes.to_vec()
    }

    async fn seed(
        &self,
        sandbox: &dyn Sandbox,
        commit: git2::Oid,
        tree: Option<git2::Oid>,
    ) -> Result<(), WireError> {
        let sha = |id: git2::Oid| Sha::parse(&id.to_string()).unwrap();
        let arguments = wire::seed_arguments(&sha(commit), tree.map(sha).as_ref());
        let mut process = sandbox.exec(Command::toolbox(arguments)).await.unwrap();
        wire::seed(&mut process.stdin, &mut process.stdout, &self.pack(commit, tree)).await
    }
}

async fn snapshot(sandbox: &dyn Sandbox) -> Result<Snapshot, WireError> {
    let mut process = sandbox.exec(Command::toolbox(CAPS.arguments())).await.unwrap();
    wire::read_snapshot(&mut process.stdout, &CAPS).await
}
