//! The agent's tools over the wire they are really used on.

use super::*;
use rmcp::{RoleClient, ServiceExt, model::CallToolRequestParams, service::RunningService};
use serde_json::{Value, json};

struct Tools(RunningService<RoleClient, ()>);

impl Tools {
    async fn of(sandbox: &dyn Sandbox) -> Self {
        let process = sandbox.exec(Command::toolbox(["mcp"])).await.unwrap();
        Self(().serve((process.stdout, process.stdin)).await.unwrap())
    }

    /// The tool's text, or its error.
    async fn call(&self, name: &'static str, arguments: Value) -> Result<String, String> {
        let arguments = arguments.as_object().unwrap().clone();
        let result = self.0.call_tool(CallToolRequestParams::new(name).with_arguments(arguments)).await;
        let result = result.map_err(|error| error.to_string())?;
        let text: String =
            result.content.iter().filter_map(|c| c.as_text()).map(|t| t.text.clone()).collect();
        if result.is_error == Some(true) { Err(text) } else { Ok(text) }
    }
}

async fn a_small_task(sandbox: &dyn Sandbox) {
    let origin = Origin::new();
    let files: &[(&str, u32, &[u8])] = &[
        (".gitignore", 0o100_644, b"out/\n"),
        ("src/sum.py", 0o100_644, b"def add(a, b):\n    return a - b\n"),
        (
            "test_sum.py",
            0o100_644,
            b"from src.sum import add\n\ndef test_add():\n    assert add(2, 3) == 5\n",
        ),
    ];
    let commit = origin.commit(origin.tree(files));
    origin.seed(sandbox, commit, None).await.unwrap();
    let tools = Tools::of(sandbox).await;
    let mut names: Vec<_> =
        tools.0.list_all_tools().await.unwrap().into_iter().map(|t| t.name.to_string()).collect();
    names.sort();
    assert_eq!(names, ["edit", "glob", "grep", "list", "read", "shell", "write"]);

    assert_eq!(tools.call("list", json!({})).await.unwrap(), ".git/\n.gitignore\nsrc/\ntest_sum.py");
    assert_eq!(tools.call("glob", json!({"pattern": "*.py"})).await.unwrap(), "src/sum.py\ntest_sum.py");
    assert_eq!(
        tools.call("grep", json!({"pattern": "ADD\\(", "glob": "*.py", "ignore_case": true})).await.unwrap(),
        "src/sum.py:1:def add(a, b):\ntest_sum.py:3:def test_add():\ntest_sum.py:4:    assert add(2, 3) == 5\n"
    );
    assert_eq!(
        tools.call("read", json!({"path": "src/sum.py", "offset": 2})).await.unwrap(),
        "     2\t    return a - b\n"
    );
    let test = json!({"command": "python3 -c 'import test_sum; test_sum.test_add(); print(\"passed\")'"});
    let red = tools.call("shell", test.clone()).await.unwrap();
    assert!(red.contains("AssertionError") && red.contains("[exit status 1, "), "{red}");
    let edit = json!({"path": "src/sum.py", "old": "a - b", "new": "a + b"});
    assert_eq!(tools.call("edit", edit.clone()).await.unwrap(), "edited src/sum.py");
    assert!(tools.call("edit", edit).await.unwrap_err().starts_with("old does not occur in src/sum.py"));
    // Within the same second and of the same size: a cache of the first run must not be taken for the
    // second's.
    let green = tools.call("shell", test).await.unwrap();
    assert!(green.contains("passed") && green.contains("[exit status 0, "), "{green}");
    let wrote = tools.call("write", json!({"path": "out/ignored/x", "content": "1\n2\n"})).await.unwrap();
    assert_eq!(wrote, "created out/ignored/x (2 lines)");
    for path in ["/proc/self/environ", "../../../../../../etc/passwd", "/etc/passwd"] {
        let refused = tools.call("read", json!({"path": path})).await.unwrap_err();
        assert!(refused.contains("outside the workspace"), "{refused}");
    }
    let killed =
        tools.call("shell", json!({"command": "cd src; pwd; sleep 60", "timeout_seconds": 1})).await.unwrap();
    assert_eq!(killed, format!("{}/src\n\n[killed after 1 s]", sandbox.workspace()));

    let changes = snapshot(sandbox).await.unwrap().changes;
    let [wire::Change::File { path, .. }] = &changes[..] else { panic!("{changes:?}") };
    assert_eq!(path, "src/sum.py");
}

#[tokio::test]
async fn the_tools_do_a_small_task_in_docker() {
    let Some(provider) = docker().await else { return };
    let sandbox = provider.start(&spec()).await.unwrap();
    a_small_task(sandbox.as_ref()).await;
    sandbox.stop().await.unwrap();
}

#[tokio::test]
async fn the_tools_do_a_small_task_as_local_processes() {
    let root = tempfile::tempdir().unwrap();
    let sandbox = local(&root).start(&spec()).await.unwrap();
    a_small_task(sandbox.as_ref()).await;
    sandbox.stop().await.unwrap();
}
