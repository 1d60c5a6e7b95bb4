//! Against a real server side: git's own, on bare repositories of this machine.

use super::*;
use crate::domain::{Limits, Timestamp};
use crate::toolbox::wire::Change;
use std::path::Path;
use std::process::{Command, Stdio};

/// A server with one repository, and a mirror of it.
struct Bench {
    _dir: tempfile::TempDir,
    server: std::path::PathBuf,
    remote: Remote,
    mirror: Mirror,
}

impl Bench {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let server = dir.path().join("server.git");
        run(dir.path(), &["init", "-q", "--bare", "-b", "main", "server.git"], "");
        let remote = Remote { url: url::Url::from_file_path(&server).unwrap(), token: None };
        let mirror = Mirrors::new(dir.path().join("mirrors")).open("7").await.unwrap();
        Self { _dir: dir, server, remote, mirror }
    }

    /// A bench whose `main` holds a file of each kind. Gives its commit.
    async fn with_main() -> (Self, Sha) {
        let bench = Self::new().await;
        let gitlink = "160000 commit 1111111111111111111111111111111111111111\tvendored\n";
        let text = run(&bench.server, &["hash-object", "-w", "--stdin"], "one\ntwo\nthree\n");
        let link = run(&bench.server, &["hash-object", "-w", "--stdin"], "src/lib.rs");
        let src = run(
            &bench.server,
            &["mktree"],
            &format!("100644 blob {text}\tlib.rs\n100755 blob {text}\trun\n"),
        );
        let root = format!("120000 blob {link}\tlink\n040000 tree {src}\tsrc\n{gitlink}");
        let tree = run(&bench.server, &["mktree", "--missing"], &root);
        let commit = run(&bench.server, &["commit-tree", "-m", "first", &tree], "");
        run(&bench.server, &["update-ref", "refs/heads/main", &commit], "");
        let fetched = bench.mirror.fetch(&bench.remote, &["refs/heads/main".into()]).await.unwrap();
        (bench, fetched[0].clone().unwrap())
    }

    async fn commit_on(&self, parent: &Sha, path: &str, text: &str) -> Sha {
        let tree = self.mirror.apply(parent, &[file(path, text)], &Limits::default()).await.unwrap();
        self.mirror.commit(&tree, std::slice::from_ref(parent), "Change it", &bot()).await.unwrap()
    }

    async fn commit_all(&self, parent: &Sha, changes: &[Change]) -> Sha {
        let tree = self.mirror.apply(parent, changes, &Limits::default()).await.unwrap();
        self.mirror.commit(&tree, std::slice::from_ref(parent), "Change it", &bot()).await.unwrap()
    }

    fn head(&self, branch: &str) -> String {
        run(&self.server, &["for-each-ref", "--format=%(objectname)", &format!("refs/heads/{branch}")], "")
    }
}

fn bot() -> Signature {
    Signature {
        name: "fixpoint[bot]".into(),
        email: "bot@example.com".into(),
        at: Timestamp(1_700_000_000_000),
    }
}

fn file(path: &str, text: &str) -> Change {
    Change::File { path: path.into(), mode: 0o100_644, bytes: text.into() }
}

fn removed(path: &str) -> Change {
    Change::Removed { path: path.into() }
}

/// The git program on a folder of this test's own.
fn run(dir: &Path, args: &[&str], input: &str) -> String {
    let mut child = Command::new("git")
        .args(args)
        .current_dir(dir)
        .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")])
        .envs([("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a@example.com")])
        .envs([("GIT_COMMITTER_NAME", "a"), ("GIT_COMMITTER_EMAIL", "a@example.com")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "git {args:?}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

#[tokio::test]
async fn an_empty_repository_is_said_to_be_empty() {
    let bench = Bench::new().await;
    let error = bench.mirror.fetch(&bench.remote, &["refs/heads/main".into()]).await.unwrap_err();
    assert_eq!(error.to_string(), "git: a commit; the repository is empty is not there");
}

#[tokio::test]
async fn a_fetch_gives_each_ref_or_says_it_is_missing() {
    let (bench, main) = Bench::with_main().await;
    // A branch that became a folder of branches.
    run(&bench.server, &["update-ref", "refs/heads/a", main.as_str()], "");
    let asked = ["refs/heads/a".to_owned(), "refs/heads/a/b".into(), "refs/heads/ain".into()];
    let first = bench.mirror.fetch(&bench.remote, &asked).await.unwrap();
    assert_eq!(first, [Some(main.clone()), None, None]);
    run(&bench.server, &["update-ref", "-d", "refs/heads/a"], "");
    run(&bench.server, &["update-ref", "refs/heads/a/b", main.as_str()], "");
    let second = bench.mirror.fetch(&bench.remote, &asked).await.unwrap();
    assert_eq!(second, [None, Some(main), None]);
    assert!(bench.mirror.fetch(&bench.remote, &["--upload-pack=x".into()]).await.is_err());
}

#[tokio::test]
async fn a_mirror_outlives_killed_processes_and_many_fetches() {
    let (bench, mut main) = Bench::with_main().await;
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3 * 3600);
    let left = ["packed-refs.lock", "objects/pack/tmp_pack_x"].map(|name| bench.mirror.dir.join(name));
    for file in &left {
        std::fs::File::create(file).unwrap().set_modified(old).unwrap();
    }
    let young = bench.mirror.dir.join("HEAD.lock");
    std::fs::write(&young, "").unwrap();
    Mirrors::new(bench.mirror.dir.parent().unwrap().into()).open("7").await.unwrap();
    assert!(left.iter().all(|file| !file.exists()) && young.exists(), "only what is old goes");
    std::fs::remove_file(young).unwrap();

    let refs = ["refs/heads/main".to_owned()];
    for n in 0..55 {
        let tree = format!("{main}^{{tree}}");
        let next = run(&bench.server, &["commit-tree", "-m", &n.to_string(), "-p", main.as_str(), &tree], "");
        run(&bench.server, &["update-ref", "refs/heads/main", &next], "");
        main = bench.mirror.fetch(&bench.remote, &refs).await.unwrap()[0].clone().unwrap();
    }
    let packs = std::fs::read_dir(bench.mirror.dir.join("objects/pack")).unwrap();
    let packs =
        packs.filter(|f| f.as_ref().unwrap().file_name().to_string_lossy().ends_with(".pack")).count();
    assert!(packs < 20, "{packs} packs");
    bench.mirror.pack(&main, None).await.unwrap();
}

#[tokio::test]
async fn a_ref_that_a_killed_process_left_locked_is_waited_for() {
    let (bench, main) = Bench::with_main().await;
    let lock = bench.mirror.dir.join("refs/fixpoint/session/x.lock");
    std::fs::create_dir_all(lock.parent().unwrap()).unwrap();
    let killed = std::time::SystemTime::now() - std::time::Duration::from_secs(58);
    std::fs::File::create(&lock).unwrap().set_modified(killed).unwrap();
    bench.mirror.hold("session/x", &main).await.unwrap();
    assert!(!lock.exists());
    assert_eq!(run(&bench.mirror.dir, &["rev-parse", "refs/fixpoint/session/x"], ""), main.as_str());
}

#[tokio::test]
async fn f25_f26_a_push_ends_at_the_branch_and_nowhere_else() {
    let (bench, main) = Bench::with_main().await;
    let ours = bench.commit_on(&main, "src/lib.rs", "one\n").await;
    let never = ["main".to_owned()];
    let push = async |branch: &str, expected: Option<&Sha>, commit: &Sha| {
        bench.mirror.push(&bench.remote, branch, expected, commit, &never).await
    };
    assert!(matches!(push("main", Some(&main), &ours).await, Err(GitError::Refused(_))));
    assert!(matches!(push("Main", None, &ours).await, Err(GitError::Refused(_))));
    assert_eq!(bench.head("main"), main.as_str());

    push("fixpoint/7-x", None, &ours).await.unwrap();
    assert_eq!(bench.head("fixpoint/7-x"), ours.as_str());
    push("fixpoint/7-x", None, &ours).await.unwrap(); // the result of the first was lost
    let moved = push("fixpoint/7-x", None, &main).await.unwrap_err();
    assert!(matches!(moved, GitError::Moved(Some(at)) if at == ours));

    let more = bench.commit_on(&ours, "new", "x").await;
    let aside = bench.commit_on(&main, "new", "y").await;
    assert!(matches!(push("fixpoint/7-x", Some(&ours), &aside).await, Err(GitError::Refused(_))));
    push("fixpoint/7-x", Some(&ours), &more).await.unwrap();
    assert_eq!(bench.head("fixpoint/7-x"), more.as_str());
}

#[tokio::test]
async fn f27_a_persons_push_in_between_is_never_overwritten() {
    let (bench, main) = Bench::with_main().await;
    let ours = bench.commit_on(&main, "a", "1").await;
    bench.mirror.push(&bench.remote, "b", None, &ours, &[]).await.unwrap();
    let next = bench.commit_on(&ours, "a", "2").await;
    // The person's push lands after our look and before our write: the hook runs in the middle of ours.
    let theirs = run(
        &bench.server,
        &["commit-tree", "-m", "theirs", "-p", ours.as_str(), &format!("{ours}^{{tree}}")],
        "",
    );
    hook(&bench.server, &format!("unset GIT_QUARANTINE_PATH; git update-ref refs/heads/b {theirs}"));
    let error = bench.mirror.push(&bench.remote, "b", Some(&ours), &next, &[]).await.unwrap_err();
    assert!(matches!(error, GitError::Moved(Some(ref at)) if at.as_str() == theirs), "{error}");
    assert_eq!(bench.head("b"), theirs);
}

#[tokio::test]
async fn a_branch_is_deleted_only_where_we_left_it() {
    let (bench, main) = Bench::with_main().await;
    let ours = bench.commit_on(&main, "a", "1").await;
    bench.mirror.push(&bench.remote, "b", None, &ours, &[]).await.unwrap();
    let delete = async |at: &Sha| bench.mirror.delete_branch(&bench.remote, "b", at, &["main".into()]).await;
    assert!(matches!(delete(&main).await, Err(GitError::Moved(Some(at))) if at == ours));
    assert_eq!(bench.head("b"), ours.as_str());
    delete(&ours).await.unwrap();
    assert_eq!(bench.head("b"), "");
    delete(&ours).await.unwrap();
    let main_too = bench.mirror.delete_branch(&bench.remote, "main", &main, &["main".into()]).await;
    assert!(matches!(main_too, Err(GitError::Refused(_))));
}

#[tokio::test]
async fn f24_the_servers_own_words_come_with_a_refusal() {
    let (bench, main) = Bench::with_main().await;
    let ours = bench.commit_on(&main, "a", "1").await;
    hook(&bench.server, "echo 'GH006: Protected branch update failed for refs/heads/b.' >&2; exit 1");
    let error = bench.mirror.push(&bench.remote, "b", None, &ours, &[]).await.unwrap_err();
    insta::assert_snapshot!(error, @"the server refused the push: pre-receive hook declined: GH006: Protected branch update failed for refs/heads/b.");
}

fn hook(server: &Path, script: &str) {
    let (text, path) = (server.join("hooks/text"), server.join("hooks/pre-receive"));
    std::fs::create_dir_all(server.join("hooks")).unwrap();
    std::fs::write(&text, format!("#!/bin/sh\n{script}\n")).unwrap();
    // Not written by this process: what another test starts meanwhile holds its open files for a moment, and a program that
    // somebody has open to write is not run.
    let made = Command::new("install").args(["-m", "755"]).args([&text, &path]).status().unwrap();
    assert!(made.success());
}

#[tokio::test]
async fn changes_become_the_tree_that_git_itself_would_write() {
    let (bench, main) = Bench::with_main().await;
    let program = Change::File { path: "bin/go".into(), mode: 0o100_755, bytes: b"#!/bin/sh\n".to_vec() };
    let changes =
        [file("src/lib.rs/mod.rs", "x"), removed("src/lib.rs"), removed("link"), program, removed("no/such")];
    let tree = bench.mirror.apply(&main, &changes, &Limits::default()).await.unwrap();
    let made =
        run(&bench.mirror.dir, &["ls-tree", "-r", "--format=%(objectmode) %(path)", tree.as_str()], "");
    insta::assert_snapshot!(made, @r"
    100755 bin/go
    100644 src/lib.rs/mod.rs
    100755 src/run
    160000 vendored
    ");
    let back = [removed("bin/go"), removed("src/lib.rs/mod.rs"), removed("src/run")];
    let bare = bench.mirror.apply(&tree, &back, &Limits::default()).await.unwrap();
    assert_eq!(run(&bench.mirror.dir, &["ls-tree", "--name-only", bare.as_str()], ""), "vendored");
}

#[tokio::test]
async fn what_no_tree_may_hold_is_refused_by_name() {
    let (bench, main) = Bench::with_main().await;
    let refused =
        async |changes: &[Change]| match bench.mirror.apply(&main, changes, &Limits::default()).await {
            Err(GitError::BadPath { path, why }) => format!("{path}: {why}"),
            other => panic!("{other:?}"),
        };
    let mode =
        |path: &str, mode, bytes: &[u8]| Change::File { path: path.into(), mode, bytes: bytes.to_vec() };
    let all = [
        refused(&[file(".GIT/hooks/x", "")]).await,
        refused(&[file("a", ""), file("a/b", "")]).await,
        refused(&[file("src", "")]).await,
        refused(&[file("src/run/x", "")]).await,
        refused(&[file("a", ""), file("A", "")]).await,
        refused(&[file("SRC/x", "")]).await,
        refused(&[file("vendored", "")]).await,
        refused(&[file("vendored/x", "")]).await,
        refused(&[file("x", ""), removed("x")]).await,
        refused(&[mode("x", 0o160_000, b"")]).await,
        refused(&[mode("x", 0o120_000, b"")]).await,
        refused(&[mode(".gitmodules", 0o120_000, b"x")]).await,
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    .GIT/hooks/x: it is a spelling of ".git"
    a: it is a file and a folder
    src: it is a file and a folder
    src/run: it is a file and a folder
    A: it differs from another path only in case
    SRC: it differs from another path only in case
    vendored: it is a submodule, and what that holds is another repository's
    vendored: it is a submodule, and what that holds is another repository's
    x: it is named twice
    x: it is neither a file, nor a program, nor a link
    x: it is a link to nowhere
    .gitmodules: git reads it, so it must not be a link
    "#);
    let many: Vec<Change> = (0..101).map(|n| file(&n.to_string(), "")).collect();
    assert!(matches!(bench.mirror.apply(&main, &many, &Limits::default()).await, Err(GitError::TooMuch(_))));
}

#[tokio::test]
async fn a_pack_is_one_that_git_accepts_and_holds_the_whole_checkout() {
    let (bench, main) = Bench::with_main().await;
    let large = "0123456789abcdef\n".repeat(5_000);
    let other = bench.mirror.apply(&main, &[file("large", &large)], &Limits::default()).await.unwrap();
    let pack = bench.mirror.pack(&main, Some(&other)).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    run(dir.path(), &["init", "-q"], "");
    std::fs::write(dir.path().join(".git/shallow"), format!("{main}\n")).unwrap();
    std::fs::write(dir.path().join("seed.pack"), pack).unwrap();
    run(dir.path(), &["index-pack", "-o", ".git/objects/pack/pack-1.idx", "seed.pack"], "");
    std::fs::rename(dir.path().join("seed.pack"), dir.path().join(".git/objects/pack/pack-1.pack")).unwrap();
    run(dir.path(), &["fsck", "--strict"], "");
    run(dir.path(), &["reset", "-q", "--hard", main.as_str()], "");
    assert_eq!(run(dir.path(), &["status", "--porcelain"], ""), "");
    assert_eq!(run(dir.path(), &["cat-file", "-s", &format!("{other}:large")], ""), large.len().to_string());
}

#[tokio::test]
async fn a_patch_applies_whatever_the_encoding() {
    let (bench, main) = Bench::with_main().await;
    let latin = Change::File { path: "latin".into(), mode: 0o100_755, bytes: b"caf\xe9\n".to_vec() };
    let link = Change::File { path: "l".into(), mode: 0o120_000, bytes: b"src/run".to_vec() };
    let changes = [latin, link, file("src/lib.rs", "one\ntwo\nthree"), removed("src/run")];
    let tree = bench.mirror.apply(&main, &changes, &Limits::default()).await.unwrap();
    let patch = bench.mirror.patch(&main, &tree).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    run(dir.path(), &["clone", "-q", bench.server.to_str().unwrap(), "."], "");
    run(dir.path(), &["apply", "--index", "-"], &patch);
    assert_eq!(run(dir.path(), &["write-tree"], ""), tree.as_str());
}

#[tokio::test]
async fn a_difference_shows_both_sides_within_the_cap() {
    let (bench, main) = Bench::with_main().await;
    let text = "one\ntwo\nthree\n";
    let changes = [
        file("src/moved.rs", text),
        removed("src/lib.rs"),
        file("big", &text.repeat(2)),
        file("ä", "x\ny\n"),
    ];
    let tree = bench.mirror.apply(&main, &changes, &Limits::default()).await.unwrap();
    let limits = Limits { file_bytes: text.len(), ..Limits::default() };
    let seen = bench.mirror.diff(&main, &tree, &limits).await.unwrap();
    let seen: Vec<String> = seen
        .iter()
        .map(|f| {
            format!(
                "{:?} {} {:?} {:?} {:?}",
                f.old_path,
                f.path,
                f.new_mode,
                f.old.is_some(),
                f.new.is_some()
            )
        })
        .collect();
    insta::assert_snapshot!(seen.join("\n"), @r#"
    None big Some(33188) false false
    Some("src/lib.rs") src/moved.rs Some(33188) true true
    None ä Some(33188) false true
    "#);
    let stat = bench.mirror.stat(&main, &tree).await.unwrap();
    let stat: Vec<String> = stat.iter().map(|s| format!("{} +{} -{}", s.path, s.added, s.removed)).collect();
    insta::assert_snapshot!(stat.join(", "), @"big +6 -0, src/lib.rs +0 -3, src/moved.rs +3 -0, ä +2 -0");
}

#[tokio::test]
async fn the_clean_merge_of_the_base_is_told_from_a_persons_merge() {
    let (bench, main) = Bench::with_main().await;
    let ours = bench.commit_on(&main, "ours", "x").await;
    let base = bench.commit_on(&main, "base", "y").await;
    let merged = bench.mirror.apply(&ours, &[file("base", "y")], &Limits::default()).await.unwrap();
    let edited = bench.mirror.apply(&ours, &[file("base", "z")], &Limits::default()).await.unwrap();
    let merge = async |tree: &Sha, parents: &[&Sha]| {
        let parents: Vec<Sha> = parents.iter().map(|p| (*p).clone()).collect();
        bench.mirror.commit(tree, &parents, "Merge", &bot()).await.unwrap()
    };
    let clean = merge(&merged, &[&ours, &base]).await;
    let evil = merge(&edited, &[&ours, &base]).await;
    let stranger = bench.commit_on(&main, "base", "y").await;
    let elsewhere = bench.commit_on(&stranger, "more", "y").await;
    let ask =
        async |commit: &Sha, base: &Sha| bench.mirror.is_clean_merge(commit, &ours, base).await.unwrap();
    assert!(ask(&clean, &base).await);
    assert!(ask(&clean, &elsewhere).await, "the base has moved on since");
    assert!(!ask(&evil, &base).await);
    assert!(!ask(&clean, &main).await, "what was merged is not of the base");
    assert!(!ask(&ours, &base).await, "no merge at all");
}

#[tokio::test]
async fn a_branch_of_our_own_is_put_upon_a_new_base_from_exactly_where_it_was() {
    let (bench, main) = Bench::with_main().await;
    let ours = bench.commit_on(&main, "a", "1").await;
    let next = bench.commit_on(&main, "b", "1").await;
    let moved = bench.commit_on(&next, "a", "1").await;
    bench.mirror.push(&bench.remote, "b", None, &ours, &[]).await.unwrap();
    let never = ["main".to_owned()];
    let rewrite = async |branch: &str, from: &Sha| {
        bench.mirror.push_rewritten(&bench.remote, branch, from, &moved, &never).await
    };
    assert!(matches!(rewrite("b", &next).await, Err(GitError::Moved(Some(at))) if at == ours));
    assert!(matches!(rewrite("main", &main).await, Err(GitError::Refused(_))));
    rewrite("b", &ours).await.unwrap();
    assert_eq!(bench.head("b"), moved.as_str());
    rewrite("b", &ours).await.unwrap(); // the result of the first was lost
    let told = bench.mirror.log(&[&main], &moved).await.unwrap();
    let told: Vec<_> = told.iter().map(|logged| (&logged.commit, logged.message.as_str())).collect();
    assert_eq!(told, [(&next, "Change it\n"), (&moved, "Change it\n")]);
    assert_eq!(bench.mirror.log(&[&moved], &main).await.unwrap(), []);
}

#[tokio::test]
async fn what_merges_by_itself_is_merged_as_git_does_it() {
    let (bench, main) = Bench::with_main().await;
    let moved = [removed("src/lib.rs"), file("src/new.rs", "one\ntwo\nthree\n"), file("mine", "x")];
    let ours = bench.commit_all(&main, &moved).await;
    let theirs = bench.commit_on(&main, "src/lib.rs", "one\ntwo\nthree\nfour\n").await;
    let Merged::Clean { tree } = bench.mirror.merge(&ours, &theirs).await.unwrap() else { panic!() };
    let wanted = run(&bench.mirror.dir, &["merge-tree", "--write-tree", ours.as_str(), theirs.as_str()], "");
    assert_eq!(tree.as_str(), wanted);
    assert_eq!(bench.mirror.merge(&ours, &main).await.unwrap(), Merged::UpToDate);
    let tree = bench.mirror.tree_of(&main).await.unwrap();
    let stranger = bench.mirror.commit(&tree, &[], "Begin anew", &bot()).await.unwrap();
    let error = bench.mirror.merge(&ours, &stranger).await.unwrap_err();
    assert_eq!(error.to_string(), "git: the two commits have no history in common");
}

#[tokio::test]
async fn a_conflict_shows_both_sides_or_keeps_the_one_there_is() {
    let (bench, root) = Bench::with_main().await;
    let lines = |last: &str| format!("0\n1\n2\n3\n4\n5\n6\n7\n8\n{last}\n");
    let base = [
        file("old", &lines("")),
        file("text", "a\nb\nc\n"),
        file("kept", "1\n"),
        file("dropped", "1\n"),
        file("bin", "\0"),
    ];
    let base = bench.commit_all(&root, &base).await;
    let ours = [
        file("text", "a\nours\nc\n"),
        file("kept", "2\n"),
        removed("dropped"),
        file("bin", "\0ours"),
        file("both", "ours\n"),
        file("fine", "ours\n"),
        file("place", "ours\n"),
        file("other/below", "ours\n"),
        removed("old"),
        file("new", &lines("ours")),
    ];
    let theirs = [
        file("text", "a\ntheirs\nc\n"),
        removed("kept"),
        file("dropped", "2\n"),
        file("bin", "\0theirs"),
        file("both", "theirs\n"),
        file("place/below", "theirs\n"),
        file("other", "theirs\n"),
        file("old", &lines("theirs")),
    ];
    let (ours, theirs) = (bench.commit_all(&base, &ours).await, bench.commit_all(&base, &theirs).await);
    let Merged::Conflicts { tree, files } = bench.mirror.merge(&ours, &theirs).await.unwrap() else {
        panic!()
    };
    let mut shown = String::new();
    for path in &files {
        let content = bench.mirror.file(&tree, path, 200).await.unwrap();
        let content = content.map_or("-".into(), |bytes| String::from_utf8_lossy(&bytes).into_owned());
        shown += &format!("{path}: {content:?}\n");
    }
    insta::assert_snapshot!(shown, @r#"
    bin: "\0ours"
    both: "<<<<<<< ours\nours\n|||||||\n=======\ntheirs\n>>>>>>> theirs\n"
    dropped: "2\n"
    kept: "2\n"
    new: "0\n1\n2\n3\n4\n5\n6\n7\n8\n<<<<<<< ours\nours\n||||||| ancestor\n\n=======\ntheirs\n>>>>>>> theirs\n"
    other: "-"
    place: "ours\n"
    text: "a\n<<<<<<< ours\nours\n||||||| ancestor\nb\n=======\ntheirs\n>>>>>>> theirs\nc\n"
    "#);
    let made = run(&bench.mirror.dir, &["ls-tree", "-r", "--name-only", tree.as_str()], "");
    insta::assert_snapshot!(made.replace('\n', " "), @"bin both dropped fine kept link new other/below place src/lib.rs src/run text vendored");
    assert_eq!(bench.mirror.has_markers(&tree, &files).await.unwrap(), ["both", "new", "text"]);
    let done = [file("both", "=======\n"), removed("new"), file("text", "a\n<<<<<<<< eight\n")];
    let done = bench.mirror.apply(&tree, &done, &Limits::default()).await.unwrap();
    assert_eq!(bench.mirror.has_markers(&done, &files).await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn a_link_to_a_file_is_read_and_one_out_of_the_tree_is_not() {
    let (bench, main) = Bench::with_main().await;
    let link = |path: &str, to: &str| Change::File { path: path.into(), mode: 0o120_000, bytes: to.into() };
    let changes = [link("a/b", "../link"), link("out", "../../etc/passwd"), link("round", "round")];
    let tree = bench.mirror.apply(&main, &changes, &Limits::default()).await.unwrap();
    let read = async |path: &str| bench.mirror.file(&tree, path, 5).await.unwrap();
    assert_eq!(read("a/b").await.as_deref(), Some(&b"one\nt"[..]));
    for nothing in ["out", "round", "src", "vendored", "no"] {
        assert_eq!(read(nothing).await, None, "{nothing}");
    }
    let paths = async |folder: &str, cap| bench.mirror.paths(&main, folder, cap).await.unwrap();
    assert_eq!(paths("src", 10).await, ["src/lib.rs", "src/run"]);
    assert_eq!(paths("src", 1).await.len(), 1);
    for nothing in ["no", "link", "src/lib.rs", "src/no"] {
        assert_eq!(paths(nothing, 10).await, Vec::<String>::new(), "{nothing}");
    }
    assert_eq!(bench.mirror.paths(&tree, "a", 10).await.unwrap(), ["a/b"]);
}

#[tokio::test]
async fn only_https_and_loopback_are_spoken_to() {
    let (bench, _) = Bench::with_main().await;
    for url in ["http://example.com/r.git", "ssh://h/r.git", "ext::sh -c x", "git://localhost/r.git"] {
        let remote = Remote { url: url::Url::parse(url).unwrap(), token: None };
        let error = bench.mirror.remote_head(&remote, "main").await.unwrap_err();
        assert!(error.to_string().contains("no address git may be sent to"), "{url}: {error}");
    }
    let remote = Remote { url: url::Url::parse("http://127.0.0.1:1/r.git").unwrap(), token: None };
    assert!(matches!(bench.mirror.remote_head(&remote, "main").await, Err(GitError::Unavailable(_))));
}

/// The emulator's git over HTTP, with a writer's token.
async fn over_http() -> (crate::emulator::Emulator, tempfile::TempDir, Remote, Mirror) {
    use crate::emulator::{Emulator, NewRepository, Options, Permission};
    let _ = rustls::crypto::ring::default_provider().install_default();
    let emulator = Emulator::start(Options::default()).await.unwrap();
    emulator.create_repository(NewRepository::new("acme/calendar", &[("a", "1\n")])).unwrap();
    emulator.collaborator("acme/calendar", "alice", Permission::Write).unwrap();
    let url = format!("{}/acme/calendar.git", emulator.web_url().trim_end_matches('/'));
    let remote = Remote { url: url.parse().unwrap(), token: Some(emulator.user_token("alice").into()) };
    let dir = tempfile::tempdir().unwrap();
    let mirror = Mirrors::new(dir.path().into()).open("7").await.unwrap();
    (emulator, dir, remote, mirror)
}

#[tokio::test]
async fn c13_a_push_whose_answer_is_lost_is_found_to_have_worked() {
    use crate::emulator::{Fault, Trouble};
    let (emulator, _dir, remote, mirror) = over_http().await;
    let main = mirror.fetch(&remote, &["refs/heads/main".into()]).await.unwrap()[0].clone().unwrap();
    let tree = mirror.apply(&main, &[file("b", "2")], &Limits::default()).await.unwrap();
    let ours = mirror.commit(&tree, std::slice::from_ref(&main), "Add b", &bot()).await.unwrap();
    emulator.faults().add(Fault::next("/**/git-receive-pack", Trouble::LoseAnswer).on("POST"));
    mirror.push(&remote, "fixpoint/1-b", None, &ours, &["main".into()]).await.unwrap();
    assert_eq!(emulator.branch("acme/calendar", "fixpoint/1-b").unwrap().as_deref(), Some(ours.as_str()));
    let merged = emulator.push_as("acme/calendar", "alice", "main", &[("c", "3")]).unwrap();
    let updated = emulator.update_branch("acme/calendar", "alice", "fixpoint/1-b").unwrap();
    let refs = ["refs/heads/main".to_owned(), "refs/heads/fixpoint/1-b".into()];
    let fetched = mirror.fetch(&remote, &refs).await.unwrap();
    let [Some(base), Some(live)] = &fetched[..] else { panic!("{fetched:?}") };
    assert_eq!((base.as_str(), live.as_str()), (merged.as_str(), updated.as_str()));
    assert!(mirror.is_clean_merge(live, &ours, base).await.unwrap());
}

#[tokio::test]
async fn f29_f30_a_forks_branch_is_read_from_the_base_and_pushed_to_where_it_is_lent() {
    use crate::emulator::PullWish;
    let (emulator, _dir, remote, mirror) = over_http().await;
    let fork = emulator.fork("acme/calendar", "mallory").unwrap();
    for branch in ["main", "kept"] {
        emulator.push_as(&fork, "mallory", branch, &[("b", branch)]).unwrap();
    }
    let open = |head: &str, closed_to_maintainers| {
        let wish = PullWish { head: format!("mallory:{head}"), closed_to_maintainers, ..PullWish::default() };
        emulator.open_pull_with("acme/calendar", "mallory", wish).unwrap()
    };
    let (lent, kept) = (open("main", false), open("kept", true));
    let refs =
        ["refs/heads/main".to_owned(), format!("refs/pull/{lent}/head"), format!("refs/pull/{kept}/head")];
    let fetched = mirror.fetch(&remote, &refs).await.unwrap();
    let [Some(base), Some(head), Some(other)] = &fetched[..] else { panic!("{fetched:?}") };

    let token = emulator.app_token("acme/calendar", &[("contents", "write")]).unwrap();
    let theirs = Remote { url: remote.url.join("/mallory/calendar.git").unwrap(), token: Some(token.into()) };
    let next = async |head: &Sha| {
        let tree = mirror.apply(head, &[file("c", "fixed")], &Limits::default()).await.unwrap();
        mirror.commit(&tree, std::slice::from_ref(head), "Fix it", &bot()).await.unwrap()
    };
    let (fixed, elsewhere) = (next(head).await, next(other).await);
    let push = async |branch: &str, from: &Sha, commit: &Sha| {
        mirror.push(&theirs, branch, Some(from), commit, &[]).await
    };
    let refused = push("main", head, &fixed).await;
    assert!(matches!(&refused, Err(GitError::Refused(_))), "{refused:?}");
    emulator.reach_forks(true);
    push("main", head, &fixed).await.unwrap();
    assert_eq!(emulator.branch(&fork, "main").unwrap().as_deref(), Some(fixed.as_str()));
    assert_eq!(emulator.pull("acme/calendar", lent).unwrap().head_sha, fixed.as_str());
    let refused = push("kept", other, &elsewhere).await;
    assert!(matches!(&refused, Err(GitError::Refused(_))), "{refused:?}");
    // The two branches of one name are two.
    assert_eq!(mirror.fetch(&remote, &refs[..1]).await.unwrap(), [Some(base.clone())]);
}

#[tokio::test]
async fn what_the_server_says_no_to_is_sorted() {
    let (_emulator, _dir, remote, mirror) = over_http().await;
    let fetch = async |url: &url::Url, token: &str| {
        let remote = Remote { url: url.clone(), token: Some(token.to_owned().into()) };
        mirror.fetch(&remote, &["refs/heads/main".into()]).await.unwrap_err()
    };
    let refused = fetch(&remote.url, "ghs_dead").await;
    assert!(matches!(refused, GitError::Unauthorized(_)), "{refused}");
    let missing = fetch(&remote.url.join("/acme/nothing.git").unwrap(), "ghs_dead").await;
    assert!(matches!(missing, GitError::NotFound(_) | GitError::Unauthorized(_)), "{missing}");
    assert!(!format!("{refused:?} {missing:?}").contains("ghs_dead"));
}

#[tokio::test]
async fn what_is_let_go_is_collected_and_what_is_held_stays() {
    let (bench, first) = Bench::with_main().await;
    let id = || crate::domain::SessionId(uuid::Uuid::now_v7());
    let (over, live) = (id(), id());
    let (old, new) = (
        bench.commit_on(&first, "src/lib.rs", "an old checkpoint\n").await,
        bench.commit_on(&first, "src/lib.rs", "a new checkpoint\n").await,
    );
    bench.mirror.hold(&format!("session/{over}"), &old).await.unwrap();
    bench.mirror.hold(&format!("session/{live}"), &new).await.unwrap();
    let mut held = bench.mirror.held().await.unwrap();
    held.sort();
    assert_eq!(held, [over, live]);
    bench.mirror.let_go(&[over, id()]).await.unwrap();
    assert_eq!(bench.mirror.held().await.unwrap(), [live]);
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(30 * 24 * 3600);
    age(&bench.mirror.dir.join("objects"), long_ago);
    // What was made a moment ago may be somebody's who has not named it yet.
    let fresh = bench.commit_on(&first, "src/lib.rs", "a checkpoint in the making\n").await;
    bench.mirror.collect().await.unwrap();
    assert!(bench.mirror.has(&[fresh, new, first]).await.unwrap());
    assert!(!bench.mirror.has(&[old]).await.unwrap(), "nothing refers to it");
    let mirrors = Mirrors::new(bench.mirror.dir.parent().unwrap().to_owned());
    assert_eq!(mirrors.all().await, ["7"]);
    assert!(mirrors.remove("7").await.unwrap());
    assert!(mirrors.all().await.is_empty());
}

/// Everything below was last changed then.
fn age(folder: &Path, then: std::time::SystemTime) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            age(&path, then);
        } else {
            std::fs::File::open(&path).unwrap().set_modified(then).unwrap();
        }
    }
}
