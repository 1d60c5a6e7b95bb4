//! The tool that ends a round: what it takes, and how what it was given is read.

use super::{End, Finish, Task, caps, history::FINISH};
use crate::domain::session::LineComment;
use crate::llm::Tool;
use serde_json::{Value, json};

/// The tool, with the arguments that the task has use for.
pub(super) fn tool(task: &Task, template: bool) -> Tool {
    let mut properties = json!({
        "summary": { "type": "string", "description": "What you changed and why, and what you could not check; a few sentences for the reviewer. A plan or a review stands here too." },
        "question": { "type": "string", "description": "Only if you cannot go on without a person: what you need to know." },
        "outside_request": { "type": "string", "description": "Only if a check is red for a reason that has nothing to do with the request: which, and how you know." }
    });
    if matches!(task, Task::Feedback { .. }) {
        properties["replies"] = json!({
            "type": "array",
            "description": "One entry for each numbered comment: what you did, or why not.",
            "items": { "type": "object", "properties": {
                "comment": { "type": "integer", "description": "The comment's number." },
                "text": { "type": "string" }
            }, "required": ["comment", "text"] }
        });
    }
    if matches!(task, Task::Review { .. }) {
        properties["comments"] = json!({
            "type": "array",
            "description": "One entry for each finding.",
            "items": { "type": "object", "properties": {
                "path": { "type": "string" },
                "line": { "type": "integer", "description": "The line in the new version of the file; the last one where it is about several." },
                "start_line": { "type": "integer", "description": "The first line, where it is about several." },
                "body": { "type": "string", "description": "What is wrong and why, in a few sentences." },
                "suggestion": { "type": "string", "description": "What these lines should be instead." }
            }, "required": ["path", "line", "body"] }
        });
    }
    if template {
        properties["description"] = json!({ "type": "string", "description": "The repository's template for pull requests, filled in." });
    }
    Tool {
        name: FINISH.to_owned(),
        description: "Ends your work: either it is done, or you need a person's decision. Nothing you do not say here is passed on.".to_owned(),
        schema: json!({ "type": "object", "properties": properties, "required": ["summary"] }),
    }
}

/// The end that the arguments of `finish` say.
///
/// # Errors
/// What is missing, for the model.
pub(super) fn read(arguments: &Value) -> Result<End, &'static str> {
    if let Some(text) = text(arguments, "question") {
        return Ok(End::Question { text });
    }
    let Some(summary) = text(arguments, "summary") else {
        return Err("not finished: `finish` wants a `summary`, a text that is not empty");
    };
    Ok(End::Finished(Finish {
        summary,
        outside_request: text(arguments, "outside_request"),
        replies: entries(arguments, "replies", caps::THREADS, reply),
        comments: entries(arguments, "comments", caps::COMMENTS, comment),
        description: text(arguments, "description"),
    }))
}

/// The end that words without a form come to: a question where they end like one.
pub(super) fn words(text: &str, who: &str) -> End {
    match caps::middle(text, caps::SUMMARY).into_owned() {
        text if text.is_empty() => End::Failed(format!("{who} neither says nor calls anything")),
        text if text.ends_with('?') => End::Question { text },
        summary => End::Finished(Finish { summary, ..Finish::default() }),
    }
}

fn text(value: &Value, name: &str) -> Option<String> {
    let text = value.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    text.map(|text| caps::middle(text, caps::SUMMARY).into_owned())
}

/// Entries that can be read; of others nothing is known that could be passed on.
fn entries<T>(arguments: &Value, name: &str, cap: usize, read: impl Fn(&Value) -> Option<T>) -> Vec<T> {
    arguments.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(read).take(cap).collect()
}

fn reply(entry: &Value) -> Option<(u64, String)> {
    Some((entry.get("comment")?.as_u64()?, text(entry, "text")?))
}

fn comment(entry: &Value) -> Option<LineComment> {
    let line = |name: &str| entry.get(name).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
    Some(LineComment {
        path: text(entry, "path")?,
        line: line("line")?,
        start_line: line("start_line"),
        body: text(entry, "body")?,
        // As it is: its indentation is the matter.
        suggestion: entry
            .get("suggestion")
            .and_then(Value::as_str)
            .map(|s| caps::middle(s, caps::SUMMARY).into_owned()),
    })
}
