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
    let attack = "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline | grep -q 'toolbox egres[s] --cert' && kill -9 ${p#/proc/}; done; sleep 80";
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

/// What a sandbox reached and was refused stands in the audit: also of a round that was stopped, that failed, or whose lease
/// was lost in the middle.
#[tokio::test(flavor = "multi_thread")]
async fn evil_t38_whatever_ends_a_round_the_audit_tells_what_left() {
    use fixpoint::domain::{Audit, Number};
    let port = super::matrix::server("the world").await;
    let allowed = format!("127.0.0.1:{port}");
    let leave = format!(
        "curl -sS --noproxy '' http://{allowed}/ http://{allowed}/; curl -sS https://telemetry.example.org/; true"
    );
    let kill = "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline | grep -q 'toolbox egres[s] --cert' && kill -9 ${p#/proc/}; done; sleep 80";
    for ends in ["stopped", "failed", "shut down", "lost"] {
        let Some(world) = with(&[&format!("{allowed} private")]).await else { return };
        let mut t = World { lease: Duration::from_secs(20), ..world }.start().await;
        let second = if ends == "failed" {
            shell(kill)
        } else {
            finish("Nothing to do").after(Duration::from_secs(6))
        };
        t.model_plays([shell(&leave), second]);
        t.comment("/code").by("alice").on(ISSUE);
        t.until_shown(2).await;
        match ends {
            "stopped" => drop(t.comment("/code stop").by("alice").on(ISSUE)),
            "shut down" => t.stop().await,
            "lost" => {
                t.model_plays([finish("Nothing to do")]);
                t.store.take_over().await.unwrap();
            }
            _ => {}
        }
        if ends != "shut down" {
            t.settle().await;
        }
        let session = t.sessions().await.remove(0);
        let (repo, thread) = (session.state.facts.repo.id, (Number(ISSUE), None));
        let mut told: Vec<String> = Vec::new();
        // Who lost it may still be closing its sandbox when the next holder has come to its end.
        for _ in 0..1200 {
            let lines = t.store.audit_of(session.id, repo, thread).await.unwrap();
            told = lines
                .into_iter()
                .filter(|line| matches!(line.what, Audit::Reached { .. } | Audit::HostRefused { .. }))
                .map(|line| line.what.to_string())
                .collect();
            if told.len() >= 2 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(told.len(), 2, "{ends}: {told:?}");
        assert!(
            told[0].starts_with(&format!("{allowed}, 2 GET, ")) && told[0].ends_with(" bytes out, 18 in"),
            "{ends}: {told:?}"
        );
        assert_eq!(told[1], "telemetry.example.org:443, 1 times: not on the allow-list", "{ends}");
    }
}
