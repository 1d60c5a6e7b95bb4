//! Whole sessions whose sandbox has a way out.

use super::*;
use crate::support::{ISSUE, World, plays::*};

async fn with(allow: &[&str]) -> Option<World> {
    let sandboxes = Some(docker().await?);
    Some(World { sandboxes, allow: AllowList::parse(allow).unwrap(), ..World::new() })
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_refused_stands_in_the_pull_request() {
    let Some(world) = with(&["mirror.example.org:443"]).await else { return };
    let mut t = world.start().await;
    t.model_plays([
        shell("curl -sS https://telemetry.example.org/; curl -sS https://telemetry.example.org/again; true"),
        edit("src/sum.sh", "$1 - $2", "$1 + $2"),
        finish("Add"),
    ]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    assert!(t.phases().await.ends_with("publishing → watching"), "{}", t.phases().await);
    assert!(t.shown("It reaches these alone"), "the agent is told what it can reach");
    let pull = t.github.pulls(&t.repo).unwrap().remove(0);
    let row = "| sandbox | no network but 1 allowed destination, no credential; refused `telemetry.example.org:443` |";
    assert!(pull.body.contains(row), "{}", pull.body);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_stream_ends_the_round() {
    let Some(world) = with(&["mirror.example.org:443"]).await else { return };
    let mut t = world.start().await;
    let attack = "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline | grep -q 'toolbox egres[s] --cert' && kill -9 ${p#/proc/}; done; sleep 20";
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), shell(attack)]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    assert!(t.phases().await.ends_with("(engine_failed)"), "{}", t.phases().await);
    assert!(t.github.pulls(&t.repo).unwrap().is_empty(), "nothing is published");
    t.end().await;
}

/// A repository can close what the operator opened, and open nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_repository_narrows_what_its_sandbox_reaches() {
    let Some(world) = with(&["mirror.example.org:443", "other.example.org:443"]).await else { return };
    let files = [
        ("src/sum.sh", "echo $(($1 - $2))\n"),
        (".github/fixpoint.yml", "egress: [\"other.example.org:443\"]\n"),
    ];
    let repository = fixpoint::emulator::NewRepository::new(crate::support::REPO, &files);
    let repository = repository.ci(fixpoint::emulator::Ci::scripted(&["test"]));
    let mut t = world.repository(repository).start().await;
    t.model_plays([
        shell("curl -sS https://mirror.example.org/; true"),
        edit("src/sum.sh", "$1 - $2", "$1 + $2"),
        finish("Add"),
    ]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    let pull = t.github.pulls(&t.repo).unwrap().remove(0);
    assert!(
        pull.body.contains("1 allowed destination, no credential; refused `mirror.example.org:443`"),
        "{}",
        pull.body
    );
    t.end().await;
}
