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

/// A file's mode and content, or that it is gone.
type After = Option<(u32, Vec<u8>)>;

fn file(mode: u32, bytes: &str) -> After {
    Some((mode, bytes.as_bytes().to_vec()))
}

fn sorted(snapshot: Snapshot) -> (BTreeMap<String, After>, Vec<Skipped>) {
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

async fn resumed(sandbox: &dyn Sandbox) {
    let origin = Origin::new();
    let commit = origin.commit(origin.tree(BASE));
    let checkpoint = origin.tree(&[
        ("changed.txt", FILE, b"half done\n"),
        ("new/file", PROGRAM, b"new\n"),
        ("folder", FILE, b"was a folder\n"),
        ("becomes-folder/in", FILE, b"in\n"),
        ("link", LINK, b"new/file"),
        ("module", SUBMODULE, b""),
    ]);
    origin.seed(sandbox, commit, Some(checkpoint)).await.unwrap();
    assert_eq!(snapshot(sandbox).await.unwrap(), Snapshot::default());
    let files = sh(sandbox, "find . -path ./.git -prune -o ! -type d -print | sort; git log -1 --format=%s; git diff --stat | tail -1").await;
    let expected = "./becomes-folder/in\n./changed.txt\n./folder\n./link\n./new/file\nsecond\n";
    assert!(files.out.starts_with(expected), "{}", files.out);

    // From the checkpoint on, what is the same as the commit's is a change too.
    sh(sandbox, "printf 'before\\n' > changed.txt; rm new/file").await;
    let (changes, _) = sorted(snapshot(sandbox).await.unwrap());
    assert_eq!(changes, [("changed.txt".into(), file(FILE, "before\n")), ("new/file".into(), None)].into());
}

#[tokio::test]
async fn a_checkpoint_is_resumed_on_docker() {
    let Some(provider) = docker().await else { return };
    let sandbox = provider.start(&spec()).await.unwrap();
    resumed(sandbox.as_ref()).await;
    sandbox.stop().await.unwrap();
}

#[tokio::test]
async fn a_checkpoint_is_resumed_as_local_processes() {
    let root = tempfile::tempdir().unwrap();
    let sandbox = local(&root).start(&spec()).await.unwrap();
    resumed(sandbox.as_ref()).await;
    sandbox.stop().await.unwrap();
}

type Changed = &'static [&'static str];
type LeftOut = &'static [(&'static str, Why)];

/// Each leaves the workspace so that a careless snapshot fails, hangs, runs something, or takes too much.
const HOSTILE: &[(&str, Changed, LeftOut)] = &[
    ("rm -rf .git", &[], &[]),
    ("git init -q folder", &[], &[]),
    ("mkdir folder/.git; touch folder/b", &["folder/b"], &[]),
    (
        "git config core.fsmonitor 'touch /tmp/ran #'; git config filter.steal.clean 'touch /tmp/ran;cat'; printf k > x.key",
        &["x.key"],
        &[],
    ),
    (
        "printf '[core]\\n\\tfsmonitor = touch /tmp/ran\\n\\tautocrlf = true\\n' > ~/.gitconfig; printf 'a\\r\\n' > crlf",
        &["crlf"],
        &[],
    ),
    (
        "printf '* text eol=lf\\n' > .gitattributes; printf 'x\\r\\n' > x.txt",
        &[".gitattributes", "x.txt"],
        &[],
    ),
    (
        "printf s > secret; chmod 0 secret; mkdir shut; touch shut/in; chmod 0 shut",
        &[],
        &[("secret", Why::Unreadable)],
    ),
    ("touch \"$(printf 'bad\\377name')\"", &[], &[("bad\u{fffd}name", Why::Name)]),
    ("ln -s /etc/passwd out; ln -s out loop; ln -s self self", &["loop", "out", "self"], &[]),
    ("rm kept.txt; mkfifo kept.txt", &["kept.txt"], &[]),
    ("rm kept.txt; ln -s /dev/zero kept.txt", &["kept.txt"], &[]),
    ("rm -r folder; ln -s /tmp folder", &["folder", "folder/a"], &[]),
    ("mkdir -p d/$(printf 'a/%.0s' $(seq 50)); touch d/$(printf 'a/%.0s' $(seq 50))end", &["d/*"], &[]),
    ("mkdir .GIT 2>/dev/null; touch .GIT/config 'git~1'", &["git~1"], &[]),
    ("cd ..; mv repo gone; mkdir repo; cp -r gone/. repo", &[], &[]),
];

#[tokio::test]
async fn evil_workspaces_are_told_as_they_are() {
    for provider in runtimes().await {
        hostile_workspaces(&provider).await;
    }
}

async fn hostile_workspaces(provider: &Provider) {
    let sandbox = provider.start(&spec()).await.unwrap();
    let origin = Origin::new();
    let commit = origin.commit(origin.tree(BASE));
    for (work, changed, left_out) in HOSTILE {
        sh(sandbox.as_ref(), "chmod -R u+rwx .; find /work/repo /work/.fixpoint /tmp ~ -mindepth 1 -delete")
            .await;
        origin.seed(sandbox.as_ref(), commit, None).await.unwrap();
        let done = sh(sandbox.as_ref(), work).await;
        assert_eq!(done.code, 0, "{work}: {}", done.err);
        let (changes, skipped) = sorted(snapshot(sandbox.as_ref()).await.unwrap());
        let paths: Vec<_> =
            changes.keys().map(|path| if path.starts_with("d/") { "d/*" } else { path }).collect();
        assert_eq!(&paths, changed, "{work}");
        let skipped: Vec<_> = skipped.iter().map(|s| (s.path.as_str(), s.why)).collect();
        assert_eq!(&skipped, left_out, "{work}");
        assert_eq!(sh(sandbox.as_ref(), "ls /tmp").await.out, "", "{work} ran something");
    }
    sandbox.stop().await.unwrap();
}

#[tokio::test]
async fn too_much_is_refused_in_words() {
    let root = tempfile::tempdir().unwrap();
    let sandbox = local(&root).start(&spec()).await.unwrap();
    let origin = Origin::new();
    let commit = origin.commit(origin.tree(BASE));
    origin.seed(sandbox.as_ref(), commit, None).await.unwrap();
    let again = origin.seed(sandbox.as_ref(), commit, None).await.unwrap_err().to_string();
    assert!(again.contains("is not empty"), "{again}");

    sh(sandbox.as_ref(), "for i in $(seq 101); do touch f$i; done").await;
    let many = snapshot(sandbox.as_ref()).await.unwrap_err().to_string();
    assert!(many.contains("more than 100 paths changed"), "{many}");
    sh(sandbox.as_ref(), "rm f*; for i in 1 2 3 4 5; do head -c 1000000 /dev/zero > f$i; done").await;
    let large = snapshot(sandbox.as_ref()).await.unwrap_err().to_string();
    assert!(large.contains("over 4194304 bytes together"), "{large}");
    sh(sandbox.as_ref(), "rm -rf ../.fixpoint").await;
    assert!(matches!(snapshot(sandbox.as_ref()).await, Err(WireError::Failed(_))));
    sandbox.stop().await.unwrap();
}
