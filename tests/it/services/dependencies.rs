//! What a repository's tests need is installed once for its lock files and image, and nobody but its default branch has a say in
//! what is kept.

use super::containers;
use crate::support::{Fixpoint, REPO, World, plays};
use fixpoint::{
    domain::repo_config::PATH,
    emulator::{Ci, NewRepository},
    sandbox::{DockerSettings, Provider},
};
use std::{fs, path::PathBuf};

/// Every run of it makes another id: whoever sees the same id twice did not run it twice.
const CONFIG: &str = "dependencies:\n  files: [deps.lock]\n  install:\n    - mkdir -p built && cat /proc/sys/kernel/random/uuid >built/id\n    \
    - cp deps.lock ~/.installed\n";

async fn provider(name: &str) -> Option<Provider> {
    let instance = format!("services-{name}-{}", std::process::id());
    crate::sandbox::docker_with(DockerSettings { instance, ..crate::sandbox::settings() }).await
}

async fn world(sandboxes: Option<Provider>, config: &str) -> Fixpoint {
    let files =
        [("README.md", "# sums\n"), (".gitignore", "built/\n"), ("deps.lock", "one\n"), (PATH, config)];
    let mut world = World::new().repository(NewRepository::new(REPO, &files).ci(Ci::scripted(&["test"])));
    world.sandboxes = sandboxes;
    world.start().await
}

/// A session of its own: what its agent found installed, by its id and the lock file it was installed for. Then the agent does
/// its worst.
async fn session(t: &mut Fixpoint) -> String {
    let issue = t.github.open_issue(REPO, "alice", "Look", "What is there?").unwrap();
    seen_on(t, issue, "/code").await
}

async fn seen_on(t: &mut Fixpoint, number: u64, command: &str) -> String {
    t.model_plays([
        plays::shell(
            "cat built/id ~/.installed >seen.txt; echo evil >built/id; echo evil >~/.installed; \
             echo evil >built/more; chmod -R a-w built",
        ),
        plays::finish("Looked"),
    ]);
    t.comment(command).by("alice").on(number);
    t.settle().await;
    let head = t.pull().head_sha;
    let seen = t.github.file(REPO, &head, "seen.txt").unwrap();
    let told = t.github.comments(REPO, number).unwrap().into_iter().map(|c| c.body).collect::<String>();
    String::from_utf8(seen.unwrap_or_else(|| panic!("{told}"))).unwrap()
}

fn kept(t: &Fixpoint) -> Vec<PathBuf> {
    let mut all: Vec<_> =
        fs::read_dir(t.data().join("installed")).into_iter().flatten().map(|e| e.unwrap().path()).collect();
    all.sort();
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn t32_installed_once_for_a_lock_file_and_never_by_an_agent() {
    let Some(provider) = provider("once").await else { return };
    let mut t = world(Some(provider), CONFIG).await;
    let first = session(&mut t).await;
    assert!(first.ends_with("\none\n"), "{first}");
    let written = kept(&t);
    assert_eq!(written.len(), 1, "{written:?}");
    let bytes = fs::read(&written[0]).unwrap();
    // What its agent wrote over it is gone with its sandbox.
    assert_eq!(session(&mut t).await, first, "it is laid out, not installed again");
    assert_eq!(fs::read(&written[0]).unwrap(), bytes);

    // A person's pull request with another lock file installs for itself, and keeps nothing.
    t.github.push_as(REPO, "alice", "bump", &[("deps.lock", "two\n")]).unwrap();
    let pull = t.github.open_pull(REPO, "alice", "bump", "Bump", "As asked.").unwrap();
    let bumped = seen_on(&mut t, pull, "/code look").await;
    assert!(bumped.ends_with("\ntwo\n") && bumped != first, "{bumped}");
    assert_eq!(kept(&t), written, "a pull request never writes");

    // On the default branch another lock file is another key; the old one still stands.
    t.github.push_as(REPO, "alice", "main", &[("deps.lock", "three\n")]).unwrap();
    let third = session(&mut t).await;
    assert!(third.ends_with("\nthree\n"), "{third}");
    assert_eq!(kept(&t).len(), 2);
    assert_eq!(session(&mut t).await, third);
    t.end().await;
    assert_eq!(containers("once").await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn t32_what_was_tampered_with_is_thrown_away_and_installed_anew() {
    let Some(provider) = provider("tampered").await else { return };
    let mut t = world(Some(provider), CONFIG).await;
    let first = session(&mut t).await;
    let mut bytes = fs::read(&kept(&t)[0]).unwrap();
    let at = bytes.windows(36).position(|piece| piece == &first.as_bytes()[..36]).unwrap();
    bytes[at] ^= 1;
    fs::write(&kept(&t)[0], bytes).unwrap();
    let second = session(&mut t).await;
    assert!(second != first && second.ends_with("\none\n"), "{second}");
    // What stands there now is whole, and a process that was killed while it wrote is nobody's.
    fs::write(t.data().join("installed/.part-dead"), b"half").unwrap();
    assert_eq!(session(&mut t).await, second);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_installed_is_told_before_a_model_is_asked() {
    let config = "dependencies: { files: [deps.lock], install: ['echo no such package; exit 3'] }\n";
    let mut t = world(None, config).await;
    t.comment("/code").by("alice").on(crate::support::ISSUE);
    t.settle().await;
    let said = t.said().concat();
    assert!(said.contains("The installation's `echo no such package; exit 3` ended with 3."), "{said}");
    assert!(t.github.model().shown().is_empty());
    t.end().await;
}

/// Without a container nothing is kept: what an agent of this machine wrote would be found by the next.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_container_every_sandbox_installs_for_itself() {
    let mut t = world(None, CONFIG).await;
    let first = session(&mut t).await;
    assert_ne!(session(&mut t).await, first);
    assert!(kept(&t).is_empty());
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_kept_where_a_lock_file_is_missing() {
    let Some(provider) = provider("missing").await else { return };
    let mut t = world(Some(provider), &CONFIG.replace("[deps.lock]", "[deps.lock, other.lock]")).await;
    let first = session(&mut t).await;
    assert_ne!(session(&mut t).await, first);
    assert!(kept(&t).is_empty());
    t.end().await;
}
