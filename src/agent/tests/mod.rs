//! The loop as a whole: what it does with a script's replies, and that nothing it does depends on being the same process.

mod claude;
mod world;

use super::{End, Finish, Note, Record, Stop, Task, caps, compaction, history, prompt, tasks};
use crate::domain::session::Spent;
use crate::llm::{Message, Part, Reply};
use proptest::prelude::*;
use serde_json::json;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use world::{Book, Memory, Script, buggy, call, clean, finish, red, reply, request, run, run_in, says, turn};

/// Looks, changes and tests in one reply, ends.
fn three_steps() -> Vec<Reply> {
    vec![
        reply([Part::Text { text: "I look.".into() }, call("c1", "read", json!({"path": "src/lib.rs"}))]),
        reply([
            call("c2", "edit", json!({"path": "src/lib.rs", "old": "a - b", "new": "a + b"})),
            call("c3", "shell", json!({"command": "test"})),
        ]),
        reply([call("c4", "read", json!({"path": "src/lib.rs"})), finish("Add instead of subtract.")]),
    ]
}

fn finished(summary: &str) -> End {
    End::Finished(Finish { summary: summary.into(), ..Finish::default() })
}

#[tokio::test]
async fn a_fix_in_three_steps() {
    let script = Script::new(three_steps());
    let mut book = Book::default();
    let (outcome, sandbox) = run(&script, &turn(request("a - b?")), buggy(), &mut book).await;
    assert_eq!(outcome.end, finished("Add instead of subtract."));
    assert_eq!(outcome.spent, Spent { tokens: 3 * 1111, micros: 3 * 70 });
    assert_eq!(sandbox.files.lock().unwrap()["src/lib.rs"], "a + b");
    assert_eq!(
        *sandbox.ran.lock().unwrap(),
        ["read src/lib.rs", "edit src/lib.rs", "shell test", "read src/lib.rs"]
    );
    assert_eq!(book.touched(), [false, true, true, false]);
    let asked = script.last();
    assert_eq!(asked.tools, ["edit", "read", "shell", "finish"]);
    assert!(
        asked.system.contains("octo/sums")
            && asked.system.contains("/workspace")
            && asked.system.contains("Use tabs.")
    );
    assert_eq!(asked.messages[2], Message::Tool { call: "c1".into(), text: "a - b".into(), error: false });
}

/// The process dies after every record in turn; what follows is as if it had not.
#[tokio::test]
async fn a_round_goes_on_from_every_record_as_if_nothing_had_happened() {
    let mut whole = Book::default();
    let (expected, sandbox) = run(&Script::new(three_steps()), &turn(request("")), buggy(), &mut whole).await;
    let files = sandbox.files.lock().unwrap().clone();
    let total = whole.records().len();
    assert_eq!(total, 8);
    for dies_after in 1..=total {
        let script = Script::new(three_steps());
        let mut first = Book { dies_after: Some(dies_after), ..Book::default() };
        let sandbox = Memory { files: Arc::new(buggy().into()), ..Memory::default() };
        first.files = Arc::clone(&sandbox.files);
        let workspace = super::Workspace { sandbox: &sandbox, gateway: None };
        let engine = super::native(Box::new(script.clone()), vec![]);
        let begun = turn(request(""));
        tokio::select! {
            outcome = engine.run(&begun, &workspace, &first) => panic!("ended: {outcome:?}"),
            () = first.died.notified() => {}
        }
        let (_, checkpoint) = first.records.lock().unwrap().last().cloned().unwrap();
        let resumed = super::Turn { history: first.records(), resumed: true, ..begun };
        let mut second = Book::default();
        let (outcome, sandbox) = run(&script, &resumed, checkpoint, &mut second).await;

        assert_eq!(outcome.end, expected.end, "after record {dies_after}");
        assert_eq!(*sandbox.files.lock().unwrap(), files, "after record {dies_after}");
        assert_eq!(script.counts(), [1, 1, 1], "after record {dies_after}: no reply twice");
        let told = |record: &Record| !matches!(record, Record::Said { message } if *message == Message::user(prompt::RESUMED));
        let joined: Vec<_> = [first.records(), second.records()].concat();
        let repeats = joined.iter().filter(|record| !told(record)).count();
        assert!(repeats <= 1, "told once at most");
        assert_eq!(
            joined.into_iter().filter(told).collect::<Vec<_>>(),
            whole.records(),
            "after record {dies_after}"
        );
    }
}

#[tokio::test]
async fn a_model_that_calls_nonsense_is_told_and_not_for_ever() {
    let script = Script::new(vec![
        reply([call("a", "delete_everything", json!({}))]),
        reply([call("b", "read", json!({"file": 1}))]),
        reply([call("c", "read", json!("{\"path\":"))]),
        reply([finish("")]),
        reply([call("d", "read", json!({"path": "src/lib.rs"})), finish("Looked.")]),
    ]);
    let mut book = Book::default();
    let (outcome, sandbox) = run(&script, &turn(request("")), buggy(), &mut book).await;
    assert_eq!(outcome.end, finished("Looked."));
    assert_eq!(*sandbox.ran.lock().unwrap(), ["read src/lib.rs"]);
    let messages = script.last().messages;
    let error = |id: &str| {
        messages.iter().any(|message| matches!(message, Message::Tool { call, error: true, text } if call == id && !text.is_empty()))
    };
    assert!(["a", "b", "c", "end"].into_iter().all(error), "{messages:#?}");
    assert!(messages.iter().any(
        |message| matches!(message, Message::Tool { text, .. } if text.contains("edit, read, shell, finish"))
    ));

    let script = Script::new(vec![reply([call("a", "nothing", json!({}))]); 50]);
    let (outcome, _) = run(&script, &turn(request("")), buggy(), &mut Book::default()).await;
    assert!(matches!(&outcome.end, End::Failed(why) if why.contains("5 times")), "{outcome:?}");
}

#[tokio::test]
async fn a_stop_ends_the_round_where_it_comes() {
    for at in 0..7 {
        let script = Script::new(three_steps());
        let mut book = Book { stops: Some((at, Stop::Cancelled)), ..Book::default() };
        let (outcome, sandbox) = run(&script, &turn(request("")), buggy(), &mut book).await;
        assert_eq!(outcome.end, End::Stopped(Stop::Cancelled));
        assert_eq!(book.records().len(), at);
        // At most the one call whose result was to be saved.
        let done = book.touched().len();
        assert!(sandbox.ran.lock().unwrap().len() <= done + 1);
    }
}

#[tokio::test]
async fn notes_reach_the_model_before_its_next_reply_and_hold_back_its_end() {
    let mut replies = three_steps();
    replies.push(reply([finish("With the note heeded.")]));
    let script = Script::new(replies);
    // With the edit's result (a call of the same reply is still open), and with the reply that ends the round.
    let mut book = Book {
        notes: BTreeMap::from([(4, "Keep it \u{200b}small."), (7, "Also the docs.")]),
        ..Book::default()
    };
    let (outcome, _) = run(&script, &turn(request("")), buggy(), &mut book).await;
    assert_eq!(outcome.end, finished("With the note heeded."));
    let asked = script.asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 4);
    let user = |at: usize, text: &str| matches!(asked[at].messages.last(), Some(Message::User { text: said }) if said.contains(text));
    assert!(user(2, "Keep it small.") && user(3, "Also the docs."), "{asked:#?}");
}

#[tokio::test]
async fn a_call_that_failed_holds_back_the_end_of_the_same_reply() {
    let script = Script::new(vec![
        reply([call("a", "read", json!({"path": "nowhere"})), finish("Done.")]),
        reply([finish("Really.")]),
    ]);
    let (outcome, _) = run(&script, &turn(request("")), buggy(), &mut Book::default()).await;
    assert_eq!(outcome.end, finished("Really."));
}

#[tokio::test]
async fn a_model_that_only_talks_is_reminded_twice_and_then_taken_at_its_word() {
    for (words, end) in [
        ("All is done.", finished("All is done.")),
        ("Which file?", End::Question { text: "Which file?".into() }),
    ] {
        let script = Script::new(vec![says(words); 5]);
        let (outcome, _) = run(&script, &turn(request("")), buggy(), &mut Book::default()).await;
        assert_eq!(outcome.end, end);
        assert_eq!(script.counts(), [1, 1, 1, 0, 0]);
    }
    let script = Script::new(vec![
        Reply { cut: true, ..says("Let me write") },
        reply([call("q", "finish", json!({"summary": "", "question": "A or B?"}))]),
    ]);
    let (outcome, _) = run(&script, &turn(request("")), buggy(), &mut Book::default()).await;
    assert_eq!(outcome.end, End::Question { text: "A or B?".into() });
    assert_eq!(script.last().messages.last(), Some(&Message::user(prompt::CUT)));
}

#[tokio::test]
async fn limits_end_a_round() {
    let endless = || Script::new(vec![reply([call("a", "read", json!({"path": "src/lib.rs"}))]); 500]);
    let mut short = turn(request(""));
    short.limits.steps = 4;
    let script = endless();
    let (outcome, _) = run(&script, &short, buggy(), &mut Book::default()).await;
    assert_eq!(outcome.end, End::Stopped(Stop::Limit("4 steps".into())));
    assert_eq!(script.asked.lock().unwrap().len(), 4);

    let script = Script::new(vec![reply([call("a", "shell", json!({"command": "hang"}))])]);
    short.limits.round = Duration::from_millis(300);
    let (outcome, _) = run(&script, &short, buggy(), &mut Book::default()).await;
    assert!(matches!(outcome.end, End::Stopped(Stop::Limit(_))), "{outcome:?}");
}

#[tokio::test]
async fn a_stream_that_is_garbled_or_dead_ends_the_round_at_once() {
    let garbled = Memory { instead: Some("\u{1b}[31mHello!\n"), ..Memory::default() };
    let outcome =
        run_in(&garbled, &Script::new(three_steps()), &turn(request("")), &mut Book::default()).await;
    assert!(matches!(outcome.end, End::Stopped(Stop::Broken(_))), "{outcome:?}");
}

#[tokio::test]
async fn a_result_is_shown_with_its_middle_cut() {
    let script =
        Script::new(vec![reply([call("a", "shell", json!({"command": "flood"}))]), reply([finish("Seen.")])]);
    run(&script, &turn(request("")), buggy(), &mut Book::default()).await;
    let Some(Message::Tool { text, .. }) = script.last().messages.last().cloned() else {
        panic!("no result")
    };
    assert!(text.len() < caps::RESULT + 64 && text.contains("characters left out"));
}

#[tokio::test]
async fn a_later_round_has_the_earlier_ones_behind_it() {
    let mut first = Book::default();
    let (_, sandbox) = run(&Script::new(three_steps()), &turn(request("")), buggy(), &mut first).await;
    let files = sandbox.files.lock().unwrap().clone();
    let task = Task::Red {
        failures: vec![red("test (ubuntu)")],
        round: (2, 3),
        hint: Some("It failed like this before.".into()),
        notes: vec![clean("Mind u8.")],
    };
    let second = super::Turn { history: first.records(), ..turn(task) };
    let mut replies = three_steps();
    replies.push(reply([finish("Saturate.")]));
    let script = Script::new(replies);
    let mut book = Book::default();
    let (outcome, _) = run(&script, &second, files, &mut book).await;
    assert_eq!(outcome.end, finished("Saturate."));
    assert_eq!(outcome.spent.micros, 70, "what the first round used is not counted again");
    let Some(Message::User { text }) = script.last().messages.last().cloned() else { panic!("no task") };
    for told in [
        "round 2 of 3",
        "test (ubuntu)",
        "attempt to add with overflow",
        "sums::big",
        "src/lib.rs:3",
        "failed like this before",
        "Mind u8.",
    ] {
        assert!(text.contains(told), "{told} is not in {text}");
    }

    // Refused in the same round: the model sees why.
    let history = [first.records(), book.records()].concat();
    let third = super::Turn {
        history,
        ..turn(Task::Refused(vec![".github/workflows/ci.yml is not to be changed".into()]))
    };
    let mut replies = three_steps();
    replies.extend([reply([finish("Saturate.")]), reply([finish("Without it.")])]);
    let script = Script::new(replies);
    let (outcome, _) = run(&script, &third, buggy(), &mut Book::default()).await;
    assert_eq!(outcome.end, finished("Without it."));
    assert!(matches!(script.last().messages.last(), Some(Message::User { text }) if text.contains("ci.yml")));
}

#[tokio::test]
async fn a_long_conversation_is_shortened_from_its_beginning() {
    let step = |n: usize| reply([call(&format!("c{n}"), "shell", json!({"command": "flood"}))]);
    let replies: Vec<_> = (0..40).map(step).chain([reply([finish("Through.")])]).collect();
    let script = Script { holds: Some(300_000), ..Script::new(replies) };
    let mut book = Book::default();
    let (outcome, _) = run(&script, &turn(request("")), buggy(), &mut book).await;
    assert_eq!(outcome.end, finished("Through."));
    let last = script.last().messages;
    let stubs = last
        .iter()
        .filter(|message| matches!(message, Message::Tool { text, .. } if text.contains("old result")))
        .count();
    assert!((30..40).contains(&stubs), "{stubs}");
    assert!(matches!(last.last(), Some(Message::Tool { text, .. }) if text.len() > 1000));
    // The beginning is the same from question to question, but for the leaps: a cache of it stays good.
    let asked = script.asked.lock().unwrap();
    let leaps = asked.windows(2).filter(|pair| !pair[1].messages.starts_with(&pair[0].messages)).count();
    assert!(leaps <= 14, "{leaps} leaps in 40 steps");
}

proptest! {
    /// What is shortened once stays so as the conversation grows, the newest results are whole, and it fits.
    #[test]
    fn compaction_only_ever_moves_forward(sizes in prop::collection::vec(0_usize..5000, 1..60), room in 4000_usize..60_000) {
        let mut messages = vec![Message::user("task")];
        let mut before = 0;
        for (n, size) in sizes.into_iter().enumerate() {
            messages.push(Message::Assistant { parts: vec![call(&n.to_string(), "read", json!({}))] });
            messages.push(Message::Tool { call: n.to_string(), text: "x".repeat(size), error: false });
            let shown = compaction::compact(messages.clone(), room);
            prop_assert_eq!(shown.len(), messages.len());
            prop_assert_eq!(shown.last(), messages.last());
            let stubs = shown.iter().zip(&messages).filter(|(shown, whole)| shown != whole).count();
            prop_assert!(stubs >= before);
            before = stubs;
        }
    }

    /// Whatever a stranger writes in an issue stands between the fence's lines and nowhere else.
    #[test]
    fn f18_an_issue_stays_inside_its_fence(body in "(\\PC|\n|# Task|<<<DATA [0-9a-f]{16}|DATA [0-9a-f]{16}>>>|```){0,80}") {
        let shown = clean(&body);
        let Message::User { text } = tasks::task(&request(&body)) else { panic!("not ours") };
        let label = text.split("`<<<DATA ").nth(1).and_then(|rest| rest.get(..16)).expect("a label").to_owned();
        let close = format!("\nDATA {label}>>>");
        let (outside, inside): (Vec<_>, Vec<_>) = text.split(&format!("\n<<<DATA {label} (")).enumerate().map(|(n, part)| {
            if n == 0 { (part.to_owned(), String::new()) } else {
                let (data, rest) = part.split_once(&close).expect("closed");
                (rest.to_owned(), data.to_owned())
            }
        }).unzip();
        prop_assert_eq!(inside.len(), 3, "title and text");
        prop_assert_eq!(inside[2].strip_prefix("issue text)\n").expect("what it is"), shown.as_str());
        prop_assert!(outside[1..].iter().all(|rest| rest.trim().is_empty()));
    }
}

#[test]
fn notes_and_refusals_are_capped() {
    let long = "y".repeat(100_000);
    let notes = vec![Note { text: long.clone() }; 100];
    let Message::User { text } = prompt::notes(&notes) else { panic!("not ours") };
    assert!(text.len() < caps::NOTES * (caps::NOTE + 100));
    let Message::User { text } = tasks::task(&Task::Refused(vec![long; 100])) else { panic!("not ours") };
    assert!(text.len() < caps::REASONS * (caps::LINE + 100) + 2000);
    assert!(history::start(&[Record::Said { message: Message::user(text) }]).is_some());
}
