//! Whole sessions with the real Claude Code in a real sandbox, its model played by the emulator.
//!
//! With the image that `scripts/claude-image.sh` makes; skipped where it is not there.

use crate::support::{Fixpoint, ISSUE, MODEL_KEY, World, with_image};
use fixpoint::{
    app::steps,
    emulator::{Fault, JobPlay, Play, Trouble},
    sandbox::{DockerProvider, DockerSettings, Provider},
};
use serde_json::json;
use std::time::Duration;

const IMAGE: &str = "fixpoint-claude-test:latest";

/// A world whose agent is Claude Code, in containers of its own.
async fn world(name: &str) -> Option<World> {
    let provider = with_image(IMAGE, "scripts/claude-image.sh", &format!("claude-{name}")).await?;
    Some(World { sandboxes: Some(provider), claude: true, ..World::new() })
}

fn look(path: &str) -> Play {
    Play::call("Read", json!({ "file_path": format!("/work/repo/{path}") }))
}

fn edit(path: &str, old: &str, new: &str) -> Play {
    Play::call(
        "Edit",
        json!({ "file_path": format!("/work/repo/{path}"), "old_string": old, "new_string": new }),
    )
}

fn bash(command: &str) -> Play {
    Play::call("Bash", json!({ "command": command, "description": "looks around" }))
}

fn finish(summary: &str) -> Play {
    Play::call("StructuredOutput", json!({ "summary": summary }))
}

/// What every process, every file and the environment hold of a pattern, then the network interfaces, one line each.
fn search(pattern: &str) -> String {
    format!(
        "{{ env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline; \
         find / -xdev -type f -size -2M -readable -not -path '/proc/*' -not -path '/usr/*' -print0 | xargs -0 cat; \
         find /work /tmp /home -type f -readable -not -name notes.txt -print0 | xargs -0 cat; }} 2>/dev/null \
         | grep -ac '{pattern}' >>/work/repo/notes.txt; ls /sys/class/net >>/work/repo/notes.txt"
    )
}

async fn journal(t: &Fixpoint) -> Vec<String> {
    let session = t.sessions().await.remove(0).id;
    let steps = steps(&t.store.journal(session).await.unwrap());
    let told = |step: fixpoint::app::Step| {
        let tools: Vec<String> = step.calls.into_iter().map(|call| call.tool).collect();
        format!("{} {}", step.round, tools.join(","))
    };
    steps.into_iter().map(told).collect()
}

/// Is there a checkpoint?
async fn kept(t: &Fixpoint) -> bool {
    let session = t.sessions().await.remove(0).id;
    t.store.journal(session).await.unwrap().iter().any(|line| line.tree.is_some())
}

/// Why the agent could not work, as the session has it.
async fn why(t: &Fixpoint) -> String {
    serde_json::to_string(&t.state().await.phase).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn claude_code_works_through_two_rounds_to_green() {
    let Some(world) = world("rounds").await else { return };
    let mut t = world.start().await;
    t.model_plays([
        look("src/sum.sh"),
        edit("src/sum.sh", "$1 - $2", "$1 + $2"),
        finish("Add instead of subtract"),
    ]);
    t.comment("/code fix the sum").by("alice").on(ISSUE);
    t.settle().await;
    assert!(t.phases().await.ends_with("publishing → watching"), "{}\n{:?}", t.phases().await, t.said());
    t.model_plays([
        look("src/sum.sh"),
        edit("src/sum.sh", "echo", "printf '%s\\n'"),
        finish("Print it plainly"),
    ]);
    t.ci_ends(&JobPlay::fails("sum.sh: line 1: echo: -n: invalid number\nAssertionError: expected 3")).await;
    t.ci_passes().await;
    let head = t.pull().head_sha;
    let file = t.github.file(&t.repo, &head, "src/sum.sh").unwrap().unwrap();
    assert_eq!(String::from_utf8_lossy(&file), "printf '%s\\n' $(($1 + $2))\n");
    assert!(t.phases().await.ends_with("resting(green)"), "{}", t.phases().await);
    // Its events are our journal: each reply once, with what it called.
    let expected = ["1 Read", "1 Edit", "1 StructuredOutput", "2 Read", "2 Edit", "2 StructuredOutput"];
    assert_eq!(journal(&t).await, expected);
    // The second round went on with the first one's conversation, and was told what was red.
    let shown = t.github.model().shown();
    assert!(shown[3].holds("fix the sum") && shown[3].holds("CI is red") && shown[3].holds("invalid number"));
    assert!(shown[3].body["messages"].to_string().contains("\"toolu_1_0\""), "the calls of the first round");
    assert!(!t.shown("That conversation is not at hand"));
    let spent = t.state().await.facts.spent;
    assert!(spent.micros > 0 && spent.tokens > 6 * 10_000, "{spent:?}");
    let body = t.pull().body;
    assert!(body.contains("> Print it plainly") && body.contains("| engine | claude-code, "), "{body}");
    t.end().await;
}

/// The key is nowhere inside; that it would be found is shown by what is there, the token of the run.
#[tokio::test(flavor = "multi_thread")]
async fn evil_t11_no_key_is_to_be_found_where_claude_code_works() {
    let Some(world) = world("key").await else { return };
    let mut t = world.start().await;
    // Patterns that do not match themselves where they stand as text.
    let key = MODEL_KEY.replacen('c', "[c]", 1);
    let direct = "for u in https://example.org http://1.1.1.1 http://model.internal/v1/models http://model.internal/v1/files; do \
        curl -s -o /dev/null -m 60 -w '%{http_code}\\n' $u; done >>/work/repo/notes.txt; \
        curl -s --noproxy '*' -o /dev/null -m 5 -w '%{http_code}\\n' http://1.1.1.1 >>/work/repo/notes.txt; true";
    t.model_plays([
        bash(&search(&key)),
        bash(&search("fixpoint-[0-9a-f]\\{60\\}")),
        bash(direct),
        finish("Looked around"),
    ]);
    t.comment("/code look around").by("alice").on(ISSUE);
    t.settle().await;
    let head = t.pull().head_sha;
    let notes = t.github.file(&t.repo, &head, "notes.txt").unwrap().unwrap();
    let notes = String::from_utf8_lossy(&notes);
    let lines: Vec<&str> = notes.lines().collect();
    let [found, lo, token, lo_again, rest @ ..] = &lines[..] else { panic!("{notes}") };
    assert_eq!((*found, *lo, *lo_again), ("0", "lo", "lo"), "{notes}");
    assert!(token.parse::<u32>().unwrap() > 0, "the search finds what is there: {notes}");
    // A tunnel that is refused, a page that is, the gateway without its token, no way at all.
    assert_eq!(rest, ["000", "403", "401", "401", "000"], "{notes}");
    assert!(!t.said().concat().contains(MODEL_KEY));
    t.end().await;
}

/// A process dies in the middle: the round goes on from its last checkpoint, and what was spent stays spent.
#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_round_of_claude_code_goes_on() {
    let Some(world) = world("interrupted").await else { return };
    let mut t = world.start().await;
    t.model_plays([
        bash("printf 'half\\n' >/work/repo/half.txt"),
        finish("never heard").after(Duration::from_secs(3600)),
    ]);
    t.comment("/code do both halves").by("alice").on(ISSUE);
    t.until_shown(2).await;
    // What the first call did is in a checkpoint.
    while !kept(&t).await {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    t.stop().await;
    t.model_plays([
        bash("cat /work/repo/half.txt; printf 'whole\\n' >/work/repo/whole.txt"),
        finish("Both halves"),
    ]);
    t.serve().await;
    t.settle().await;
    let head = t.pull().head_sha;
    for file in ["half.txt", "whole.txt"] {
        assert!(t.github.file(&t.repo, &head, file).unwrap().is_some(), "{file}");
    }
    let shown = t.github.model().shown();
    assert!(
        shown[2].holds("This round was interrupted") && shown[2].holds("You called Bash"),
        "told what was done"
    );
    assert_eq!(journal(&t).await, ["1 Bash", "1 Bash", "1 StructuredOutput"]);
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f2_a_budget_ends_the_round_of_claude_code_with_our_sentence() {
    let Some(world) = world("budget").await else { return };
    // One question alone costs more: its program's instructions are long.
    let mut t = world.limits(|limits| limits.request_micros = 10_000).start().await;
    t.model_plays([bash("printf 'some\\n' >/work/repo/some.txt")]);
    t.comment("/code spend for ever").by("alice").on(ISSUE);
    t.settle().await;
    assert!(t.phases().await.ends_with("(budget)"), "{}", t.phases().await);
    assert_eq!(t.github.model().shown().len(), 1, "asked once, and not again");
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f60_a_refused_key_ends_the_round_of_claude_code_with_our_sentence() {
    let Some(world) = world("refused").await else { return };
    let mut t = world.start().await;
    t.model_plays([Play::error(401, &format!("invalid x-api-key {MODEL_KEY}"))]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    let (why, said) = (why(&t).await, t.said().concat());
    assert!(why.contains("the model refused its key: invalid x-api-key [key]"), "{why} {said}");
    assert!(why.contains("must give it a valid key"), "{why} {said}");
    assert!(!why.contains(MODEL_KEY) && !said.contains(MODEL_KEY), "{why} {said}");
    t.end().await;
}

/// What a writer says while it works reaches it.
#[tokio::test(flavor = "multi_thread")]
async fn claude_code_hears_what_comes_in_while_it_works() {
    let Some(world) = world("notes").await else { return };
    let mut t = world.start().await;
    t.model_plays([
        bash("printf 'a\\n' >/work/repo/a.txt"),
        bash("printf 'b\\n' >/work/repo/b.txt").after(Duration::from_secs(1)),
        finish("Done").after(Duration::from_secs(1)),
    ]);
    // The first reply comes when the comment has been taken up.
    t.github.faults().add(Fault::next("/v1/messages", Trouble::HoldAnswer));
    t.comment("/code write").by("alice").on(ISSUE);
    t.until_shown(1).await;
    t.comment("mind the quokka").by("alice").on(ISSUE);
    t.github.settled().await;
    while !t.store.open_deliveries(1).await.unwrap().is_empty() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    t.github.faults().release();
    t.settle().await;
    assert!(t.shown("mind the quokka"));
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_without_the_program_is_named() {
    let Some(world) = world("missing").await else { return };
    let Some(Provider::Docker(_)) = &world.sandboxes else { panic!("containers") };
    let settings = DockerSettings {
        instance: format!("claude-none-{}", std::process::id()),
        program: Some(env!("CARGO_BIN_EXE_fixpoint").into()),
        ..Default::default()
    };
    let without = Provider::Docker(DockerProvider::connect(settings).await.unwrap());
    let engine = crate::support::claude_code(
        &fixpoint::emulator::Emulator::start(Default::default()).await.unwrap(),
        Duration::from_secs(1),
    );
    let there = fixpoint::app::program(engine.as_ref(), world.sandboxes.as_ref().unwrap()).await.unwrap();
    assert!(there.unwrap().contains("Claude Code"));
    let error = format!("{:#}", fixpoint::app::program(engine.as_ref(), &without).await.unwrap_err());
    assert!(error.contains("docs/engines.md") && error.contains("claude"), "{error}");
    let mut t = World { sandboxes: Some(without), ..world }.start().await;
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    let why = why(&t).await;
    assert!(why.contains("`claude` is not in the sandbox's image"), "{why}");
    t.end().await;
}
