//! Agents that break what they can: the sandbox contains it, the host stays well, and the end is clear.

use super::*;
use fixpoint::sandbox::SandboxError;
use std::time::Instant;

/// Runs an attack, then shows that the sandbox still takes commands or is gone, and that it ends at once.
async fn contained(sandbox: &dyn Sandbox, attack: &str) {
    let mut process = sandbox.exec(Command::named("sh", ["-c", attack])).await.unwrap();
    process.stdin.shutdown().await.unwrap();
    let mut sink = tokio::io::sink();
    let _ =
        tokio::time::timeout(Duration::from_secs(5), tokio::io::copy(&mut process.stdout, &mut sink)).await;
    let began = Instant::now();
    sandbox.stop().await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(10), "stopping took {:?}", began.elapsed());
    assert!(matches!(sandbox.exec(Command::toolbox(["probe"])).await, Err(SandboxError::Gone)));
}

macro_rules! attack {
    ($name:ident, $script:expr) => {
        #[tokio::test]
        async fn $name() {
            for provider in [docker().await, runsc().await].into_iter().flatten() {
                let sandbox = provider.start(&spec()).await.unwrap();
                contained(sandbox.as_ref(), $script).await;
            }
        }
    };
}

attack!(evil_forks_without_end, "f() { f | f & }; f; sleep 5");
attack!(evil_fills_the_memory, "python3 -c 'x = [bytearray(1 << 20) for _ in range(100000)]'");
attack!(
    evil_fills_every_disk,
    "for d in /work /tmp ~ /dev/shm; do cat /dev/zero > $d/full; done 2>&1; df | grep 100%"
);
attack!(evil_makes_files_without_end, "cd /tmp; python3 -c 'for i in range(10**8): open(str(i), \"x\")'");
attack!(evil_kills_what_it_can, "kill -9 -1; kill -9 1; kill -TERM 1");

#[tokio::test]
async fn evil_writes_without_end() {
    let Some(provider) = docker().await else { return };
    let sandbox = provider.start(&spec()).await.unwrap();
    let before = resident();
    // Nobody reads standard output; standard error is read by nobody either.
    let process = sandbox.exec(Command::named("sh", ["-c", "yes >&2 & yes"])).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let grown = resident().saturating_sub(before);
    assert!(grown < 32 << 20, "the host grew by {grown} bytes");
    drop(process);
    sandbox.stop().await.unwrap();
}

/// Bytes of memory of this process.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[tokio::test]
async fn evil_forges_the_toolboxs_answers() {
    let Some(provider) = docker().await else { return };
    let sandbox = provider.start(&spec()).await.unwrap();
    let origin = Origin::new();
    let commit = origin.commit(origin.tree(&[("a", 0o100_644, b"a\n")]));
    origin.seed(sandbox.as_ref(), commit, None).await.unwrap();
    // Waits for a snapshot and writes a frame of 4 GiB into each of its descriptors.
    let forge = r#"while :; do for p in /proc/[0-9]*; do
        if grep -q snapshot $p/cmdline 2>/dev/null; then for fd in $p/fd/*; do printf 'F\377\377\377\377' > $fd 2>/dev/null && touch /tmp/forged; done; fi
    done; done"#;
    let _forger = sandbox.exec(Command::named("sh", ["-c", forge])).await.unwrap();
    for _ in 0..10 {
        // Right or refused, never believed beyond the caps.
        if let Ok(snapshot) = snapshot(sandbox.as_ref()).await {
            assert_eq!(snapshot, Snapshot::default());
        }
    }
    sandbox.stop().await.unwrap();
}

#[tokio::test]
async fn evil_runs_for_ever() {
    let Some(provider) = docker().await else { return };
    let sandbox = provider.start(&Spec { wall_clock: Duration::from_secs(2), ..spec() }).await.unwrap();
    let began = Instant::now();
    let process = sandbox
        .exec(Command::named("sh", ["-c", "trap '' TERM INT HUP; while :; do :; done"]))
        .await
        .unwrap();
    let end =
        tokio::time::timeout(Duration::from_secs(20), process.wait).await.expect("it ends with its sandbox");
    assert!(matches!(end, Ok(137) | Err(SandboxError::Gone)), "{end:?}");
    assert!(began.elapsed() >= Duration::from_secs(1));
    sandbox.stop().await.unwrap();
}

#[tokio::test]
async fn evil_local_processes_die_with_their_sandbox() {
    let root = tempfile::tempdir().unwrap();
    let sandbox = local(&root).start(&spec()).await.unwrap();
    let mark = format!("8{}.5", std::process::id());
    // In sessions and groups of their own, their parents dead, their output elsewhere.
    let hide = format!(
        "for i in 1 2 3; do (setsid sh -c 'sleep {mark} & sleep {mark}' >/dev/null 2>&1 &); done; echo out"
    );
    assert_eq!(sh(sandbox.as_ref(), &hide).await.out, "out\n");
    let alive = || {
        let all = std::process::Command::new("ps").args(["-eo", "args"]).output().unwrap().stdout;
        String::from_utf8_lossy(&all).lines().filter(|line| *line == format!("sleep {mark}")).count()
    };
    // They are started beside the command that was waited for.
    for _ in 0..200 {
        if alive() == 6 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(alive(), 6);
    sandbox.stop().await.unwrap();
    assert_eq!(alive(), 0);
    assert!(matches!(sandbox.exec(Command::toolbox(["probe"])).await, Err(SandboxError::Gone)));
    assert_eq!(std::fs::read_dir(root.path().join("sandboxes")).unwrap().count(), 0);
}
