//! Seed → work → snapshot: what goes in comes out changed exactly as it was changed.

use super::*;
use fixpoint::toolbox::wire::{Change, Skipped, Why};
use std::collections::BTreeMap;

const FILE: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;
const LINK: u32 = 0o120_000;
const SUBMODULE: u32 = 0o160_000;

const BASE: &[(&str, u32, &[u8])] = &[
    (".gitattributes", FILE, b"*.bat text eol=crlf\n*.key filter=steal\n* text=auto\n"),
    (".gitignore", FILE, b"target/\n*.log\n"),
    ("kept.txt", FILE, b"kept\r\nas it is\n"),
    ("win.bat", FILE, b"one\r\ntwo\n"),
    ("changed.txt", FILE, b"before\n"),
    ("gone.txt", FILE, b"gone\n"),
    ("run.sh", FILE, b"#!/bin/sh\n"),
    ("link", LINK, b"changed.txt"),
    ("tool", PROGRAM, b"tool\n"),
    ("folder/a", FILE, b"a\n"),
    ("becomes-folder", FILE, b"file\n"),
    ("deep/er/x", FILE, b"x\n"),
    ("module", SUBMODULE, b""),
    ("forced.log", FILE, b"tracked although ignored\n"),
];

const WORK: &str = r"
printf 'after\n' > changed.txt
printf 'one\r\nTWO\n' > win.bat
rm gone.txt && chmod +x run.sh && ln -sf kept.txt link && chmod -x tool
rm -r folder && printf 'now a file\n' > folder
rm becomes-folder && mkdir becomes-folder && printf 'in\n' > becomes-folder/in
printf 'more\n' >> forced.log
mkdir -p new/empty target sub/deep && printf 'new\n' > 'new/ä b.txt' && printf 'ignored\n' > target/out && printf 'l\n' > a.log
mkfifo pipe
git init -q nested 2>/dev/null || (mkdir -p nested/.git/refs nested/.git/objects && echo 'ref: refs/heads/x' > nested/.git/HEAD)
printf 'n\n' > nested/file
head -c 2000000 /dev/zero > large.bin
touch kept.txt
";

fn file(mode: u32, bytes: &str) -> Option<(u32, Vec<u8>)> {
    Some((mode, bytes.as_bytes().to_vec()))
}

fn sorted(snapshot: Snapshot) -> (BTreeMap<String, Option<(u32, Vec<u8>)>>, Vec<Skipped>) {
    let changes = snapshot.changes.into_iter().map(|change| match change {
        Change::File { path, mode, bytes } => (path, Some((mode, bytes))),
        Change::Removed { path } => (path, None),
    });
    (changes.collect(), snapshot.skipped)
}

async fn round_trip(sandbox: &dyn Sandbox) {
    let origin = Origin::new();
    let commit = origin.commit(origin.tree(BASE));
    origin.seed(sandbox, commit, None).await.unwrap();
    assert_eq!(snapshot(sandbox).await.unwrap(), Snapshot::default());
    let status = sh(
        sandbox,
        "git status --porcelain; git log --oneline; git fsck --strict; git branch --show-current",
    )
    .await;
    let said = format!("{}{}", status.out, status.err);
    assert!(status.out.contains("second\n") && status.out.ends_with("work\n") && status.code == 0, "{said}");
    assert!(!said.contains("M ") && !said.contains("??") && !said.contains("error"), "{said}");

    let worked = sh(sandbox, WORK).await;
    assert_eq!((worked.code, worked.err.as_str()), (0, ""));
    let (changes, skipped) = sorted(snapshot(sandbox).await.unwrap());
    let expected = [
        ("changed.txt", file(FILE, "after\n")),
        ("win.bat", file(FILE, "one\r\nTWO\n")),
        ("gone.txt", None),
        ("run.sh", file(PROGRAM, "#!/bin/sh\n")),
        ("link", file(LINK, "kept.txt")),
        ("tool", file(FILE, "tool\n")),
        ("folder/a", None),
        ("folder", file(FILE, "now a file\n")),
        ("becomes-folder", None),
        ("becomes-folder/in", file(FILE, "in\n")),
        ("forced.log", file(FILE, "tracked although ignored\nmore\n")),
        ("new/ä b.txt", file(FILE, "new\n")),
    ];
    assert_eq!(changes, expected.map(|(path, change)| (path.to_owned(), change)).into());
    let mut skipped: Vec<_> = skipped.into_iter().map(|s| (s.path, s.why)).collect();
    skipped.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(skipped, [("large.bin".to_owned(), Why::Large), ("nested".to_owned(), Why::Nested)]);
}

#[tokio::test]
async fn the_round_trip_on_docker() {
    let Some(provider) = docker().await else { return };
    let sandbox = provider.start(&spec()).await.unwrap();
    round_trip(sandbox.as_ref()).await;
    sandbox.stop().await.unwrap();
}

#[tokio::test]
async fn the_round_trip_on_runsc() {
    let Some(provider) = runsc().await else { return };
    let sandbox = provider.start(&spec()).await.unwrap();
    round_trip(sandbox.as_ref()).await;
    sandbox.stop().await.unwrap();
}

#[tokio::test]
async fn the_round_trip_as_local_processes() {
    let root = tempfile::tempdir().unwrap();
    let sandbox = local(&root).start(&spec()).await.unwrap();
    round_trip(sandbox.as_ref()).await;
    sandbox.stop().await.unwrap();
}
