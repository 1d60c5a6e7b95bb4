//! What the policy has to know of the repository besides the change: what CI is told to run, what is kept in LFS.

use crate::{
    domain::{
        Sha,
        policy::{self, Around, FileDiff, Orders, Tracked},
    },
    git::Mirror,
    work::{Halt, Parts},
};

/// Files of attributes that are read: nobody keeps more.
const ATTRIBUTES: usize = 1_000;
/// Bytes of one.
const LONGEST: usize = 512 << 10;

/// Read from both sides: what either says holds.
pub(super) async fn around(
    parts: &Parts,
    mirror: &Mirror,
    (before, after): (&Sha, &Sha),
    files: &[FileDiff],
) -> Result<Around, Halt> {
    let orders = match policy::wants_orders(files) {
        true => orders(parts, mirror, (before, after)).await?,
        false => Orders::default(),
    };
    let (lfs_before, lfs_after) = (tracked(mirror, before).await?, tracked(mirror, after).await?);
    Ok(Around { orders, lfs_before, lfs_after })
}

async fn orders(parts: &Parts, mirror: &Mirror, (before, after): (&Sha, &Sha)) -> Result<Orders, Halt> {
    let mut all = Vec::new();
    for tree in [before, after] {
        let most = (policy::MOST_ORDERS, policy::ORDER);
        let Some(texts) = mirror.texts(tree, policy::is_order, most).await? else {
            return Ok(Orders::default());
        };
        all.extend(texts);
    }
    let check = parts.settings.check.clone();
    let read = move || {
        let texts = all.iter().map(|(path, text)| (path.as_str(), text.as_deref()));
        Orders::of(texts, check.as_deref())
    };
    // Of megabytes that may be anything. In doubt every script counts.
    Ok(tokio::task::spawn_blocking(read).await.unwrap_or_default())
}

async fn tracked(mirror: &Mirror, tree: &Sha) -> Result<Tracked, Halt> {
    let named = |path: &str| path.rsplit('/').next() == Some(policy::ATTRIBUTES);
    // Where there are more, a pointer is still known by what it says.
    let texts = mirror.texts(tree, named, (ATTRIBUTES, LONGEST)).await?.unwrap_or_default();
    let folder = |path: &str| path.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned());
    let read: Vec<(String, String)> =
        texts.into_iter().filter_map(|(path, text)| Some((folder(&path), text?))).collect();
    let read = move || Tracked::of(read.iter().map(|(folder, text)| (folder.as_str(), text.as_str())));
    Ok(tokio::task::spawn_blocking(read).await.unwrap_or_default())
}
