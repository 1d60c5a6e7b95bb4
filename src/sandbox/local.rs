//! Commands as processes of this machine: for trying things out. It is no boundary and says so.
//!
//! Each sandbox is a folder. Its processes carry that folder's path in their environment, by which all of
//! them are found again, whoever their parent is by now; one that hides on purpose is not found.

use super::{Command, ENVIRONMENT, Process, Program, Sandbox, SandboxError, Spec, orphan, pump};
use crate::domain::{Epoch, SessionId};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// Marks a process as one of the sandbox whose folder it names.
const MARK: &str = "FIXPOINT_SANDBOX";

/// Where programs are looked for when nothing else is said.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// How long a killed process may take to be gone, and those that were being born meanwhile: a loaded machine gives it no
/// turn for a while.
const DEATH: Duration = Duration::from_secs(10);

/// Makes sandboxes.
#[derive(Clone, Debug)]
pub struct LocalProvider {
    root: PathBuf,
    program: Option<PathBuf>,
    path: String,
}

impl LocalProvider {
    /// Sandboxes are folders under `root`.
    pub fn new(root: PathBuf) -> Self {
        Self { root, program: None, path: PATH.into() }
    }

    /// The program that holds the toolbox, where it is not the one that runs.
    #[must_use]
    pub fn with_program(self, program: PathBuf) -> Self {
        Self { program: Some(program), ..self }
    }

    /// Where programs are looked for.
    #[must_use]
    pub fn with_path(self, path: String) -> Self {
        Self { path, ..self }
    }

    pub(super) async fn start(&self, spec: &Spec) -> Result<Box<dyn Sandbox>, SandboxError> {
        if !spec.services.is_empty() {
            return Err(spec.no_services("need a container engine, and `sandbox.kind` is \"local\""));
        }
        let program = self.program.clone().map_or_else(std::env::current_exe, Ok)?;
        let (root, name) = (self.root.clone(), format!("{}-{}", spec.session, spec.epoch));
        let folder = blocking(move || lay_out(&root, &name)).await?;
        let room = Arc::new(Room { folder, program, path: self.path.clone(), over: AtomicBool::new(false) });

        let (timed, wall_clock) = (Arc::downgrade(&room), spec.wall_clock);
        tokio::spawn(async move {
            tokio::time::sleep(wall_clock).await;
            if let Some(room) = timed.upgrade() {
                let _ = blocking(move || room.end()).await;
            }
        });
        Ok(Box::new(LocalSandbox { workspace: room.workspace().display().to_string(), room }))
    }

    pub(super) async fn sweep(&self, live: &[(SessionId, Epoch)]) -> Result<u32, SandboxError> {
        let (root, live) = (self.root.clone(), live.to_vec());
        blocking(move || {
            let mut removed = 0;
            for (folder, session, epoch, age) in folders(&root)? {
                if orphan(session, epoch, age, &live) {
                    clear(&folder)?;
                    removed += 1;
                }
            }
            Ok(removed)
        })
        .await
    }

    pub(super) async fn check(&self) -> Result<String, SandboxError> {
        let root = self.root.clone();
        blocking(move || fs::create_dir_all(root)).await?;
        Ok("local processes: no boundary at all, for trying out only".into())
    }
}

fn lay_out(root: &Path, name: &str) -> io::Result<PathBuf> {
    fs::create_dir_all(root)?;
    // The mark is compared as text: links are followed once, here.
    let folder = root.canonicalize()?.join(name);
    // Left by a start that was interrupted: this epoch is ours alone.
    clear(&folder)?;
    ["repo", "home", "tmp"].iter().try_for_each(|name| fs::create_dir_all(folder.join(name)))?;
    Ok(folder)
}

fn folders(root: &Path) -> io::Result<Vec<(PathBuf, SessionId, Epoch, Duration)>> {
    let Ok(root) = root.canonicalize() else { return Ok(vec![]) };
    let entries = fs::read_dir(root)?;
    let found = entries.flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let (session, epoch) = name.split_once('-')?;
        let session = SessionId(uuid::Uuid::try_parse(session).ok()?);
        let age = entry.metadata().ok()?.created().ok()?.elapsed().unwrap_or_default();
        Some((entry.path(), session, Epoch(epoch.parse().ok()?), age))
    });
    Ok(found.collect())
}

/// Kills what runs for a folder, then removes it.
fn clear(folder: &Path) -> io::Result<()> {
    kill_all(folder);
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

fn kill_all(folder: &Path) {
    let mark = format!("{MARK}={}", folder.display());
    let until = Instant::now() + DEATH;
    while Instant::now() < until {
        let marked: Vec<_> = marked(mark.as_bytes()).collect();
        if marked.is_empty() {
            return;
        }
        for pid in marked {
            let _ = kill_process(pid, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The living processes whose environment holds the mark.
fn marked(mark: &[u8]) -> impl Iterator<Item = Pid> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(move |entry| {
        let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
        // A dead process that nobody has waited for yet has an empty environment.
        let environment = fs::read(entry.path().join("environ")).ok()?;
        environment.split(|b| *b == 0).any(|variable| variable == mark).then_some(pid)
    })
}

#[derive(Debug)]
struct Room {
    folder: PathBuf,
    program: PathBuf,
    path: String,
    over: AtomicBool,
}

impl Room {
    fn workspace(&self) -> PathBuf {
        self.folder.join("repo")
    }

    fn end(&self) -> io::Result<()> {
        self.over.store(true, Ordering::SeqCst);
        clear(&self.folder)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

struct LocalSandbox {
    workspace: String,
    room: Arc<Room>,
}

#[async_trait::async_trait]
impl Sandbox for LocalSandbox {
    async fn exec(&self, command: Command) -> Result<Process, SandboxError> {
        let room = &self.room;
        if room.over.load(Ordering::SeqCst) {
            return Err(SandboxError::Gone);
        }
        let mut child = begin(room, &command).await?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(SandboxError::Other("a process without its streams".into()));
        };
        // In a task of its own: it is waited for even where nobody asks.
        let waited = tokio::spawn(async move { child.wait().await });
        let wait = async move {
            let status = waited.await??;
            Ok(code(status))
        };
        Ok(Process {
            stdin: Box::new(stdin),
            stdout: Box::new(stdout),
            stderr: Box::new(pump::drain(stderr)),
            wait: Box::pin(wait),
        })
    }

    async fn stop(&self) -> Result<(), SandboxError> {
        let room = self.room.clone();
        blocking(move || room.end()).await
    }

    fn workspace(&self) -> &str {
        &self.workspace
    }

    fn describe(&self) -> String {
        "local processes, no boundary".into()
    }
}

/// Starts a process. Where the sandbox ended meanwhile, its end came too early to find it: it is killed here.
async fn begin(room: &Arc<Room>, command: &Command) -> Result<tokio::process::Child, SandboxError> {
    let mut child = spawn(room, command)?;
    if room.over.load(Ordering::SeqCst) {
        // By its id, too: for a moment after its start it has no environment yet.
        let _ = child.start_kill();
        let room = room.clone();
        blocking(move || room.end()).await?;
        return Err(SandboxError::Gone);
    }
    Ok(child)
}

fn spawn(room: &Room, command: &Command) -> Result<tokio::process::Child, SandboxError> {
    let (program, name) = match &command.program {
        Program::Toolbox => (room.program.clone(), "the toolbox"),
        Program::Named(name) => (name.into(), name.as_str()),
    };
    let mut process = tokio::process::Command::new(program);
    if matches!(command.program, Program::Toolbox) {
        process.arg("toolbox");
    }
    process
        .args(&command.arguments)
        .current_dir(room.workspace().join(&command.directory))
        .env_clear()
        .env("PATH", &room.path)
        .env("HOME", room.folder.join("home"))
        .env("TMPDIR", room.folder.join("tmp"))
        .envs(ENVIRONMENT)
        .envs(&command.environment)
        .env(MARK, &room.folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    process.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => SandboxError::NoProgram(name.to_owned()),
        _ => error.into(),
    })
}

fn code(status: std::process::ExitStatus) -> i64 {
    use std::os::unix::process::ExitStatusExt;
    let signal = || 128 + status.signal().unwrap_or_default();
    i64::from(status.code().unwrap_or_else(signal))
}

async fn blocking<T, F>(work: F) -> Result<T, SandboxError>
where
    T: Send + 'static,
    F: FnOnce() -> io::Result<T> + Send + 'static,
{
    Ok(tokio::task::spawn_blocking(work).await??)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_process_that_the_end_came_too_early_to_find_is_killed() {
        let root = tempfile::tempdir().unwrap();
        let folder = lay_out(root.path(), "room").unwrap();
        let mark = format!("{MARK}={}", folder.display());
        // The end has looked for processes, and has not come to the folder yet.
        let over = AtomicBool::new(true);
        let room = Arc::new(Room { folder, program: "/bin/false".into(), path: PATH.into(), over });
        let begun = begin(&room, &Command::named("sleep", ["1000"])).await;
        assert!(matches!(begun, Err(SandboxError::Gone)), "{begun:?}");
        let until = Instant::now() + Duration::from_secs(60);
        while marked(mark.as_bytes()).next().is_some() {
            assert!(Instant::now() < until, "it lives");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(!room.folder.exists());
    }
}
