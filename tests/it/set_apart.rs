//! What a repository holds only by name: files in Git LFS, and submodules. Neither is touched, and both come out as they were.

use crate::support::{Fixpoint, ISSUE, REPO, World, plays::*};
use fixpoint::emulator::{Ci, NewRepository};
use std::{
    path::{Path, PathBuf},
    process::Command,
};

const POINTER: &str =
    "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22e\nsize 12345\n";
const COMMIT: &str = "1111111111111111111111111111111111111111";

/// A repository with a picture in LFS and a submodule, as they come from a server.
async fn world() -> Fixpoint {
    let files = [
        ("src/sum.sh", "echo $(($1 - $2))\n"),
        (".gitattributes", "*.png filter=lfs diff=lfs merge=lfs -text\n"),
        ("logo.png", POINTER),
        (
            ".gitmodules",
            "[submodule \"vendored\"]\n\tpath = vendored\n\turl = https://example.org/vendored.git\n",
        ),
    ];
    let repository = NewRepository::new(REPO, &files).ci(Ci::scripted(&["test"]));
    let t = World::new().repository(repository).start().await;
    let bare = t.github.git_directory(REPO).unwrap();
    let tree = git(&bare, &["ls-tree", "main"]);
    let with = format!("{tree}\n160000 commit {COMMIT}\tvendored\n");
    let tree = fed(&bare, &["mktree", "--missing"], &with);
    let who = ["-c", "user.name=alice", "-c", "user.email=alice@example.org"];
    let commit = git(&bare, &[&who[..], &["commit-tree", &tree, "-p", "main", "-m", "Take it in"]].concat());
    git(&bare, &["update-ref", "refs/heads/main", &commit]);
    t
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    fed(folder, arguments, "")
}

fn fed(folder: &Path, arguments: &[&str], input: &str) -> String {
    use std::io::Write;
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(arguments).stdin(std::process::Stdio::piped());
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "git {arguments:?}");
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// Looks at what was pushed; gives where it is, and its branch.
async fn only_the_sum_is_changed(t: &Fixpoint) -> (PathBuf, String) {
    let bare = t.github.git_directory(REPO).unwrap();
    let branch = t.state().await.facts.branch;
    assert_eq!(git(&bare, &["diff", "--name-only", "main", &branch]), "src/sum.sh");
    (bare, branch)
}

#[tokio::test(flavor = "multi_thread")]
async fn f34_pointers_and_submodules_come_out_as_they_were() {
    let mut t = world().await;
    t.model_plays([shell("rmdir vendored; true"), edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    t.comment("/code mend the sum").by("alice").on(ISSUE);
    t.settle().await;
    t.ci_passes().await;
    assert!(t.phases().await.ends_with("resting(green)"), "{}", t.phases().await);
    let (bare, branch) = only_the_sum_is_changed(&t).await;
    assert!(git(&bare, &["ls-tree", &branch]).contains(&format!("160000 commit {COMMIT}\tvendored")));
    assert!(!t.data().join("mirrors").join("modules").exists(), "nothing was fetched for it");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f34_a_change_to_a_file_in_lfs_is_refused_and_the_agent_is_told() {
    let mut t = world().await;
    t.model_plays([
        edit("src/sum.sh", "$1 - $2", "$1 + $2"),
        write("logo.png", "a new picture"),
        finish("Add, and draw"),
        write("logo.png", POINTER),
        finish("Add"),
    ]);
    t.comment("/code mend the sum and the logo").by("alice").on(ISSUE);
    t.settle().await;
    t.ci_passes().await;
    assert!(t.phases().await.ends_with("resting(green)"), "{}", t.phases().await);
    let shown = t.github.model().shown();
    assert!(shown.iter().any(|s| s.holds("`logo.png` is kept in Git LFS")), "the agent was told");
    only_the_sum_is_changed(&t).await;
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f34_a_new_file_that_belongs_into_lfs_is_not_pushed() {
    let mut t = world().await;
    t.model_plays([write("art/new.png", "a picture"), finish("Draw"), finish("Draw")]);
    t.comment("/code draw").by("alice").on(ISSUE);
    t.settle().await;
    assert!(t.phases().await.ends_with("done(refused)"), "{}", t.phases().await);
    t.until_says("is kept in Git LFS").await;
    t.end().await;
}

/// Its content is another repository's, which is not here: a build may put something there, and it stays there.
#[tokio::test(flavor = "multi_thread")]
async fn f34_what_is_written_into_a_submodule_stays_in_the_sandbox() {
    let mut t = world().await;
    t.model_plays([
        shell("mkdir -p vendored && echo x > vendored/x"),
        edit("src/sum.sh", "$1 - $2", "$1 + $2"),
        finish("Add"),
    ]);
    t.comment("/code mend the sum").by("alice").on(ISSUE);
    t.settle().await;
    t.ci_passes().await;
    assert!(t.phases().await.ends_with("resting(green)"), "{}", t.phases().await);
    only_the_sum_is_changed(&t).await;
    t.end().await;
}
