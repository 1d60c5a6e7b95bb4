//! GitHub's own example webhooks, each sorted as the checked-in table says, and each field of each missing once.
//!
//! `scripts/github-schemas.sh` brings the examples. `FIXPOINT_BLESS=1` writes the table anew, to be read before it is
//! committed.

use fixpoint::domain::delivery::{Us, sort};
use serde_json::{Value, json};
use std::{fs, path::Path};

const US: Us<'_> = Us { app: 4711, slug: "fixpoint", word: "code", label: "fixpoint", bots: &[] };

const TABLE: &str = "tests/it/deliveries.tsv";

/// One of GitHub's examples.
struct Example {
    event: String,
    /// Counted within the event, from 1.
    number: usize,
    payload: Value,
}

/// The examples of one kind of GitHub; `None`, with a word, where they were not brought.
fn examples(forge: &str) -> Option<Vec<Example>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = root.join(".cache/github/webhooks-examples").join(forge).join("index.json");
    let Ok(text) = fs::read(&file) else {
        assert!(
            std::env::var("CI").as_deref() != Ok("true"),
            "no examples: run scripts/github-schemas.sh first"
        );
        println!("skipped: scripts/github-schemas.sh brings GitHub's example webhooks");
        return None;
    };
    let index: Vec<Value> = serde_json::from_slice(&text).unwrap();
    let of_event = |entry: &Value| {
        let event = entry["name"].as_str().unwrap().to_owned();
        let examples = entry["examples"].as_array().unwrap().clone();
        let numbered = examples.into_iter().zip(1..);
        numbered
            .map(move |(payload, number)| Example { event: event.clone(), number, payload })
            .collect::<Vec<_>>()
    };
    Some(index.iter().flat_map(of_event).collect())
}

#[test]
fn f13_every_example_is_sorted_as_the_table_says() {
    let Some(examples) = examples("api.github.com") else { return };
    let mut table = "event\taction\texample\tdoes\twhy\n".to_owned();
    for Example { event, number, payload } in &examples {
        let sorted = sort(event, payload, &US);
        let action = payload["action"].as_str().unwrap_or("-");
        table += &format!("{event}\t{action}\t{number}\t{}\t{}\n", sorted.does(), sorted.reason());
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(TABLE);
    if std::env::var_os("FIXPOINT_BLESS").is_some() {
        fs::write(&path, &table).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    let differ = |(got, expected): &(&str, &str)| got != expected;
    let first = table.lines().zip(expected.lines()).find(differ);
    assert!(first.is_none(), "sorted as\n{}\nbut {TABLE} says\n{}", first.unwrap().0, first.unwrap().1);
    assert_eq!(table.lines().count(), expected.lines().count(), "{TABLE} has another number of lines");
}

#[test]
fn f13_a_command_in_an_example_triggers_and_a_bots_does_not() {
    let Some(examples) = examples("api.github.com") else { return };
    let created =
        |example: &&Example| example.event == "issue_comment" && example.payload["action"] == "created";
    let mut seen = 0;
    for example in examples.iter().filter(created) {
        let mut payload = example.payload.clone();
        payload["comment"]["body"] = json!("/code fix the parser");
        payload["sender"] = payload["comment"]["user"].clone();
        assert_eq!(sort("issue_comment", &payload, &US).does(), "trigger", "example {}", example.number);
        payload["sender"]["type"] = json!("Bot");
        assert_eq!(sort("issue_comment", &payload, &US).does(), "ignore", "example {}", example.number);
        seen += 1;
    }
    assert!(seen >= 5, "only {seen} examples of a new comment");
}

#[test]
fn every_example_with_any_field_missing_or_odd_is_sorted() {
    for forge in ["api.github.com", "ghes-31", "ghes-32", "ghes-33", "ghes-34", "ghes-35"] {
        for Example { event, mut payload, .. } in examples(forge).into_iter().flatten() {
            let mut pointers = Vec::new();
            collect(&payload, String::new(), &mut pointers);
            let odd = [json!("odd"), json!(-1), json!([]), json!({})];
            for (pointer, odd) in pointers.iter().zip(odd.iter().cycle()) {
                for odd in [Value::Null, odd.clone()] {
                    let whole = std::mem::replace(payload.pointer_mut(pointer).unwrap(), odd);
                    assert!(!sort(&event, &payload, &US).reason().is_empty());
                    *payload.pointer_mut(pointer).unwrap() = whole;
                }
            }
        }
    }
}

/// The place of every value in `value`, as JSON pointers.
fn collect(value: &Value, at: String, into: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                collect(field, format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), into);
            }
        }
        Value::Array(entries) => {
            // The second and later entries are read like the first.
            for (number, entry) in entries.iter().enumerate().take(2) {
                collect(entry, format!("{at}/{number}"), into);
            }
        }
        _ => {}
    }
    into.push(at);
}
