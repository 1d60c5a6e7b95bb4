//! Where mirrors are, how one comes to be, and how work on it gets off the async threads.

use super::GitError;
use crate::domain::{fault::along, network::Proxy};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// All mirrors of this host.
#[derive(Clone, Debug)]
pub struct Mirrors {
    pub(super) root: PathBuf,
    proxy: Option<Proxy>,
    locks: Arc<Mutex<HashMap<String, Lock>>>,
}

/// One repository's mirror.
#[derive(Clone, Debug)]
pub struct Mirror {
    pub(super) dir: PathBuf,
    /// What its server is reached by.
    pub(super) proxy: Option<Proxy>,
    /// One talk with the server at a time: two fetches of one ref would fail each other.
    pub(super) network: Lock,
}

type Lock = Arc<tokio::sync::Mutex<()>>;

/// What a mirror's own configuration says. It is the nearest level, so nothing that an administrator's `~/.gitconfig`
/// says changes a patch; objects are on the disk before a journal entry names them.
const CONFIG: [(&str, &str); 6] = [
    ("core.fsyncObjectFiles", "true"),
    ("core.abbrev", "40"),
    ("diff.context", "3"),
    ("diff.noprefix", "false"),
    ("diff.mnemonicPrefix", "false"),
    ("gc.auto", "0"),
];

impl Mirrors {
    /// Mirrors below a folder, which is made when it is needed.
    pub fn new(root: PathBuf) -> Self {
        Self { root, proxy: None, locks: Arc::default() }
    }

    /// The same, reaching their servers by a proxy, where it is for them.
    #[must_use]
    pub fn through(self, proxy: Option<Proxy>) -> Self {
        Self { proxy, ..self }
    }

    /// The mirror under a stable key (the repository's id); made when it is not there.
    ///
    /// # Errors
    /// [`GitError::Other`] when the folder cannot be written.
    pub async fn open(&self, key: &str) -> Result<Mirror, GitError> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
        if key.is_empty() || !key.bytes().all(plain) {
            return Err(GitError::Other(format!(
                "{key:?} is no mirror's name: letters, digits, - and _ are"
            )));
        }
        let (network, first) = self.lock(key);
        let _alone = network.lock().await;
        let dir = self.root.join(format!("{key}.git"));
        let mirror = Mirror { dir: dir.clone(), proxy: self.proxy.clone(), network: network.clone() };
        if mirror.blocking(|_| Ok(())).await.is_err() {
            // Also where an earlier start was interrupted: to initialise again completes it.
            run_blocking(move || init(&dir)).await?;
        }
        if first {
            mirror.sweep().await?;
        }
        Ok(mirror)
    }

    /// The mirror's lock, and whether this process asks for it for the first time.
    fn lock(&self, key: &str) -> (Lock, bool) {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        let first = !locks.contains_key(key);
        (locks.entry(key.to_owned()).or_default().clone(), first)
    }
}

impl Mirror {
    /// Runs work on the repository where it may block. It is opened anew each time: that takes well below a
    /// millisecond, and what the git program fetched meanwhile is seen.
    pub(super) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&git2::Repository) -> Result<T, GitError> + Send + 'static,
    ) -> Result<T, GitError> {
        let dir = self.dir.clone();
        run_blocking(move || work(&git2::Repository::open_bare(dir)?)).await
    }
}

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, GitError> + Send + 'static,
) -> Result<T, GitError> {
    tokio::task::spawn_blocking(along(work))
        .await
        .map_err(|e| GitError::Other(format!("the work broke off: {e}")))?
}

fn init(dir: &std::path::Path) -> Result<(), GitError> {
    let mut options = git2::RepositoryInitOptions::new();
    // A template could bring hooks and configuration along.
    options.bare(true).mkpath(true).external_template(false).initial_head("main");
    let repo = git2::Repository::init_opts(dir, &options)?;
    let mut config = repo.config()?.open_level(git2::ConfigLevel::Local)?;
    for (name, value) in CONFIG {
        config.set_str(name, value)?;
    }
    Ok(())
}
