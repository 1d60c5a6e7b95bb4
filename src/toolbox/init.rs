//! `toolbox init`: process 1 of a container. It reaps, and its end is everybody's: when it exits the kernel
//! kills what is left.
//!
//! It ends at the wall clock, on a signal, and when its standard input closes: the host holds the other end,
//! so that a sandbox does not outlive a host that was killed.

use super::wire::READY;
use rustix::process::{WaitOptions, wait};
use std::{
    io::{Read, Write},
    path::Path,
    time::Duration,
};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::oneshot,
};

/// Lives until the wall clock, a signal, or the end of standard input.
///
/// # Errors
/// Where the workspace cannot be made or signals cannot be had.
pub async fn run(workspace: &Path, wall_clock: Duration) -> std::io::Result<()> {
    std::fs::create_dir_all(workspace)?;
    let mut children = signal(SignalKind::child())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let end = tokio::time::sleep(wall_clock);
    tokio::pin!(end);
    let mut host = host_is_gone();

    let mut out = std::io::stdout();
    out.write_all(READY.as_bytes())?;
    out.flush()?;
    loop {
        tokio::select! {
            _ = children.recv() => reap(),
            _ = terminate.recv() => return Ok(()),
            _ = interrupt.recv() => return Ok(()),
            () = &mut end => return Ok(()),
            _ = &mut host => return Ok(()),
        }
    }
}

/// All that have ended: signals coalesce.
fn reap() {
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
}

/// On a thread of its own, which the end does not wait for: a read that nobody ends must not keep process 1
/// alive.
fn host_is_gone() -> oneshot::Receiver<()> {
    let (gone, told) = oneshot::channel();
    std::thread::spawn(move || {
        let mut ignored = [0; 64];
        while matches!(std::io::stdin().read(&mut ignored), Ok(n) if n > 0) {}
        let _ = gone.send(());
    });
    told
}
