//! Commits, references and files.

use super::node_id;
use crate::emulator::git::store;
use crate::emulator::state::{Id, World};
use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

fn time(when: git2::Time) -> String {
    let utc: DateTime<Utc> = DateTime::from_timestamp(when.seconds(), 0).unwrap_or_default();
    utc.to_rfc3339_opts(SecondsFormat::Secs, true)
}

fn person(who: &git2::Signature<'_>) -> Value {
    json!({
        "name": who.name().unwrap_or_default(),
        "email": who.email().unwrap_or_default(),
        "date": time(who.when()),
    })
}

pub(crate) fn short_sha(sha: &str) -> &str {
    sha.get(..12).unwrap_or(sha)
}

/// A commit as webhooks, suites and workflow runs carry it.
pub(crate) fn simple_commit(commit: &git2::Commit<'_>) -> Value {
    let bare = |who: git2::Signature<'_>| json!({ "name": who.name().unwrap_or_default(), "email": who.email().unwrap_or_default() });
    json!({
        "id": commit.id().to_string(),
        "tree_id": commit.tree_id().to_string(),
        "message": commit.message().unwrap_or_default(),
        "timestamp": time(commit.time()),
        "author": bare(commit.author()),
        "committer": bare(commit.committer()),
    })
}

impl World {
    pub(crate) fn show_simple_commit(&self, repo: Id, sha: &str) -> Value {
        let shown = || -> Result<Value, git2::Error> {
            let git = self.open_git(repo)?;
            let commit = git.find_commit(git2::Oid::from_str(sha)?)?;
            Ok(simple_commit(&commit))
        };
        shown().unwrap_or_else(|_| {
            let nobody = json!({ "name": "ghost", "email": "ghost@users.noreply" });
            json!({
                "id": sha, "tree_id": sha, "message": "", "timestamp": "1970-01-01T00:00:00Z",
                "author": nobody, "committer": nobody,
            })
        })
    }

    pub(crate) fn show_commit(&self, repo: Id, commit: &git2::Commit<'_>) -> Value {
        let (api, html) = (self.api_of(repo), self.web_of(repo));
        let sha = commit.id().to_string();
        let tree = commit.tree_id().to_string();
        let account = |who: git2::Signature<'_>| self.account_of(who.email().unwrap_or_default());
        let parents: Vec<Value> = commit
            .parent_ids()
            .map(|parent| {
                json!({
                    "sha": parent.to_string(),
                    "url": format!("{api}/commits/{parent}"),
                    "html_url": format!("{html}/commit/{parent}"),
                })
            })
            .collect();
        json!({
            "sha": sha,
            "node_id": format!("C_{sha}"),
            "commit": {
                "author": person(&commit.author()),
                "committer": person(&commit.committer()),
                "message": commit.message().unwrap_or_default(),
                "tree": { "sha": tree, "url": format!("{api}/git/trees/{tree}") },
                "url": format!("{api}/git/commits/{sha}"),
                "comment_count": 0,
                "verification": {
                    "verified": false, "reason": "unsigned",
                    "signature": null, "payload": null, "verified_at": null,
                },
            },
            "url": format!("{api}/commits/{sha}"),
            "html_url": format!("{html}/commit/{sha}"),
            "comments_url": format!("{api}/commits/{sha}/comments"),
            "author": account(commit.author()),
            "committer": account(commit.committer()),
            "parents": parents,
        })
    }

    /// GitHub finds a commit's account by its address; ours are `id+login@users.noreply.…` or `login@…`.
    fn account_of(&self, email: &str) -> Value {
        let local = email.split('@').next().unwrap_or_default();
        let login = local.split_once('+').map_or(local, |(_, login)| login);
        self.find_user(login).map_or(Value::Null, |id| self.show_user(id))
    }

    pub(crate) fn show_file(&self, repo: Id, head: &str, file: &store::File) -> Value {
        let (api, html) = (self.api_of(repo), self.web_of(repo));
        let name = &file.path;
        let mut shown = json!({
            "sha": file.sha,
            "filename": name,
            "status": file.status,
            "additions": file.additions,
            "deletions": file.deletions,
            "changes": file.additions + file.deletions,
            "blob_url": format!("{html}/blob/{head}/{name}"),
            "raw_url": format!("{html}/raw/{head}/{name}"),
            "contents_url": format!("{api}/contents/{name}?ref={head}"),
        });
        if let Some(patch) = &file.patch {
            shown["patch"] = patch.clone().into();
        }
        shown
    }

    pub(crate) fn show_reference(&self, repo: Id, name: &str, sha: &str) -> Value {
        let api = self.api_of(repo);
        json!({
            "ref": name,
            "node_id": node_id("REF", repo),
            "url": format!("{api}/git/{name}"),
            "object": { "type": "commit", "sha": sha, "url": format!("{api}/git/commits/{sha}") },
        })
    }
}
