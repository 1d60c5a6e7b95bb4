//! What a repository's tests need installed: laid out from what was kept, or installed now and, where nobody but the default
//! branch had a say in it, kept.
//!
//! Kept is only what was made in a sandbox that held the base's own tree, by the base's own commands, before an agent ran in it.
//! So a pull request, a checkpoint or an agent can at most spoil the sandbox that it is in.

use super::{
    Change,
    ready::{nothing_left, run_all},
};
use crate::{
    domain::{
        Sha,
        repo_config::{Dependencies, Key, Place},
        text::line,
    },
    sandbox::{Command, Kept, Sandbox},
    toolbox::wire::{self, Caps},
};
use std::time::Duration;

/// Bytes of a file that decides what is installed: the largest lock files have a few million.
const LOCK: usize = 32 << 20;

/// To carry an archive in or out.
const CARRY: Duration = Duration::from_secs(300);

/// Lays out what the repository's tests need; `seeded` is the tree that lies in the sandbox.
///
/// # Errors
/// Markdown of one paragraph, for whoever asked.
pub(super) async fn install(
    change: &Change,
    sandbox: &dyn Sandbox,
    seeded: &Sha,
    caps: &Caps,
) -> Result<(), String> {
    let Some(wanted) = &change.parts.house.holds.dependencies else { return Ok(()) };
    let place = match &change.parts.kept {
        Some(kept) => key(change, sandbox, wanted, seeded).await.map(|key| (kept, key)),
        None => None,
    };
    if let Some((kept, key)) = &place
        && lay(kept, key, sandbox).await?
    {
        tracing::info!(%key, "what was installed before is laid out");
        return nothing_left(sandbox, caps, "What was installed before").await;
    }
    run_all(sandbox, &wanted.install, "The installation").await?;
    nothing_left(sandbox, caps, "The installation").await?;
    if let Some((kept, key)) = &place
        && is_the_bases_own(change, seeded).await
    {
        match keep(kept, key, sandbox).await {
            Ok(bytes) => tracing::info!(%key, bytes, "what was installed is kept"),
            Err(why) => tracing::warn!(why, "what was installed is not kept"),
        }
    }
    Ok(())
}

/// Under what the installation of a tree is kept; `None` where that cannot be said: a file that decides it is not there, or the
/// sandbox is made of no image.
async fn key(change: &Change, sandbox: &dyn Sandbox, wanted: &Dependencies, tree: &Sha) -> Option<Key> {
    let Some(image) = sandbox.image() else {
        tracing::info!("without a container nothing that is installed is kept");
        return None;
    };
    let mut contents = Vec::new();
    for path in &wanted.files {
        match change.mirror.file(tree, path, LOCK + 1).await {
            Ok(Some(content)) if content.len() <= LOCK => contents.push(content),
            _ => {
                tracing::warn!(
                    path,
                    "a file of `dependencies.files` is not there or too large; nothing is kept"
                );
                return None;
            }
        }
    }
    let facts = &change.state.facts;
    let place = Place { installation: facts.installation, repository: facts.repo.id, image };
    Some(wanted.key(place, &contents))
}

/// Is it the very tree of a commit of the default branch that lies in the sandbox? No agent has run there: it begins after this.
async fn is_the_bases_own(change: &Change, seeded: &Sha) -> bool {
    let facts = &change.state.facts;
    let Some(base) = facts.base.sha.as_ref().filter(|base| **base == change.start) else { return false };
    if change.merge.is_some() || change.mirror.tree_of(base).await.ok().as_ref() != Some(seeded) {
        return false;
    }
    let info = change.parts.repository(&change.state).info().await;
    info.is_ok_and(|info| info.default_branch == facts.base.branch)
}

/// Lays out what is kept under a key; gives whether there was something.
async fn lay(kept: &Kept, key: &Key, sandbox: &dyn Sandbox) -> Result<bool, String> {
    let mut archive = match kept.find(key).await {
        Ok(Some(archive)) => archive,
        Ok(None) => return Ok(false),
        Err(error) => {
            tracing::warn!(%error, "what was installed before cannot be read");
            return Ok(false);
        }
    };
    let carried = async {
        let mut process = sandbox.exec(Command::toolbox(wire::unpack_arguments())).await.map_err(said)?;
        wire::unpack(&mut process.stdin, &mut process.stdout, &mut archive).await.map_err(said)
    };
    let why = match tokio::time::timeout(CARRY, carried).await {
        Ok(Ok(())) => return Ok(true),
        Ok(Err(why)) => why,
        Err(_) => "it takes too long".to_owned(),
    };
    // Half of it lies in the sandbox, so this one is of no use. The next installs anew.
    if let Err(error) = kept.forget(key).await {
        tracing::warn!(%error, "what was installed before cannot be thrown away");
    }
    Err(format!(
        "What was installed before could not be laid out ({}). It is thrown away: the next attempt installs it anew.",
        line(&why)
    ))
}

async fn keep(kept: &Kept, key: &Key, sandbox: &dyn Sandbox) -> Result<u64, String> {
    let most = kept.largest();
    let carried = async {
        let mut process = sandbox.exec(Command::toolbox(wire::pack_arguments(most))).await.map_err(said)?;
        let mut writing = kept.begin(key).await.map_err(said)?;
        let bytes = wire::receive_pack(&mut process.stdout, &mut writing, most).await.map_err(said)?;
        writing.done().await.map_err(said)?;
        Ok(bytes)
    };
    let late = |_| "it takes too long".to_owned();
    tokio::time::timeout(CARRY, carried).await.map_err(late)?
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}
