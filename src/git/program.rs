//! The git program as a child that may only talk to one server: an emptied environment, limits on time, memory and
//! output, and its many ways to fail sorted.
//!
//! A hostile server can make libgit2 read a pack for ever with a few bytes; a child can be killed.

use super::{GitError, Mirror, Remote};
use crate::domain::network::Proxy;
use base64::Engine as _;
use secrecy::ExposeSecret;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use url::{Host, Url};

/// The longest a first fetch of a very large repository may take.
const TIME: Duration = Duration::from_secs(30 * 60);
/// Address space of each process in KiB. Packs are mapped in small windows (below), so this is memory, nearly.
const MEMORY_KIB: u64 = 4 << 20;
/// The largest file it may write, in blocks of 512 bytes: 16 GiB, a pack of the largest repository on GitHub.
const FILE_BLOCKS: u64 = 32 << 20;
/// Refs of a large repository; a line has about a hundred bytes.
const STDOUT_CAP: usize = 8 << 20;
const STDERR_CAP: usize = 64 << 10;
/// What is shown of the server's words.
const SHOWN: usize = 600;

/// Where the program is looked for: the environment's own path is not handed on.
const PATH: &str = "/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin";
/// Sets the limits, then becomes git. Where a system lacks one of them it goes on without.
const LIMITED: &str = r#"ulimit -v "$1" 2>/dev/null; ulimit -f "$2" 2>/dev/null; shift 2; exec git "$@""#;

/// Configuration of every call. Objects are checked before they are kept, but for faults that many old and honest
/// repositories have.
const CONFIG: [(&str, &str); 24] = [
    ("credential.helper", ""),
    ("core.askPass", ""),
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.packedGitWindowSize", "32m"),
    ("core.packedGitLimit", "512m"),
    ("core.bigFileThreshold", "64m"),
    ("pack.threads", "2"),
    ("pack.windowMemory", "256m"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("push.recurseSubmodules", "no"),
    // A pack is there as a whole or not at all; loose objects of a broken fetch would look complete.
    ("fetch.unpackLimit", "1"),
    ("fetch.fsckObjects", "true"),
    ("fetch.fsck.zeroPaddedFilemode", "ignore"),
    ("fetch.fsck.badTimezone", "ignore"),
    ("fetch.fsck.badDateOverflow", "ignore"),
    ("fetch.fsck.missingSpaceBeforeDate", "ignore"),
    ("fetch.fsck.missingSpaceBeforeEmail", "ignore"),
    ("fetch.fsck.multipleAuthors", "ignore"),
    ("http.lowSpeedLimit", "1000"),
    ("http.lowSpeedTime", "60"),
];

/// What a call printed.
pub(super) struct Printed {
    pub(super) status: ExitStatus,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// Runs git in a mirror against a server. The status is the caller's to judge.
pub(super) async fn git(mirror: &Mirror, remote: &Remote, args: &[&str]) -> Result<Printed, GitError> {
    let protocol = protocol(&remote.url)?;
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", LIMITED, "sh", &MEMORY_KIB.to_string(), &FILE_BLOCKS.to_string()])
        .args(args)
        .env_clear()
        .envs([("PATH", PATH), ("HOME", "/nonexistent"), ("LC_ALL", "C"), ("GIT_DIR", ".")])
        .envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null")])
        .envs([("GIT_TERMINAL_PROMPT", "0"), ("GIT_ASKPASS", "/bin/false"), ("GIT_LFS_SKIP_SMUDGE", "1")])
        .envs(configuration(remote, mirror.proxy.as_ref(), protocol))
        .current_dir(&mirror.dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    let mut child = command.spawn().map_err(|e| GitError::Other(format!("cannot start git: {e}")))?;
    let mut group = Group(child.id());
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let all = async { tokio::join!(child.wait(), read(stdout, STDOUT_CAP), read(stderr, STDERR_CAP)) };
    let (status, stdout, stderr) = tokio::time::timeout(TIME, all)
        .await
        .map_err(|_| GitError::Unavailable(format!("not done after {} minutes", TIME.as_secs() / 60)))?;
    let status = status.map_err(|e| GitError::Other(format!("git: {e}")))?;
    // All of it is done: its number may be another process's from now on.
    group.0 = None;
    let Text { text: stdout, whole: true } = stdout else {
        return Err(GitError::TooMuch("the server names too many refs".into()));
    };
    Ok(Printed { status, stdout, stderr: stderr.text })
}

/// The oldest version that takes its configuration from the environment.
pub const OLDEST: (u32, u32) = (2, 31);

/// The git program's version, e.g. `2.39.5`, as it is found here.
///
/// # Errors
/// [`GitError::Other`] when there is none.
pub async fn version() -> Result<String, GitError> {
    let missing = || GitError::Other(format!("the git program is not found in {PATH}"));
    let printed = Command::new("/bin/sh")
        .args(["-c", "exec git --version"])
        .env_clear()
        .env("PATH", PATH)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .map_err(|_| missing())?;
    let text = String::from_utf8_lossy(&printed.stdout);
    let version = text.split_whitespace().nth(2).filter(|_| printed.status.success());
    version.map(str::to_owned).ok_or_else(missing)
}

/// The group of a child that may have children: none outlives the call.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        let pid = self.0.and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid {
            // That the group is gone already is the usual case.
            let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
        }
    }
}

/// What was read of a stream, and whether that was all.
struct Text {
    text: String,
    whole: bool,
}

/// Reads to the end but keeps no more than the cap.
async fn read(stream: Option<impl AsyncRead + Unpin>, cap: usize) -> Text {
    let (mut kept, mut whole) = (Vec::new(), true);
    let mut buffer = vec![0; 16 << 10];
    let Some(mut stream) = stream else { return Text { text: String::new(), whole } };
    while let Ok(n @ 1..) = stream.read(&mut buffer).await {
        let fits = n.min(cap - kept.len());
        kept.extend_from_slice(&buffer[..fits]);
        whole &= fits == n;
    }
    Text { text: String::from_utf8_lossy(&kept).into_owned(), whole }
}

/// The one protocol that this address may be reached by.
fn protocol(url: &Url) -> Result<&'static str, GitError> {
    let loopback = match url.host() {
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    match url.scheme() {
        "https" => Ok("https"),
        "http" if loopback => Ok("http"),
        #[cfg(test)]
        "file" => Ok("file"),
        scheme => Err(GitError::Other(format!("{scheme}://… is no address git may be sent to; https is"))),
    }
}

/// `GIT_CONFIG_COUNT` and its pairs: the environment of a process is its owner's alone, its arguments are everybody's.
fn configuration(remote: &Remote, proxy: Option<&Proxy>, protocol: &str) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> =
        CONFIG.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    pairs.push(("protocol.allow".into(), "never".into()));
    pairs.push((format!("protocol.{protocol}.allow"), "always".into()));
    if let Some(token) = &remote.token {
        let basic = format!("x-access-token:{}", token.expose_secret());
        let basic = base64::engine::general_purpose::STANDARD.encode(basic);
        // Bound to the server: a redirect to another one takes nothing along.
        let server = remote.url.origin().ascii_serialization();
        pairs.push((format!("http.{server}/.extraHeader"), format!("Authorization: Basic {basic}")));
    }
    let host = remote.url.host_str().unwrap_or_default();
    if let Some(proxy) = proxy.filter(|proxy| proxy.is_for(host)) {
        pairs.push(("http.proxy".into(), proxy.url().expose_secret().to_owned()));
        // As it stands there: a helper that is asked for it would be a program of the machine's.
        pairs.push(("http.proxyAuthMethod".into(), "basic".into()));
    }
    let count = ("GIT_CONFIG_COUNT".to_owned(), pairs.len().to_string());
    let numbered = pairs.into_iter().enumerate().flat_map(|(n, (name, value))| {
        [(format!("GIT_CONFIG_KEY_{n}"), name), (format!("GIT_CONFIG_VALUE_{n}"), value)]
    });
    [count].into_iter().chain(numbered).collect()
}

/// Sorts a failure by git's and the server's words.
pub(super) fn sort(printed: &Printed) -> GitError {
    let words = words(&printed.stderr);
    let low = printed.stderr.to_ascii_lowercase();
    let has = |any: &[&str]| any.iter().any(|part| low.contains(part));
    if printed.status.code() == Some(127) {
        return GitError::Other(format!(
            "the git program is not found in {PATH}; install git {}.{} or newer",
            OLDEST.0, OLDEST.1
        ));
    }
    if has(&["authentication failed", "could not read username", "could not read password", "error: 401"]) {
        return GitError::Unauthorized(words);
    }
    if has(&["error: 403", "permission to", "write access"]) {
        return GitError::Refused(words);
    }
    if has(&["repository not found", "error: 404", "' not found"]) {
        return GitError::NotFound(format!("the repository ({words})"));
    }
    if has(&UNAVAILABLE) {
        return GitError::Unavailable(words);
    }
    GitError::Other(words)
}

/// What git and curl say of a network or server that fails.
const UNAVAILABLE: [&str; 12] = [
    "could not resolve",
    "failed to connect",
    "couldn't connect",
    "connection",
    "timed out",
    "early eof",
    "rpc failed",
    "hung up",
    "operation too slow",
    "returned error: 5",
    "returned error: 429",
    "ssl",
];

/// The words of a failure that say most: the server's own and git's last, without progress.
pub(super) fn words(stderr: &str) -> String {
    let told: Vec<&str> = stderr
        .lines()
        .map(|line| line.rsplit('\r').next().unwrap_or(line).trim())
        .filter(|line| ["remote:", "fatal:", "error:"].iter().any(|start| line.starts_with(start)))
        .map(|line| line.trim_start_matches("remote:").trim())
        .filter(|line| !line.is_empty())
        .collect();
    let told = if told.is_empty() { stderr.trim().to_owned() } else { told.join("; ") };
    told.chars().take(SHOWN).collect()
}
