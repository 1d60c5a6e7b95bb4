//! Commits, references, comparisons and files.

use super::At;
use crate::emulator::auth::{Need, read, write};
use crate::emulator::git::push::{Pusher, references};
use crate::emulator::reply::{Answer, Call, Refusal, Reply};
use crate::emulator::state::{Id, World};
use base64::Engine as _;
use git2::{ObjectType, Oid};
use http::StatusCode;
use serde_json::{Value, json};
use std::path::Path;

const CONTENTS: Need = read(&["contents"]);
/// `GET /contents` gives no content in JSON above this size.
const LARGEST_IN_JSON: usize = 1024 * 1024;

pub(super) fn get(world: &World, call: &Call, (owner, name): At<'_>, reference: &str) -> Answer {
    let repo = world.reach(call, owner, name, CONTENTS)?;
    let sha = world.resolve(repo, reference)?;
    let git = world.open_git(repo)?;
    let commit = git.find_commit(Oid::from_str(&sha)?)?;
    let mut shown = world.show_commit(repo, &commit);
    let difference = match commit.parent_id(0) {
        Ok(parent) => world.difference(repo, &parent.to_string(), &sha)?,
        Err(_) => crate::emulator::git::store::Difference::default(),
    };
    let (additions, deletions) =
        difference.files.iter().fold((0, 0), |(a, d), file| (a + file.additions, d + file.deletions));
    shown["stats"] =
        json!({ "additions": additions, "deletions": deletions, "total": additions + deletions });
    shown["files"] = difference.files.iter().map(|file| world.show_file(repo, &sha, file)).collect();
    Ok(Reply::ok(shown))
}

pub(super) fn reference(world: &World, call: &Call, (owner, name): At<'_>, reference: &str) -> Answer {
    let repo = world.reach(call, owner, name, CONTENTS)?;
    let full = format!("refs/{reference}");
    let id = world.open_git(repo)?.refname_to_id(&full)?;
    Ok(Reply::ok(world.show_reference(repo, &full, &id.to_string())))
}

pub(super) fn matching(world: &World, call: &Call, (owner, name): At<'_>, prefix: &str) -> Answer {
    let repo = world.reach(call, owner, name, CONTENTS)?;
    let prefix = format!("refs/{prefix}");
    let all = references(&world.open_git(repo)?);
    let shown = all.iter().filter(|(name, _)| name.starts_with(&prefix));
    Ok(call.page(&world.api, shown.map(|(name, sha)| world.show_reference(repo, name, sha)).collect()))
}

pub(super) fn delete_reference(
    world: &mut World,
    call: &Call,
    (owner, name): At<'_>,
    reference: &str,
) -> Answer {
    let repo = world.reach(call, owner, name, write(&["contents"]))?;
    let here = &world.repositories[&repo];
    let branch = reference.strip_prefix("heads/").unwrap_or_default();
    if here.protected.contains(branch) || here.default_branch == branch {
        return Err(Refusal::unprocessable("Cannot delete a protected branch"));
    }
    let git = world.open_git(repo)?;
    let before = references(&git);
    let missing = |_| Refusal::unprocessable("Reference does not exist");
    git.find_reference(&format!("refs/{reference}")).map_err(missing)?.delete()?;
    world.pushed(repo, pusher(call)?, &before)?;
    Ok(Reply::nothing())
}

fn pusher(call: &Call) -> Result<Pusher, Refusal> {
    let app = match &call.caller {
        crate::emulator::auth::Caller::Token(token) => token.app,
        _ => 0,
    };
    Ok(Pusher { actor: call.actor()?, app })
}

pub(super) fn compare(world: &World, call: &Call, (owner, name): At<'_>, between: &str) -> Answer {
    let repo = world.reach(call, owner, name, CONTENTS)?;
    let (base, head) = between.split_once("...").ok_or_else(Refusal::not_found)?;
    let find = |name: &str| {
        let name = name.split_once(':').map_or(name, |(_, branch)| branch);
        world.resolve(repo, name).map_err(|_| Refusal::not_found())
    };
    let (base, head) = (find(base)?, find(head)?);
    let git = world.open_git(repo)?;
    let (base_id, head_id) = (Oid::from_str(&base)?, Oid::from_str(&head)?);
    let (ahead, behind) = git.graph_ahead_behind(head_id, base_id)?;
    let status = match (ahead, behind) {
        (0, 0) => "identical",
        (_, 0) => "ahead",
        (0, _) => "behind",
        _ => "diverged",
    };
    let mut walk = git.revwalk()?;
    walk.set_sorting(git2::Sort::TOPOLOGICAL | git2::Sort::REVERSE)?;
    walk.push(head_id)?;
    walk.hide(base_id)?;
    let commits: Vec<Value> = walk
        .flatten()
        .filter_map(|id| git.find_commit(id).ok())
        .map(|commit| world.show_commit(repo, &commit))
        .collect();
    let files = world.difference(repo, &base, &head)?.files;
    let (api, html) = (world.api_of(repo), world.web_of(repo));
    let fork_point = git.find_commit(git.merge_base(base_id, head_id)?)?;
    Ok(Reply::ok(json!({
        "url": format!("{api}/compare/{base}...{head}"),
        "html_url": format!("{html}/compare/{base}...{head}"),
        "permalink_url": format!("{html}/compare/{base}...{head}"),
        "diff_url": format!("{html}/compare/{base}...{head}.diff"),
        "patch_url": format!("{html}/compare/{base}...{head}.patch"),
        "base_commit": world.show_commit(repo, &git.find_commit(base_id)?),
        "merge_base_commit": world.show_commit(repo, &fork_point),
        "status": status,
        "ahead_by": ahead,
        "behind_by": behind,
        "total_commits": ahead,
        "commits": commits,
        "files": files.iter().map(|file| world.show_file(repo, &head, file)).collect::<Vec<_>>(),
    })))
}

pub(super) fn contents(world: &World, call: &Call, (owner, name): At<'_>, path: &str) -> Answer {
    let repo = world.reach(call, owner, name, CONTENTS)?;
    let reference = call.asks("ref").unwrap_or(&world.repositories[&repo].default_branch);
    let missing = |_| Refusal::new(StatusCode::NOT_FOUND, format!("No commit found for the ref {reference}"));
    let sha = world.resolve(repo, reference).map_err(missing)?;
    let git = world.open_git(repo)?;
    let tree = git.find_commit(Oid::from_str(&sha)?)?.tree()?;
    if path.is_empty() {
        return Ok(Reply::ok(listing(world, repo, reference, "", &tree)));
    }
    let entry = tree.get_path(Path::new(path))?;
    match entry.kind() {
        Some(ObjectType::Tree) => {
            let folder = git.find_tree(entry.id())?;
            Ok(Reply::ok(listing(world, repo, reference, path, &folder)))
        }
        Some(ObjectType::Blob) => {
            let blob = git.find_blob(entry.id())?;
            let wants_raw = call.header("accept").is_some_and(|accept| accept.contains("raw"));
            if wants_raw {
                let bytes = bytes::Bytes::copy_from_slice(blob.content());
                return Ok(Reply::bytes(StatusCode::OK, "application/vnd.github.raw; charset=utf-8", bytes));
            }
            Ok(Reply::ok(file(world, repo, reference, path, &blob)))
        }
        _ => Err(Refusal::not_found()),
    }
}

fn file(world: &World, repo: Id, reference: &str, path: &str, blob: &git2::Blob<'_>) -> Value {
    let small = blob.size() <= LARGEST_IN_JSON;
    // GitHub breaks base64 at 60 characters.
    let encoded = base64::engine::general_purpose::STANDARD.encode(if small { blob.content() } else { &[] });
    let mut content = String::new();
    for (at, sign) in encoded.chars().enumerate() {
        if at > 0 && at % 60 == 0 {
            content.push('\n');
        }
        content.push(sign);
    }
    let mut shown = entry(world, repo, reference, path, "file", &blob.id().to_string(), blob.size());
    shown["content"] = content.into();
    shown["encoding"] = if small { "base64" } else { "none" }.into();
    shown
}

fn listing(world: &World, repo: Id, reference: &str, folder: &str, tree: &git2::Tree<'_>) -> Value {
    let entries = tree.iter().map(|item| {
        let name = String::from_utf8_lossy(item.name_bytes()).into_owned();
        let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
        let kind = match item.kind() {
            Some(ObjectType::Tree) => "dir",
            Some(ObjectType::Commit) => "submodule",
            _ => "file",
        };
        entry(world, repo, reference, &path, kind, &item.id().to_string(), 0)
    });
    entries.collect()
}

fn entry(world: &World, repo: Id, reference: &str, path: &str, kind: &str, sha: &str, size: usize) -> Value {
    let (api, html) = (world.api_of(repo), world.web_of(repo));
    let url = format!("{api}/contents/{path}?ref={reference}");
    let html_url = format!("{html}/blob/{reference}/{path}");
    let git_url = format!("{api}/git/blobs/{sha}");
    json!({
        "name": path.rsplit('/').next(),
        "path": path,
        "sha": sha,
        "size": size,
        "url": url,
        "html_url": html_url,
        "git_url": git_url,
        "download_url": if kind == "file" { json!(format!("{html}/raw/{reference}/{path}")) } else { Value::Null },
        "type": kind,
        "_links": { "self": url, "git": git_url, "html": html_url },
    })
}
