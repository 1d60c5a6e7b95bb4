//! A runner as GitHub's are: it reads `action.yml`, and runs each step with bash, its expressions filled in, in a job's folders
//! and with a job's variables.

use fixpoint::emulator::{DeliveryView, Emulator};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};
use tempfile::TempDir;

pub const REPO: &str = "acme/calendar";

/// A job's machine. Each run is a new one, as with GitHub's own.
pub struct Runner {
    pub github: Emulator,
    pub inputs: BTreeMap<String, String>,
    pub env: BTreeMap<String, String>,
    runs: Arc<std::sync::atomic::AtomicU64>,
}

/// What a job left behind.
#[derive(Debug)]
pub struct Done {
    pub success: bool,
    /// Everything that was printed.
    pub log: String,
    /// The Action's outputs.
    pub outputs: BTreeMap<String, String>,
    pub summary: String,
    /// What was in the runner's temporary folder at the end.
    pub left: Vec<String>,
}

impl Done {
    pub fn output(&self, name: &str) -> &str {
        self.outputs.get(name).map_or("", String::as_str)
    }
}

impl Runner {
    /// With the App's key, the scripted model, and the sandbox that needs no engine.
    pub fn new(github: &Emulator) -> Self {
        let app = github.app();
        let model = format!("{}/v1/", github.model_url().trim_end_matches('/'));
        let inputs = [
            ("app-id", app.app_id.to_string()),
            ("private-key", app.private_key_pem),
            ("model-key", "sk-of-the-model".to_owned()),
            ("model-url", model),
            ("sandbox", "runner".to_owned()),
            ("binary", env!("CARGO_BIN_EXE_fixpoint").to_owned()),
        ];
        let env = [("FIXPOINT_LIMITS_SETTLE", "200ms"), ("FIXPOINT_LIMITS_CI_START", "1500ms")];
        Self {
            github: github.clone(),
            inputs: inputs.into_iter().map(|(k, v)| (k.to_owned(), v)).collect(),
            env: env.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect(),
            runs: Arc::default(),
        }
    }

    /// With the token that a workflow gets, and no App.
    pub fn with_workflow_token(mut self) -> Self {
        let grants = [
            ("contents", "write"),
            ("issues", "write"),
            ("pull_requests", "write"),
            ("checks", "read"),
            ("statuses", "read"),
            ("actions", "read"),
            ("metadata", "read"),
        ];
        let token = self.github.actions_token(REPO, &grants).unwrap();
        self.inputs.remove("app-id");
        self.inputs.remove("private-key");
        self.inputs.insert("token".to_owned(), token);
        self
    }

    pub fn input(mut self, name: &str, value: &str) -> Self {
        self.inputs.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Runs the Action for the newest event of that name, as the workflow would get it.
    pub async fn on(&self, event: &str) -> Done {
        self.github.settled().await;
        let payload = newest(&self.github.deliveries(), event);
        self.run(event, payload).await
    }

    /// Runs the Action for this event.
    pub async fn run(&self, event: &str, mut payload: Value) -> Done {
        // What the App's webhooks name, a workflow's event does not.
        payload.as_object_mut().unwrap().remove("installation");
        let number = self.runs.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1;
        let job = Job::new(self, event, &payload, 9_000 + number);
        tokio::task::spawn_blocking(move || job.play()).await.unwrap()
    }
}

/// The newest event of that name; a workflow run's counts when it is completed.
pub fn newest(deliveries: &[DeliveryView], event: &str) -> Value {
    let fits = |d: &&DeliveryView| {
        d.event == event && (event != "workflow_run" || d.action.as_deref() == Some("completed"))
    };
    deliveries.iter().rev().find(fits).unwrap_or_else(|| panic!("no {event}")).payload.clone()
}

/// One job with its folders.
struct Job {
    action: Value,
    contexts: Value,
    env: BTreeMap<String, String>,
    folder: TempDir,
}

impl Job {
    fn new(runner: &Runner, event: &str, payload: &Value, run: u64) -> Self {
        let action = action();
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        // As on a hosted runner: _temp beside the workspace, the event below _temp.
        for name in ["_temp/_github_workflow", "_temp/_runner_file_commands", "calendar/calendar", "home"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        let event_file = at("_temp/_github_workflow/event.json");
        fs::write(&event_file, payload.to_string()).unwrap();
        let api = runner.github.api_url();
        let mut env: BTreeMap<String, String> = [
            ("CI", "true"),
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_API_URL", api),
            ("GITHUB_EVENT_NAME", event),
            ("GITHUB_REPOSITORY", REPO),
            ("GITHUB_RUN_ATTEMPT", "1"),
            ("GITHUB_SERVER_URL", runner.github.web_url()),
            ("GITHUB_WORKFLOW_REF", "acme/calendar/.github/workflows/fixpoint.yml@refs/heads/main"),
            ("NO_PROXY", "127.0.0.1,localhost"),
            ("RUNNER_ARCH", "X64"),
            ("RUNNER_OS", "Linux"),
        ]
        .into_iter()
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .collect();
        let paths = [
            ("GITHUB_ACTION_PATH", Path::new(env!("CARGO_MANIFEST_DIR")).join("action")),
            ("GITHUB_EVENT_PATH", event_file),
            ("GITHUB_STEP_SUMMARY", at("_temp/_runner_file_commands/summary")),
            ("GITHUB_WORKSPACE", at("calendar/calendar")),
            ("HOME", at("home")),
            ("PATH", std::env::var_os("PATH").unwrap().into()),
            ("RUNNER_TEMP", at("_temp")),
        ];
        env.extend(paths.map(|(name, path): (&str, PathBuf)| (name.to_owned(), path.display().to_string())));
        env.insert("GITHUB_RUN_ID".to_owned(), run.to_string());
        env.extend(runner.env.clone());
        let contexts = json!({
            "inputs": inputs(&action, &runner.inputs),
            "github": { "action_repository": "fixpoint/fixpoint", "token": "ghs_of_the_workflow" },
            "runner": { "temp": at("_temp"), "os": "Linux", "arch": "X64" },
            "steps": {},
        });
        Self { action, contexts, env, folder }
    }

    fn play(mut self) -> Done {
        let (mut log, mut success) = (String::new(), true);
        for (index, step) in self.action["runs"]["steps"].as_array().unwrap().clone().iter().enumerate() {
            let output = self.folder.path().join(format!("_temp/_runner_file_commands/output_{index}"));
            fs::write(&output, "").unwrap();
            let (ended, printed) = self.step(step, &output);
            log.push_str(&printed);
            let id = step["id"].as_str().unwrap();
            self.contexts["steps"][id] = json!({ "outputs": outputs(&fs::read_to_string(&output).unwrap()) });
            if !ended {
                success = false;
                break;
            }
        }
        let summary = fs::read_to_string(&self.env["GITHUB_STEP_SUMMARY"]).unwrap_or_default();
        let declared = self.action["outputs"].as_object().unwrap();
        let value = |output: &Value| filled(output["value"].as_str().unwrap(), &self.contexts);
        let outputs = declared.iter().map(|(name, output)| (name.clone(), value(output))).collect();
        let temp = fs::read_dir(self.folder.path().join("_temp")).unwrap();
        let left = temp.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        Done { success, log, outputs, summary, left }
    }

    /// Source: GitHub Actions, "Workflow syntax": `shell: bash` is `bash --noprofile --norc -eo pipefail FILE`.
    fn step(&self, step: &Value, output: &Path) -> (bool, String) {
        assert_eq!(step["shell"], "bash", "a composite step names its shell");
        let script = self.folder.path().join("_temp/script.sh");
        fs::write(&script, filled(step["run"].as_str().unwrap(), &self.contexts)).unwrap();
        let env = step["env"].as_object().unwrap().iter();
        let env = env.map(|(name, value)| (name, filled(value.as_str().unwrap(), &self.contexts)));
        let folder = step["working-directory"].as_str().unwrap_or("${{ runner.temp }}");
        let ran = Command::new("bash")
            .args(["--noprofile", "--norc", "-eo", "pipefail"])
            .arg(&script)
            .env_clear()
            .envs(&self.env)
            .envs(env)
            .env("GITHUB_OUTPUT", output)
            .current_dir(filled(folder, &self.contexts))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let printed = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        (ran.status.success(), printed.concat())
    }
}

/// `action.yml` itself.
pub fn action() -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("action/action.yml");
    serde_saphyr::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

/// Declared inputs alone, each given or its default.
fn inputs(action: &Value, given: &BTreeMap<String, String>) -> Value {
    let declared = action["inputs"].as_object().unwrap();
    assert!(given.keys().all(|name| declared.contains_key(name)), "{given:?}");
    let value = |name: &String, declared: &Value| {
        let default =
            declared["default"].as_str().map_or_else(|| declared["default"].to_string(), str::to_owned);
        given.get(name).cloned().unwrap_or(default).replace("${{ github.token }}", "ghs_of_the_workflow")
    };
    declared.iter().map(|(name, declared)| (name.clone(), json!(value(name, declared)))).collect()
}

/// Fills `${{ a.b.c }}` in; an expression that is more than a path is not known here.
fn filled(text: &str, contexts: &Value) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${{") {
        let (expression, after) = after.split_once("}}").unwrap();
        let value = expression.trim().split('.').fold(contexts, |value, name| &value[name]);
        assert!(expression.trim().starts_with("steps.") || !value.is_null(), "what is {expression}?");
        out.push_str(before);
        out.push_str(value.as_str().unwrap_or_default());
        rest = after;
    }
    out + rest
}

/// `name=value`, or `name<<END` and lines up to `END`.
fn outputs(text: &str) -> BTreeMap<String, String> {
    let (mut lines, mut found) = (text.lines(), BTreeMap::new());
    while let Some(line) = lines.next() {
        if let Some((name, end)) = line.split_once("<<") {
            let value: Vec<&str> = lines.by_ref().take_while(|line| *line != end).collect();
            found.insert(name.to_owned(), value.join("\n"));
        } else if let Some((name, value)) = line.split_once('=') {
            found.insert(name.to_owned(), value.to_owned());
        }
    }
    found
}
