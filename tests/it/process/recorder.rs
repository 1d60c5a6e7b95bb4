//! Whom the program speaks to: every call of a real server and its children to the kernel that names somebody, recorded while
//! a conversation goes from its command to green. `scripts/long/recorder.sh` records the whole suite.

use super::world::{Machine, alone};
use std::{
    collections::BTreeSet,
    path::Path,
    time::{Duration, Instant},
};
use tokio::process::Command;

/// Where the C library asks this machine for the name of a user.
const USERS: &str = "/var/run/nscd/socket";

/// A program under the recorder, which writes into a file and ends with what it records.
pub(super) fn recorded(record: &Path, program: &str) -> Command {
    let mut command = Command::new("strace");
    // The program is our child, the recorder is not: signals meet the right one.
    command.args(["-D", "-f", "-qq", "--seccomp-bpf", "-e", "signal=none"]);
    command.args(["-e", "trace=connect,sendto,sendmsg,sendmmsg", "-o"]).arg(record).arg(program);
    alone(command)
}

/// Whom the calls of a record name: `address:port`, or a socket's path.
fn named(record: &str) -> BTreeSet<String> {
    record.lines().filter_map(one).collect()
}

fn one(line: &str) -> Option<String> {
    let (_, address) = line.split_once("sa_family=")?;
    let within = |from: &str, to: char| Some(address.split_once(from)?.1.split_once(to)?.0.to_owned());
    Some(match address.split([',', '}']).next()? {
        "AF_INET" => format!("{}:{}", within("inet_addr(\"", '"')?, within("htons(", ')')?),
        "AF_INET6" => format!("[{}]:{}", within("inet_pton(AF_INET6, \"", '"')?, within("htons(", ')')?),
        "AF_UNIX" => within("sun_path=", '}')?.trim_matches('"').to_owned(),
        // The kernel itself, and the end of a conversation.
        "AF_NETLINK" | "AF_UNSPEC" => return None,
        other => other.to_owned(),
    })
    .filter(|name| name != USERS)
}

/// Is there a recorder? Where all must run that is a failure.
fn is_there() -> bool {
    let there = std::process::Command::new("strace").arg("-V").output().is_ok_and(|ran| ran.status.success());
    assert!(there || std::env::var("CI").as_deref() != Ok("true"), "CI needs strace");
    if !there {
        println!("skipped: strace is not installed");
    }
    there
}

#[tokio::test(flavor = "multi_thread")]
async fn t53_the_program_speaks_to_nobody_but_the_forge_and_the_model() {
    if !is_there() {
        return;
    }
    let mut machine = Machine::without_server(|_| Duration::ZERO).await;
    let record = machine.record();
    machine.configure_alone().await;
    machine.serve().await;
    machine.comment("/code fix the sum").await;
    machine.until_green().await;
    assert!(machine.terminate().await.success());
    written(&record).await;
    let named = named(&std::fs::read_to_string(record).unwrap());
    // The API and git, the model, and where logs are stored, to which the forge sends whoever asks for one.
    let forge = listening(machine.emulator());
    let github = machine.github().trim_start_matches("http://").trim_end_matches('/').to_owned();
    assert!(forge.contains(&github) && named.contains(&github), "{forge:?}, {named:?}");
    assert_eq!(named.difference(&forge).collect::<Vec<_>>(), Vec::<&String>::new());
}

/// Waits until the recorder, which writes the last of it when all have ended, has let go of its file.
async fn written(record: &Path) {
    let begun = Instant::now();
    while is_open(record) {
        assert!(begun.elapsed() < Duration::from_secs(120), "the record is never written to its end");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Has a process of this machine this file open?
fn is_open(file: &Path) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let open = processes.filter_map(|process| std::fs::read_dir(process.path().join("fd")).ok());
    open.flat_map(Iterator::flatten).any(|fd| std::fs::read_link(fd.path()).is_ok_and(|to| to == *file))
}

/// Where a process of this machine listens.
fn listening(process: u32) -> BTreeSet<String> {
    let open = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap().flatten();
    let open: BTreeSet<String> =
        open.filter_map(|fd| Some(std::fs::read_link(fd.path()).ok()?.display().to_string())).collect();
    let table = std::fs::read_to_string(format!("/proc/{process}/net/tcp")).unwrap();
    let rows = table.lines().map(|row| row.split_whitespace().collect::<Vec<_>>());
    // Source: Linux, Documentation/networking/proc_net_tcp.rst; 0A is a socket that listens.
    let mine = rows.filter(|row| row.get(3) == Some(&"0A") && open.contains(&format!("socket:[{}]", row[9])));
    mine.map(|row| {
        format!("127.0.0.1:{}", u16::from_str_radix(row[1].split(':').nth(1).unwrap(), 16).unwrap())
    })
    .collect()
}

/// The recorder sees whatever is said to anybody, in whatever way.
#[tokio::test]
async fn the_recorder_sees_a_child_that_speaks_to_somebody_else() {
    if !is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("record");
    let script = r#"
import socket
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for call in [lambda: udp.sendto(b"x", ("192.0.2.1", 53)), lambda: udp.sendmsg([b"x"], [], 0, ("192.0.2.2", 53)), lambda: udp.connect(("192.0.2.3", 9)),
             lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).connect(("2001:db8::1", 9)),
             lambda: socket.socket(socket.AF_UNIX).connect("/nowhere/docker.sock")]:
    try: call()
    except OSError: pass
"#;
    let mut child = recorded(&record, "sh");
    assert!(child.args(["-c", "python3 -c \"$0\"", script]).status().await.unwrap().success());
    let wanted = ["/nowhere/docker.sock", "192.0.2.1:53", "192.0.2.2:53", "192.0.2.3:9", "[2001:db8::1]:9"];
    written(&record).await;
    assert_eq!(named(&std::fs::read_to_string(&record).unwrap()).into_iter().collect::<Vec<_>>(), wanted);
}
