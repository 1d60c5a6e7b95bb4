//! Figures, for people: `cargo test --test it sandbox::measure -- --ignored --nocapture`.

use super::*;
use std::time::Instant;

const FILES: usize = 5_000;

async fn timed<T>(what: &str, work: impl Future<Output = T>) -> T {
    let began = Instant::now();
    let result = work.await;
    eprintln!("{what:<40} {:>8.1} ms", began.elapsed().as_secs_f64() * 1e3);
    result
}

async fn measure(provider: Provider) {
    let origin = Origin::new();
    let content: Vec<_> = (0..FILES).map(|n| format!("{n}\n").repeat(1 + n % 4000)).collect();
    let paths: Vec<_> = (0..FILES).map(|n| format!("folder{}/file{n}", n % 200)).collect();
    let files: Vec<_> =
        paths.iter().zip(&content).map(|(p, c)| (p.as_str(), 0o100_644, c.as_bytes())).collect();
    let commit = origin.commit(origin.tree(&files));
    eprintln!("{FILES} files, {} MB", content.iter().map(String::len).sum::<usize>() >> 20);

    let roomy = || Spec { cpus: 2.0, disk: 1 << 30, memory: 1 << 30, ..spec() };
    let first = timed("start, volume perhaps filled", provider.start(&roomy())).await.unwrap();
    first.stop().await.unwrap();
    let sandbox = timed("start", provider.start(&roomy())).await.unwrap();
    eprintln!("{}", sandbox.describe());
    let sandbox = sandbox.as_ref();
    timed("exec true", run(sandbox, Command::named("true", [""; 0]))).await;
    timed("exec toolbox probe", run(sandbox, Command::toolbox(["probe"]))).await;
    timed("seed", origin.seed(sandbox, commit, None)).await.unwrap();
    for _ in 0..3 {
        timed("snapshot, nothing changed", snapshot(sandbox)).await.unwrap();
    }
    sh(sandbox, "for i in 1 2 3 4 5; do echo more >> folder$i/file$i; done").await;
    timed("snapshot, five changed", snapshot(sandbox)).await.unwrap();
    timed("snapshot, five changed, again", snapshot(sandbox)).await.unwrap();
    sh(sandbox, "find . -path ./.git -prune -o -type f -exec touch {} +").await;
    timed("snapshot, all touched", snapshot(sandbox)).await.unwrap();
    timed("snapshot, all touched, again", snapshot(sandbox)).await.unwrap();
    timed("stop", sandbox.stop()).await.unwrap();
}

#[tokio::test]
#[ignore = "prints figures"]
async fn measure_docker() {
    measure(docker().await.unwrap()).await;
}

#[tokio::test]
#[ignore = "prints figures"]
async fn measure_local() {
    let root = tempfile::tempdir().unwrap();
    measure(local(&root)).await;
}
