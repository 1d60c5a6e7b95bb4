//! Running a command: bounded in time and output, in a process group of its own, both streams in the order
//! they came.

use super::{Told, paths::Paths, text::Ends};
use rustix::process::{Pid, Signal, kill_process_group};
use std::{
    os::unix::process::ExitStatusExt,
    process::{ExitStatus, Stdio},
    time::{Duration, Instant},
};
use tokio::{io::AsyncReadExt, net::unix::pipe, process::Command};

/// Where the model names none: most builds and test runs of a change's size.
pub(in crate::toolbox) const SECONDS: u64 = 120;

/// The longest that one call may wait; a round has a wall clock of its own beyond it.
const MOST_SECONDS: u64 = 900;

/// After the command itself has ended, how long to wait for output that its children still write.
const LINGER: Duration = Duration::from_millis(200);

/// Kills the group when it goes out of scope: at the limit, and when the call is cancelled.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Runs `command` in `directory`; gives what it wrote, cut in the middle, and how it ended.
pub(in crate::toolbox) async fn shell(
    paths: &Paths,
    command: &str,
    directory: &str,
    seconds: u64,
) -> Told<String> {
    let directory = paths.resolve(directory)?;
    let limit = Duration::from_secs(seconds.clamp(1, MOST_SECONDS));
    let (sender, mut output) = pipe::pipe().map_err(|e| e.to_string())?;
    let writer = sender.into_blocking_fd().map_err(|e| e.to_string())?;
    let also = writer.try_clone().map_err(|e| e.to_string())?;

    let began = Instant::now();
    let mut spawn = Command::new(interpreter());
    spawn
        .args(["-c", command])
        .current_dir(&directory)
        .envs([("TERM", "dumb"), ("NO_COLOR", "1"), ("PAGER", "cat"), ("GIT_PAGER", "cat")])
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(also)
        .process_group(0);
    let mut child = spawn.spawn().map_err(|e| format!("no shell could be started: {e}"))?;
    // The parent's copies of the writing end: while they are open the output has no end.
    drop(spawn);
    let mut group = Group(child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?)));

    let mut kept = Ends::default();
    let ended = tokio::time::timeout(limit, follow(&mut child, &mut output, &mut kept)).await;
    let Ok(status) = ended else {
        drop(group);
        let _ = child.wait().await;
        return Ok(format!("{}\n[killed after {} s]", kept.text(), limit.as_secs()));
    };
    let status = status.map_err(|e| e.to_string())?;
    // What it left running in the background may go on: a server that tests talk to.
    group.0 = None;
    Ok(format!("{}\n[{}, {:.1} s]", kept.text(), how(status), began.elapsed().as_secs_f64()))
}

fn interpreter() -> &'static str {
    if std::path::Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" }
}

/// Reads until the command has ended and its output too, or has been silent for a moment.
async fn follow(
    child: &mut tokio::process::Child,
    output: &mut pipe::Receiver,
    kept: &mut Ends,
) -> std::io::Result<ExitStatus> {
    let mut buffer = vec![0; 16 << 10];
    let status = loop {
        tokio::select! {
            read = output.read(&mut buffer) => match read? {
                0 => return child.wait().await,
                n => kept.push(&buffer[..n]),
            },
            status = child.wait() => break status?,
        }
    };
    let rest = async {
        while let Ok(n @ 1..) = output.read(&mut buffer).await {
            kept.push(&buffer[..n]);
        }
    };
    let _ = tokio::time::timeout(LINGER, rest).await;
    Ok(status)
}

fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(9)) => "killed by signal 9, perhaps for want of memory".into(),
        (None, signal) => format!("killed by signal {}", signal.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn run(command: &str, seconds: u64) -> String {
        let folder = tempfile::tempdir().unwrap();
        shell(&Paths::new(folder.path(), &[]), command, ".", seconds).await.unwrap()
    }

    #[tokio::test]
    async fn both_streams_and_the_status_are_told() {
        let told = run("echo one; echo two >&2; exit 3", 60).await;
        assert!(told.starts_with("one\ntwo\n\n[exit status 3, "), "{told}");
    }

    #[tokio::test]
    async fn at_the_limit_the_whole_group_dies() {
        let mark = format!("9{}.5", std::process::id());
        let told = run(&format!("echo begun; sleep {mark} & sleep {mark}"), 5).await;
        assert_eq!(told, "begun\n\n[killed after 5 s]");
        // Killed, a process is still there until it has had its turn.
        let count = format!("left=$(ps ax | grep '[s]leep {mark}' | wc -l)");
        let until = "[ $left = 0 ] && break; sleep 0.1";
        let left = run(&format!("for i in $(seq 300); do {count}; {until}; done; echo $left"), 300).await;
        assert!(left.starts_with("0\n"), "{left}");
    }

    #[tokio::test]
    async fn an_endless_writer_is_cut_in_the_middle() {
        let told = run("echo first; yes | head -c 50000000; echo last", 60).await;
        assert!(told.starts_with("first\ny\n") && told.contains("bytes left out") && told.contains("last\n"));
        assert!(told.len() < super::super::SHOWN + 200);
    }

    #[tokio::test]
    async fn a_program_left_in_the_background_holds_nothing_up() {
        let began = Instant::now();
        let told = run("sleep 150 & echo on", 200).await;
        assert!(told.starts_with("on\n") && began.elapsed() < Duration::from_secs(100), "{told}");
    }
}
