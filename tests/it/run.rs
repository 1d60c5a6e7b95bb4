//! `fixpoint run` as people start it: a process in a repository of their own, with a scripted model at an address.

use crate::support::{ISSUE, World, plays::*};
use fixpoint::{
    app,
    emulator::{Emulator, NewRepository, Options, Permission},
};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// Longer than anything here takes, even on a machine that is busy with something else.
const LONGEST: Duration = Duration::from_secs(180);

/// The sum of the repository, red.
const CHECK: &str =
    "[ \"$(sh src/sum.sh 1 2)\" = 3 ] || { echo 'src/sum.sh:1: error: 1 and 2 should be 3'; exit 1; }";

/// Somebody's desk: a repository, and a model to ask.
struct Desk {
    folder: TempDir,
    emulator: Emulator,
}

/// How a run came out.
struct Out {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Out {
    /// The last line of `--json`.
    fn last(&self) -> Value {
        let line = self.stdout.lines().last().unwrap_or_else(|| panic!("nothing was said: {}", self.stderr));
        serde_json::from_str(line).unwrap()
    }

    /// The names of events, in order.
    fn events(&self) -> Vec<String> {
        let lines = self.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter_map(|line| Some(line["event"].as_str()?.to_owned())).collect()
    }
}

impl Desk {
    async fn new() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let emulator = Emulator::start(Options::default()).await.unwrap();
        let desk = Self { folder: tempfile::tempdir().unwrap(), emulator };
        desk.lay(&[("README.md", "# sums\n"), ("src/sum.sh", "echo $(($1 - $2))\n")]);
        desk
    }

    /// A repository of these files, with one commit.
    fn lay(&self, files: &[(&str, &str)]) {
        let repo = self.repo();
        let _ = fs::remove_dir_all(&repo);
        for (path, text) in files {
            let path = repo.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        self.git(&["init", "--quiet", "--initial-branch", "main"]);
        self.git(&["config", "user.name", "Ada"]);
        self.git(&["config", "user.email", "ada@example.com"]);
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "First"]);
    }

    fn repo(&self) -> PathBuf {
        self.folder.path().join("sums")
    }

    fn git(&self, arguments: &[&str]) -> String {
        git(&self.repo(), arguments)
    }

    /// A fix that mends nothing, then one that does.
    fn model_mends_in_round_two(&self) {
        self.emulator.model().plays([
            edit("src/sum.sh", "$1 - $2", "$1 * $2"),
            finish("Multiply"),
            edit("src/sum.sh", "$1 * $2", "$1 + $2"),
            finish("Add"),
        ]);
    }

    fn command(&self, check: &str, more: &[&str]) -> tokio::process::Command {
        let mut command = self.program();
        let url = format!("{}/v1/", self.emulator.model_url());
        command.arg("run").args(["--check", check, "--url", &url, "--state"]).arg(self.state()).args(more);
        command
    }

    fn program(&self) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_fixpoint"));
        command.current_dir(self.repo()).env("ANTHROPIC_API_KEY", "none").env_remove("FIXPOINT_CONFIG");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        command
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    async fn run(&self, check: &str, more: &[&str]) -> Out {
        run_of(self.command(check, more)).await
    }

    /// The run that was or is.
    fn run_folder(&self) -> PathBuf {
        let mut folders = fs::read_dir(self.state().join("runs")).unwrap();
        folders.next().unwrap().unwrap().path()
    }

    /// What only a running run needs is gone, containers and processes included.
    fn nothing_is_left(&self) {
        let folder = self.run_folder();
        for name in ["forge", "mirrors", "sandboxes", "check"] {
            assert!(!folder.join(name).exists(), "{name} is left in {}", folder.display());
        }
        let mark = format!("FIXPOINT_SANDBOX={}", folder.display());
        let left = || {
            fs::read_dir("/proc").unwrap().flatten().map(|process| process.path()).find(|process| {
                let environment = fs::read(process.join("environ")).unwrap_or_default();
                String::from_utf8_lossy(&environment).contains(&mark)
            })
        };
        let ended = Instant::now();
        while let Some(process) = left() {
            // What was killed takes its time to be gone where the machine is busy; all that is not would sleep far longer.
            let long = ended.elapsed() > Duration::from_secs(20);
            assert!(!long, "a process of the run is left: {}", process.display());
            std::thread::sleep(Duration::from_millis(50));
        }
        for purpose in ["", "check"] {
            let label = format!("label=io.fixpoint.instance={}{purpose}", app::instance(&folder));
            let listed = Command::new("docker").args(["ps", "--all", "--quiet", "--filter", &label]).output();
            let listed = listed.map(|listed| listed.stdout).unwrap_or_default();
            assert!(listed.is_empty(), "containers are left: {}", String::from_utf8_lossy(&listed));
        }
    }
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let done = Command::new("git").arg("-C").arg(folder).args(arguments).output().unwrap();
    assert!(done.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).trim_end().to_owned()
}

async fn run_of(mut command: tokio::process::Command) -> Out {
    output_of(&mut command).await
}

async fn output_of(command: &mut tokio::process::Command) -> Out {
    let done = tokio::time::timeout(LONGEST, command.output()).await.expect("it ends").unwrap();
    Out {
        code: done.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&done.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&done.stderr).into_owned(),
    }
}

/// Whether containers can be used; says so where not.
async fn docker() -> bool {
    let settings = fixpoint::sandbox::DockerSettings::default();
    let ready = fixpoint::sandbox::DockerProvider::connect(settings).await;
    if let Err(error) = &ready {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "CI needs an engine: {error}");
        println!("skipped: {error}");
    }
    ready.is_ok()
}

/// Every file of the repository and of its git directory but for what a new branch adds, with its bytes.
fn everything(repo: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    let mut open = vec![repo.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            let name = path.strip_prefix(repo).unwrap().to_string_lossy().into_owned();
            let new = name.starts_with(".git/objects") || name.contains("heads/fixpoint");
            match entry.file_type().unwrap().is_dir() {
                _ if new => {}
                true => open.push(path),
                false => all.push((path.clone(), fs::read(path).unwrap())),
            }
        }
    }
    all.sort();
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_comes_out_of_it_and_nothing_else_is_touched() {
    let desk = Desk::new().await;
    desk.model_mends_in_round_two();
    let (repo, head) = (desk.repo(), desk.git(&["rev-parse", "HEAD"]));
    fs::write(repo.join("stashed"), "stashed").unwrap();
    desk.git(&["add", "stashed"]);
    desk.git(&["stash", "--quiet"]);
    fs::write(repo.join("README.md"), "# staged\n").unwrap();
    desk.git(&["add", "README.md"]);
    fs::write(repo.join("README.md"), "# staged, and then changed\n").unwrap();
    fs::write(repo.join("src/sum.sh"), "echo mine\n").unwrap();
    fs::write(repo.join("new"), "new").unwrap();
    let before = everything(&repo);
    let out = desk.run(CHECK, &["--sandbox", "local", "--json", "Mend the sum"]).await;
    assert_eq!(out.code, 0, "{}\n{}", out.stdout, out.stderr);
    assert_eq!(everything(&repo), before);
    assert_eq!(desk.git(&["rev-parse", "HEAD"]), head);
    let last = out.last();
    assert_eq!((last["outcome"].as_str(), last["rounds"].as_u64()), (Some("green"), Some(2)), "{last}");
    assert_eq!(
        (last["branch"].as_str(), last["summary"].as_str()),
        (Some("fixpoint/mend-the-sum"), Some("Add"))
    );
    assert!(last["tokens"].as_u64() > Some(0) && last["micros"].as_u64() > Some(0), "{last}");
    assert_eq!(desk.git(&["rev-parse", "fixpoint/mend-the-sum"]), last["commit"].as_str().unwrap());
    assert_eq!(desk.git(&["show", "fixpoint/mend-the-sum:src/sum.sh"]), "echo $(($1 + $2))");
    // The person's own name, the true history, and no issue of a forge that is gone.
    let told = desk.git(&["log", "--format=%an %s", "fixpoint/mend-the-sum"]);
    assert_eq!(told, "Ada Add\nAda Multiply\nAda First");
    let message = desk.git(&["log", "-1", "--format=%B", "fixpoint/mend-the-sum"]);
    assert!(message.contains("Assisted-by: ") && !message.contains('#'), "{message}");
    let events = out.events();
    let wanted = [
        "repository",
        "unseen",
        "sandbox",
        "check",
        "round_began",
        "tool",
        "round_ended",
        "check",
        "verdict",
    ];
    let mut rest = events.iter();
    assert!(wanted.iter().all(|wanted| rest.any(|event| event == wanted)), "{events:?}");
    desk.nothing_is_left();
    // The red base is told to the agent as such.
    let shown = desk.emulator.model().shown();
    assert!(
        shown.iter().any(|s| s.holds("src/sum.sh:1: error: 1 and 2 should be 3")),
        "round two is told the log"
    );
    // It can be looked at afterwards, by the beginning of its id.
    let id: String = last["session"].as_str().unwrap().chars().take(5).collect();
    for (arguments, code, words) in [
        (vec!["list"], 0, "fixpoint/mend-the-sum"),
        (vec!["show", &id], 0, "Mend the sum"),
        (vec!["watch", &id], 0, "green"),
        (vec!["retry", &id], 2, "was a run of the terminal"),
        (vec!["cancel", &id], 2, "its process is gone"),
        (vec!["patch", &id], 2, "no kept patch"),
        (vec!["show", "nothing"], 2, "session list"),
    ] {
        let mut command = desk.program();
        command.arg("session").arg("--state").arg(desk.state()).args(&arguments);
        let told = run_of(command).await;
        assert_eq!(told.code, code, "{arguments:?}: {}{}", told.stdout, told.stderr);
        assert!((told.stdout + &told.stderr).contains(words), "{arguments:?}");
    }
    // Asked again, it takes another name.
    desk.model_mends_in_round_two();
    let out = desk.run(CHECK, &["--sandbox", "local", "--json", "Mend the sum"]).await;
    assert_eq!(out.last()["branch"], "fixpoint/mend-the-sum-2");
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_cap_it_ends_with_the_branch_as_it_is() {
    let desk = Desk::new().await;
    desk.emulator.model().plays([edit("src/sum.sh", "$1 - $2", "$1 * $2"), finish("Multiply")]);
    let out = desk.run(CHECK, &["--sandbox", "local", "--rounds", "1", "Mend the sum"]).await;
    assert_eq!(out.code, 1, "{}", out.stderr);
    for words in [
        "NO BOUNDARY",
        "red: src/sum.sh:1: error",
        "Not green after 1 round",
        "git diff main...fixpoint/mend-the-sum",
    ] {
        assert!(out.stdout.contains(words), "{words} in\n{}", out.stdout);
    }
    // A pipe has no use for a line that is written over, nor for colours.
    assert!(!out.stdout.contains(['\r', '\u{1b}']), "{:?}", out.stdout);
    assert_eq!(desk.git(&["show", "fixpoint/mend-the-sum:src/sum.sh"]), "echo $(($1 * $2))");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_ends_it_where_nobody_can_answer() {
    let desk = Desk::new().await;
    desk.emulator.model().plays([ask("Which sum is meant?")]);
    let out = desk.run(CHECK, &["--sandbox", "local", "--json", "Mend the sum"]).await;
    assert_eq!(out.code, 1, "{}", out.stderr);
    let last = out.last();
    assert_eq!(
        (last["outcome"].as_str(), last["question"].as_str()),
        (Some("question"), Some("Which sum is meant?"))
    );
    assert_eq!(desk.git(&["branch", "--list", "fixpoint/*"]), "");
    desk.nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn f13_no_word_of_an_instruction_is_a_command() {
    let desk = Desk::new().await;
    desk.model_mends_in_round_two();
    let instruction = "Stop the sum from being wrong\n\n/code stop\n/code --model x";
    let out = desk.run(CHECK, &["--sandbox", "local", "--json", instruction]).await;
    assert_eq!(out.code, 0, "{}\n{}", out.stdout, out.stderr);
    assert_eq!(out.last()["branch"], "fixpoint/stop-the-sum-from-being-wrong");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_work_is_said_before_a_model_is_asked() {
    let desk = Desk::new().await;
    let local = ["--sandbox", "local"];
    let said = |out: &Out| out.stderr.clone();
    let out = desk.run("no-such-program --at-all", &[&local[..], &["x"]].concat()).await;
    assert!(
        out.code == 2 && said(&out).contains("`no-such-program --at-all` cannot be run"),
        "{}",
        said(&out)
    );
    assert!(
        said(&out).contains("not found") && said(&out).contains("this machine's programs"),
        "{}",
        said(&out)
    );
    desk.nothing_is_left();
    let out = desk.run(CHECK, &["--repo", "/", "x"]).await;
    assert!(
        out.code == 2 && said(&out).contains("--repo names a folder of a git repository"),
        "{}",
        said(&out)
    );
    let out = desk.run(CHECK, &["--repo", "file:///nowhere.git", "x"]).await;
    assert!(out.code == 2 && said(&out).contains("git clone file:///nowhere.git"), "{}", said(&out));
    let out = desk.run(CHECK, &["--check-timeout", "soon", "x"]).await;
    assert!(out.code == 2 && said(&out).contains("a span of time"), "{}", said(&out));
    let mut keyless = desk.command(CHECK, &["x"]);
    keyless.env_remove("ANTHROPIC_API_KEY");
    let out = run_of(keyless).await;
    assert!(out.code == 2 && said(&out).contains("set ANTHROPIC_API_KEY"), "{}", said(&out));
    // A stranger's configuration says where the key goes: one that lies in a repository is not read.
    fs::write(
        desk.repo().join("fixpoint.toml"),
        "[model]\nurl = \"http://127.0.0.1:9/\"\nnot_a_setting = 1\n",
    )
    .unwrap();
    let mut keyless = desk.command(CHECK, &["x"]);
    keyless.env_remove("ANTHROPIC_API_KEY");
    let out = run_of(keyless).await;
    assert!(said(&out).contains("was not read: --config fixpoint.toml reads it"), "{}", said(&out));
    assert!(desk.emulator.model().shown().is_empty(), "no model was asked");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_is_cloned_and_the_branch_is_in_the_clone() {
    let desk = Desk::new().await;
    desk.model_mends_in_round_two();
    let url = format!("file://{}", desk.repo().display());
    let out = desk.run(CHECK, &["--sandbox", "local", "--json", "--repo", &url, "Mend the sum"]).await;
    assert_eq!(out.code, 0, "{}\n{}", out.stdout, out.stderr);
    let clone = desk.run_folder().join("clone.git");
    assert_eq!(git(&clone, &["show", "fixpoint/mend-the-sum:src/sum.sh"]), "echo $(($1 + $2))");
    assert_eq!(desk.git(&["branch", "--list", "fixpoint/*"]), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_linked_worktree_of_a_shallow_clone_is_a_repository_too() {
    let desk = Desk::new().await;
    desk.git(&["commit", "--quiet", "--allow-empty", "--message", "Second"]);
    desk.model_mends_in_round_two();
    let url = format!("file://{}", desk.repo().display());
    let (shallow, beside) = (desk.folder.path().join("shallow"), desk.folder.path().join("beside"));
    git(desk.folder.path(), &["clone", "--quiet", "--depth", "1", &url, "shallow"]);
    git(&shallow, &["worktree", "add", "--quiet", "--detach", beside.to_str().unwrap()]);
    let more = ["--sandbox", "local", "--repo", beside.to_str().unwrap(), "Mend the sum"];
    let out = desk.run(CHECK, &more).await;
    assert_eq!(out.code, 0, "{}\n{}", out.stdout, out.stderr);
    assert!(out.stdout.contains("a detached HEAD") && out.stdout.contains("push origin"), "{}", out.stdout);
    assert_eq!(git(&shallow, &["show", "fixpoint/mend-the-sum:src/sum.sh"]), "echo $(($1 + $2))");
    assert_eq!(git(&beside, &["status", "--porcelain"]), "");
}

/// Ctrl-C, and its end.
async fn ctrl_c(running: tokio::process::Child) -> std::process::Output {
    let pid = rustix::process::Pid::from_raw(running.id().unwrap().try_into().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    tokio::time::timeout(LONGEST, running.wait_with_output()).await.expect("it ends").unwrap()
}

/// A run that is in the middle of its first round: a file is written, and the model thinks for long.
async fn in_the_middle(desk: &Desk, sandbox: &str) -> tokio::process::Child {
    let slow = finish("Never").after(Duration::from_secs(100));
    desk.emulator.model().plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), slow]);
    let running = desk.command(CHECK, &["--sandbox", sandbox, "--json", "Mend the sum"]).spawn().unwrap();
    let began = Instant::now();
    while desk.emulator.model().shown().len() < 2 {
        assert!(began.elapsed() < LONGEST, "the model is asked twice");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    running
}

async fn interrupted(sandbox: &str) {
    let desk = Desk::new().await;
    let running = in_the_middle(&desk, sandbox).await;
    let done = ctrl_c(running).await;
    let stdout = String::from_utf8_lossy(&done.stdout);
    assert_eq!(done.status.code(), Some(130), "{stdout}\n{}", String::from_utf8_lossy(&done.stderr));
    let last: Value = serde_json::from_str(stdout.lines().last().unwrap()).unwrap();
    assert_eq!((last["outcome"].as_str(), &last["branch"]), (Some("stopped"), &Value::Null), "{last}");
    let patch = last["patch"].as_str().expect("what was changed is kept");
    desk.git(&["apply", patch]);
    assert_eq!(fs::read_to_string(desk.repo().join("src/sum.sh")).unwrap(), "echo $(($1 + $2))\n");
    desk.nothing_is_left();
}

/// What a command that is cut off had changed by then is no less.
#[tokio::test(flavor = "multi_thread")]
async fn interrupted_in_a_command_it_keeps_what_that_had_changed() {
    let desk = Desk::new().await;
    let mark = desk.folder.path().join("begun");
    let long = format!("echo 'echo 3' > src/sum.sh; touch {}; sleep 100", mark.display());
    desk.emulator.model().plays([shell(&long)]);
    let running = desk.command(CHECK, &["--sandbox", "local", "--json", "Mend the sum"]).spawn().unwrap();
    let began = Instant::now();
    while !mark.exists() {
        assert!(began.elapsed() < LONGEST, "the command is begun");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let done = ctrl_c(running).await;
    let stdout = String::from_utf8_lossy(&done.stdout);
    let last: Value = serde_json::from_str(stdout.lines().last().unwrap()).unwrap();
    let patch = last["patch"].as_str().unwrap_or_else(|| panic!("what was changed is kept: {last}"));
    desk.git(&["apply", patch]);
    assert_eq!(fs::read_to_string(desk.repo().join("src/sum.sh")).unwrap(), "echo 3\n");
    desk.nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_it_keeps_what_was_changed_and_leaves_no_process() {
    interrupted("local").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_it_leaves_no_container() {
    if docker().await {
        interrupted("docker").await;
    }
}

/// The red of round one is not said of the commit of round two, whose check was still running.
#[tokio::test(flavor = "multi_thread")]
async fn interrupted_it_says_how_it_stands_and_not_how_it_stood() {
    let desk = Desk::new().await;
    desk.model_mends_in_round_two();
    let mark = desk.folder.path().join("begun");
    let check = format!("grep -q '1 + ' src/sum.sh && touch {} && sleep 100; {CHECK}", mark.display());
    let running = desk.command(&check, &["--sandbox", "local", "Mend the sum"]).spawn().unwrap();
    let listed = || {
        let mut command = desk.program();
        command.arg("session").arg("--state").arg(desk.state()).args(["list", "--json"]);
        run_of(command)
    };
    let began = Instant::now();
    // The check of round two has begun, and its push is known.
    while !mark.exists() || !listed().await.stdout.contains("\"phase\":\"watching\"") {
        assert!(began.elapsed() < LONGEST, "the check of the second round begins");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let done = ctrl_c(running).await;
    let stdout = String::from_utf8_lossy(&done.stdout);
    assert_eq!(done.status.code(), Some(130), "{stdout}");
    let (_, end) =
        stdout.split_once("Interrupted in round 2; branch fixpoint/mend-the-sum is kept.").expect(&stdout);
    assert!(!end.contains("red") && end.contains("check     not ended on this commit"), "{end}");
    assert!(end.contains("git switch fixpoint/mend-the-sum"), "{end}");
    assert_eq!(desk.git(&["show", "fixpoint/mend-the-sum:src/sum.sh"]), "echo $(($1 + $2))");
    desk.nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn it_can_be_cancelled_from_beside() {
    let desk = Desk::new().await;
    let running = in_the_middle(&desk, "local").await;
    let session = |arguments: &[&str]| {
        let mut command = desk.program();
        command.arg("session").arg("--state").arg(desk.state()).args(arguments);
        run_of(command)
    };
    let listed = session(&["list", "--json"]).await;
    let listed: Value = serde_json::from_str(listed.stdout.lines().next().unwrap()).unwrap();
    let id = listed["id"].as_str().unwrap().replace('-', "");
    let told = session(&["cancel", &id[..20]]).await;
    assert!(told.code == 0 && told.stdout.contains("being stopped"), "{}{}", told.stdout, told.stderr);
    let done = tokio::time::timeout(LONGEST, running.wait_with_output()).await.expect("it ends").unwrap();
    assert_eq!(done.status.code(), Some(1), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(
        String::from_utf8_lossy(&done.stdout).lines().last().unwrap().contains("\"outcome\":\"stopped\"")
    );
    desk.nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_check_runs_where_it_reaches_nothing() {
    if !docker().await {
        return;
    }
    let desk = Desk::new().await;
    desk.model_mends_in_round_two();
    // Red wherever there is another network interface than the loopback, or a key.
    let check =
        format!("[ \"$(ls /sys/class/net)\" = lo ] && [ -z \"$ANTHROPIC_API_KEY\" ] || exit 77; {CHECK}");
    let out = desk.run(&check, &["--json", "Mend the sum"]).await;
    assert_eq!(out.code, 0, "{}\n{}", out.stdout, out.stderr);
    desk.nothing_is_left();
}

/// What the repository's own configuration names runs beside the check too; where there can be none, the run says so and begins
/// nothing.
#[tokio::test(flavor = "multi_thread")]
async fn services_run_beside_the_check() {
    use crate::services::{IMAGE, POSTGRES};
    let desk = Desk::new().await;
    let config = format!(
        "services:\n  db:\n    image: {IMAGE}\n    user: 999\n    command: [sh, -c, '{POSTGRES}']\n    \
         health: {{ command: 'psql -h 127.0.0.1 -U postgres -c \"select 1\"' }}\n"
    );
    let sum = ("src/sum.sh", "echo $(($1 - $2))\n");
    desk.lay(&[("README.md", "# sums\n"), sum, (".github/fixpoint.yml", &config)]);
    let mut local = desk.command(CHECK, &["--sandbox", "local", "Mend the sum"]);
    let out = run_of_allowing(&mut local, IMAGE).await;
    assert!(out.code != 0 && out.stderr.contains("asks for services (db)"), "{}\n{}", out.stdout, out.stderr);
    assert!(desk.emulator.model().shown().is_empty());

    if crate::services::provider("run").await.is_none() {
        return;
    }
    fs::remove_dir_all(desk.state()).unwrap();
    desk.model_mends_in_round_two();
    let check = format!("psql -h 127.0.0.1 -U postgres -Atc 'select 40 + 2' | grep 42 || exit 77; {CHECK}");
    let mut contained =
        desk.command(&check, &["--sandbox", "docker", "--image", IMAGE, "--json", "Mend the sum"]);
    let out = run_of_allowing(&mut contained, IMAGE).await;
    assert_eq!(out.code, 0, "{}\n{}", out.stdout, out.stderr);
    desk.nothing_is_left();
}

/// A run by somebody who allows this image for services.
async fn run_of_allowing(command: &mut tokio::process::Command, image: &str) -> Out {
    command.env("FIXPOINT_SANDBOX_SERVICES", image);
    output_of(command).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_hangs_is_killed_and_told() {
    let desk = Desk::new().await;
    desk.emulator.model().plays([edit("src/sum.sh", "$1 - $2", "$1 + $2"), finish("Add")]);
    let arguments = ["--sandbox", "local", "--check-timeout", "1s", "--rounds", "1", "Mend the sum"];
    let out = desk.run("echo begins; sleep 1000", &arguments).await;
    assert_eq!(out.code, 1, "{}\n{}", out.stdout, out.stderr);
    assert!(out.stdout.contains("did not end within 1.0 s"), "{}", out.stdout);
    desk.nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_may_retry_and_stop_past_github() {
    let mut t = World::new().limits(|limits| limits.rounds = 1).start().await;
    t.model_plays([edit("src/sum.sh", "$1 - $2", "$1 * $2"), finish("Multiply")]);
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    t.ci_fails("sum.sh:1: assertion failed: expected 3, got 2").await;
    assert!(t.phases().await.ends_with("resting(not_green)"));
    let resting = t.sessions().await.remove(0);
    let refused = app::stop(&t.store, &resting).await.unwrap_err().to_string();
    assert_eq!(refused, "nothing runs that could be stopped");
    t.model_plays([edit("src/sum.sh", "$1 * $2", "$1 + $2"), finish("Add")]);
    app::retry(&t.store, &resting).await.unwrap();
    t.settle().await;
    let watching = t.sessions().await.remove(0);
    assert_eq!(
        (watching.state.phase_word(), watching.state.facts.request.asker.login.as_str()),
        ("watching", "alice")
    );
    app::stop(&t.store, &watching).await.unwrap();
    t.settle().await;
    assert!(t.phases().await.ends_with("working(1) → publishing → watching → resting(stopped)"));
    t.end().await;
}

/// Real bugs in real containers: every one ends green in round two.
#[tokio::test(flavor = "multi_thread")]
async fn five_real_repositories() {
    let Some(data) = std::env::var_os("FIXPOINT_DATA") else {
        println!("skipped: FIXPOINT_DATA does not say where the example repositories are");
        return;
    };
    if !docker().await {
        return;
    }
    let root = Path::new(&data).join("example-repos/quixbugs");
    for name in ["gcd", "kheapsort", "quicksort", "to_base", "sieve"] {
        let folder = root.join(name);
        let text = |file: &str| fs::read_to_string(folder.join(file)).unwrap();
        let meta: Value = serde_json::from_str(&text("meta.json")).unwrap();
        let desk = Desk::new().await;
        let mut files = Vec::new();
        crate::quixbugs::collect(&folder.join("repo"), "", &mut files);
        let files: Vec<(String, String)> = files
            .into_iter()
            .map(|(path, bytes)| (path, String::from_utf8_lossy(&bytes).into_owned()))
            .collect();
        desk.lay(&files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>());
        let (path, fixed) = (meta["buggy_file"].as_str().unwrap(), text("fixed.py"));
        let wrong = format!("{}\n# looked through\n", text(&format!("repo/{path}")).trim_end());
        desk.emulator.model().plays([
            write(path, &wrong),
            finish("Look it through"),
            write(path, &fixed),
            finish("Mend it"),
        ]);
        let mut check = meta["test_command"].as_str().unwrap().to_owned();
        if meta["hangs"] == true {
            check += " -x";
        }
        let out = desk.run(&check, &["--json", &format!("Make the tests of {name} green")]).await;
        assert_eq!(out.code, 0, "{name}: {}\n{}", out.stdout, out.stderr);
        let last = out.last();
        assert_eq!(
            (last["outcome"].as_str(), last["rounds"].as_u64()),
            (Some("green"), Some(2)),
            "{name}: {last}"
        );
        assert_eq!(
            desk.git(&["show", &format!("{}:{path}", last["branch"].as_str().unwrap())]),
            fixed.trim_end()
        );
        desk.nothing_is_left();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_pr_the_branch_is_pushed_and_a_draft_opened() {
    let desk = Desk::new().await;
    let files = [("README.md", "# sums\n"), ("src/sum.sh", "echo $(($1 - $2))\n")];
    desk.emulator.create_repository(NewRepository::new("acme/sums", &files)).unwrap();
    desk.emulator.collaborator("acme/sums", "ada", Permission::Write).unwrap();
    let token = desk.emulator.user_token("ada");
    let mut remote =
        url::Url::parse(&format!("{}/acme/sums.git", desk.emulator.web_url().trim_end_matches('/'))).unwrap();
    remote.set_username("x-access-token").unwrap();
    remote.set_password(Some(&token)).unwrap();
    fs::remove_dir_all(desk.repo()).unwrap();
    git(desk.folder.path(), &["clone", "--quiet", remote.as_str(), "sums"]);
    desk.git(&["config", "user.name", "Ada"]);
    desk.git(&["config", "user.email", "ada@example.com"]);
    let to_github = |mut command: tokio::process::Command| {
        command.env("FIXPOINT_GITHUB_API_URL", desk.emulator.api_url());
        command.env("FIXPOINT_GITHUB_WEB_URL", desk.emulator.web_url());
        command
    };
    // Said before a model is asked.
    let mut without = to_github(desk.command(CHECK, &["--sandbox", "local", "--pr", "Mend the sum"]));
    without.env_remove("GH_TOKEN").env_remove("GITHUB_TOKEN");
    let out = run_of(without).await;
    assert!(out.code == 2 && out.stderr.contains("set GH_TOKEN"), "{}", out.stderr);
    assert_eq!(desk.emulator.model().shown().len(), 0);
    desk.model_mends_in_round_two();
    let mut with = to_github(desk.command(CHECK, &["--sandbox", "local", "--json", "--pr", "Mend the sum"]));
    with.env("GH_TOKEN", &token);
    let out = run_of(with).await;
    assert_eq!(out.code, 0, "{}\n{}", out.stdout, out.stderr);
    assert_eq!(out.last()["no_pull_request"], Value::Null);
    let pulls = desk.emulator.pulls("acme/sums").unwrap();
    assert_eq!(pulls.len(), 1, "{}", out.stdout);
    assert!(pulls[0].draft && pulls[0].author == "ada" && pulls[0].title == "Add", "{pulls:?}");
    assert!(out.last()["pull_request"].as_str().unwrap().ends_with("/acme/sums/pull/1"), "{}", out.last());
    assert!(!out.stdout.contains(&token) && !out.stderr.contains(&token));
}
