//! The native engine on the real toolbox: its tools by their true names and arguments, in a local sandbox.

use fixpoint::{
    agent::{End, Finish, Journal, Note, Record, Stop, Task, Turn, Workspace, native},
    domain::{Limits, text::Clean},
    llm::{Ask, Message, Model, ModelError, Part, Reply, Usage},
    sandbox::{LocalProvider, Provider},
};
use serde_json::{Value, json};
use std::sync::Mutex;

/// Plays one call after the other.
struct Script(Vec<(&'static str, Value)>);

#[async_trait::async_trait]
impl Model for Script {
    async fn ask(&self, ask: &Ask<'_>) -> Result<Reply, ModelError> {
        let said = ask.messages.iter().filter(|message| matches!(message, Message::Assistant { .. })).count();
        let (tool, arguments) = self.0[said].clone();
        assert!(ask.tools.iter().any(|offered| offered.name == tool), "{tool} is not offered");
        let parts = vec![Part::Call { id: format!("call-{said}"), tool: tool.into(), arguments }];
        Ok(Reply { parts, usage: Usage::default(), cut: false })
    }
    fn name(&self) -> &str {
        "script"
    }
    fn host(&self) -> &str {
        "nowhere"
    }
    fn price(&self, _: &Usage) -> Option<u64> {
        None
    }
    fn context(&self) -> u64 {
        200_000
    }
}

#[derive(Default)]
struct Book(Mutex<Vec<Record>>);

#[async_trait::async_trait]
impl Journal for Book {
    async fn save(&self, entry: Record) -> Result<Vec<Note>, Stop> {
        self.0.lock().unwrap().push(entry);
        Ok(vec![])
    }
}

#[tokio::test]
async fn the_engine_works_with_the_tools_that_the_sandbox_really_has() {
    let root = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_fixpoint").into();
    let provider = Provider::Local(LocalProvider::new(root.path().into()).with_program(program));
    let sandbox = provider.start(&crate::sandbox::spec()).await.unwrap();
    let script = Script(vec![
        ("write", json!({"path": "sum.sh", "content": "echo $((2 - 3))\n"})),
        ("shell", json!({"command": "sh sum.sh; exit 3"})),
        ("edit", json!({"path": "sum.sh", "old": "2 - 3", "new": "2 + 3"})),
        ("edit", json!({"path": "../sum.sh", "old": "2", "new": "3"})),
        ("shell", json!({"command": "sh sum.sh"})),
        ("finish", json!({"summary": "Add.", "outside_request": "The linter is red on the base too."})),
    ]);
    let turn = Turn {
        repository: "octo/sum".into(),
        instructions: None,
        task: Task::Refused(vec![Clean::new("nothing").as_str().into()]),
        history: vec![],
        resumed: false,
        model: None,
        template: None,
        reachable: Vec::new(),
        limits: Limits::default(),
        services: vec![],
    };
    let book = Book::default();
    let outcome = native(Box::new(script), vec![])
        .run(&turn, &Workspace { sandbox: &*sandbox, gateway: None }, &book)
        .await;
    let End::Finished(Finish { summary, outside_request, .. }) = outcome.end else {
        panic!("{:?}", outcome.end)
    };
    assert_eq!(
        (summary.as_str(), outside_request.as_deref()),
        ("Add.", Some("The linter is red on the base too."))
    );
    let results: Vec<_> = book.0.lock().unwrap().iter().filter_map(result).collect();
    let (failed, touched): (Vec<_>, Vec<_>) =
        results.iter().map(|(_, error, touched)| (*error, *touched)).unzip();
    assert_eq!(touched, [true; 5]);
    assert!(failed[3], "outside the workspace");
    assert!(results[1].0.contains("-1") && results[4].0.contains('5'), "{results:#?}");
    sandbox.stop().await.unwrap();
}

fn result(record: &Record) -> Option<(String, bool, bool)> {
    match record {
        Record::Done { message: Message::Tool { text, error, .. }, touched } => {
            Some((text.clone(), *error, *touched))
        }
        _ => None,
    }
}
