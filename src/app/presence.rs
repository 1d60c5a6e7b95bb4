//! Knows whether the servers that worked on a database before are dead.
//!
//! A killed process cannot give its leases back, and until they run out its sessions stand still. A SQLite database has
//! all its servers on one machine: each holds a lock on a file beside it for as long as it lives, and the system takes
//! that lock away with the process, however it ends. Whoever gets the lock alone knows every lease in the database to
//! be a dead process's. Between machines nobody can know that: on PostgreSQL leases run out.

use crate::store::Store;
use std::{
    fs::{File, TryLockError},
    io,
    path::{Path, PathBuf},
};

/// This process works on the database, for as long as this lives.
#[derive(Debug)]
pub(super) struct Presence(#[expect(dead_code, reason = "held for its lock")] File);

/// Joins the servers of a database. Where there is no other, what dead ones held is taken over. A file system without
/// locks is no reason not to start: leases run out there too.
pub(super) async fn join(store: &Store, database: &str) -> Option<Presence> {
    let path = database.strip_prefix("sqlite:")?;
    let path = PathBuf::from(format!("{}.lock", path.strip_prefix("//").unwrap_or(path)));
    let joined = async {
        let (file, alone) = blocking(move || lock_alone(&path)).await?;
        if alone {
            let taken = store.take_over().await?;
            tracing::debug!(taken, "no other server works on this database");
        }
        anyhow::Ok(blocking(move || lock_with_others(file)).await?)
    };
    match joined.await {
        Ok(presence) => Some(presence),
        Err(error) => {
            tracing::warn!(%error, "leases of a killed server run out before its sessions go on: no lock can be held beside the database");
            None
        }
    }
}

/// Whether a process works on a database now. Only SQLite can tell, which has them all on this machine.
pub(super) fn is_worked_on(database: &Path) -> bool {
    let mut lock = database.as_os_str().to_owned();
    lock.push(".lock");
    // A file that is not there was never held; to look must not make it.
    let Ok(file) = File::options().write(true).open(lock) else { return false };
    matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

fn lock_alone(path: &Path) -> io::Result<(File, bool)> {
    let file = File::options().create(true).truncate(false).write(true).open(path)?;
    match file.try_lock() {
        Ok(()) => Ok((file, true)),
        Err(TryLockError::WouldBlock) => Ok((file, false)),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The lock that servers side by side hold. Between giving up the other and getting this one another server may think
/// itself alone: it takes no lease from us, since we have none yet.
fn lock_with_others(file: File) -> io::Result<Presence> {
    file.lock_shared()?;
    Ok(Presence(file))
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_is_alone_and_again_when_all_are_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fixpoint.db.lock");
        let join = || {
            let (file, alone) = lock_alone(&path).unwrap();
            (lock_with_others(file).unwrap(), alone)
        };
        let (first, alone) = join();
        assert!(alone);
        let (second, alone) = join();
        assert!(!alone, "the first lives");
        drop(first);
        let (third, alone) = join();
        assert!(!alone, "the second lives");
        drop((second, third));
        // A process that another test starts meanwhile holds all that is open here until it runs its program.
        let alone = (0..600).any(|_| {
            let (_here, alone) = join();
            if !alone {
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
            alone
        });
        assert!(alone, "nobody lives");
    }
}
