//! The program's own conversation, carried from one sandbox to the next. What is in it is the agent's, and goes nowhere but
//! into another sandbox of the same session.

use crate::{
    agent::Record,
    sandbox::{Command, Process, Sandbox, SandboxError},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use std::{
    io::{Read, Write},
    time::Duration,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Bytes of a conversation: a long round with large files in it. A longer one is not kept, and the next round is told what
/// came before.
const LONGEST: u64 = 24 << 20;
/// The same, compressed, as it lies in the database.
const KEPT: usize = 4 << 20;
/// The longest wait for reading or writing it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Prints the conversation `$1`, wherever the program has put it.
const READ: &str = r#"cat "$HOME"/.claude/projects/*/"$1".jsonl"#;
/// Puts what comes where the program, started in the folder that `$1` stands for, looks for the conversation `$2`.
const WRITE: &str =
    r#"umask 077; cd && mkdir -p ".claude/projects/$1" && cat > ".claude/projects/$1/$2.jsonl""#;

/// The last conversation that a journal holds, and how many of its records came before.
pub(super) fn kept(records: &[Record]) -> Option<(usize, &str, &str)> {
    records.iter().enumerate().rev().find_map(|(at, record)| match record {
        Record::Kept { conversation, state } => Some((at, conversation.as_str(), state.as_str())),
        _ => None,
    })
}

/// Takes a conversation out of a sandbox; `None`: it is not to be had, or too long.
pub(super) async fn take(sandbox: &dyn Sandbox, conversation: &str) -> Option<Record> {
    let read = async {
        let process = sandbox.exec(Command::named("sh", ["-c", READ, "sh", conversation])).await.ok()?;
        let mut bytes = Vec::new();
        process.stdout.take(LONGEST + 1).read_to_end(&mut bytes).await.ok()?;
        Some(bytes).filter(|bytes| !bytes.is_empty() && bytes.len() as u64 <= LONGEST)
    };
    let state = packed(&tokio::time::timeout(PATIENCE, read).await.ok()??)?;
    Some(Record::Kept { conversation: conversation.to_owned(), state })
}

/// Puts a conversation into a sandbox; whether it is there.
pub(super) async fn put(sandbox: &dyn Sandbox, conversation: &str, state: &str) -> bool {
    let Some(bytes) = unpacked(state) else { return false };
    let folder: String =
        sandbox.workspace().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let command = Command::named("sh", ["-c", WRITE, "sh", &folder, conversation]);
    let write = async {
        let Process { mut stdin, wait, .. } = sandbox.exec(command).await?;
        stdin.write_all(&bytes).await?;
        stdin.shutdown().await?;
        drop(stdin);
        wait.await
    };
    let written: Result<Result<i64, SandboxError>, _> = tokio::time::timeout(PATIENCE, write).await;
    matches!(written, Ok(Ok(0)))
}

fn packed(bytes: &[u8]) -> Option<String> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(bytes).ok()?;
    let packed = packed.finish().ok()?;
    (packed.len() <= KEPT).then(|| STANDARD.encode(packed))
}

fn unpacked(state: &str) -> Option<Vec<u8>> {
    let packed = STANDARD.decode(state).ok()?;
    let mut bytes = Vec::new();
    GzDecoder::new(packed.as_slice()).take(LONGEST + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= LONGEST).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_kept_comes_back(bytes in proptest::collection::vec(any::<u8>(), 1..500)) {
            prop_assert_eq!(unpacked(&packed(&bytes).unwrap()), Some(bytes));
        }
    }

    #[test]
    fn a_bomb_is_no_conversation() {
        let zeros = vec![0; usize::try_from(LONGEST).unwrap() + 1];
        assert_eq!(unpacked(&packed(&zeros).unwrap()), None);
        assert_eq!(unpacked("no base64!"), None);
    }
}
