//! What a repository wants before the agent begins: its services ready, its set-up run. Where that fails the round ends with a
//! sentence for whoever keeps the repository; no model was asked, so nothing was spent.

use super::open::Opening;
use crate::{
    domain::{
        repo_config::PATH,
        text::{line, shorten, terminal},
    },
    sandbox::{Command, Process, Sandbox, SandboxError},
    toolbox::wire::{self, Caps, Change},
};
use std::{collections::VecDeque, time::Duration};
use tokio::io::AsyncReadExt;

/// All commands of a set-up together, or of an installation.
pub(super) const SETUP: Duration = Duration::from_secs(600);

/// After a command has ended its last words may still be on their way; a child that it left behind may hold its output open for
/// ever.
const LINGER: Duration = Duration::from_millis(500);

/// Bytes of output that are kept: the end, where what went wrong is told.
const TAIL: usize = 8 << 10;

/// Lines of it that are shown, and characters of each.
const LINES: (usize, usize) = (3, 160);

/// Files that are named where a set-up leaves some behind.
const NAMED: usize = 3;

/// Why a sandbox could not be used: by the repository's doing, which whoever asked is told, or by the machine's.
pub(super) fn unusable(error: &SandboxError) -> Opening {
    match error {
        SandboxError::Service { name, why, log } => {
            let why = line(&terminal(why));
            Opening::Unready(format!("The service `{name}` {why}.{}", last_words("Its log", log)))
        }
        SandboxError::NoServices { names, why } => {
            Opening::Unready(format!("`{PATH}` asks for services ({names}), and they {why}."))
        }
        error => Opening::Failed(format!("The sandbox could not be used: {error}")),
    }
}

/// Runs the commands of a set-up.
///
/// # Errors
/// Markdown of one paragraph: which command failed and how, or what it left behind.
pub(super) async fn set_up(sandbox: &dyn Sandbox, commands: &[String], caps: &Caps) -> Result<(), String> {
    if commands.is_empty() {
        return Ok(());
    }
    run_all(sandbox, commands, "The set-up").await?;
    nothing_left(sandbox, caps, "The set-up").await
}

/// Runs commands one after another, each in a `sh` of its own at the repository's root. `whose` begins the sentence where one
/// fails.
///
/// # Errors
/// Markdown of one paragraph: which command failed and how.
pub(super) async fn run_all(sandbox: &dyn Sandbox, commands: &[String], whose: &str) -> Result<(), String> {
    let begun = tokio::time::Instant::now();
    for command in commands {
        let mut tail = VecDeque::new();
        let ended = tokio::time::timeout_at(begun + SETUP, run(sandbox, command, &mut tail)).await;
        let how = match ended {
            Ok(Ok(0)) => continue,
            Ok(Ok(status)) => format!("ended with {status}"),
            Ok(Err(error)) => format!("could not be run ({})", line(&error.to_string())),
            Err(_) => format!("was not done when the {} minutes for all were over", SETUP.as_secs() / 60),
        };
        let output = String::from_utf8_lossy(tail.make_contiguous()).into_owned();
        return Err(format!("{whose}'s {} {how}.{}", code(command), last_words("Its output", &output)));
    }
    Ok(())
}

async fn run(sandbox: &dyn Sandbox, command: &str, tail: &mut VecDeque<u8>) -> Result<i64, SandboxError> {
    let mut shell = Command::named("sh", ["-c", &format!("exec 2>&1\n{command}")]);
    shell.environment.insert("CI".to_owned(), "true".to_owned());
    let Process { stdin, mut stdout, mut wait, .. } = sandbox.exec(shell).await?;
    drop(stdin);
    let mut reading = std::pin::pin!(keep_end(&mut stdout, tail));
    tokio::select! {
        status = &mut wait => {
            let _ = tokio::time::timeout(LINGER, reading).await;
            status
        }
        () = &mut reading => wait.await,
    }
}

async fn keep_end(output: &mut (impl tokio::io::AsyncRead + Unpin), tail: &mut VecDeque<u8>) {
    let mut buffer = vec![0; 16 << 10];
    while let Ok(n @ 1..) = output.read(&mut buffer).await {
        tail.extend(&buffer[..n]);
        let over = tail.len().saturating_sub(TAIL);
        tail.drain(..over);
    }
}

/// What is made before the agent begins and git does not ignore would be taken for the agent's work. `who` begins the sentence.
///
/// # Errors
/// Markdown of one paragraph: what is left behind.
pub(super) async fn nothing_left(sandbox: &dyn Sandbox, caps: &Caps, who: &str) -> Result<(), String> {
    let unreadable = |error: &dyn std::fmt::Display| {
        format!("Before the agent began the workspace could not be read: {}.", line(&error.to_string()))
    };
    let mut process =
        sandbox.exec(Command::toolbox(caps.arguments())).await.map_err(|error| unreadable(&error))?;
    let reading = tokio::time::timeout(SETUP, wire::read_snapshot(&mut process.stdout, caps));
    let snapshot = reading.await.map_err(|error| unreadable(&error))?.map_err(|error| unreadable(&error))?;
    let changed = snapshot.changes.iter().map(|change| match change {
        Change::File { path, .. } | Change::Removed { path } => code(path),
    });
    let mut named: Vec<String> = changed.take(NAMED + 1).collect();
    if named.is_empty() {
        return Ok(());
    }
    if named.len() > NAMED {
        named[NAMED] = "others".to_owned();
    }
    Err(format!(
        "{who} changes files that git does not ignore ({}): they would become part of every change. \
         Name them in `.gitignore`, or commit them.",
        named.join(", ")
    ))
}

/// The end of what was printed, as code: nothing in it mentions, closes or links.
fn last_words(whose: &str, printed: &str) -> String {
    let (most, long) = LINES;
    let clean = terminal(printed);
    let lines: Vec<&str> = clean.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(most)..];
    if last.is_empty() {
        return format!(" {whose} is empty.");
    }
    let shown: Vec<String> =
        last.iter().map(|line| format!("`{}`", shorten(&line.replace('`', "'"), long))).collect();
    format!(" {whose} ends: {}", shown.join(" · "))
}

fn code(text: &str) -> String {
    format!("`{}`", shorten(&line(&terminal(text)).replace('`', "'"), LINES.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_are_few_and_harmless() {
        let printed = "a\n\n  b\x1b[31m \nclosing `code` and @alice\n".to_owned() + &"x".repeat(500) + "\n\n";
        let said = last_words("Its log", &printed);
        assert!(said.starts_with(" Its log ends: `b` · `closing 'code' and @alice` · `xxx"), "{said}");
        assert!(said.len() < 300 && !said.contains('\x1b') && !said.contains('\n'), "{said}");
        assert_eq!(last_words("Its log", " \n"), " Its log is empty.");
    }
}
