//! A full disk: nothing is acknowledged that is not stored, nothing begins, and it goes on by itself when there is room.

use super::Sender;
use crate::support::{ISSUE, World, plays::*};
use fixpoint::work::Hooks;
use std::{path::PathBuf, process::Command, time::Duration};
use tempfile::TempDir;

const SIZE: usize = 24 << 20;

/// A file system of its own, a small one in memory.
struct Small {
    folder: TempDir,
}

impl Small {
    /// None, with a word, where nothing can be mounted.
    fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o"]).arg(format!("size={SIZE}")).arg("tmpfs").arg(folder.path());
        let mounted = mount.output().is_ok_and(|out| out.status.success());
        if !mounted {
            println!("skipped: a small file system needs the right to mount one");
        }
        mounted.then_some(Self { folder })
    }

    fn world(&self) -> World {
        let hooks = Hooks { failed_every: Duration::from_millis(500), ..Hooks::default() };
        World { data: Some(self.folder.path().to_owned()), hooks, ..World::new() }
    }

    fn filler(&self) -> PathBuf {
        self.folder.path().join("filler")
    }

    /// Leaves this much.
    fn fill(&self, leave: u64) {
        let space = rustix::fs::statvfs(self.folder.path()).unwrap();
        let free = space.f_bavail * space.f_frsize;
        let bytes = vec![0; usize::try_from(free.saturating_sub(leave)).unwrap()];
        // The last page may not fit; what does is written.
        let _ = std::fs::write(self.filler(), bytes);
    }

    fn free(&self) {
        std::fs::remove_file(self.filler()).unwrap();
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.folder.path()).status();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c21_f58_a_disk_without_a_byte_loses_nothing_that_was_acknowledged() {
    let Some(small) = Small::mount() else { return };
    let mut t = World { min_free_disk: 0, ..small.world() }.start().await;
    t.settle().await;
    let (sender, url) = (Sender::of(&t), t.address());
    small.fill(0);
    let mut sent = Vec::new();
    for n in 0..40 {
        let body = serde_json::json!({ "n": n, "filler": "x".repeat(200_000) }).to_string();
        let guid = format!("full-{n}");
        let status = sender.post(&url, &guid, "push", body).await;
        sent.push((guid, status));
    }
    t.comment("/code").by("alice").on(ISSUE);
    t.github.settled().await;
    let refused = sent.iter().filter(|(_, status)| *status == 503).count();
    assert!(refused > 0, "it was never full: {sent:?}");
    assert!(sent.iter().all(|(_, status)| matches!(status, 202 | 503)), "{sent:?}");
    super::holds_all(&t.store, &sent).await;
    t.model_plays([finish("Nothing")]);
    small.free();
    // Nobody lends a hand: the comment that was refused is asked for again.
    t.until("done(nothing_to_change)").await;
    for (guid, status) in &sent {
        let body = serde_json::json!({ "again": guid }).to_string();
        assert!(*status == 202 || sender.post(&url, guid, "push", body).await == 202);
    }
    t.settle().await;
    assert_eq!(t.sessions().await.len(), 1);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f58_below_the_mark_no_delivery_is_taken_and_no_round_begins() {
    let Some(small) = Small::mount() else { return };
    let mut t = World { min_free_disk: 12 << 20, ..small.world() }.start().await;
    t.settle().await;
    small.fill(6 << 20);
    t.comment("/code").by("alice").on(ISSUE);
    t.github.settled().await;
    let asked = t.github.deliveries().into_iter().rfind(|d| d.event == "issue_comment").unwrap();
    assert_eq!(asked.status_code, 503);
    assert!(!t.store.knows_delivery(&asked.guid).await.unwrap());
    // One that was acknowledged just before is settled, but nothing is begun for it.
    let body = asked.payload.to_string();
    t.store.keep_delivery(&asked.guid, &asked.event, body.as_bytes()).await.unwrap();
    t.until("queued").await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(t.phases().await, "queued");
    t.model_plays([finish("Nothing")]);
    small.free();
    t.until("done(nothing_to_change)").await;
    t.end().await;
}
