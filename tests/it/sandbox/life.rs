//! How sandboxes begin and end, whatever happens in between.

use super::*;
use bollard::{Docker, query_parameters::*};
use fixpoint::sandbox::SandboxError;
use futures::StreamExt;
use std::{path::Path, time::Instant};

fn engine() -> Docker {
    Docker::connect_with_defaults().unwrap()
}

fn name(spec: &Spec) -> String {
    format!("fx-{}-{}", spec.session, spec.epoch)
}

async fn there(spec: &Spec) -> bool {
    let engine = engine().negotiate_version().await.unwrap();
    engine.inspect_container(&name(spec), None::<InspectContainerOptions>).await.is_ok()
}

async fn gone_soon(spec: &Spec) {
    for _ in 0..1200 {
        if !there(spec).await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the container is still there");
}

#[tokio::test]
async fn starting_again_replaces_what_an_interrupted_start_left() {
    let Some(provider) = docker().await else { return };
    let spec = spec();
    let first = provider.start(&spec).await.unwrap();
    let second = provider.start(&spec).await.unwrap();
    assert!(matches!(first.exec(Command::toolbox(["probe"])).await, Err(SandboxError::Gone)));
    assert_eq!(sh(second.as_ref(), "echo here").await.out, "here\n");
    // The loser's end must not take the winner along.
    first.stop().await.unwrap();
    drop(first);
    assert_eq!(sh(second.as_ref(), "echo still").await.out, "still\n");
    second.stop().await.unwrap();
    second.stop().await.unwrap();
    assert!(!there(&spec).await);
}

#[tokio::test]
async fn a_dropped_sandbox_and_a_cancelled_start_leave_nothing() {
    let Some(provider) = docker().await else { return };
    let dropped = spec();
    drop(provider.start(&dropped).await.unwrap());
    gone_soon(&dropped).await;
    for milliseconds in [1, 20, 60, 120, 200, 300] {
        let cancelled = spec();
        let _ = tokio::time::timeout(Duration::from_millis(milliseconds), provider.start(&cancelled)).await;
        gone_soon(&cancelled).await;
    }
}

#[tokio::test]
async fn orphans_are_swept_and_nobody_elses() {
    let Some(provider) = docker().await else { return };
    let others = docker_with(DockerSettings { instance: "another".into(), ..settings() }).await.unwrap();
    let (orphan, live, young) = (spec(), spec(), spec());
    let kept = [
        provider.start(&orphan).await.unwrap(),
        provider.start(&live).await.unwrap(),
        provider.start(&young).await.unwrap(),
    ];
    let now = [(orphan.session, Epoch(2)), (live.session, live.epoch)];
    assert_eq!(others.sweep(&now).await.unwrap(), 0);
    assert_eq!(provider.sweep(&now).await.unwrap(), 1);
    assert!(!there(&orphan).await && there(&live).await && there(&young).await);
    assert!(matches!(kept[0].exec(Command::toolbox(["probe"])).await, Err(SandboxError::Gone)));
    for sandbox in kept {
        sandbox.stop().await.unwrap();
    }
}

#[tokio::test]
async fn local_orphans_are_swept() {
    let root = tempfile::tempdir().unwrap();
    let provider = local(&root);
    let (orphan, live) = (spec(), spec());
    let kept = [provider.start(&orphan).await.unwrap(), provider.start(&live).await.unwrap()];
    assert_eq!(provider.sweep(&[(orphan.session, Epoch(2)), (live.session, live.epoch)]).await.unwrap(), 1);
    assert_eq!(std::fs::read_dir(root.path().join("sandboxes")).unwrap().count(), 1);
    drop(kept);
    assert_eq!(std::fs::read_dir(root.path().join("sandboxes")).unwrap().count(), 0);
}

#[tokio::test]
async fn streams_and_status_are_those_of_the_command() {
    let root = tempfile::tempdir().unwrap();
    for provider in [docker().await, runsc().await, Some(local(&root))].into_iter().flatten() {
        let sandbox = provider.start(&spec()).await.unwrap();
        let ran = sh(sandbox.as_ref(), "echo out; echo err >&2; exit 7").await;
        assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.code), ("out\n", "err\n", 7));
        assert_eq!(sh(sandbox.as_ref(), "kill -9 $$").await.code, 137);

        let mut cat = Command::named("sh", ["-c", "pwd; echo $WORD; exec cat"]);
        cat.environment.insert("WORD".into(), "word".into());
        let mut process = sandbox.exec(cat).await.unwrap();
        let sent: Vec<u8> = (0..3_000_000u32).flat_map(u32::to_le_bytes).collect();
        let (mut stdin, expected) = (process.stdin, format!("{}\nword\n", sandbox.workspace()));
        let (write, mut read) = (sent.clone(), Vec::new());
        let writing = tokio::spawn(async move { stdin.write_all(&write).await });
        process.stdout.read_to_end(&mut read).await.unwrap();
        writing.await.unwrap().unwrap();
        assert_eq!(&read[..expected.len()], expected.as_bytes());
        assert!(read[expected.len()..] == sent[..], "bytes were lost or changed");
        assert_eq!(process.wait.await.unwrap(), 0);

        let missing = match sandbox.exec(Command::named("no-such-program", [""; 0])).await {
            Ok(process) => process.wait.await.map(|code| code.to_string()),
            Err(error) => Err(error),
        };
        assert!(matches!(missing, Err(SandboxError::NoProgram(_))), "{}: {missing:?}", sandbox.describe());
        sandbox.stop().await.unwrap();
    }
}

#[tokio::test]
async fn a_command_that_leaves_a_child_behind_has_ended() {
    let Some(provider) = docker().await else { return };
    let sandbox = provider.start(&spec()).await.unwrap();
    let process = sandbox.exec(Command::named("sh", ["-c", "sleep 600 & exit 3"])).await.unwrap();
    let began = Instant::now();
    assert_eq!(process.wait.await.unwrap(), 3);
    assert!(began.elapsed() < Duration::from_secs(300));
    sandbox.stop().await.unwrap();
}

#[tokio::test]
async fn the_dead_are_reaped() {
    let Some(provider) = docker().await else { return };
    let sandbox = provider.start(&spec()).await.unwrap();
    sh(sandbox.as_ref(), "for i in $(seq 50); do (setsid sleep 0.05 >/dev/null 2>&1 &); done; sleep 1").await;
    // Each is dead for a moment before it is reaped; unreaped they stay.
    let left = "for i in $(seq 600); do left=$(grep -lE '^(State:.Z|Name:.sleep$)' /proc/[0-9]*/status 2>/dev/null | wc -l); \
        [ $left = 0 ] && break; sleep 0.1; done; echo $left";
    assert_eq!(sh(sandbox.as_ref(), left).await.out, "0\n");
    sandbox.stop().await.unwrap();
}

/// An image of the tests' own.
async fn remove(image: &str) {
    let engine = engine().negotiate_version().await.unwrap();
    let options = RemoveImageOptionsBuilder::default().force(true).build();
    engine.remove_image(image, Some(options), None).await.unwrap();
}

/// An image of these files of this machine.
async fn image(name: &str, files: &[&Path], change: &[&str]) -> String {
    let mut tar = tar::Builder::new(Vec::new());
    for path in files {
        let real = path.canonicalize().unwrap();
        tar.append_path_with_name(real, path.strip_prefix("/").unwrap()).unwrap();
    }
    let name = format!("fixpoint-test-{name}-{}:latest", std::process::id());
    let options = CreateImageOptionsBuilder::default()
        .from_src("-")
        .repo(&name)
        .changes(change.iter().map(|c| (*c).to_owned()).collect())
        .build();
    let engine = engine().negotiate_version().await.unwrap();
    let body = bollard::body_full(tar.into_inner().unwrap().into());
    let mut made = engine.create_image(Some(options), Some(body), None);
    while let Some(step) = made.next().await {
        step.unwrap();
    }
    name
}

/// What the loader needs to run the program: no shell, no tools.
fn libraries() -> Vec<std::path::PathBuf> {
    let told = std::process::Command::new("ldd").arg(program()).output().unwrap().stdout;
    let told = String::from_utf8(told).unwrap();
    told.split_whitespace().filter(|word| word.starts_with('/')).map(Into::into).collect()
}

#[tokio::test]
async fn an_image_that_cannot_run_it_is_named() {
    let Some(provider) = docker().await else { return };
    let absent =
        provider.start(&Spec { image: Some("no-such-image:1".into()), ..spec() }).await.err().unwrap();
    assert!(matches!(&absent, SandboxError::NoImage(name) if name == "no-such-image:1"), "{absent}");

    let empty = image("empty", &[], &[]).await;
    let told = provider.start(&Spec { image: Some(empty.clone()), ..spec() }).await.err().unwrap();
    assert!(
        matches!(told, SandboxError::BadImage { .. }) && told.to_string().contains("C library"),
        "{told}"
    );

    let all = libraries();
    let some: Vec<&Path> =
        all.iter().map(AsRef::as_ref).filter(|p: &&Path| !p.to_string_lossy().contains("libm.")).collect();
    let partial = image("partial", &some, &[]).await;
    let told = provider.start(&Spec { image: Some(partial.clone()), ..spec() }).await.err().unwrap();
    assert!(
        matches!(told, SandboxError::BadImage { .. }) && told.to_string().contains("libm.so.6"),
        "{told}"
    );
}

#[tokio::test]
async fn an_image_without_a_shell_is_enough() {
    let Some(provider) = docker().await else { return };
    let all = libraries();
    let files: Vec<&Path> = all.iter().map(AsRef::as_ref).collect();
    // And what an image may bring along does not come true: its entry point, its user, its health check, its
    // volumes.
    let changes = ["ENTRYPOINT [\"/bin/evil\"]", "USER root", "VOLUME /data", "ENV A=b"];
    let bare = image("bare", &files, &changes).await;
    let sandbox = provider.start(&Spec { image: Some(bare.clone()), ..spec() }).await.unwrap();
    let origin = Origin::new();
    let commit = origin.commit(origin.tree(&[("a", 0o100_644, b"a\n")]));
    origin.seed(sandbox.as_ref(), commit, None).await.unwrap();
    assert_eq!(snapshot(sandbox.as_ref()).await.unwrap(), Snapshot::default());
    sandbox.stop().await.unwrap();
    remove(&bare).await;
}
