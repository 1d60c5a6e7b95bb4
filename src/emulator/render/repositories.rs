//! Repositories: one object that satisfies GitHub's minimal, full and webhook schemas alike.

use super::node_id;
use crate::emulator::state::{Id, Kind, Permission, World, stamp};
use serde_json::{Value, json};

/// The addresses of a repository object, and what follows the repository's own address in each.
const URLS: [(&str, &str); 36] = [
    ("forks_url", "/forks"),
    ("keys_url", "/keys{/key_id}"),
    ("collaborators_url", "/collaborators{/collaborator}"),
    ("teams_url", "/teams"),
    ("hooks_url", "/hooks"),
    ("issue_events_url", "/issues/events{/number}"),
    ("events_url", "/events"),
    ("assignees_url", "/assignees{/user}"),
    ("branches_url", "/branches{/branch}"),
    ("tags_url", "/tags"),
    ("blobs_url", "/git/blobs{/sha}"),
    ("git_tags_url", "/git/tags{/sha}"),
    ("git_refs_url", "/git/refs{/sha}"),
    ("trees_url", "/git/trees{/sha}"),
    ("statuses_url", "/statuses/{sha}"),
    ("languages_url", "/languages"),
    ("stargazers_url", "/stargazers"),
    ("contributors_url", "/contributors"),
    ("subscribers_url", "/subscribers"),
    ("subscription_url", "/subscription"),
    ("commits_url", "/commits{/sha}"),
    ("git_commits_url", "/git/commits{/sha}"),
    ("comments_url", "/comments{/number}"),
    ("issue_comment_url", "/issues/comments{/number}"),
    ("contents_url", "/contents/{+path}"),
    ("compare_url", "/compare/{base}...{head}"),
    ("merges_url", "/merges"),
    ("archive_url", "/{archive_format}{/ref}"),
    ("downloads_url", "/downloads"),
    ("issues_url", "/issues{/number}"),
    ("pulls_url", "/pulls{/number}"),
    ("milestones_url", "/milestones{/number}"),
    ("notifications_url", "/notifications{?since,all,participating}"),
    ("labels_url", "/labels{/name}"),
    ("releases_url", "/releases{/id}"),
    ("deployments_url", "/deployments"),
];

/// What no repository of the emulator has.
const OFF: [&str; 7] = [
    "has_projects",
    "has_wiki",
    "has_pages",
    "has_discussions",
    "disabled",
    "is_template",
    "web_commit_signoff_required",
];

impl World {
    pub(crate) fn api_of(&self, id: Id) -> String {
        format!("{}/repos/{}", self.api, self.full_name(&self.repositories[&id]))
    }

    pub(crate) fn web_of(&self, id: Id) -> String {
        format!("{}/{}", self.web, self.full_name(&self.repositories[&id]))
    }

    pub(crate) fn show_repository(&self, id: Id) -> Value {
        let repo = &self.repositories[&id];
        let (url, html) = (self.api_of(id), self.web_of(id));
        let forks = self.repositories.values().filter(|other| other.fork_of == Some(id)).count();
        let open = repo.issues.values().filter(|issue| issue.open).count();
        let mut shown = json!({
            "id": id,
            "node_id": node_id("R", id),
            "name": repo.name,
            "full_name": self.full_name(repo),
            "private": repo.private,
            "owner": self.show_user(repo.owner),
            "html_url": html,
            "fork": repo.fork_of.is_some(),
            "url": url,
            "created_at": stamp(repo.created),
            "updated_at": stamp(repo.pushed),
            "pushed_at": stamp(repo.pushed),
            "git_url": format!("{html}.git"),
            "ssh_url": format!("{html}.git"),
            "clone_url": format!("{html}.git"),
            "svn_url": html,
            "size": 1,
            "forks_count": forks,
            "archived": repo.archived,
            "open_issues_count": open,
            "topics": [],
            "visibility": if repo.private { "private" } else { "public" },
            "forks": forks,
            "open_issues": open,
            "default_branch": repo.default_branch,
            "custom_properties": {},
        });
        for name in ["has_issues", "has_downloads", "allow_forking"] {
            shown[name] = true.into();
        }
        for name in OFF {
            shown[name] = false.into();
        }
        for name in ["description", "homepage", "language", "mirror_url", "license"] {
            shown[name] = Value::Null;
        }
        for name in ["stargazers_count", "watchers_count", "watchers"] {
            shown[name] = 0.into();
        }
        for (name, path) in URLS {
            shown[name] = format!("{url}{path}").into();
        }
        shown
    }

    /// The repository as `GET /repos/{owner}/{repo}` shows it.
    pub(crate) fn show_full_repository(&self, id: Id, viewer: Option<Permission>) -> Value {
        let repo = &self.repositories[&id];
        let mut shown = self.show_repository(id);
        shown["network_count"] = shown["forks_count"].clone();
        shown["subscribers_count"] = repo.watchers.len().into();
        for (name, value) in [
            ("allow_merge_commit", true),
            ("allow_squash_merge", true),
            ("allow_rebase_merge", true),
            ("allow_auto_merge", false),
            ("delete_branch_on_merge", false),
            ("allow_update_branch", false),
        ] {
            shown[name] = value.into();
        }
        if let Some(viewer) = viewer {
            shown["permissions"] = permissions(viewer);
        }
        if self.users.get(&repo.owner).is_some_and(|owner| owner.kind == Kind::Organization) {
            shown["organization"] = self.show_user(repo.owner);
        }
        if let Some(source) = repo.fork_of {
            shown["parent"] = self.show_repository(source);
            shown["source"] = self.show_repository(source);
        }
        shown
    }

    pub(crate) fn show_label(&self, repo: Id, name: &str) -> Value {
        let label = self.repositories[&repo].labels.get(&name.to_lowercase());
        let id = label.map_or(0, |label| label.id);
        let name = label.map_or(name, |label| &label.name);
        json!({
            "id": id,
            "node_id": node_id("LA", id),
            "url": format!("{}/labels/{name}", self.api_of(repo)),
            "name": name,
            "color": label.map_or("ededed", |label| &label.color),
            "default": false,
            "description": label.and_then(|label| label.description.clone()),
        })
    }
}

/// The `permissions` object of a repository or collaborator.
pub(crate) fn permissions(has: Permission) -> Value {
    json!({
        "admin": has >= Permission::Admin,
        "maintain": has >= Permission::Maintain,
        "push": has >= Permission::Write,
        "triage": has >= Permission::Triage,
        "pull": has >= Permission::Read,
    })
}
