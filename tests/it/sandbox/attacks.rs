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
    // Not a measure of speed: one that nothing but its wall clock ends takes a quarter of an hour.
    assert!(began.elapsed() < Duration::from_secs(120), "stopping took {:?}", began.elapsed());
    assert!(matches!(sandbox.exec(Command::toolbox(["probe"])).await, Err(SandboxError::Gone)));
}

macro_rules! attack {
    ($name:ident, $script:expr) => {
        #[tokio::test]
        async fn $name() {
            for provider in runtimes().await {
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
    for provider in runtimes().await {
        writes_without_end(&provider).await;
    }
}

async fn writes_without_end(provider: &Provider) {
    let sandbox = provider.start(&spec()).await.unwrap();
    // Nobody reads standard output; standard error is read by nobody either.
    let process = sandbox.exec(Command::named("sh", ["-c", WRITES])).await.unwrap();
    let mut before = 0;
    for look in 0..240 {
        // What it got rid of lies somewhere on the host, whose own memory is also that of the tests beside this one.
        let written: u64 = sh(sandbox.as_ref(), "cat /tmp/written").await.out.trim().parse().unwrap_or(0);
        assert!(written < 32 << 20, "{written} bytes were taken that nobody reads");
        // It is held up: at the first looks it may not have begun.
        if look > 3 && written > 0 && written == before {
            break;
        }
        before = written;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    assert!(before > 0, "it never wrote");
    drop(process);
    sandbox.stop().await.unwrap();
}

/// Writes without end, beside somebody who does so on standard error, and leaves how much was taken of it.
const WRITES: &str = r#"yes >&2 & exec python3 -c '
import os
written, line = 0, b"y\n" * 2048
with open("/tmp/written", "w") as told:
    while True:
        written += os.write(1, line)
        told.seek(0); told.write(str(written)); told.flush()
'"#;

#[tokio::test]
async fn evil_forges_the_toolboxs_answers() {
    for provider in runtimes().await {
        forges_a_frame(&provider).await;
        forges_a_whole_answer(&provider).await;
    }
}

async fn seeded(provider: &Provider) -> (Box<dyn Sandbox>, Origin, git2::Oid) {
    let sandbox = provider.start(&spec()).await.unwrap();
    let origin = Origin::new();
    let commit = origin.commit(origin.tree(&[("a", 0o100_644, b"a\n")]));
    origin.seed(sandbox.as_ref(), commit, None).await.unwrap();
    (sandbox, origin, commit)
}

/// A snapshot that says what it likes: paths and modes that no tree may hold.
pub(crate) const FORGER: &str = r#"python3 - <<'END'
import os, struct, time
def frame(kind, body): return kind + struct.pack(">I", len(body)) + body
def file(path, mode): return frame(b"F", struct.pack(">IH", mode, len(path)) + path + b"evil
")
answer = file(b".git/hooks/post-checkout", 0o100755) + file(b"../../up", 0o100644) + file(b"module", 0o160000) + frame(b"E", b"")
until = time.time() + 40
while time.time() < until:
    for p in os.listdir("/proc"):
        try:
            if p.isdigit() and b"snapshot" in open(f"/proc/{p}/cmdline", "rb").read():
                with open(f"/proc/{p}/fd/1", "wb", buffering=0) as out: out.write(answer); open("/tmp/forged", "a").write("x")
        except OSError: pass
END"#;

/// Where a child can write into the toolbox's answer (on the other kernel it can), what it makes up is held against the same
/// rules as what the toolbox says: none of it comes into a tree.
async fn forges_a_whole_answer(provider: &Provider) {
    let (sandbox, origin, commit) = seeded(provider).await;
    let _forger = sandbox.exec(Command::named("sh", ["-c", FORGER])).await.unwrap();
    let mirror = fixpoint::git::Mirror::at(origin.folder.path().to_owned());
    let base = Sha::parse(&commit.to_string()).unwrap();
    let (mut forged, begun) = (0, Instant::now());
    while begun.elapsed() < Duration::from_secs(10) && forged < 3 {
        match snapshot(sandbox.as_ref()).await {
            Ok(snapshot) if snapshot == Snapshot::default() => {}
            Ok(snapshot) => {
                forged += 1;
                let applied = mirror.apply(&base, &snapshot.changes, &Default::default()).await;
                assert!(applied.is_err(), "{snapshot:?} became {applied:?}");
            }
            // Two answers in one another are none.
            Err(_) => forged += 1,
        }
    }
    let on = sandbox.describe();
    // The forger notes it a moment after it has written.
    let noted = match forged {
        0 => "cat /tmp/forged 2>/dev/null",
        _ => {
            "for i in $(seq 300); do test -s /tmp/forged && break; sleep 0.1; done; cat /tmp/forged 2>/dev/null"
        }
    };
    let could = sh(sandbox.as_ref(), noted).await.out.len();
    println!("{on}: {forged} forged answers came, {could} times it was written into the toolbox's stream");
    assert!(forged == 0 || could > 0, "{on}: an answer was garbled by nobody");
    sandbox.stop().await.unwrap();
}

async fn forges_a_frame(provider: &Provider) {
    let (sandbox, _origin, _) = seeded(provider).await;
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
    for provider in runtimes().await {
        runs_for_ever(&provider).await;
    }
}

async fn runs_for_ever(provider: &Provider) {
    // Its clock runs from the container's first moment: what comes before the command has to fit in too.
    let wall_clock = Duration::from_secs(12);
    let began = Instant::now();
    let sandbox = provider.start(&Spec { wall_clock, ..spec() }).await.unwrap();
    let process = sandbox
        .exec(Command::named("sh", ["-c", "trap '' TERM INT HUP; while :; do :; done"]))
        .await
        .unwrap();
    let end =
        tokio::time::timeout(Duration::from_secs(180), process.wait).await.expect("it ends with its sandbox");
    assert!(matches!(end, Ok(137) | Err(SandboxError::Gone)), "{end:?}");
    assert!(began.elapsed() > wall_clock / 2, "{:?}", began.elapsed());
    sandbox.stop().await.unwrap();
}

/// Two sessions side by side: neither finds the other's files, processes or ports.
#[tokio::test]
async fn evil_t38_looks_for_another_session() {
    for provider in runtimes().await {
        let (one, other) = (provider.start(&spec()).await.unwrap(), provider.start(&spec()).await.unwrap());
        let own = "printf '%s%s' neigh bour-0815 | tee /tmp/mark /work/mark ~/mark /dev/shm/mark 2>/dev/null; \
            python3 -m http.server --bind 0.0.0.0 7000 >/dev/null 2>&1 & sleep 800";
        let _neighbour = other.exec(Command::named("sh", ["-c", own])).await.unwrap();
        let ready = "for i in $(seq 600); do curl -s -o /dev/null http://127.0.0.1:7000/ && echo ready && break; sleep 0.2; done";
        assert_eq!(sh(other.as_ref(), ready).await.out, "ready\n", "the control: at home it is reached");
        let look = "cat /tmp/mark /work/mark ~/mark /dev/shm/mark 2>/dev/null; ls /proc/*/root/tmp/mark 2>/dev/null; \
            cat /proc/*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -o 'http[.]server --bin[d]'; \
            for host in 127.0.0.1 0.0.0.0 localhost 172.17.0.2 172.17.0.3 10.0.0.2; do curl -s -m 2 http://$host:7000/ && echo $host; done; \
            ls /var/run/docker.sock /run/containerd 2>/dev/null; true";
        assert_eq!(sh(one.as_ref(), look).await.out, "", "{}", one.describe());
        one.stop().await.unwrap();
        assert_eq!(sh(other.as_ref(), ready).await.out, "ready\n", "its end is not the other's");
        other.stop().await.unwrap();
    }
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
    for _ in 0..1200 {
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
