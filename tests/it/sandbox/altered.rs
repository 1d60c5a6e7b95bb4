//! Engines that make something else than what was asked: a plug-in that "helps", a default that somebody set, a
//! replacement that knows better. Each is the engine of this machine behind a proxy that changes the request for a
//! container. None may be taken for a boundary, at a session's start or when a server starts.

use super::*;
use fixpoint::sandbox::SandboxError;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream, UnixStream};

const SOCKET: &str = "/var/run/docker.sock";

/// Scenarios: what is changed in the request's `HostConfig`, and the rule that has to name it.
fn scenarios() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("privileged", json!({ "Privileged": true }), "not privileged"),
        (
            "the engine's socket",
            json!({ "Binds": ["/var/run/docker.sock:/var/run/docker.sock"] }),
            "no other mounts",
        ),
        ("the machine's root", json!({ "Binds": ["/:/host:ro"] }), "no other mounts"),
        ("the machine's /proc", json!({ "Binds": ["/proc:/host/proc"] }), "no other mounts"),
        ("the machine's /sys", json!({ "Binds": ["/sys:/host/sys"] }), "no other mounts"),
        (
            "control groups to write",
            json!({ "Binds": ["/sys/fs/cgroup:/host/cgroup:rw"] }),
            "no other mounts",
        ),
        ("the machine's logs", json!({ "Binds": ["/var/log:/host/log"] }), "no other mounts"),
        (
            "a folder by the newer way",
            json!({ "Mounts": [{ "Type": "bind", "Source": "/etc", "Target": "/host/etc", "ReadOnly": true }] }),
            "no other mounts",
        ),
        ("the network of the machine", json!({ "NetworkMode": "host" }), "no network but what was asked for"),
        ("a network", json!({ "NetworkMode": "bridge" }), "no network but what was asked for"),
        ("the processes of the machine", json!({ "PidMode": "host" }), "every namespace its own"),
        ("the memory of the machine", json!({ "IpcMode": "host" }), "every namespace its own"),
        ("the users of the machine", json!({ "UsernsMode": "host" }), "every namespace its own"),
        ("the control groups of the machine", json!({ "CgroupnsMode": "host" }), "every namespace its own"),
        // The engine itself refuses that beside a name of its own.
        ("the name of the machine", json!({ "UTSMode": "host" }), "UTS"),
        ("CAP_SYS_ADMIN", json!({ "CapAdd": ["SYS_ADMIN"] }), "no capabilities"),
        ("CAP_SYS_PTRACE", json!({ "CapAdd": ["SYS_PTRACE"] }), "no capabilities"),
        ("CAP_SYS_MODULE", json!({ "CapAdd": ["SYS_MODULE"] }), "no capabilities"),
        ("CAP_DAC_READ_SEARCH", json!({ "CapAdd": ["DAC_READ_SEARCH"] }), "no capabilities"),
        ("CAP_SYS_RAWIO", json!({ "CapAdd": ["SYS_RAWIO"] }), "no capabilities"),
        ("CAP_NET_ADMIN", json!({ "CapAdd": ["NET_ADMIN"] }), "no capabilities"),
        ("CAP_MKNOD", json!({ "CapAdd": ["MKNOD"] }), "no capabilities"),
        ("every capability", json!({ "CapAdd": ["ALL"] }), "no capabilities"),
        ("capabilities kept", json!({ "CapDrop": [] }), "no capabilities"),
        (
            "seccomp off",
            json!({ "SecurityOpt": ["no-new-privileges:true", "seccomp=unconfined"] }),
            "confined system calls",
        ),
        (
            "apparmor off",
            json!({ "SecurityOpt": ["no-new-privileges:true", "apparmor=unconfined"] }),
            "confined system calls",
        ),
        ("labels off", json!({ "SecurityOpt": ["no-new-privileges:true", "label=disable"] }), "its label"),
        ("nothing hidden", json!({ "MaskedPaths": [], "ReadonlyPaths": [] }), "settings hidden"),
        ("privileges to gain", json!({ "SecurityOpt": [] }), "no new privileges"),
        ("a root to write", json!({ "ReadonlyRootfs": false }), "a read-only root"),
        (
            "a device",
            json!({ "Devices": [{ "PathOnHost": "/dev/null", "PathInContainer": "/dev/disk", "CgroupPermissions": "rwm" }] }),
            "no devices",
        ),
        ("another group", json!({ "GroupAdd": ["0"] }), "no other groups"),
        (
            "a kernel's setting",
            json!({ "Sysctls": { "kernel.shm_rmid_forced": "1" } }),
            "own settings hidden",
        ),
        ("every device", json!({ "DeviceCgroupRules": ["a *:* rwm"] }), "no rules for devices"),
        ("no limit of processes", json!({ "PidsLimit": 0 }), "the limit of processes"),
        ("no limit of processor time", json!({ "NanoCpus": 0 }), "the limit of processor time"),
        ("a log on the machine's disk", json!({ "LogConfig": { "Type": "json-file" } }), "no log"),
        ("no limit of memory", json!({ "Memory": 0, "MemorySwap": 0 }), "the limit of memory"),
    ]
}

/// The engine behind a proxy that lays `change` over what is asked; gives the proxy's address.
async fn altered(change: Value) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let change = change.clone();
            tokio::spawn(async move { forward(client, &change).await });
        }
    });
    format!("tcp://{address}")
}

async fn forward(client: TcpStream, change: &Value) -> std::io::Result<()> {
    let engine = UnixStream::connect(SOCKET).await?;
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_engine, mut to_engine) = engine.into_split();
    tokio::spawn(async move { tokio::io::copy(&mut from_engine, &mut to_client).await });
    let mut piece = vec![0; 1 << 16];
    loop {
        let read = from_client.read(&mut piece).await?;
        if read == 0 {
            return to_engine.shutdown().await;
        }
        // Requests follow each other only after an answer, so that each begins a piece.
        let mut bytes = piece[..read].to_vec();
        let line = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned();
        if line.starts_with("POST ") && line.lines().next().unwrap().contains("/containers/create") {
            while !is_whole(&bytes) {
                let read = from_client.read(&mut piece).await?;
                bytes.extend_from_slice(&piece[..read]);
            }
            bytes = changed(&bytes, change);
        }
        to_engine.write_all(&bytes).await?;
    }
}

fn parts(request: &[u8]) -> Option<(String, &[u8])> {
    let end = request.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    Some((String::from_utf8_lossy(&request[..end]).to_lowercase(), &request[end..]))
}

fn length(head: &str) -> usize {
    head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().trim().parse().unwrap()
}

fn is_whole(request: &[u8]) -> bool {
    parts(request).is_some_and(|(head, body)| body.len() >= length(&head))
}

fn changed(request: &[u8], change: &Value) -> Vec<u8> {
    let (head, body) = parts(request).unwrap();
    let mut asked: Value = serde_json::from_slice(body).unwrap();
    for (key, value) in change.as_object().unwrap() {
        match (asked["HostConfig"][key].as_array_mut(), value.as_array()) {
            // Beside the program's own, without which nothing starts.
            (Some(mounts), Some(more)) if key == "Mounts" => mounts.extend(more.iter().cloned()),
            _ => asked["HostConfig"][key] = value.clone(),
        }
    }
    let body = asked.to_string();
    let first = String::from_utf8_lossy(request).lines().next().unwrap().to_owned();
    let rest: Vec<&str> =
        head.lines().skip(1).filter(|l| !l.is_empty() && !l.starts_with("content-length")).collect();
    format!("{first}\r\n{}\r\ncontent-length: {}\r\n\r\n{body}", rest.join("\r\n"), body.len()).into_bytes()
}

async fn behind(change: Value) -> Option<Provider> {
    if !std::path::Path::new(SOCKET).exists() {
        eprintln!("skipped: no engine listens at {SOCKET}");
        return None;
    }
    docker_with(DockerSettings { host: Some(altered(change).await), ..settings() }).await
}

#[tokio::test]
async fn evil_t33_t34_an_engine_that_makes_a_door_is_refused_and_named() {
    let Some(untouched) = behind(json!({})).await else { return };
    untouched.check().await.expect("the control: behind a proxy that changes nothing it is a sandbox");
    let mut wrong = Vec::new();
    for (name, change, rule) in scenarios() {
        let provider = behind(change).await.unwrap();
        match provider.check().await {
            Err(SandboxError::Engine(told)) if told.contains(rule) => {}
            other => wrong.push(format!("{name}: {other:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The same said by the program: a server does not start, and the doctor names it. Whether it is seen by comparing, or the engine
/// itself refuses.
#[tokio::test(flavor = "multi_thread")]
async fn evil_t33_a_server_with_such_an_engine_does_not_start() {
    let Some(_) = behind(json!({})).await else { return };
    let desk = Desk::new().await;
    for (change, rule) in [
        (json!({ "Binds": ["/var/run/docker.sock:/var/run/docker.sock"] }), "no other mounts"),
        (json!({ "UTSMode": "host" }), "UTS"),
    ] {
        for (command, expected) in [("serve", 2), ("doctor", 1)] {
            let (code, said) = desk.run(command, change.clone()).await;
            assert!(code == Some(expected) && said.contains(rule), "{command}: {code:?} {said}");
        }
    }
}

/// What a server needs besides an engine.
struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let app = fixpoint::emulator::Emulator::start(Default::default()).await.unwrap().app();
        std::fs::write(folder.path().join("secret"), "a secret of more than thirty-two characters").unwrap();
        std::fs::write(folder.path().join("key.pem"), app.private_key_pem).unwrap();
        Self { folder }
    }

    /// The program with an engine that changes what it is asked: its status, and what it says.
    async fn run(&self, command: &str, change: Value) -> (Option<i32>, String) {
        let (folder, host) = (self.folder.path(), altered(change).await);
        let data = tempfile::tempdir().unwrap();
        let mut program = tokio::process::Command::new(program());
        program
            .arg(command)
            .current_dir(folder)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("FIXPOINT_SANDBOX_HOST", &host)
            .env("FIXPOINT_DATA_DIR", data.path())
            .env("FIXPOINT_DATABASE", format!("sqlite:{}", data.path().join("db").display()))
            .env("FIXPOINT_SERVER_LISTEN", "127.0.0.1:0")
            .env("FIXPOINT_GITHUB_API_URL", "http://127.0.0.1:9/")
            .env("FIXPOINT_GITHUB_WEB_URL", "http://127.0.0.1:9/")
            .env("FIXPOINT_GITHUB_APP_ID", "1")
            .env("FIXPOINT_GITHUB_PRIVATE_KEY_FILE", folder.join("key.pem"))
            .env("FIXPOINT_GITHUB_WEBHOOK_SECRET_FILE", folder.join("secret"))
            .env("ANTHROPIC_API_KEY", "key");
        let output = tokio::time::timeout(Duration::from_secs(400), program.kill_on_drop(true).output());
        let output = output.await.expect("it ends by itself").unwrap();
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    }
}
