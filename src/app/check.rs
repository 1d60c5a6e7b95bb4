//! A command as the CI of the terminal: it runs on a commit in a sandbox of its own, because what it runs was written by the
//! agent.

use crate::{
    domain::{Epoch, SessionId, Sha, repo_config::Service},
    git::Mirror,
    sandbox::{Command, Process, Provider, Sandbox, Spec},
    work::{self, SandboxSize},
};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio_util::sync::CancellationToken;

/// Of what a check prints so much is kept from its beginning …
const FIRST: usize = 1 << 20;
/// … and so much from its end, where what failed stands.
const LAST: usize = 7 << 20;
/// After the command has ended, how long to wait for what its children still print.
const LINGER: Duration = Duration::from_secs(1);
/// Past the check's own limit a sandbox gets this long before it ends by itself.
const GRACE: Duration = Duration::from_secs(120);

/// Runs one command on commits.
#[derive(Clone, Debug)]
pub struct Checker {
    pub(super) sandboxes: Provider,
    /// Where the commits are.
    pub(super) commits: Mirror,
    pub(super) size: SandboxSize,
    /// What runs beside each sandbox.
    pub(super) services: Vec<Service>,
    /// Run by `sh`.
    pub(super) command: String,
    /// Wall clock of the command.
    pub(super) limit: Duration,
}

/// What came of a check.
#[derive(Clone, Debug)]
pub struct Checked {
    /// What it printed, both streams in order; the middle is cut where it is very long.
    pub printed: String,
    /// How it ended.
    pub end: End,
    /// How long it ran.
    pub took: Duration,
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With this status; 128 + n after signal n.
    Status(i64),
    /// Its time was over.
    TimedOut,
    /// It was stopped from outside.
    Stopped,
}

impl End {
    /// It succeeded.
    pub fn is_good(self) -> bool {
        self == Self::Status(0)
    }

    /// The shell found no such program, or may not run it.
    pub fn is_unusable(self) -> bool {
        matches!(self, Self::Status(126 | 127))
    }
}

impl Checker {
    /// The command's wall clock.
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Runs the command on a commit until it ends, its time is over, or `stop`. Nothing of it is left afterwards.
    ///
    /// # Errors
    /// A sentence: why there is no sandbox, or why the commit did not get into it.
    pub async fn run(&self, commit: &Sha, stop: &CancellationToken) -> anyhow::Result<Checked> {
        let spec = Spec {
            session: SessionId(uuid::Uuid::now_v7()),
            epoch: Epoch(1),
            image: self.size.image.clone(),
            cpus: self.size.cpus,
            memory: self.size.memory,
            pids: self.size.pids,
            disk: self.size.disk,
            wall_clock: self.limit + GRACE,
            services: self.services.clone(),
            service_memory: self.size.service_memory,
            way_out: false,
        };
        let sandbox = self.sandboxes.start(&spec).await?;
        let checked = stop.run_until_cancelled(self.run_in(&*sandbox, commit)).await;
        sandbox.stop().await?;
        checked.unwrap_or_else(|| {
            Ok(Checked { printed: String::new(), end: End::Stopped, took: Duration::ZERO })
        })
    }

    async fn run_in(&self, sandbox: &dyn Sandbox, commit: &Sha) -> anyhow::Result<Checked> {
        let seeded = work::seed(sandbox, &self.commits, commit).await;
        seeded.map_err(|why| anyhow::anyhow!("{} does not get into the sandbox: {why}", commit.short()))?;
        let mut command = Command::named("sh", ["-c", &format!("exec 2>&1\n{}", self.command)]);
        command.environment.insert("CI".to_owned(), "true".to_owned());
        let began = Instant::now();
        let Process { stdin, mut stdout, wait, .. } = sandbox.exec(command).await?;
        drop(stdin);
        let mut kept = Kept::default();
        let end = tokio::time::timeout(self.limit, ended(wait, &mut stdout, &mut kept)).await;
        let end = end.map_or(Ok(End::TimedOut), |status| status.map(End::Status))?;
        Ok(Checked { printed: kept.text(), end, took: began.elapsed() })
    }
}

/// The command's status, with what it printed kept. A child that it left behind may hold its output open for ever.
async fn ended(
    mut wait: impl Future<Output = Result<i64, crate::sandbox::SandboxError>> + Unpin,
    output: &mut (impl AsyncRead + Unpin),
    kept: &mut Kept,
) -> anyhow::Result<i64> {
    let status = tokio::select! {
        status = &mut wait => status,
        () = kept.read(output) => return Ok(wait.await?),
    };
    let _ = tokio::time::timeout(LINGER, kept.read(output)).await;
    Ok(status?)
}

/// The beginning and the end of a long text.
#[derive(Default)]
struct Kept {
    first: Vec<u8>,
    last: Vec<u8>,
    cut: bool,
}

impl Kept {
    async fn read(&mut self, from: &mut (impl AsyncRead + Unpin)) {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(n @ 1..) = from.read(&mut buffer).await {
            self.push(&buffer[..n]);
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(FIRST - self.first.len()));
        self.first.extend_from_slice(first);
        self.last.extend_from_slice(rest);
        // Twice the room, so that a byte is moved at most once on average.
        if self.last.len() > 2 * LAST {
            self.last.drain(..self.last.len() - LAST);
            self.cut = true;
        }
    }

    fn text(mut self) -> String {
        if self.last.len() > LAST {
            self.last.drain(..self.last.len() - LAST);
            self.cut = true;
        }
        let gap: &[u8] = if self.cut { b"\n[the middle of a very long output is left out]\n" } else { b"" };
        String::from_utf8_lossy(&[&self.first, gap, &self.last].concat()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_output_both_ends_are_kept() {
        let mut kept = Kept::default();
        kept.push(b"begins\n");
        for _ in 0..40 {
            kept.push(&vec![b'x'; 1 << 20]);
        }
        kept.push(b"\nends");
        let text = kept.text();
        assert!(text.starts_with("begins\n") && text.ends_with("\nends") && text.contains("left out"));
        assert!(text.len() <= FIRST + LAST + 100);
        let mut short = Kept::default();
        short.push(&vec![b'y'; FIRST + 10]);
        assert_eq!(short.text().len(), FIRST + 10);
    }
}
